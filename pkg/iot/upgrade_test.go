package iot_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/iot"
)

// version0 is the IotConnector clinic of version 0, with containers for each text NAME:TYPE.
func version0(texts ...string) *iotv1alpha1.IotConnector {
	c := &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{Name: "clinic"}}
	c.Spec.Containers = containers(texts...)
	c.Spec.ServiceIdentity = &iotv1alpha1.ServiceIdentity{ClientID: "id"}
	return c
}

// TestUpgrade: each container becomes an entry of its own, and the identity stays.
func TestUpgrade(t *testing.T) {
	c := version0("n:Normalization", ":FhirTransformation", "other:Whatever")
	changed, err := iot.Upgrade(c, map[string]string{iot.TypeFhirConverter: "fhir", "Unused": "x"})
	if !changed || err != nil {
		t.Fatalf("changed %t, error %v", changed, err)
	}
	entry := func(name, kind string, text string) iotv1alpha1.Deployment {
		return iotv1alpha1.Deployment{Name: name, Type: kind, Containers: containers(text)}
	}
	one := iotv1alpha1.Version1
	want := iotv1alpha1.IotConnectorSpec{
		Version: &one, ServiceIdentity: &iotv1alpha1.ServiceIdentity{ClientID: "id"},
		Deployments: []iotv1alpha1.Deployment{
			entry("", "Normalization", "n:Normalization"), entry("fhir", "FhirConverter", ":FhirTransformation"),
			entry("", "Whatever", "other:Whatever"),
		},
	}
	if diff := cmp.Diff(want, c.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	before := c.DeepCopy()
	if changed, err := iot.Upgrade(c, nil); changed || err != nil || cmp.Diff(before, c) != "" {
		t.Errorf("the second upgrade: changed %t, error %v\n%s", changed, err, cmp.Diff(before, c))
	}
}

// TestUpgradeRefused: an upgrade that gives two entries one name changes nothing.
func TestUpgradeRefused(t *testing.T) {
	c := version0("n:Normalization", ":FhirConverter")
	before := c.DeepCopy()
	changed, err := iot.Upgrade(c, map[string]string{"Normalization": "s", "FhirConverter": "s"})
	const want = `IotConnector clinic: upgrade to version 1: spec.deployments[1] comes to the name "s"`
	if changed || !errors.Is(err, iot.ErrInvalid) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("changed %t, error %v, want %s", changed, err, want)
	}
	if diff := cmp.Diff(before, c); diff != "" {
		t.Errorf("the IotConnector was changed (-want +got):\n%s", diff)
	}
}

// TestUpgradeLarge: a spec that is too large for an annotation is upgraded, and can't be rolled back: the
// annotation of an earlier upgrade has another spec.
func TestUpgradeLarge(t *testing.T) {
	for size, keeps := range map[int]bool{100: true, iotv1alpha1.MaxPreviousSpec: false} {
		c := version0("n:Normalization")
		c.Annotations = map[string]string{iotv1alpha1.AnnotationPreviousSpec: "{}", "other": "stays"}
		c.Spec.Containers[0].Image = strings.Repeat("i", size)
		want := c.Spec.DeepCopy()
		if _, err := iot.Upgrade(c, nil); err != nil {
			t.Fatal(err)
		}
		if c.Annotations["other"] != "stays" {
			t.Errorf("%d bytes: annotations %v", size, c.Annotations)
		}
		err := iot.Rollback(c)
		switch {
		case keeps && (err != nil || cmp.Diff(*want, c.Spec) != ""):
			t.Errorf("%d bytes: error %v, spec (-want +got):\n%s", size, err, cmp.Diff(*want, c.Spec))
		case !keeps && (!errors.Is(err, iot.ErrInvalid) || !strings.Contains(err.Error(), "more than 128 KiB")):
			t.Errorf("%d bytes: error %v, want ErrInvalid with the limit", size, err)
		}
	}
}

