package image

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
)

// noon is the present of these tests.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// told is an Image whose condition Downloading has a status since a moment before noon.
func told(message string, ago time.Duration) object {
	o := &openstackv1alpha1.Image{}
	o.UID = "uid"
	o.Spec.Resource = &openstackv1alpha1.ImageResourceSpec{Content: &openstackv1alpha1.ImageContent{}}
	if message != "" {
		o.Status.Conditions = []metav1.Condition{{
			Type: downloadingType, Status: metav1.ConditionTrue, Reason: condition.ReasonProgressing, Message: message,
			LastTransitionTime: metav1.NewTime(noon.Add(-ago)),
		}}
	}
	return o
}

// seen is the object's image in Glance, created an hour before noon.
func seen(status string, more ...map[string]any) *kit.Resource {
	fields := map[string]any{"status": status, marker: "uid", "created_at": noon.Add(-time.Hour).Format(time.RFC3339)}
	for _, m := range more {
		maps.Copy(fields, m)
	}
	return &kit.Resource{Fields: fields}
}

var (
	locked = map[string]any{importTask: "task"}
	stores = map[string]any{importsTo: "", failedImport: ""}
)

func TestPhase(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reason string
		object object
		image  *kit.Resource
		want   importPhase
	}{
		{"nobody has asked", told("", 0), seen(queued), notAsked},
		{"a task waits for its turn", told(glanceDownloads, time.Second), seen(queued, locked), underWay},
		{"a task that an operator which was killed asked for", told("", 0), seen(queued, locked), underWay},
		{"a task undoes what it has begun", told(glanceDownloads, time.Second), seen(queued, locked, stores), underWay},
		{"a task that waits for long", told(glanceDownloads, staleTask), seen(queued, locked), underWay},
		{"a task that nobody works on", told(glanceDownloads, staleTask+time.Second), seen(queued, locked), failed},
		{
			"a task for another image than the one that is recorded", told(glanceDownloads, 2*time.Hour),
			seen(queued, locked), underWay,
		},
		{"a Glance with one store has failed", told(glanceDownloads, time.Second), seen(queued, stores), failed},
		{
			"a Glance with several stores has failed", told("", 0),
			seen(queued, map[string]any{importsTo: "", failedImport: "fast"}), failed,
		},
		{"a Glance without tasks was asked", told(glanceDownloads, unmarked-time.Second), seen(queued), underWay},
		{"a Glance without tasks has failed", told(glanceDownloads, unmarked), seen(queued), failed},
		{"another image was asked for", told(glanceDownloads, 2*time.Hour), seen(queued), notAsked},
		{"a stream has broken off", told("Data is streamed to OpenStack", time.Second), seen(queued), notAsked},
		{"it is imported", told(glanceDownloads, time.Second), seen("importing", locked, stores), filled},
		{"it is there", told(glanceDownloads, time.Second), seen(active, locked, stores), filled},
	} {
		if got := phaseOf(tt.object, tt.image, noon); got != tt.want {
			t.Errorf("%s: phase %d, want %d", tt.reason, got, tt.want)
		}
	}
}

// TestTellImport: the image shows the import that a killed operator has not recorded.
func TestTellImport(t *testing.T) {
	t.Parallel()
	theirs := map[string]any{marker: "another"}
	for _, tt := range []struct {
		reason   string
		image    *kit.Resource
		attempts *int32
		says     string
	}{
		{"nobody has asked", seen(queued), nil, "Unknown " + notRequested},
		{
			"somebody has deactivated it", seen("deactivated"), new(int32(1)),
			"False OpenStack says that the status is deactivated",
		},
		{"a task waits for its turn", seen(queued, locked), new(int32(1)), "True " + glanceDownloads},
		{"it is imported", seen("importing", locked, stores), new(int32(1)), "True " + glanceDownloads},
		{"it has failed", seen(queued, stores), new(int32(1)), ""},
		{"it is there", seen(active, stores), new(int32(1)), ""},
		{"somebody else's import", seen(queued, locked, theirs), nil, ""},
		{"somebody else's content", seen(active, theirs), nil, ""},
	} {
		o := told("", 0)
		tellImport(o, tt.image, noon)
		if diff := cmp.Diff(tt.attempts, o.Status.DownloadAttempts); diff != "" {
			t.Errorf("%s: attempts (-want +got):\n%s", tt.reason, diff)
		}
		says := ""
		if c := meta.FindStatusCondition(o.Status.Conditions, downloadingType); c != nil {
			says = string(c.Status) + " " + c.Message
		}
		if says != tt.says {
			t.Errorf("%s: it says %q, want %q", tt.reason, says, tt.says)
		}
	}
}

// TestImportRefused: if Glance refuses an import because another import is in progress, the
// operator waits; any other refusal is a failure.
func TestImportRefused(t *testing.T) {
	t.Parallel()
	cloud, err := emulator.Start(emulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	release := cloud.HoldImports()
	t.Cleanup(release)
	a := actuatorOf(t, cloud)
	o := told("", 0)
	o.Spec.Resource.Content.Download.URL = "http://images.example/disk"
	in := external.Input[object]{Object: o}
	before, err := a.Create(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	cloud.AddFault(emulator.Fault{Method: http.MethodPost, Resource: "images/import", Status: http.StatusConflict})
	if _, err := a.fill(t.Context(), in, before); err == nil || o.Status.DownloadAttempts != nil {
		t.Errorf("refused without an import under way: %v, %v attempts", err, o.Status.DownloadAttempts)
	}
	for _, reason := range []string{"accepted", "refused as there is one"} {
		o.Status = openstackv1alpha1.ImageStatus{} // The state of an operator that has just started.
		now, err := a.fill(t.Context(), in, before)
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		observe(o, now)
		if phase := phaseOf(o, now, time.Now()); phase != underWay {
			t.Errorf("%s: phase %d", reason, phase)
		}
		if diff := cmp.Diff(new(int32(1)), o.Status.DownloadAttempts); diff != "" {
			t.Errorf("%s: attempts (-want +got):\n%s", reason, diff)
		}
	}
}

// actuatorOf returns an actuator for an emulated cloud.
func actuatorOf(t *testing.T, cloud *emulator.Server) actuator {
	t.Helper()
	parsed, err := openstack.ParseCloud(map[string][]byte{openstack.CloudsKey: []byte(cloud.CloudsYAML())}, "openstack")
	if err != nil {
		t.Fatal(err)
	}
	scope, err := openstack.New(openstack.Options{Open: openstack.Loopback}).Scope(t.Context(), parsed)
	if err != nil {
		t.Fatal(err)
	}
	client, err := scope.Image(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one := shares{all: 1, namespace: 1, source: 1}
	return actuator{Actuator: kit.Actuator[object]{Table: &table, Client: client}, pool: newPool(one)}
}
