package operator_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.CRDs("../../config/crd"), testenv.CheckLeaks())
}

// check protects an object and releases it again, with any running operator.
func check(t *testing.T) {
	t.Helper()
	c := operator.Client(t)
	objects := testenv.Apply(t, operator.Protected, testenv.In(testenv.Namespace(t)))
	precious, usage := objects[0], objects[1]
	testenv.Eventually(t, func() error { return isReady(t, c, usage) })
	if err := c.Delete(t.Context(), precious); !apierrors.IsConflict(err) {
		t.Errorf("deletion was answered with %v, want a conflict", err)
	}
	if err := c.Delete(t.Context(), usage); err != nil {
		t.Error(err)
	}
	testenv.Eventually(t, func() error { return c.Delete(t.Context(), precious) })
}

func isReady(t *testing.T, c client.Client, usage *unstructured.Unstructured) error {
	t.Helper()
	var u protectionv1beta1.Usage
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(usage), &u); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(u.Status.Conditions, "Ready")
	if ready == nil {
		return errors.New("no condition Ready")
	}
	if ready.Status != metav1.ConditionTrue {
		return errors.New(ready.Message)
	}
	return nil
}

// TestStart runs two operators one after the other in this process.
func TestStart(t *testing.T) {
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			o := operator.Start(t)
			check(t)
			if !strings.Contains(o.Log(), "Acting as") {
				t.Errorf("log says nothing of whom it acts as:\n%s", o.Log())
			}
		})
	}
}

// TestExec kills an operator; the next operator takes over.
func TestExec(t *testing.T) {
	first := operator.Exec(t)
	check(t)
	first.Kill()
	second := operator.Exec(t)
	if first.PID() == second.PID() {
		t.Errorf("both processes are %d", first.PID())
	}
	check(t)
}
