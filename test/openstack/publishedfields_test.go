package openstack_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// constraints are the constraints of a field in a CRD, by subject: type, required, length and
// so on, as testdata/published-fields.txt explains. A field may have several rules.
type constraints map[string][]string

func (c constraints) add(subject, format string, args ...any) {
	c[subject] = append(c[subject], fmt.Sprintf(format, args...))
}

// publishedFields reads the fields of each kind.
func publishedFields(t *testing.T) map[string]map[string]constraints {
	t.Helper()
	file, err := os.Open("testdata/published-fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() }) // The file was only read.
	all := map[string]map[string]constraints{}
	for _, k := range publishedKinds {
		all[k.kind] = map[string]constraints{}
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		parts := strings.Split(lines.Text(), "; ")
		if len(parts) < 3 || strings.HasPrefix(parts[0], "#") {
			continue
		}
		for _, k := range publishedKinds {
			if parts[0] == k.kind || (parts[0] == "*" && k.kind != "RouterInterface") {
				readField(all[k.kind], parts[1], parts[2], parts[3:])
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func readField(fields map[string]constraints, path, kind string, rest []string) {
	c := fields[path]
	if c == nil {
		c = constraints{"type": {kind}}
		fields[path] = c
	}
	for _, part := range rest {
		subject, value, _ := strings.Cut(part, "=")
		c[subject] = append(c[subject], value)
	}
	c.tidy()
}

// tidy drops constraints without effect: the length of a text with listed values, and the order
// of values and rules.
func (c constraints) tidy() {
	if values := c["values"]; len(values) > 0 {
		delete(c, "length")
		each := strings.Split(values[0], "|")
		slices.Sort(each)
		c["values"] = []string{strings.Join(each, "|")}
	}
	slices.Sort(c["rule"])
}

// ourFields returns the fields of a generated schema.
func ourFields(s *schema) map[string]constraints {
	all := map[string]constraints{}
	for _, part := range []string{"spec", "status"} {
		p := s.Properties[part]
		collect(all, part, &p, slices.Contains(s.Required, part))
	}
	return all
}

func collect(all map[string]constraints, path string, s *schema, required bool) {
	all[path] = constraintsOf(s)
	if required {
		all[path].add("required", "")
	}
	if path == "status.conditions" {
		return // A condition is Kubernetes' own.
	}
	of := s
	if s.Items != nil {
		of, path = s.Items.Schema, path+"[]"
	}
	for name := range of.Properties {
		p := of.Properties[name]
		collect(all, path+"."+name, &p, slices.Contains(of.Required, name))
	}
	for _, name := range presence(s) {
		if all[path+"."+name] != nil {
			all[path+"."+name].add("presence", "")
		}
	}
}

// constraintsOf returns the constraints of one field in a schema.
func constraintsOf(s *schema) constraints {
	c := constraints{"type": {typeOf(s)}}
	if s.Default != nil {
		c.add("default", "%s", strings.Trim(string(s.Default.Raw), `"`))
	}
	if len(s.Enum) > 0 {
		values := make([]string, 0, len(s.Enum))
		for _, v := range s.Enum {
			values = append(values, strings.Trim(string(v.Raw), `"`))
		}
		c.add("values", "%s", strings.Join(values, "|"))
	}
	if s.Pattern != "" {
		c.add("pattern", "%s", s.Pattern)
	}
	c.bound("length", s.MinLength, s.MaxLength)
	c.bound("items", s.MinItems, s.MaxItems)
	c.bound("properties", s.MinProperties, s.MaxProperties)
	if s.Minimum != nil || s.Maximum != nil {
		c.add("range", "%s..%s", textOf(s.Minimum), textOf(s.Maximum))
	}
	if s.XListType != nil {
		list := *s.XListType
		if len(s.XListMapKeys) > 0 {
			list += "(" + strings.Join(s.XListMapKeys, ",") + ")"
		}
		c.add("list", "%s", list)
	}
	rules := s.XValidations
	if s.Items != nil {
		c.bound("each", s.Items.Schema.MinLength, s.Items.Schema.MaxLength)
		c.bound("elements", s.Items.Schema.MinProperties, s.Items.Schema.MaxProperties)
		rules = slices.Concat(rules, s.Items.Schema.XValidations)
	}
	for _, r := range rules {
		switch {
		case r.Rule == "self == oldSelf":
			c.add("immutable", "")
		case !presenceRule.MatchString(r.Rule):
			c.add("rule", "%s", r.Rule)
		}
	}
	c.tidy()
	return c
}

func (c constraints) bound(subject string, least, most *int64) {
	if least != nil || most != nil {
		c.add(subject, "%s..%s", textOf(least), textOf(most))
	}
}

func textOf[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}

func typeOf(s *schema) string {
	switch {
	case s.Type == "array":
		return "[]" + typeOf(s.Items.Schema)
	case s.AdditionalProperties != nil:
		return "map[string]" + typeOf(s.AdditionalProperties.Schema)
	case s.Type == "integer":
		return s.Format
	case s.Format != "":
		return s.Type + "(" + s.Format + ")"
	}
	return s.Type
}

// A presence rule refuses that fields are added or removed, and nothing else.
var (
	presenceRule   = regexp.MustCompile(`^` + presenceClause + `( && ` + presenceClause + `)*$`)
	presenceField  = regexp.MustCompile(presenceClause)
	presenceClause = `has\(self\.(\w+)\) == has\(oldSelf\.\w+\)`
)

func presence(s *schema) []string {
	rules := slices.DeleteFunc(slices.Clone(s.XValidations), func(r apiextensionsv1.ValidationRule) bool {
		return !presenceRule.MatchString(r.Rule)
	})
	var names []string
	for _, r := range rules {
		for _, found := range presenceField.FindAllStringSubmatch(r.Rule, -1) {
			names = append(names, found[1])
		}
	}
	return names
}

// difference is one difference between a published field and ours.
type difference struct{ kind, field, subject, there, here string }

func (d difference) String() string {
	return fmt.Sprintf("%s %s: %s is %q there, %q here", d.kind, d.field, d.subject, d.there, d.here)
}

// differences returns all differences between the fields of a kind, without fields below a
// field that only one side has.
func differences(kind string, theirs, ours map[string]constraints) []difference {
	var all []difference
	above := func(fields map[string]constraints, path string) bool {
		i := strings.LastIndex(path, ".")
		return i < 0 || fields[path[:i]] != nil || fields[strings.TrimSuffix(path[:i], "[]")] != nil
	}
	for _, path := range slices.Sorted(maps.Keys(theirs)) {
		if ours[path] == nil && above(ours, path) {
			all = append(all, difference{kind, path, "missing", theirs[path]["type"][0], ""})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		if theirs[path] == nil {
			if above(theirs, path) {
				all = append(all, difference{kind, path, "new", "", ours[path]["type"][0]})
			}
			continue
		}
		subjects := maps.Clone(theirs[path])
		maps.Copy(subjects, ours[path])
		for _, subject := range slices.Sorted(maps.Keys(subjects)) {
			there, here := theirs[path][subject], ours[path][subject]
			if !slices.Equal(there, here) {
				all = append(all, difference{kind, path, subject, strings.Join(there, "; "), strings.Join(here, "; ")})
			}
		}
	}
	return all
}

// page lists every difference for users.
const page = "../../docs/compatibility/openstack.md"

// told is a row of the page's table of fields.
type told struct {
	kinds, fields, subjects *regexp.Regexp
	row                     string
}

// tellsFields reads the table of fields: kinds, fields and subjects are lists, in which *
// stands for anything.
func tellsFields(t *testing.T) []told {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, text2, found := strings.Cut(string(text), "\n## Fields\n")
	section, _, _ := strings.Cut(text2, "\n## ")
	var rows []told
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "¦"), "|")
		if len(cells) < 7 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[1]) == "kind" {
			continue
		}
		rows = append(rows, told{matching(cells[1]), matching(cells[2]), matching(cells[3]), strings.TrimSpace(line)})
	}
	if !found || len(rows) == 0 {
		t.Fatalf("%s has no table of fields", page)
	}
	return rows
}

// matching returns the regular expression for a list of texts.
func matching(list string) *regexp.Regexp {
	texts := strings.Split(strings.NewReplacer("`", "", " ", "").Replace(list), ",")
	for i := range texts {
		texts[i] = strings.ReplaceAll(regexp.QuoteMeta(texts[i]), `\*`, ".*")
	}
	return regexp.MustCompile("^(" + strings.Join(texts, "|") + ")$")
}

// TestPublishedFields compares every field of every kind. The page lists each difference, and
// no difference that does not exist.
func TestPublishedFields(t *testing.T) {
	rows := tellsFields(t)
	used := map[string]bool{}
	theirs, ours := publishedFields(t), definitions(t)
	for _, k := range publishedKinds {
		for _, d := range differences(k.kind, theirs[k.kind], ourFields(ours[k.kind])) {
			i := slices.IndexFunc(rows, func(r told) bool {
				return r.kinds.MatchString(d.kind) && r.fields.MatchString(d.field) && r.subjects.MatchString(d.subject)
			})
			if i < 0 {
				t.Errorf("%s does not tell of %s", page, d)
				continue
			}
			used[rows[i].row] = true
		}
	}
	for _, r := range rows {
		if !used[r.row] {
			t.Errorf("%s tells of what is no difference: %s", page, r.row)
		}
	}
}
