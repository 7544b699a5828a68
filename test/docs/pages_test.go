package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	azurecloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	azure "github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/docs"
	"github.com/kinship-dev/kinship/internal/docs/pagetest"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const root = "../.."

// TestPages runs the pages one after the other in the namespace default, as a reader does. Each page deletes
// what it creates.
func TestPages(t *testing.T) {
	cloud := operator.Cloud(t, emulator.Options{})
	// A cloud that does not tell when to ask again, as Azure does by many seconds.
	arm, err := azure.Start(azure.Options{RetryAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := arm.Close(); err != nil {
			t.Error(err)
		}
	})
	operator.Start(t, func(o *options.Options) {
		o.Azure.Endpoint, o.Azure.Credential = arm.URL(), azurecloud.NoCredential
		o.Azure.Subscription = "11111111-2222-3333-4444-555555555555"
	})
	clouds := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(clouds, []byte(cloud.CloudsYAML()), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(environment(t), "CLOUDS="+clouds)
	for _, page := range docs.Pages {
		t.Run(filepath.Base(page), func(t *testing.T) { pagetest.Run(t, 5*time.Minute, root, page, env...) })
	}
}

// environment has kubectl, and kinship by both of its names, of which both are this test binary.
func environment(t *testing.T) []string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"kinship", "kubectl-kinship"} {
		text := fmt.Sprintf("#!/bin/bash\n%s=1 exec -a %s '%s' \"$@\"\n", programVar, name, program)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := dir + ":" + testenv.Cluster(t).BinDir() + ":" + os.Getenv("PATH")
	return []string{"KUBECONFIG=" + testenv.Kubeconfig(t), "PATH=" + path, "NO_COLOR=1"}
}
