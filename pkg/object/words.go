package object

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// plainName is a name that no shell interprets, and that no program takes for a flag.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]*$`)

// Words returns group, kind and name as the words of a shell with which kubectl and kinship name the object, without
// the namespace. A user may run a command that a message shows, and Kubernetes allows names such as `a; b`, `$(c)` and
// `--d` for Roles and other kinds of RBAC. Words never contains a character of the name that a shell interprets.
//
//	ConfigMap settings
//	Role.rbac.authorization.k8s.io/'$(c)'
func (id ID) Words() string {
	kind := id.GroupKind().String()
	if plainName.MatchString(id.Name) {
		return kind + " " + id.Name
	}
	return kind + "/" + quote(id.Name)
}

// quote returns a text as one word of a shell. Characters that a terminal does not print are escaped as bash, zsh and
// ksh read them.
func quote(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var escaped strings.Builder
	for _, r := range text {
		switch {
		case r == '\'' || r == '\\':
			escaped.WriteString(`\` + string(r))
		case unicode.IsPrint(r):
			escaped.WriteRune(r)
		default:
			for _, b := range []byte(string(r)) {
				fmt.Fprintf(&escaped, `\x%02x`, b)
			}
		}
	}
	return "$'" + escaped.String() + "'"
}
