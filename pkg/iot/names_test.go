package iot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/iot"
)

// containers returns a Container for each text NAME:TYPE.
func containers(texts ...string) []iotv1alpha1.Container {
	all := make([]iotv1alpha1.Container, 0, len(texts))
	for _, text := range texts {
		name, kind, _ := strings.Cut(text, ":")
		all = append(all, iotv1alpha1.Container{Name: name, Type: kind, Image: "image:1"})
	}
	return all
}

// TestNames: the name and the type of an entry come from the entry, or else from its first container.
func TestNames(t *testing.T) {
	cases := map[string]struct {
		reason     string
		deployment iotv1alpha1.Deployment
		name, kind string
	}{
		"of its own": {
			"an entry says more than its containers",
			iotv1alpha1.Deployment{Name: "d", Type: "Whatever", Containers: containers("c:Normalization")},
			"d", "Whatever",
		},
		"of the container": {
			"the first container stands for the entry",
			iotv1alpha1.Deployment{Containers: containers("c:Normalization", "e:FhirConverter")},
			"c", "Normalization",
		},
		"of the second container": {
			"the second container is no replacement for the first",
			iotv1alpha1.Deployment{Containers: containers(":Normalization", "e:FhirConverter")},
			"clinic-normalization", "Normalization",
		},
		"derived": {
			"the type is in lower case, as names are",
			iotv1alpha1.Deployment{Type: "EventhubDestination"},
			"clinic-eventhubdestination", "EventhubDestination",
		},
		"an older type": {
			"FhirTransformation is the former name of FhirConverter",
			iotv1alpha1.Deployment{Type: "FhirTransformation"},
			"clinic-fhirconverter", "FhirConverter",
		},
		"an older type of a container": {
			"the same in a container",
			iotv1alpha1.Deployment{Containers: containers(":FhirTransformation")},
			"clinic-fhirconverter", "FhirConverter",
		},
		"empty": {"there is no container to ask", iotv1alpha1.Deployment{}, "clinic-", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, kind := iot.NameOf("clinic", &c.deployment), iot.TypeOf(&c.deployment)
			if got != c.name || kind != c.kind {
				t.Errorf("%s: name %q, type %q; want %q, %q", c.reason, got, kind, c.name, c.kind)
			}
		})
	}
	for text, want := range map[string]string{
		"c:Normalization": "c", ":Normalization": "normalization", ":FhirTransformation": "fhirconverter",
	} {
		if got := iot.ContainerName(&containers(text)[0]); got != want {
			t.Errorf("container %s has the name %q, want %q", text, got, want)
		}
	}
}

// TestValidate: the error names the field, the name, and what to do.
func TestValidate(t *testing.T) {
	const rename = ": give one of them another name"
	zero, one := iotv1alpha1.Version0, iotv1alpha1.Version1
	version1 := func(all ...iotv1alpha1.Deployment) iotv1alpha1.IotConnectorSpec {
		return iotv1alpha1.IotConnectorSpec{Version: &one, Deployments: all}
	}
	long := strings.Repeat("x", 50)
	cases := map[string]struct {
		connector string
		spec      iotv1alpha1.IotConnectorSpec
		want      []string
	}{
		"nothing":   {"clinic", version1(), nil},
		"different": {"clinic", version1(iotv1alpha1.Deployment{Name: "a"}, iotv1alpha1.Deployment{Name: "b"}), nil},
		"the same": {
			"clinic", version1(iotv1alpha1.Deployment{Type: "A"}, iotv1alpha1.Deployment{Name: "clinic-a"}),
			[]string{`spec.deployments[1] comes to the name "clinic-a", which is that of spec.deployments[0]` + rename},
		},
		"three times": {
			"clinic", version1(slices.Repeat([]iotv1alpha1.Deployment{{Name: "a"}}, 3)...),
			[]string{
				`spec.deployments[1] comes to the name "a", which is that of spec.deployments[0]` + rename,
				`spec.deployments[2] comes to the name "a", which is that of spec.deployments[0]` + rename,
			},
		},
		"the connector's": {
			"clinic", version1(iotv1alpha1.Deployment{Name: "clinic"}),
			[]string{`spec.deployments[0] comes to the name "clinic", which is the IotConnector's own and kept for version 0`},
		},
		"too long": {
			long, version1(iotv1alpha1.Deployment{Type: "StorageDestination"}),
			[]string{fmt.Sprintf("spec.deployments[0] comes to the name %q, which has 69 characters, at most 63 are allowed",
				long+"-storagedestination")},
		},
		"just short enough": {long, version1(iotv1alpha1.Deployment{Type: "Twelveletter"}), nil},
		"containers of one entry": {
			"clinic", version1(iotv1alpha1.Deployment{Name: "a", Containers: containers(":X", ":Y", "x:Y")}),
			[]string{`spec.deployments[0].containers[2] comes to the name "x", which is that of [0]` + rename},
		},
		"containers of two entries": {
			"clinic", version1(
				iotv1alpha1.Deployment{Name: "a", Containers: containers(":X")},
				iotv1alpha1.Deployment{Name: "b", Containers: containers(":X")}), nil,
		},
		"containers of version 0": {
			"clinic",
			iotv1alpha1.IotConnectorSpec{Version: &zero, Containers: containers("x:A", "x:B")},
			[]string{`spec.containers[1] comes to the name "x", which is that of [0]` + rename},
		},
		"a name kept for version 0, in version 0": {
			"clinic", iotv1alpha1.IotConnectorSpec{Containers: containers("clinic:A")}, nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := ""
			if err := iot.Validate(c.connector, &c.spec); err != nil {
				text = err.Error()
			}
			if want := strings.Join(c.want, "\n"); text != want {
				t.Errorf("the error is\n%s\nwant\n%s", text, want)
			}
		})
	}
}

// entries are entries whose names often meet.
var entries = rapid.Custom(func(t *rapid.T) iotv1alpha1.Deployment {
	name := rapid.SampledFrom([]string{"", "", "a", "b", "clinic", "clinic-x"})
	kind := rapid.SampledFrom([]string{"", "X", "Y", "FhirConverter", "FhirTransformation"})
	d := iotv1alpha1.Deployment{Name: name.Draw(t, "name"), Type: kind.Draw(t, "type")}
	for range rapid.IntRange(1, 3).Draw(t, "containers") {
		d.Containers = append(d.Containers, containers(name.Draw(t, "container")+":"+kind.Draw(t, "kind"))...)
	}
	return d
})

// TestValidateIsExact: Validate accepts exactly the specs for which the API server can store a Deployment of
// each entry beside the other ones and beside the Deployment of version 0.
func TestValidateIsExact(t *testing.T) {
	one := iotv1alpha1.Version1
	rapid.Check(t, func(t *rapid.T) {
		spec := iotv1alpha1.IotConnectorSpec{Version: &one, Deployments: rapid.SliceOfN(entries, 0, 5).Draw(t, "entries")}
		deployments, fits := map[string]bool{"clinic": true}, true
		for i := range spec.Deployments {
			d := &spec.Deployments[i]
			fits = fits && !deployments[iot.NameOf("clinic", d)]
			deployments[iot.NameOf("clinic", d)] = true
			inPod := map[string]bool{}
			for j := range d.Containers {
				fits = fits && !inPod[iot.ContainerName(&d.Containers[j])]
				inPod[iot.ContainerName(&d.Containers[j])] = true
			}
		}
		if err := iot.Validate("clinic", &spec); (err == nil) != fits {
			t.Fatalf("error %v, though the names fit: %t", err, fits)
		}
	})
}
