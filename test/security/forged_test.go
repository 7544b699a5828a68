package security_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// forger is a client on the network that knows the secret path of a webhook, and sends reviews as the API server does.
type forger struct {
	land
	url    string
	client *http.Client
}

func newForger(l land, url string, http2 bool) *forger {
	transport := &http.Transport{
		ForceAttemptHTTP2: http2, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // As an intruder would.
	}
	l.T.Cleanup(transport.CloseIdleConnections)
	return &forger{l, url, &http.Client{Transport: transport}}
}

// post sends a review, and returns the code and the response of the answer.
func (f *forger) post(review *admissionv1.AdmissionReview) (int, *admissionv1.AdmissionResponse, error) {
	body, err := json.Marshal(review)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(f.T.Context(), http.MethodPost, f.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := f.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer := &admissionv1.AdmissionReview{}
	if response.StatusCode == http.StatusOK {
		err = json.NewDecoder(response.Body).Decode(answer)
	}
	return response.StatusCode, answer.Response, err
}

// postAll sends reviews, each of which has to reach the handler.
func (f *forger) postAll(claims map[string]*admissionv1.AdmissionReview) {
	f.T.Helper()
	for claim, review := range claims {
		if code, answer, err := f.post(review); err != nil || code != http.StatusOK || answer == nil {
			f.T.Errorf("%s: the webhook answers %d, error %v", claim, code, err)
		}
	}
}

// administrator is a user whose rights the forger does not have.
var administrator = authenticationv1.UserInfo{
	Username: "kubernetes-admin", Groups: []string{"system:masters", "system:authenticated"},
}

// claims are the reviews that a forger sends about an object that a Usage protects: each would have an effect if the
// API server had sent it.
func (l land) claims(used client.Object) map[string]*admissionv1.AdmissionReview {
	l.T.Helper()
	collector := l.forged(used)
	admin := l.forged(used)
	admin.Request.UserInfo = administrator
	orphan := l.forged(used)
	orphan.Request.UserInfo = administrator
	orphan.Request.Options = runtime.RawExtension{Raw: []byte(`{"propagationPolicy":"Orphan"}`)}
	overriding := l.forged(used)
	overriding.Request.UserInfo = administrator
	annotated := used.DeepCopyObject().(client.Object)
	annotated.SetAnnotations(map[string]string{"kinship.dev/override-usage": "*"})
	raw, err := json.Marshal(annotated)
	if err != nil {
		l.T.Fatal(err)
	}
	overriding.Request.OldObject = runtime.RawExtension{Raw: raw}
	echo := l.forged(used) // A guess of the number that proves a connection.
	echo.Request.UserInfo = administrator
	echo.Request.DryRun = new(true)
	echo.Request.Options = runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"gracePeriodSeconds":%d}`, int64(1)<<50))}
	return map[string]*admissionv1.AdmissionReview{
		"deletion by the garbage collector": &collector, "deletion by an administrator": &admin,
		"deletion with orphans": &orphan, "override by an administrator": &overriding, "echo": &echo,
	}
}

// TestForgedReviewByInsider has a client that knows the secret path send every kind of review, by both versions of
// HTTP, while the API server sends reviews too. The answers have no effect: nothing is recorded, no event names the
// administrator, and the object stays after its protection has ended.
func TestForgedReviewByInsider(t *testing.T) {
	for name, protocols := range map[string][]string{"HTTP 1.1": {"http/1.1"}, "HTTP 2": {"h2"}} {
		t.Run(name, func(t *testing.T) {
			operator.Start(t, func(o *options.Options) { o.WebhookProtocols = protocols })
			l, used, u := replaying(t)
			f := newForger(l, l.webhook(), protocols[0] == "h2")
			f.postAll(l.claims(used))
			bystander := l.user("bystander") // A real refusal, which proves the API server's connection.
			l.allow(bystander, right("", "configmaps", "delete"))
			if err := l.As(bystander).Delete(t.Context(), used); !apierrors.IsConflict(err) {
				t.Fatalf("deletion: %v, want a conflict", err)
			}
			l.checkRecorded(u, 1)
			if r := u.Status.Refused[0]; r.User != bystander {
				t.Errorf("the deletion of %s is recorded", r.User)
			}
			f.postAll(l.claims(used))
			l.checkRecorded(u, 1)
			l.checkNoEvent(u, "Overridden")
		})
	}
}

// TestForgedDeletion: a forger has the object "deleted by an administrator". The object stays when its user is gone.
func TestForgedDeletion(t *testing.T) {
	operator.Start(t)
	l, used, u := replaying(t)
	f := newForger(l, l.webhook(), false)
	f.postAll(l.claims(used))
	l.checkNothingRefused(u)
	l.release(u)
	l.Exists(used)
}

func (l land) checkNoEvent(u *protectionv1beta1.Usage, reason string) {
	l.T.Helper()
	var list eventsv1.EventList
	if err := l.C.List(l.T.Context(), &list, client.InNamespace(l.NS)); err != nil {
		l.T.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Regarding.UID == u.UID && e.Reason == reason {
			l.T.Errorf("an event says: %s", e.Note)
		}
	}
}

// TestRotateCommand: `kinship rotate` replaces the path that the API server calls, and the former path is worthless.
func TestRotateCommand(t *testing.T) {
	operator.Start(t)
	l, used, _ := replaying(t)
	before := l.webhook()
	var out bytes.Buffer
	args := []string{"kinship", "rotate", "--kubeconfig", testenv.Kubeconfig(t)}
	if code := cli.Main(t.Context(), "test", args, nil, &out, &out); code != 0 {
		t.Fatalf("kinship rotate: code %d, %s", code, &out)
	}
	f := newForger(l, before, false)
	testenv.Eventually(t, func() error {
		if l.webhook() == before {
			return errors.New("the API server calls the former path")
		}
		if code, _, err := f.post(l.claims(used)["echo"]); err != nil || code != http.StatusNotFound {
			return fmt.Errorf("the former path is answered with %d, error %w", code, err)
		}
		return nil
	})
	if err := l.C.Delete(t.Context(), used); !apierrors.IsConflict(err) {
		t.Errorf("deletion after the rotation: %v, want a conflict", err)
	}
}

// printed is the URL of a webhook in an error of the API server.
var printed = regexp.MustCompile(`https://[^"]+/validate-no-usages/[^"?]+`)

// leak has a tenant delete the object until an error prints the URL of the webhook.
func (l land) leak(tenant client.Client, used client.Object) (leaked string) {
	l.T.Helper()
	testenv.Eventually(l.T, func() error {
		err := tenant.Delete(l.T.Context(), used, client.DryRunAll)
		if err == nil {
			return errors.New("the deletion is not refused")
		}
		if leaked = printed.FindString(err.Error()); leaked == "" {
			return fmt.Errorf("no URL in: %w", err)
		}
		return nil
	})
	return leaked
}

// TestLeakedPath leaks the path in each way in which a call can fail: the operator is down, or it is frozen so that the
// call times out. Afterwards the path is worthless, at the latest some seconds after the operator works again. The
// test prints how long.
func TestLeakedPath(t *testing.T) {
	for name, leak := range map[string]func(*testing.T, func() *operator.Process, *operator.Process, func() string) string{
		"down": func(_ *testing.T, start func() *operator.Process, p *operator.Process, ask func() string) string {
			p.Kill()
			defer start()
			return ask()
		},
		"timed out": func(t *testing.T, _ func() *operator.Process, p *operator.Process, ask func() string) string {
			t.Helper()
			if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := syscall.Kill(p.PID(), syscall.SIGCONT); err != nil {
					t.Error(err)
				}
			}()
			return ask()
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() *operator.Process { return operator.Exec(t, "--packs", "usage") }
			p := start()
			l, used, u := replaying(t)
			user := l.user("tenant")
			l.allow(user, right("", "configmaps", "delete"))
			l.awaitRights(user, true, right("", "configmaps", "delete"))
			leaked := leak(t, start, p, func() string { return l.leak(l.As(user), used) })
			began := time.Now()
			f := newForger(l, leaked, true)
			admin := l.claims(used)["deletion by an administrator"]
			testenv.Eventually(t, func() error {
				code, _, err := f.post(admin)
				if err != nil {
					return err
				}
				if code != http.StatusNotFound {
					return fmt.Errorf("the leaked path is answered with %d", code)
				}
				return nil
			})
			t.Logf("the leaked path was answered for %v", time.Since(began))
			if now := l.webhook(); now == leaked {
				t.Error("the API server still calls the leaked path")
			}
			l.checkNothingRefused(u)
			l.release(u)
			l.Exists(used)
		})
	}
}
