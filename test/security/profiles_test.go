package security_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestProfiles: profiles are served where --pprof-bind-address asks for them, and not beside metrics and health
// checks, which others reach. The flag takes addresses of the loopback interface alone (TestProfileAddress).
func TestProfiles(t *testing.T) {
	profiles, metrics, health := testenv.FreePort(t), testenv.FreePort(t), testenv.FreePort(t)
	local := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	operator.Start(t, func(o *options.Options) {
		o.Packs, o.ProfileAddress = []string{"usage"}, local(profiles)
		o.MetricsInsecure, o.MetricsAddress, o.HealthAddress = true, local(metrics), local(health)
	})
	for port, want := range map[int]int{
		profiles: http.StatusOK, metrics: http.StatusNotFound, health: http.StatusNotFound,
	} {
		response, err := http.Get("http://" + local(port) + "/debug/pprof/")
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != want {
			t.Errorf("port %d answers %d, want %d", port, response.StatusCode, want)
		}
	}
}
