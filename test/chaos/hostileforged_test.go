package chaos_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// forgedUser is the administrator in whose name the tenant forges reviews. forgedUser never asks for anything.
const forgedUser = "forged-admin"

// forgeReviews posts reviews in which forgedUser deletes the kept ConfigMaps of the honest tenant. The answers are no
// concern, but that no Usage records them.
func (m *tenant) forgeReviews(ctx context.Context) error {
	webhook, err := m.webhookURL(ctx)
	if err != nil {
		return err
	}
	transport := &http.Transport{
		ForceAttemptHTTP2: m.random.IntN(2) == 0, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // As an intruder.
	}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	var errs []error
	for i := range silentPair + 1 {
		review, err := m.review(ctx, i)
		if err != nil {
			return err
		}
		errs = append(errs, postReview(ctx, c, webhook.String(), review))
	}
	return errors.Join(append(errs, m.recordsNoForged(ctx))...)
}

// postReview posts a review, and returns an error unless the webhook judges it.
func postReview(ctx context.Context, c *http.Client, address string, review []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(review))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Response == nil || answer.Response.Allowed {
		return fmt.Errorf("the deletion of what is used is answered with %+v", answer.Response)
	}
	return nil
}

// review returns a review of the deletion of a kept ConfigMap, whose content the administrator leaks.
func (m *tenant) review(ctx context.Context, i int) ([]byte, error) {
	used := &corev1.ConfigMap{}
	name := fmt.Sprintf("used-%d", i)
	if err := m.admin.Get(ctx, client.ObjectKey{Namespace: m.victim, Name: name}, used); err != nil {
		return nil, err
	}
	used.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	options := []string{"null", `{"propagationPolicy":"Orphan"}`, `{"propagationPolicy":"Foreground"}`}
	if m.random.IntN(4) == 0 {
		used.Annotations = map[string]string{"kinship.dev/override-usage": "*"}
	}
	raw, err := json.Marshal(used)
	if err != nil {
		return nil, err
	}
	return json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "forged", Operation: admissionv1.Delete, Name: name, Namespace: m.victim,
			Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			OldObject: runtime.RawExtension{Raw: raw},
			Options:   runtime.RawExtension{Raw: []byte(options[m.random.IntN(len(options))])},
			UserInfo: authenticationv1.UserInfo{
				Username: forgedUser, Groups: []string{"system:masters", "system:authenticated"},
			},
		},
	})
}

// recordsNoForged fails the test if a Usage has recorded a deletion by forgedUser.
func (m *tenant) recordsNoForged(ctx context.Context) error {
	var list protectionv1beta1.UsageList
	if err := m.admin.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		for _, refused := range list.Items[i].Status.Refused {
			if refused.User == forgedUser {
				m.t.Errorf("Usage %s records a deletion by %s, who asked for none", list.Items[i].Name, forgedUser)
			}
		}
	}
	return nil
}

// forbiddenNames is how many Deployments the apprentice asks for.
const forbiddenNames = 4

// forbidden is a Component whose workload its author may not create, and the application of the Component.
const forbidden = `
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: forbidden-%[1]d}
spec:
  workload:
    apiVersion: apps/v1
    kind: Deployment
    spec:
      replicas: 0
      selector: {matchLabels: {app: forbidden}}
      template: {metadata: {labels: {app: forbidden}}, spec: {containers: [{name: a, image: none}]}}
---
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: forbidden-%[1]d}
spec: {components: [{componentName: forbidden-%[1]d}]}
`

// launder has the apprentice write an application with a Deployment that he may not create. The administrator then
// writes an annotation or a label of everything, and must not become the author by that.
func (m *tenant) launder(ctx context.Context) error {
	errs := []error{m.wish(ctx, m.random.IntN(forbiddenNames))}
	field := []string{"annotations", "labels"}[m.random.IntN(2)]
	body := fmt.Appendf(nil, `{"metadata":{%q:{"team":"t%d"}}}`, field, m.random.IntN(1000))
	for _, kind := range []string{oamv1alpha2.KindComponent, oamv1alpha2.KindApplicationConfiguration} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(oamv1alpha2.GroupVersion.WithKind(kind))
		errs = append(errs, m.admin.List(ctx, list, client.InNamespace(m.ns)))
		for i := range list.Items {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(oamv1alpha2.GroupVersion.WithKind(kind))
			u.SetNamespace(m.ns)
			u.SetName(list.Items[i].Name)
			errs = append(errs, m.admin.Patch(ctx, u, client.RawPatch(types.MergePatchType, body)))
		}
	}
	return errors.Join(append(errs, m.hasNoForbidden(ctx))...)
}

// wish has the apprentice write an application with Deployment forbidden-N.
func (m *tenant) wish(ctx context.Context, n int) error {
	var errs []error
	for text := range strings.SplitSeq(fmt.Sprintf(forbidden, n), "---\n") {
		obj, err := decode(text)
		if err != nil {
			return err
		}
		obj.SetNamespace(m.ns)
		errs = append(errs, ignoreExists(m.apprentice.Create(ctx, obj)))
	}
	return errors.Join(errs...)
}

// isForbidden returns why application forbidden-N does not say that its author may not create the Deployment.
func (m *tenant) isForbidden(ctx context.Context, n int) error {
	var application oamv1alpha2.ApplicationConfiguration
	key := client.ObjectKey{Namespace: m.ns, Name: fmt.Sprintf("forbidden-%d", n)}
	if err := m.admin.Get(ctx, key, &application); err != nil {
		return err
	}
	status := fmt.Sprint(application.Status.Conditions)
	if !strings.Contains(status, m.ns+"-apprentice may not create deployments.apps") {
		return fmt.Errorf("ApplicationConfiguration %s says %s", application.Name, status)
	}
	return nil
}

// hasNoForbidden fails the test if there is a Deployment that the apprentice has asked for.
func (m *tenant) hasNoForbidden(ctx context.Context) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err := m.admin.List(ctx, list, client.InNamespace(m.ns)); err != nil {
		return err
	}
	for i := range list.Items {
		if name := list.Items[i].Name; strings.HasPrefix(name, "forbidden-") {
			m.t.Errorf("Deployment %s exists, and its author may not create Deployments", name)
		}
	}
	return nil
}

// check expects that forged reviews and laundered authors had no effect, and that each application of the apprentice
// says why.
func (m *tenant) check() {
	m.t.Helper()
	testenv.EventuallyWithin(m.t, hostilePatience, func() error {
		ctx := m.t.Context()
		err := errors.Join(m.recordsNoForged(ctx), m.hasNoForbidden(ctx))
		for n := range forbiddenNames {
			err = errors.Join(err, m.wish(ctx, n), m.isForbidden(ctx, n))
		}
		return err
	})
}
