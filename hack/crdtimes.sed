# Adds to every time in a generated definition the pattern of times that metav1.Time reads:
# the format date-time alone accepts "2030-01-01t00:00:00z", which Go refuses. One such
# object would not be read by any client in Go.
s/^\( *\)format: date-time$/&\n\1pattern: ^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$/
