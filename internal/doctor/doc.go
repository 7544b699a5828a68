// Package doctor compares an installation with what the running operator needs: definitions, rights, guards, the
// certificate, and the Leases of operators. [Examine] changes nothing. Each [Finding] names the object, the field, and
// what to do.
package doctor
