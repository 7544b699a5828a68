package emulator

import "github.com/kinship-dev/kinship/api/azure/catalogue"

// facts returns the definition of a type in the catalogue, which has the secrets of the type, or nil.
func facts(armType string) *catalogue.Definition {
	all, err := catalogue.Embedded()
	if err != nil { // A test reads the embedded file.
		panic(err)
	}
	kind := all.Default(armType)
	if kind == nil {
		return nil
	}
	definition, err := kind.Definition()
	if err != nil {
		panic(err)
	}
	return definition
}

// withoutSecrets returns a body without the values that ARM never returns.
func withoutSecrets(armType string, body map[string]any) map[string]any {
	if known := facts(armType); known != nil {
		return known.Strip(body)
	}
	return body
}
