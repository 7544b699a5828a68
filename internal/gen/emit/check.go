package emit

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"strings"
)

// declared maps each declared name, such as Network.Spec, to its file or import path. The error
// lists names that are declared twice, and import paths with two names.
func (p Package) declared() (map[string]string, error) {
	var wrong []error
	declared, paths := map[string]string{}, map[string]string{}
	declare := func(name, by string) {
		if before, is := declared[name]; is {
			wrong = append(wrong, fmt.Errorf("%s: declared by %s and by %s", name, before, by))
			return
		}
		declared[name] = by
	}
	for _, i := range p.Imports {
		declare(i.Name, "the import of "+i.Path)
		if before, is := paths[i.Path]; is {
			wrong = append(wrong, fmt.Errorf("%s: imported as %s and as %s", i.Path, before, i.Name))
		}
		paths[i.Path] = i.Name
	}
	for _, name := range p.Declared {
		declare(name, "a hand-written file")
	}
	for _, f := range p.Files {
		for _, d := range f.Declarations {
			for _, name := range d.names() {
				declare(name, f.Name)
			}
		}
	}
	return declared, errors.Join(wrong...)
}

func (d Struct) names() []string {
	names := append(make([]string, 0, 1+len(d.Fields)), d.Name)
	for _, f := range d.Fields {
		names = append(names, d.Name+"."+f.name())
	}
	return names
}

func (d Named) names() []string { return []string{d.Name} }

func (d Consts) names() []string {
	names := make([]string, 0, len(d.Values))
	for _, c := range d.Values {
		names = append(names, c.Name)
	}
	return names
}

func (d Var) names() []string { return []string{d.Name} }

func (d Func) names() []string {
	if d.Receiver == "" {
		return []string{d.Name}
	}
	_, of, _ := strings.Cut(d.Receiver, " ")
	return []string{strings.TrimPrefix(of, "*") + "." + d.Name}
}

// name returns the name of a Field: TypeMeta for an embedded metav1.TypeMeta.
func (f Field) name() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Type[1+strings.LastIndexAny(f.Type, ".*"):]
}

func (d Struct) check() error {
	var wrong []error
	tagged := map[string]string{}
	for _, f := range d.Fields {
		if err := checkType(f.Type); err != nil {
			wrong = append(wrong, fmt.Errorf("%s.%s: %w", d.Name, f.name(), err))
		}
		name, _, _ := strings.Cut(f.JSON, ",")
		switch before := tagged[name]; {
		case strings.ContainsAny(f.JSON, "`\"\\") || strings.ContainsFunc(f.JSON, blank):
			wrong = append(wrong, fmt.Errorf("%s.%s: %q can't stand in a json tag", d.Name, f.name(), f.JSON))
		case strings.Contains(f.Tags, "`"):
			wrong = append(wrong, fmt.Errorf("%s.%s: %q can't stand in a tag", d.Name, f.name(), f.Tags))
		case name == "" || name == "-":
		case before != "":
			wrong = append(wrong, fmt.Errorf("%s: %s and %s are both %q in JSON", d.Name, before, f.name(), name))
		default:
			tagged[name] = f.name()
		}
		wrong = append(wrong, checkMarkers(f.Markers))
	}
	return errors.Join(append(wrong, checkMarkers(d.Markers))...)
}

func (d Named) check() error { return errors.Join(checkType(d.Type), checkMarkers(d.Markers)) }

func (Consts) check() error { return nil }

func (Var) check() error { return nil }

func (Func) check() error { return nil }

// checkType returns an error for a text such as "int // comment" that isn't exactly one Go type.
func checkType(text string) error {
	if strings.Contains(text, "//") || strings.Contains(text, "/*") {
		return fmt.Errorf("type %q has a comment", text)
	}
	if _, err := parser.ParseExpr(text); err != nil {
		return fmt.Errorf("type %q: %w", text, err)
	}
	return nil
}

// checkMarkers returns an error for a marker that controller-gen would not read as written.
func checkMarkers(markers []string) error {
	for _, m := range markers {
		switch {
		case !strings.HasPrefix(m, "+") || strings.ContainsAny(m, "\n\r") || strings.HasSuffix(m, " "):
			return fmt.Errorf("marker %q: a marker is one line that begins with +", m)
		case strings.Contains(m, "''") || strings.Contains(m, "``"):
			return fmt.Errorf("marker %q: gofmt turns two quotes into one character", m)
		}
	}
	return nil
}

// checkIdentifiers returns an error for names such as Net-work or type.
func checkIdentifiers(names []string) error {
	for _, name := range names {
		for part := range strings.SplitSeq(name, ".") {
			if !token.IsIdentifier(part) {
				return fmt.Errorf("%q is no name of Go", name)
			}
		}
	}
	return nil
}
