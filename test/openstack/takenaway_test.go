package openstack_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// timely are the fields that say when or how often a resource was changed, in the cloud and in a status.
var timely = []string{"revision_number", "updated_at", "updated", "revisionNumber", "updatedAt"}

// lasting are the fields that can't be set alone, or stay as they are when they are taken away.
var lasting = []string{
	"AddressScope.shared",                        // Neutron: "Shared address scope can't be unshared".
	"Network.mtu", "Network.portSecurityEnabled", // No request brings the cloud's own value back.
	"Subnet.allocationPools",
	"Subnet.gateway",                        // Neutron: the gateway conflicts with the pool of a Subnet without pools.
	"Port.portSecurity", "User.passwordRef", // The published API refuses to take them away.
}

// takenAway sets each optional field of a resource that can be changed, and takes the field away again: status and
// resource are then as they were, and the object was Available all the time, until its deletion.
func (s *scenario) takenAway(w *world) {
	w.t.Helper()
	minimal, full := map[string]any{}, map[string]any{}
	for text, into := range map[string]*map[string]any{s.minimal: &minimal, s.full: &full} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			w.t.Fatal(err)
		}
	}
	for field := range minimal {
		if value, given := full[field]; given {
			minimal[field] = value // The other fields of full fit these.
		}
	}
	first, err := json.Marshal(minimal)
	if err != nil {
		w.t.Fatal(err)
	}
	s.prepare(w)
	watched := testenv.WatchVersions(w.t, w.c, openstackv1alpha1.GroupVersion.WithKind(s.kind), w.ns, "it")
	w.apply(managed(s.kind, "it", string(first)))
	w.available(s.kind, "it")
	status, resource := s.shown(w)
	for _, field := range slices.Sorted(maps.Keys(full)) {
		if _, isRequired := minimal[field]; isRequired || slices.Contains(lasting, s.kind+"."+field) {
			continue
		}
		with := maps.Clone(minimal)
		with[field] = full[field]
		if !s.becomes(w, with) {
			continue // The field can't be changed.
		}
		w.available(s.kind, "it")
		if !s.becomes(w, minimal) {
			w.t.Errorf("%s.%s can be set, and not be taken away", s.kind, field)
			return
		}
		w.available(s.kind, "it")
		nowStatus, nowResource := s.shown(w)
		if diff := cmp.Diff(status, nowStatus); diff != "" {
			w.t.Errorf("%s.%s set and taken away, status (-before +after):\n%s", s.kind, field, diff)
		}
		if diff := cmp.Diff(resource, nowResource); diff != "" {
			w.t.Errorf("%s.%s set and taken away, resource in the cloud (-before +after):\n%s", s.kind, field, diff)
		}
	}
	w.delete(s.kind, "it")
	s.isCalm(w, watched.UntilDeleted())
}

// isCalm checks all versions of an object from the creation to the end: Available stays True, and each change of the
// spec was followed by at most two writes of the status.
func (s *scenario) isCalm(w *world, versions []*unstructured.Unstructured) {
	w.t.Helper()
	for _, text := range testenv.Relapses(versions, "Available") {
		w.t.Errorf("%s: %s", s.kind, text)
	}
	for generation, n := range testenv.Writes(versions) {
		if first, last := versions[0], versions[len(versions)-1]; generation > first.GetGeneration() &&
			generation < last.GetGeneration() && n > 3 {
			w.t.Errorf("%s: more than two writes of the status of generation %d", s.kind, generation)
		}
	}
}

// becomes replaces spec.resource of the object, and reports whether the API server accepts the change. The API server
// refuses the change of a field that can't be changed.
func (s *scenario) becomes(w *world, resource map[string]any) (accepted bool) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		u := w.get(s.kind, "it")
		if err := unstructured.SetNestedMap(u.Object, resource, "spec", "resource"); err != nil {
			return err
		}
		err := w.c.Update(w.t.Context(), u)
		if accepted = err == nil; apierrors.IsInvalid(err) && strings.Contains(err.Error(), "immutable") {
			return nil
		}
		return err
	})
	return accepted
}

// shown returns status.resource of the object, and the resource in the cloud, without the fields of [timely].
func (s *scenario) shown(w *world) (status, resource map[string]any) {
	w.t.Helper()
	status, _, _ = unstructured.NestedMap(w.get(s.kind, "it").Object, "status", "resource")
	c, address := w.address(s.collection, w.id(s.kind, "it"))
	if err := kit.Call(w.t.Context(), c, http.MethodGet, address, nil, &resource); err != nil {
		w.t.Fatal(err)
	}
	if len(resource) == 1 { // {"network": {...}}
		for _, inner := range resource {
			if object, isObject := inner.(map[string]any); isObject {
				resource = object
			}
		}
	}
	isTimely := func(field string, _ any) bool { return slices.Contains(timely, field) }
	maps.DeleteFunc(status, isTimely)
	maps.DeleteFunc(resource, isTimely)
	// OpenStack has no description of a new resource, and an empty one after the description was taken away.
	maps.DeleteFunc(resource, func(field string, value any) bool {
		return field == "description" && (value == nil || value == "")
	})
	return status, resource
}
