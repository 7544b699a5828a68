package azure

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// Example returns a spec with what the schema of a kind requires, and with a reference to an owner
// outside of Kubernetes. Azure may refuse the values, the schema accepts them.
func Example(k *catalogue.Kind) (map[string]any, error) {
	definition, err := k.Definition()
	if err != nil {
		return nil, err
	}
	spec, ok := ExampleOf(definition.Body).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s has no object as its body", k.Type)
	}
	name, _ := ExampleOf(definition.Name).(string)
	if name == "" {
		name = "example"
	}
	spec[catalogue.AzureNameField] = name
	if k.Owner != "" {
		spec[catalogue.OwnerField] = map[string]any{"azure": map[string]any{"name": exampleID(k.Owner)}}
	}
	return spec, nil
}

// exampleID returns an ARM id of a type.
func exampleID(armType string) string {
	const group = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/example"
	if strings.EqualFold(armType, catalogue.ResourceGroupType) {
		return group
	}
	segments := strings.Split(armType, "/")
	return group + "/providers/" + segments[0] + "/" + strings.Join(segments[1:], "/example/") + "/example"
}

// ExampleOf returns a value of a shape in Kubernetes, with what the schema requires.
func ExampleOf(s *catalogue.Shape) any {
	switch s.Type {
	case catalogue.Object:
		m := map[string]any{}
		for _, p := range s.Properties {
			if p.Required || p.Suggested {
				m[p.Name] = ExampleOf(p.Shape)
			}
		}
		return m
	case catalogue.List:
		list := []any{}
		for range max(s.MinLength, 0) {
			list = append(list, ExampleOf(s.Items))
		}
		return list
	case catalogue.Map, catalogue.Any:
		return map[string]any{}
	case catalogue.IDMap:
		return []any{}
	case catalogue.ID, catalogue.IDObject:
		armType := catalogue.ResourceGroupType
		if len(s.Targets) > 0 {
			armType = s.Targets[0].Type
		}
		return map[string]any{"azure": map[string]any{"name": exampleID(armType)}}
	case catalogue.Secret:
		return map[string]any{"name": "example", "key": "value"}
	case catalogue.Boolean:
		return false
	case catalogue.String:
		return exampleText(s)
	default:
		return exampleNumber(s)
	}
}

func exampleNumber(s *catalogue.Shape) any {
	switch {
	case s.Minimum != nil && *s.Minimum > 0:
		return int64(*s.Minimum)
	case s.Maximum != nil && *s.Maximum < 0:
		return int64(*s.Maximum)
	}
	return int64(0)
}

// texts are tried where a schema has a pattern.
var texts = []string{
	"example", "Example1", "example-1", "00000000-0000-0000-0000-000000000000", "1", "default", "10.0.0.0/24", "10.0.0.1",
	"2020-01-01", "2020-01-01T00:00:00Z", "00:00", "P1D", "PT1H", "a@b.cd", "https://example.com/a", "example.com", "+10",
	"12345", "1.0", "1.0.0", "1.0.0.0", "A1", "a", "AAAA", "123456789012", "00:00:00:00:00:00", "123", "1 Mbps", "a.1",
	strings.Repeat("a", 128), "azds://a:a:00000000-0000-0000-0000-000000000000",
}

func exampleText(s *catalogue.Shape) string {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	if text, ok := map[string]string{"date-time": "2020-01-01T00:00:00Z", "duration": "P1D"}[s.Format]; ok {
		return text
	}
	fits := func(text string) bool {
		if int64(len(text)) < s.MinLength || s.MaxLength > 0 && int64(len(text)) > s.MaxLength {
			return false
		}
		matches, err := regexp.MatchString(s.Pattern, text)
		return err == nil && matches
	}
	for _, text := range texts {
		for _, padded := range []string{text, text + strings.Repeat("a", int(max(0, s.MinLength-int64(len(text)))))} {
			if fits(padded) {
				return padded
			}
		}
	}
	return texts[0]
}
