package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/warnings"
)

// fieldOwner owns the fields of what tests apply.
const fieldOwner = client.FieldOwner("testenv")

// ApplyOption changes how [Apply] applies.
type ApplyOption func(*applying)

// applying is what options of [Apply] change.
type applying struct {
	config    *rest.Config
	namespace string
	warnings  warnings.Collector
}

// Warned excuses warnings that contain a text.
func Warned(parts ...string) ApplyOption {
	return func(a *applying) { a.warnings.Excused = append(a.warnings.Excused, parts...) }
}

// In sets metadata.namespace of namespaced objects that name no namespace. Without In, such objects
// are created in the namespace default.
func In(namespace string) ApplyOption {
	return func(a *applying) { a.namespace = namespace }
}

// With applies with another configuration, such as that of [As].
func With(config *rest.Config) ApplyOption {
	return func(a *applying) { a.config = config }
}

// Apply applies the objects of a YAML text, which may hold several documents, by
// server-side apply and in their order. It returns them as the API server
// answered. After a CustomResourceDefinition it waits until its kind is served,
// so that objects of that kind may follow. A warning of the API server fails the test, unless
// [Warned] excuses the warning: users would see the warning with every kubectl apply.
func Apply(tb testing.TB, text string, opts ...ApplyOption) []*unstructured.Unstructured {
	tb.Helper()
	applied, err := TryApply(tb, text, opts...)
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return applied
}

// ApplyFile is [Apply] of a file's content.
func ApplyFile(tb testing.TB, path string, opts ...ApplyOption) []*unstructured.Unstructured {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return Apply(tb, string(text), opts...)
}

// TryApply is [Apply] for tests of what the API server refuses. It returns the
// objects applied before the first error, and that error, wrapped.
func TryApply(tb testing.TB, text string, opts ...ApplyOption) ([]*unstructured.Unstructured, error) {
	tb.Helper()
	how := applying{config: Config(tb), namespace: "default"}
	for _, opt := range opts {
		opt(&how)
	}
	// shared.kinds is the RESTMapper of all tests: a RESTMapper of this call would read discovery
	// anew for each text.
	how.config = rest.CopyConfig(how.config)
	how.config.WarningHandler = &how.warnings
	applied, err := how.apply(tb.Context(), text, shared.kinds)
	if isOutdated(err) {
		applied, err = how.apply(tb.Context(), text, nil)
	}
	for _, warning := range how.warnings.Take() {
		tb.Errorf("testenv: a manifest is applied with a warning: %s", warning)
	}
	return applied, err
}

// apply applies a text by a mapper, or by a new mapper if the mapper is nil.
func (a *applying) apply(
	ctx context.Context, text string, mapper meta.RESTMapper,
) ([]*unstructured.Unstructured, error) {
	c, err := client.New(a.config, client.Options{Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return applier{client: c, namespace: a.namespace}.apply(ctx, []byte(text))
}

// isOutdated reports whether the API server does not serve a path that a mapper has: a test has
// defined the kind again with another scope or version.
func isOutdated(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// installCRDs applies CustomResourceDefinitions from files and directories, and then waits until
// all kinds are served. To wait for each kind before the next would take several times as long.
func installCRDs(ctx context.Context, config *rest.Config, paths []string) error {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	a := applier{client: c}
	var installed []*unstructured.Unstructured
	for _, path := range paths {
		files, err := yamlFiles(path)
		if err != nil {
			return err
		}
		for _, file := range files {
			objects, err := a.applyFile(ctx, file)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			installed = append(installed, objects...)
		}
	}
	for _, object := range installed {
		if err := a.awaitServed(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// yamlFiles lists a file, or the YAML files in and below a directory. An empty
// directory is an error: the caller expects kinds that would not be there.
func yamlFiles(path string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if file == path || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(file)) {
			files = append(files, file)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no YAML files in %s", path)
	}
	return files, err
}

// applier applies YAML as one user. Objects without metadata.namespace get the applier's namespace.
type applier struct {
	client    client.Client
	namespace string
}

// apply applies the objects of a text, each once the kind of each object before is served.
func (a applier) apply(ctx context.Context, text []byte) ([]*unstructured.Unstructured, error) {
	objects, err := decode(text)
	if err != nil {
		return nil, err
	}
	for i, object := range objects {
		err := a.applyOne(ctx, object)
		if err == nil {
			err = a.awaitServed(ctx, object)
		}
		if err != nil {
			return objects[:i], fmt.Errorf("apply %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return objects, nil
}

// applyFile applies the objects of a file without waiting.
func (a applier) applyFile(ctx context.Context, file string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	objects, err := decode(text)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if err := a.applyOne(ctx, object); err != nil {
			return nil, fmt.Errorf("apply %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return objects, nil
}

func (a applier) applyOne(ctx context.Context, object *unstructured.Unstructured) error {
	namespaced, err := a.client.IsObjectNamespaced(object)
	if err != nil {
		return err
	}
	if namespaced && object.GetNamespace() == "" {
		object.SetNamespace(a.namespace)
	}
	// The answer of the API server replaces object.Object.
	return a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
}

// awaitServed waits, if an object is a CustomResourceDefinition, until its kind is served.
func (a applier) awaitServed(ctx context.Context, object *unstructured.Unstructured) error {
	if object.GroupVersionKind().GroupKind() != crdKind {
		return nil
	}
	return AwaitServed(ctx, a.client, object)
}

var crdKind = apiextensionsv1.Kind("CustomResourceDefinition")

// AwaitServed waits until a kind's definition is established, so that the API server
// serves it, and until c knows that: what is served is told a moment later. It gives up
// when [Eventually] does.
func AwaitServed(ctx context.Context, c client.Client, crd *unstructured.Unstructured) error {
	return wait.PollUntilContextTimeout(ctx, eventuallyFirst, eventuallyTimeout, true,
		func(ctx context.Context) (bool, error) {
			if err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
				return false, err
			}
			if !isTrue(crd, string(apiextensionsv1.Established)) {
				return false, nil
			}
			return isKnown(c.RESTMapper(), crd)
		})
}

// isKnown reports whether clients find the kind that a definition defines.
func isKnown(mapper meta.RESTMapper, crd *unstructured.Unstructured) (bool, error) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	_, err := mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

func isTrue(object *unstructured.Unstructured, condition string) bool {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(conditions, func(item any) bool {
		fields, ok := item.(map[string]any)
		return ok && fields["type"] == condition && fields["status"] == "True"
	})
}

// Documents returns the objects of a text of YAML or JSON documents. A text that can't be read fails the test.
func Documents(tb testing.TB, text []byte) []*unstructured.Unstructured {
	tb.Helper()
	objects, err := decode(text)
	if err != nil {
		tb.Fatal(err)
	}
	return objects
}

// decodeBuffer is how far the decoder looks ahead to tell YAML from JSON.
const decodeBuffer = 4096

// decode reads all documents; empty ones, which comments leave, count for
// nothing.
func decode(text []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), decodeBuffer)
	for {
		var document runtime.RawExtension
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err == nil && isEmpty(document.Raw) {
			continue
		}
		object := &unstructured.Unstructured{}
		if err == nil {
			// Unlike plain JSON, this keeps whole numbers whole.
			err = object.UnmarshalJSON(document.Raw)
		}
		if err != nil {
			return nil, fmt.Errorf("read document %d: %w", len(objects)+1, err)
		}
		objects = append(objects, object)
	}
}

func isEmpty(json []byte) bool {
	json = bytes.TrimSpace(json)
	return len(json) == 0 || string(json) == "null"
}
