package openstack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/config"
	"github.com/kinship-dev/kinship/internal/pack/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// column is a printer column. All columns have the type string and show at any width.
type column struct{ name, path string }

var (
	idColumn        = column{"ID", ".status.id"}
	availableColumn = column{"Available", ".status.conditions[?(@.type=='Available')].status"}
	messageColumn   = column{"Message", ".status.conditions[?(@.type=='Progressing')].message"}

	usualColumns    = []column{idColumn, availableColumn, messageColumn}
	namelessColumns = []column{availableColumn, messageColumn}
)

// reference is a field that names an object of another kind.
type reference struct {
	field, target string
	// finalizer keeps the target while the object names it. Empty means that the object only
	// waits for the target.
	finalizer string
}

// publishedKind describes a kind of the published API. docs/compatibility/openstack.md names
// the release.
type publishedKind struct {
	kind, plural string
	columns      []column
	// references in the order in which their waits are told.
	references []reference
}

func (k publishedKind) finalizer() string { return group + "/" + strings.ToLower(k.kind) }

// resource returns a reference of spec.resource that keeps its target.
func (k publishedKind) resource(field, target string) publishedKind {
	k.references = append(k.references, reference{"spec.resource." + field, target, k.finalizer()})
	return k
}

// waits returns a reference of spec.resource that keeps nothing.
func (k publishedKind) waits(field, target string) publishedKind {
	k.references = append(k.references, reference{"spec.resource." + field, target, ""})
	return k
}

// imports returns a reference of an import's filter. No such reference keeps its target.
func (k publishedKind) imports(field, target string) publishedKind {
	k.references = append(k.references, reference{"spec.import.filter." + field, target, ""})
	return k
}

// kindOf returns a kind with the usual columns, which keeps the Secret with its
// credentials.
func kindOf(kind, plural string) publishedKind {
	k := publishedKind{kind: kind, plural: plural, columns: usualColumns}
	k.references = []reference{{"spec.cloudCredentialsRef.secretName", "Secret", k.finalizer()}}
	return k
}

func (k publishedKind) printing(columns ...column) publishedKind {
	k.columns = columns
	return k
}

// publishedKinds are the kinds of the published API.
var publishedKinds = []publishedKind{
	kindOf("AddressScope", "addressscopes").resource("projectRef", "Project").imports("projectRef", "Project"),
	kindOf("ApplicationCredential", "applicationcredentials").resource("userRef", "User").resource("roleRefs", "Role").
		resource("accessRules[].serviceRef", "Service").waits("secretRef", "Secret").imports("userRef", "User"),
	kindOf("Domain", "domains"),
	kindOf("Endpoint", "endpoints").resource("serviceRef", "Service").imports("serviceRef", "Service"),
	kindOf("Flavor", "flavors"),
	kindOf("FloatingIP", "floatingips").
		printing(idColumn, availableColumn, column{"Address", ".status.resource.floatingIP"}, messageColumn).
		resource("floatingNetworkRef", "Network").resource("floatingSubnetRef", "Subnet").
		resource("portRef", "Port").resource("projectRef", "Project").
		imports("floatingNetworkRef", "Network").imports("portRef", "Port").imports("projectRef", "Project"),
	kindOf("Group", "groups").resource("domainRef", "Domain").imports("domainRef", "Domain"),
	kindOf("Image", "images"),
	kindOf("KeyPair", "keypairs"),
	kindOf("Network", "networks").resource("projectRef", "Project").imports("projectRef", "Project"),
	kindOf("Port", "ports").
		printing(idColumn, availableColumn, column{"Addresses", ".status.resource.fixedIPs[*].ip"}, messageColumn).
		resource("networkRef", "Network").resource("addresses[].subnetRef", "Subnet").
		resource("securityGroupRefs", "SecurityGroup").resource("projectRef", "Project").
		waits("hostID.serverRef", "Server").imports("networkRef", "Network").imports("projectRef", "Project"),
	kindOf("Project", "projects").resource("domainRef", "Domain").imports("domainRef", "Domain"),
	kindOf("Role", "roles").resource("domainRef", "Domain").imports("domainRef", "Domain"),
	kindOf("RoleAssignment", "roleassignments").printing(namelessColumns...).
		resource("roleRef", "Role").resource("userRef", "User").resource("groupRef", "Group").
		resource("projectRef", "Project").resource("domainRef", "Domain").
		imports("roleRef", "Role").imports("userRef", "User").imports("groupRef", "Group").
		imports("projectRef", "Project").imports("domainRef", "Domain"),
	kindOf("Router", "routers").resource("externalGateways[].networkRef", "Network").resource("projectRef", "Project").
		imports("projectRef", "Project"),
	{
		kind: "RouterInterface", plural: "routerinterfaces", columns: namelessColumns,
		references: []reference{ // A RouterInterface has the credentials of its Router.
			{"spec.routerRef", "Router", group + "/routerinterface"}, {"spec.subnetRef", "Subnet", group + "/routerinterface"},
		},
	},
	kindOf("SecurityGroup", "securitygroups").resource("projectRef", "Project").imports("projectRef", "Project"),
	kindOf("Server", "servers").resource("imageRef", "Image").resource("bootVolume.volumeRef", "Volume").
		waits("flavorRef", "Flavor").waits("userData.secretRef", "Secret").
		resource("ports[].portRef", "Port").resource("volumes[].volumeRef", "Volume").
		waits("schedulerHints.serverGroupRef", "ServerGroup").waits("keypairRef", "KeyPair").
		waits("schedulerHints.differentHostServerRefs", "Server").waits("schedulerHints.sameHostServerRefs", "Server"),
	kindOf("ServerGroup", "servergroups"),
	kindOf("Service", "services"),
	kindOf("ShareNetwork", "sharenetworks").resource("networkRef", "Network").resource("subnetRef", "Subnet"),
	kindOf("Subnet", "subnets").resource("networkRef", "Network").resource("routerRef", "Router").
		resource("projectRef", "Project").imports("networkRef", "Network").imports("projectRef", "Project"),
	trunkKind(),
	kindOf("User", "users").resource("domainRef", "Domain").resource("defaultProjectRef", "Project").
		waits("passwordRef", "Secret").imports("domainRef", "Domain"),
	kindOf("Volume", "volumes").resource("volumeTypeRef", "VolumeType").waits("imageRef", "Image"),
	kindOf("VolumeType", "volumetypes"),
}