// TestRollbackRestores: a rollback restores every spec that Upgrade accepts, and leaves no annotation.
func TestRollbackRestores(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "b", `"quoted"`, "x\ny", "<&>"})
	rapid.Check(t, func(t *rapid.T) {
		c := version0()
		for i := range rapid.IntRange(1, 4).Draw(t, "containers") {
			container := containers(text.Draw(t, "name") + ":Type" + fmt.Sprint(i))[0]
			container.Image = text.Draw(t, "image")
			if value := text.Draw(t, "value"); value != "" {
				container.EnvironmentVariables = []iotv1alpha1.EnvironmentVariable{{Name: "V", Value: value}}
			}
			c.Spec.Containers = append(c.Spec.Containers, container)
		}
		before := c.DeepCopy()
		changed, err := iot.Upgrade(c, map[string]string{"Type1": text.Draw(t, "service")})
		if err != nil {
			changed = false
			if diff := cmp.Diff(before, c); diff != "" {
				t.Fatalf("a refused upgrade changes the IotConnector (-want +got):\n%s", diff)
			}
		}
		if !changed {
			return
		}
		if len(c.Spec.Deployments) != len(before.Spec.Containers) || len(c.Spec.Containers) > 0 {
			t.Fatalf("%d entries of %d containers", len(c.Spec.Deployments), len(before.Spec.Containers))
		}
		if err := iot.Rollback(c); err != nil {
			t.Fatal(err)
		}
		if iot.HashSpec(&before.Spec) != iot.HashSpec(&c.Spec) || cmp.Diff(before.Spec, c.Spec) != "" {
			t.Fatalf("spec (-want +got):\n%s", cmp.Diff(before.Spec, c.Spec))
		}
		if len(c.Annotations) > 0 {
			t.Fatalf("annotations %v", c.Annotations)
		}
	})
}

// TestPrevious: users can write the annotation, so Previous trusts nothing in the annotation.
func TestPrevious(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no annotation": {"", "there is no previous spec"},
		"too large": {
			strings.Repeat(" ", iotv1alpha1.MaxPreviousSpec+1), "131073 bytes, more than the limit of 131072",
		},
		"no JSON":             {"{", "read the previous spec: unexpected end"},
		"another type":        {`{"containers": 1}`, "read the previous spec: json"},
		"of version 1":        {`{"version": 1}`, "the previous spec is of version 1"},
		"of version 1, older": {`{"deployments": []}`, "the previous spec is of version 1"},
		"of version 0":        {`{"version": 0, "containers": [{"type": "A", "image": "i"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			one := iotv1alpha1.Version1
			connector := &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{
				Name: "clinic", Annotations: map[string]string{iotv1alpha1.AnnotationPreviousSpec: c.text},
			}}
			connector.Spec.Version = &one
			spec, err := iot.Previous(connector)
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			failed := iot.Rollback(connector)
			if err == nil {
				if failed != nil || cmp.Diff(*spec, connector.Spec) != "" {
					t.Errorf("the rollback: %v, spec %v", failed, connector.Spec)
				}
				return
			}
			invalid, ok := errors.AsType[*iot.InvalidError](failed)
			if !ok || invalid.Connector != "clinic" || !strings.Contains(failed.Error(), "clinic: roll back: "+err.Error()) {
				t.Errorf("the rollback: %v, want an InvalidError with %v", failed, err)
			}
			if connector.Spec.EffectiveVersion() != iotv1alpha1.Version1 || connector.Annotations == nil {
				t.Error("a refused rollback changes the IotConnector")
			}
		})
	}
}

// TestHashSpec: the hash changes with the content alone, and not with the form of the JSON.
func TestHashSpec(t *testing.T) {
	hashOf := func(text string) string {
		var spec iotv1alpha1.IotConnectorSpec
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		return iot.HashSpec(&spec)
	}
	const spec = `{"version":1,"deployments":[{"name":"a","containers":[{"type":"T","image":"i"}]}]}`
	hash := hashOf(spec)
	same := `{"deployments": [{"containers": [{"image": "i", "type": "T"}], "name": "a"}], "version": 1}`
	if got := hashOf(same); got != hash || len(hash) > 64 {
		t.Errorf("the same spec has the hash %s, want %s", got, hash)
	}
	for _, other := range []string{
		strings.Replace(spec, `"i"`, `"j"`, 1), strings.Replace(spec, `"version":1,`, "", 1),
		strings.Replace(spec, `"a"`, `"b"`, 1), `{}`,
	} {
		if hashOf(other) == hash {
			t.Errorf("another spec has the same hash: %s", other)
		}
	}
}
