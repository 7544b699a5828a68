package usage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// BenchmarkRefuse measures the operator's own share of a refused DELETE: an AdmissionReview
// is read, the deletion of an object is refused, and the answer is written, with 10,000
// Usages of as many objects and the garbage collection of the operator. TLS is left out.
func BenchmarkRefuse(b *testing.B) {
	const n, operatorsGC = 10_000, 25
	defer debug.SetGCPercent(debug.SetGCPercent(operatorsGC))
	h := newTestDeletionHandler(b)
	end := func(format string, i int) *sharedv1alpha1.ResourceRef {
		return &sharedv1alpha1.ResourceRef{Name: fmt.Sprintf(format, i)}
	}
	for i := range n {
		u := &protectionv1beta1.Usage{Spec: sharedv1alpha1.UsageSpec{
			Of: sharedv1alpha1.Resource{APIVersion: "v1", Kind: "ConfigMap", ResourceRef: end("used%d", i)},
			By: &sharedv1alpha1.Resource{APIVersion: "v1", Kind: "ConfigMap", ResourceRef: end("using%d", i)},
		}}
		u.Namespace, u.Name, u.UID = "ns", fmt.Sprintf("u%d", i), types.UID(fmt.Sprint(i))
		u.Finalizers = []string{finalizer.Name}
		h.ledger.Declared.Set(identify(u), extract(u, h.ledger.watcher))
	}
	reviews := make([][]byte, 100)
	for i := range reviews {
		old := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"used%d","namespace":"ns",`+
			`"uid":"%d","labels":{%q:"true"}},"data":{"key":"value"}}`, i*n/len(reviews), i, lockLabel)
		req := request(admissionv1.Delete, schema.GroupKind{Kind: "ConfigMap"}, nil, old, []byte(`{"kind":"DeleteOptions"}`))
		req.UID = types.UID(fmt.Sprint("review", i))
		review := admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
			Request:  &req.AdmissionRequest,
		}
		var err error
		if reviews[i], err = json.Marshal(review); err != nil {
			b.Fatal(err)
		}
	}
	server := &admission.Webhook{Handler: h}
	took := make([]time.Duration, 0, 1024)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/", bytes.NewReader(reviews[i%len(reviews)]))
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		start := time.Now()
		server.ServeHTTP(answer, r)
		took = append(took, time.Since(start))
		if !bytes.Contains(answer.Body.Bytes(), []byte(`"allowed":false`)) {
			b.Fatalf("answered with %s", answer.Body)
		}
	}
	slices.Sort(took)
	for name, rank := range map[string]int{"p50": 50, "p99": 99} {
		b.ReportMetric(float64(took[(len(took)-1)*rank/100].Nanoseconds())/1e6, name+"-ms")
	}
}
