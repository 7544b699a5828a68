package iot

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
)

// vetoed is a policy whose refusal has the status code Invalid, as most policies have.
const vetoed = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules: [{apiGroups: [""], apiVersions: ["*"], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: "object.metadata.name != 'bad'", message: not here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// TestFailureOutcomes shows which answers of the API server are repeated: only a spec that can
// never work waits for its author.
func TestFailureOutcomes(t *testing.T) {
	c, ns := testenv.Client(t, nil), testenv.Namespace(t)
	named := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	}
	testenv.Apply(t, fmt.Sprintf(vetoed, ns))
	var veto error
	testenv.Eventually(t, func() error { // A policy takes effect a moment after its creation.
		if veto = c.Create(t.Context(), named("bad"), client.DryRunAll); veto == nil {
			return errors.New("it is not refused")
		}
		return nil
	})
	invalid := c.Create(t.Context(), named("NOT A NAME"))
	if !apierrors.IsInvalid(veto) || !apierrors.IsInvalid(invalid) {
		t.Fatalf("a policy answers %v, the API server %v, and neither says that something is not valid", veto, invalid)
	}
	one, replaced := named("one"), named("one")
	if err := c.Create(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	replaced.UID, replaced.ResourceVersion = "another", one.ResourceVersion
	another := c.Patch(t.Context(), replaced, client.Merge)
	id := object.Of(one, object.ID{Kind: "ConfigMap"}.GroupKind())

	cases := map[string]struct {
		reason string
		err    error
		again  time.Duration
		fails  bool
	}{
		"a veto":         {"who made the policy may change it", fmt.Errorf("apply %s: %w", id, veto), refusedRetry, false},
		"not valid":      {"it never will be", fmt.Errorf("apply %s: %w", id, invalid), 0, false},
		"another object": {"the next look sees it", fmt.Errorf("apply %s: %w", id, another), 0, true},
		"nothing":        {"it went well", nil, 0, false},
		"several":        {"the veto is tried again", errors.Join(invalid, veto), refusedRetry, false},
		"no answer":      {"there may be one next time", errors.New("connection refused"), 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			result, err := failures(tc.err).Result()
			if result.RequeueAfter != tc.again || (err != nil) != tc.fails {
				t.Errorf("%s: again in %s, error %v; want %s, %t", tc.reason, result.RequeueAfter, err, tc.again, tc.fails)
			}
		})
	}
}