// trunkKind has the only finalizer that is not named after its kind.
func trunkKind() publishedKind {
	k := kindOf("Trunk", "trunks").resource("portRef", "Port")
	k.references = append(k.references, reference{"spec.resource.subports[].portRef", "Port", group + "/trunk-subport"})
	return k.resource("projectRef", "Project").imports("portRef", "Port").imports("projectRef", "Project")
}

// addedReferences are the references that the published API does not have.
var addedReferences = map[string]reference{
	"SecurityGroup": {"spec.resource.rules[].remoteGroupRef", "SecurityGroup", ""},
}

// definitionOf reads the generated definition of a kind.
func definitionOf(t *testing.T, plural string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := config.Definitions.ReadFile("crd/" + group + "_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

// TestPublishedDefinitions compares everything that a CRD says beside its schema.
func TestPublishedDefinitions(t *testing.T) {
	var kinds []string
	for _, name := range openstack.Pack(openstack.Options{}).Definitions {
		kinds = append(kinds, strings.TrimSuffix(name, "."+group))
	}
	var want []string
	for _, k := range publishedKinds {
		want = append(want, k.plural)
		t.Run(k.kind, func(t *testing.T) { k.checkDefinition(t, definitionOf(t, k.plural)) })
	}
	slices.Sort(kinds)
	slices.Sort(want)
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-published +ours):\n%s", diff)
	}
}

func (k publishedKind) checkDefinition(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	names := apiextensionsv1.CustomResourceDefinitionNames{
		Kind: k.kind, ListKind: k.kind + "List", Plural: k.plural, Singular: strings.ToLower(k.kind),
		Categories: []string{"openstack"}, // And no short names.
	}
	if diff := cmp.Diff(names, crd.Spec.Names); diff != "" {
		t.Errorf("names (-published +ours):\n%s", diff)
	}
	if crd.Spec.Scope != apiextensionsv1.NamespaceScoped || crd.Spec.Group != group || len(crd.Spec.Versions) != 1 {
		t.Fatalf("scope %s, group %s, %d versions", crd.Spec.Scope, crd.Spec.Group, len(crd.Spec.Versions))
	}
	version := crd.Spec.Versions[0]
	subresources := &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	if diff := cmp.Diff(subresources, version.Subresources); diff != "" || version.Name != "v1alpha1" {
		t.Errorf("version %s, subresources (-published +ours):\n%s", version.Name, diff)
	}
	var want []apiextensionsv1.CustomResourceColumnDefinition
	for _, c := range k.columns {
		want = append(want, apiextensionsv1.CustomResourceColumnDefinition{Name: c.name, Type: "string", JSONPath: c.path})
	}
	got := slices.Clone(version.AdditionalPrinterColumns)
	for i := range got {
		got[i].Description = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("printer columns (-published +ours):\n%s", diff)
	}
}

// TestPublishedReferences compares the reference fields, their kinds and finalizers, and the
// order of their waits in messages.
func TestPublishedReferences(t *testing.T) {
	ours := map[string][]reference{}
	for _, r := range openstack.Relations() {
		if r.Role != relation.Dependency || r.Declarer.Group != group {
			t.Errorf("relation %s has role %s and declarer %s", r.Name, r.Role, r.Declarer)
		}
		ours[r.Declarer.Kind] = append(ours[r.Declarer.Kind], reference{r.Field, r.Target.Kind, r.Finalizer})
	}
	for _, k := range publishedKinds {
		got := slices.DeleteFunc(slices.Clone(ours[k.kind]), func(r reference) bool { return r == addedReferences[k.kind] })
		if diff := cmp.Diff(k.references, got, cmp.AllowUnexported(reference{})); diff != "" {
			t.Errorf("references of %s (-published +ours):\n%s", k.kind, diff)
		}
		if added, has := addedReferences[k.kind]; has && len(got) == len(ours[k.kind]) {
			t.Errorf("%s has no reference %s", k.kind, added.field)
		}
		if got := kit.Finalizer(k.kind); got != k.finalizer() {
			t.Errorf("the finalizer of %s is %s, want %s", k.kind, got, k.finalizer())
		}
		delete(ours, k.kind)
	}
	if len(ours) > 0 {
		t.Errorf("kinds that are not published: %v", ours)
	}
}
