package operator

import (
	"embed"
	"encoding/json"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubernetes "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kinship-dev/kinship/examples"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// BenchmarkKept reports what an informer keeps of an example of each pack: the bytes of its JSON, what Go allocates,
// and the estimate of watch.Footprint, whose time is the time of the benchmark. The examples have no status.
func BenchmarkKept(b *testing.B) {
	scheme, err := options.NewScheme(options.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, example := range []struct {
		files      embed.FS
		file, kind string
	}{
		{examples.Usage, "usage/named.yaml", "Usage"},
		{examples.Oam, "oam/website.yaml", "Component"},
		{examples.Oam, "oam/website.yaml", "ApplicationConfiguration"},
		{examples.Openstack, "openstack/stack.yaml", "Network"},
		{examples.Azure, "azure/stack.yaml", "LoadBalancer"},
	} {
		b.Run(example.kind, func(b *testing.B) {
			text := exampleOf(b, example.files, example.file, example.kind)
			obj := decodeKept(b, scheme, text)
			for b.Loop() {
				watch.Footprint(obj)
			}
			b.ReportMetric(float64(len(text)), "JSON-bytes")
			b.ReportMetric(float64(allocated(b, scheme, text)), "heap-bytes")
			b.ReportMetric(float64(watch.Footprint(obj)), "estimate-bytes")
		})
	}
}

// exampleOf returns the first object of a kind in a file, as JSON.
func exampleOf(b *testing.B, files embed.FS, name, kind string) []byte {
	b.Helper()
	file, err := files.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		var content map[string]any
		if err := decoder.Decode(&content); err != nil {
			b.Fatalf("find a %s in %s: %v", kind, name, err)
		}
		if content["kind"] != kind {
			continue
		}
		text, err := json.Marshal(content)
		if err != nil {
			b.Fatal(err)
		}
		return text
	}
}

// decodeKept decodes an object into its Go type or, for kinds without one, into content.
func decodeKept(b *testing.B, scheme *kubernetes.Scheme, text []byte) any {
	b.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		b.Fatal(err)
	}
	if !scheme.Recognizes(u.GroupVersionKind()) {
		return u
	}
	obj, err := scheme.New(u.GroupVersionKind())
	if err != nil {
		b.Fatal(err)
	}
	if err := json.Unmarshal(text, obj); err != nil {
		b.Fatal(err)
	}
	return obj
}

// allocated returns the bytes that Go allocates for one of many objects.
func allocated(b *testing.B, scheme *kubernetes.Scheme, text []byte) int {
	b.Helper()
	const number = 1000
	var before, after runtime.MemStats
	objects := make([]any, 0, number)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range number {
		objects = append(objects, decodeKept(b, scheme, text))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(objects)
	return int(after.HeapAlloc-before.HeapAlloc) / number
}
