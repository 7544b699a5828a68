package scenario

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestBroken runs stories of a cluster with an API group whose server does not exist. They run
// when no other stories do: each namespace of the cluster waits for that server.
func TestBroken(t *testing.T) {
	t.Cleanup(func() {
		broken := &unstructured.Unstructured{}
		broken.SetAPIVersion("apiregistration.k8s.io/v1")
		broken.SetKind("APIService")
		broken.SetName("v1.broken.kinship.dev")
		err := testenv.Client(t, nil).Delete(context.WithoutCancel(t.Context()), broken)
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	tell(t, "broken", nil)
}
