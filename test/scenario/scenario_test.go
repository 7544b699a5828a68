package scenario

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
)

var update = flag.Bool("update", false, "write the expected output anew")

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.CRDs("../../config/crd", "testdata/crd"), testenv.CheckLeaks())
}

func TestStories(t *testing.T) { tell(t, ".", nil) }

// tell runs the scripts of a directory, with variables for their objects.
func tell(t *testing.T, dir string, variables map[string]string) {
	t.Helper()
	s := stories{
		ctx: t.Context(), kubeconfig: testenv.Kubeconfig(t), client: testenv.Client(t, nil),
		binaries: testenv.Cluster(t).BinDir(),
	}
	testscript.Run(t, testscript.Params{
		Dir:           dir,
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"kinship": command(s.kinship), "code": s.code, "apply": s.apply, "delete": s.delete, "until": s.until,
			"release": s.release, "kubectl": command(s.kubectl), "post": command(s.post),
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			for name, value := range variables {
				env.Setenv(name, value)
			}
			return nil
		},
	})
}

// stories are the commands of scripts.
type stories struct {
	ctx        context.Context
	kubeconfig string
	client     client.Client
	// binaries is the directory with kubectl.
	binaries string
}

// kinship runs kinship in this process, and replaces text that differs from run to run.
func (s stories) kinship(ts *testscript.TestScript, args []string, out, errOut io.Writer) int {
	var outBuffer, errBuffer bytes.Buffer
	args = append([]string{"kinship", args[0], "--kubeconfig=" + s.kubeconfig}, args[1:]...)
	code := cli.Main(s.ctx, "test", args, strings.NewReader(""), &outBuffer, &errBuffer)
	ts.Setenv("CODE", strconv.Itoa(code))
	write(ts, out, steady(outBuffer.String()))
	write(ts, errOut, steady(errBuffer.String()))
	return code
}

func write(ts *testscript.TestScript, w io.Writer, text string) {
	_, err := io.WriteString(w, text)
	ts.Check(err)
}

var (
	ages  = regexp.MustCompile(`(^|   )\d+s\b *|deleted \d+s ago`)
	uids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	ends  = regexp.MustCompile(`(?m) +$`)
)

func steady(text string) string {
	text = ages.ReplaceAllStringFunc(text, func(age string) string {
		if strings.HasPrefix(age, "deleted") {
			return "deleted AGE ago"
		}
		return "   AGE   "
	})
	text = uids.ReplaceAllString(text, "UID")
	text = times.ReplaceAllString(text, "TIME")
	return ends.ReplaceAllString(text, "")
}

func (s stories) code(ts *testscript.TestScript, _ bool, args []string) {
	if got := ts.Getenv("CODE"); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func (s stories) apply(ts *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
		isKind := obj.GetKind() == "CustomResourceDefinition"
		status, hasStatus := obj.Object["status"]
		ts.Check(s.client.Apply(s.ctx, client.ApplyConfigurationFromUnstructured(obj),
			client.FieldOwner("story"), client.ForceOwnership))
		if hasStatus {
			patch := client.MergeFrom(obj.DeepCopy())
			obj.Object["status"] = status
			ts.Check(s.client.Status().Patch(s.ctx, obj, patch))
		}
		if isKind {
			ts.Check(testenv.AwaitServed(s.ctx, s.client, obj))
		}
		ts.Setenv("UID_"+strings.ReplaceAll(obj.GetName(), "-", "_"), string(obj.GetUID()))
	}
}

// delete deletes an object, given as "apiVersion/Kind" and "namespace/name" or
// "name".
func (s stories) delete(ts *testscript.TestScript, neg bool, args []string) {
	at := strings.LastIndex(args[0], "/")
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(args[0][:at], args[0][at+1:]))
	namespace, name, ok := strings.Cut(args[1], "/")
	if !ok {
		namespace, name = "", args[1]
	}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	var opts []client.DeleteOption
	if len(args) > 2 {
		opts = append(opts, client.PropagationPolicy(args[2]))
	}
	if !neg {
		ts.Check(s.client.Delete(s.ctx, obj, opts...))
		return
	}
	s.repeat(ts, func() error {
		if s.client.Delete(s.ctx, obj, client.DryRunAll) == nil {
			return errors.New("the deletion is allowed")
		}
		return nil
	})
}

// release deletes a Secret, given as "namespace/name", with any finalizers.
func (s stories) release(ts *testscript.TestScript, _ bool, args []string) {
	namespace, name, _ := strings.Cut(args[0], "/")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	ts.Check(s.client.Delete(s.ctx, secret))
	s.repeat(ts, func() error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := s.client.Patch(s.ctx, secret.DeepCopy(), patch); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Secret is still there: %w", err)
		}
		return nil
	})
}

func (s stories) repeat(ts *testscript.TestScript, try func() error) {
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute) // For slow machines.
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		ts.Fatalf("%v", last)
	}
}
