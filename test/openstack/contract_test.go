package openstack_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/config"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// schema is the schema of one of the pack's kinds in the API server.
type schema = apiextensionsv1.JSONSchemaProps

// definitions returns the schemas of all kinds.
func definitions(t *testing.T) map[string]*schema {
	t.Helper()
	files, err := fs.Glob(config.Definitions, "crd/openstack.k-orc.cloud_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d definitions: %v", len(files), err)
	}
	all := map[string]*schema{}
	for _, file := range files {
		text, err := config.Definitions.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatal(err)
		}
		all[crd.Spec.Names.Kind] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return all
}

// walk visits every field below a schema, with its path.
func walk(s *schema, path string, visit func(path string, s *schema)) {
	visit(path, s)
	for name := range s.Properties {
		p := s.Properties[name]
		walk(&p, path+"."+name, visit)
	}
	if s.Items != nil {
		walk(s.Items.Schema, path+"[]", visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(s.AdditionalProperties.Schema, path+"{}", visit)
	}
}

// fields visits all fields of spec and status, conditions aside, which are
// Kubernetes' own.
func fields(t *testing.T, visit func(path string, s *schema)) {
	t.Helper()
	for kind, s := range definitions(t) {
		for _, part := range []string{"spec", "status"} {
			p := s.Properties[part]
			walk(&p, kind+"."+part, func(path string, s *schema) {
				if !strings.Contains(path, ".status.conditions[]") {
					visit(path, s)
				}
			})
		}
	}
}

// TestAllStringsMustHaveAMaximumLength: an enum or a time is bounded by its values or format.
func TestAllStringsMustHaveAMaximumLength(t *testing.T) {
	fields(t, func(path string, s *schema) {
		if s.Type == "string" && s.MaxLength == nil && s.Enum == nil && s.Format != "date-time" {
			t.Errorf("%s has no maxLength", path)
		}
	})
}

func TestAllListsMustHaveAMaximumLength(t *testing.T) {
	fields(t, func(path string, s *schema) {
		if s.Type == "array" && s.MaxItems == nil {
			t.Errorf("%s has no maxItems", path)
		}
		if s.Type == "array" && s.XListType == nil {
			t.Errorf("%s has no list type", path)
		}
	})
}

// TestAllMapsMustHaveAMaximumSize: of their keys as well, which only a rule can say.
func TestAllMapsMustHaveAMaximumSize(t *testing.T) {
	fields(t, func(path string, s *schema) {
		if s.AdditionalProperties == nil {
			return
		}
		if s.MaxProperties == nil {
			t.Errorf("%s has no maxProperties", path)
		}
		if !slices.ContainsFunc(s.XValidations, func(r apiextensionsv1.ValidationRule) bool {
			return strings.HasPrefix(r.Rule, "self.all(key, size(key) <= ")
		}) {
			t.Errorf("%s bounds no key", path)
		}
	})
}

func TestNoTenant(t *testing.T) {
	fields(t, func(path string, _ *schema) {
		if strings.Contains(strings.ToLower(path), "tenant") {
			t.Error(path)
		}
	})
}

// TestProjects: specs refer to projects, statuses report their ids.
func TestProjects(t *testing.T) {
	fields(t, func(path string, _ *schema) {
		if strings.Contains(path, ".spec.") && strings.HasSuffix(path, "projectID") {
			t.Error(path)
		}
	})
	for kind, s := range definitions(t) {
		resource, ok := s.Properties["spec"].Properties["resource"]
		if _, refers := resource.Properties["projectRef"]; ok && refers {
			if _, reports := s.Properties["status"].Properties["resource"].Properties["projectID"]; !reports {
				t.Errorf("%s does not report its project", kind)
			}
		}
	}
}

func TestFiltersMustNotContainAnID(t *testing.T) {
	for kind, s := range definitions(t) {
		filter := s.Properties["spec"].Properties["import"].Properties["filter"]
		if _, has := filter.Properties["id"]; has {
			t.Errorf("%s: spec.import.filter.id", kind)
		}
	}
}

// TestNeutronFiltersHaveTags: in Neutron, only AddressScopes have no tags.
func TestNeutronFiltersHaveTags(t *testing.T) {
	for _, kind := range []string{"Network", "Subnet", "Router", "Port", "SecurityGroup", "FloatingIP"} {
		filter := definitions(t)[kind].Properties["spec"].Properties["import"].Properties["filter"]
		for _, name := range []string{"tags", "tagsAny", "notTags", "notTagsAny"} {
			if _, has := filter.Properties[name]; !has {
				t.Errorf("%s: no filter by %s", kind, name)
			}
		}
	}
}

// TestStatusIsNotValidated: anything that OpenStack says can be stored.
func TestStatusIsNotValidated(t *testing.T) {
	for kind, s := range definitions(t) {
		resource := s.Properties["status"].Properties["resource"]
		walk(&resource, kind+".status.resource", func(path string, s *schema) {
			// The pattern of a time says no more than the format should: the times that Go can
			// decode.
			if (s.Pattern != "" && s.Format != "date-time") || s.Enum != nil || s.MinLength != nil || s.Minimum != nil ||
				len(s.XValidations) > 0 || len(s.Required) > 0 ||
				(s.Format != "" && !slices.Contains([]string{"date-time", "int32", "int64"}, s.Format)) {
				t.Errorf("%s is validated", path)
			}
			if s.Type == "array" && (s.XListType == nil || *s.XListType != "atomic") {
				t.Errorf("%s is not atomic", path)
			}
		})
		if _, has := resource.Properties["id"]; has {
			t.Errorf("%s: status.resource.id", kind)
		}
	}
}

// TestStatusTakesAll: a status accepts every value that the operator does not cut: an import
// has no spec with limits.
func TestStatusTakesAll(t *testing.T) {
	for kind, s := range definitions(t) {
		resource := s.Properties["status"].Properties["resource"]
		walk(&resource, kind+".status.resource", func(path string, s *schema) {
			if s.MaxLength != nil && *s.MaxLength < kit.LongestText || s.MaxItems != nil && *s.MaxItems < kit.LongestList {
				t.Errorf("%s takes less than OpenStack may say", path)
			}
			if s.AdditionalProperties != nil {
				t.Errorf("%s is a map, whose values nothing bounds", path)
			}
		})
	}
}

// TestReferences are names of objects in the same namespace, and named so.
func TestReferences(t *testing.T) {
	fields(t, func(path string, s *schema) {
		name := path[strings.LastIndex(path, ".")+1:]
		switch {
		case strings.Contains(path, ".status."): // Any value of OpenStack is allowed.
		case strings.HasSuffix(name, "Ref") && name != "cloudCredentialsRef":
			if s.Type != "string" || *s.MaxLength != 253 {
				t.Errorf("%s is not a name", path)
			}
		case strings.HasSuffix(name, "Refs"):
			if s.Type != "array" || s.Items.Schema.Type != "string" || *s.Items.Schema.MaxLength != 253 {
				t.Errorf("%s are not names", path)
			}
		case strings.Contains(path, ".spec.resource.") && name != "segmentationID" && strings.HasSuffix(strings.ToLower(name), "id") &&
			!slices.Contains([]string{"Port.spec.resource.hostID", "Port.spec.resource.hostID.id", "Flavor.spec.resource.id"}, path):
			t.Errorf("%s names an OpenStack id", path)
		}
	})
}

// TestCommonRules compares the messages for users.
func TestCommonRules(t *testing.T) {
	for kind, s := range definitions(t) {
		if kind == "RouterInterface" {
			continue
		}
		messages := map[string]string{}
		for _, rule := range s.Properties["spec"].XValidations {
			messages[rule.Rule] = rule.Message
		}
		for rule, message := range map[string]string{
			"self.managementPolicy == 'managed' ? has(self.resource) : true":       "resource must be specified when policy is managed",
			"self.managementPolicy == 'managed' ? !has(self.__import__) : true":    "import may not be specified when policy is managed",
			"self.managementPolicy == 'unmanaged' ? !has(self.resource) : true":    "resource may not be specified when policy is unmanaged",
			"self.managementPolicy == 'unmanaged' ? has(self.__import__) : true":   "import must be specified when policy is unmanaged",
			"has(self.managedOptions) ? self.managementPolicy == 'managed' : true": "managedOptions may only be provided when policy is managed",
		} {
			if messages[rule] != message {
				t.Errorf("%s: %s: %q, want %q", kind, rule, messages[rule], message)
			}
		}
	}
}
