package oam_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) {
	operator.Packs("oam")
	own := testenv.GroupCRDs("../../config/crd", "core.oam.dev", "kinship.dev")
	crds := testenv.CRDs("../../examples/oam/definitions.yaml", "testdata/crds.yaml")
	testenv.Main(m, own, crds, testenv.CheckLeaks())
}

// testKinds gives the operator rights to the kinds of testdata/crds.yaml.
func testKinds(o *options.Options) {
	o.Oam.Kinds = []schema.GroupResource{
		{Group: "standard.oam.dev", Resource: "mydbs"},
		{Group: "example.com", Resource: "bars"},
		{Group: "example.com", Resource: "bartraits"},
		{Group: "example.com", Resource: "bannertraits"},
		{Group: "etcd.database.coreos.com", Resource: "etcdbackups"},
	}
}
