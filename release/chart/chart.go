package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
)

// Namespace is the only namespace in which Helm can install the chart.
const Namespace = "kinship-system"

// MutatingPolicies is the API version by which Helm knows that the API server has the kind
// MutatingAdmissionPolicy.
const MutatingPolicies = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"

// Chart is a loaded chart.
type Chart struct{ loaded *chart.Chart }

// Load reads a [Chart] from a directory, such as charts/kinship.
func Load(dir string) (*Chart, error) {
	loaded, err := loader.LoadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("load chart %s: %w", dir, err)
	}
	return &Chart{loaded}, nil
}

// Stamp sets version and appVersion in Chart.yaml. The version of a chart is a semantic version
// without the letter v: 1.2.0 for v1.2.0.
func (c *Chart) Stamp(version string) {
	c.loaded.Metadata.Version = strings.TrimPrefix(version, "v")
	c.loaded.Metadata.AppVersion = version
}

// Pack writes the [Chart] as an archive into a directory, and returns the name of the archive. All
// files have the same ModTime, so that the archive depends on the content alone.
func (c *Chart) Pack(dir string, modified time.Time) (string, error) {
	c.loaded.ModTime, c.loaded.SchemaModTime = modified, modified
	for _, files := range [][]*common.File{c.loaded.Raw, c.loaded.Templates, c.loaded.Files} {
		for _, f := range files {
			f.ModTime = modified
		}
	}
	name, err := chartutil.Save(c.loaded, dir)
	if err != nil {
		return "", fmt.Errorf("pack the chart: %w", err)
	}
	return name, nil
}

// Cluster contains the facts about a cluster on which a template may depend.
type Cluster struct {
	// Namespace of the release. Empty means [Namespace].
	Namespace string
	// APIVersions that the API server serves besides those of Kubernetes 1.35.
	APIVersions []string
	// Config, if set, reaches a cluster in which templates look objects up, as `helm upgrade` does.
	Config *rest.Config
}

// Render returns the rendered files of the [Chart], by their names in the chart. Render checks the
// values against values.schema.json.
func (c *Chart) Render(ctx context.Context, values map[string]any, cluster Cluster) (map[string]string, error) {
	caps := common.DefaultCapabilities.Copy()
	version, err := common.ParseKubeVersion("v1.36.0")
	if err != nil {
		return nil, fmt.Errorf("parse version of Kubernetes: %w", err)
	}
	caps.KubeVersion = *version
	caps.APIVersions = append(slices.Clone(caps.APIVersions), cluster.APIVersions...)
	if cluster.Namespace == "" {
		cluster.Namespace = Namespace
	}
	release := common.ReleaseOptions{Name: "kinship", Namespace: cluster.Namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c.loaded, values, release, caps)
	if err != nil {
		return nil, fmt.Errorf("check values: %w", err)
	}
	templates := engine.Engine{}
	if cluster.Config != nil {
		templates = engine.New(cluster.Config)
	}
	files, err := templates.RenderWithContext(ctx, c.loaded, all)
	if err != nil {
		return nil, fmt.Errorf("render chart: %w", err)
	}
	return files, nil
}

// Text returns the manifests of the [Chart] in one YAML text. CustomResourceDefinitions are first,
// because the API server must know a kind before its objects.
func (c *Chart) Text(ctx context.Context, values map[string]any, cluster Cluster) (string, error) {
	files, err := c.Render(ctx, values, cluster)
	if err != nil {
		return "", err
	}
	names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return strings.Compare(rank(a)+a, rank(b)+b)
	})
	var b strings.Builder
	for _, name := range names {
		text := strings.TrimSpace(files[name])
		if !strings.HasSuffix(name, ".yaml") || text == "" {
			continue
		}
		if !strings.HasPrefix(text, "---\n") {
			b.WriteString("---\n")
		}
		b.WriteString(text + "\n")
	}
	return b.String(), nil
}

// rank sorts files: zz_generated.definitions, then other zz_generated files with ServiceAccounts
// and rights, then the rest.
func rank(name string) string {
	switch {
	case strings.Contains(name, "zz_generated.definitions"):
		return "0 "
	case strings.Contains(name, "zz_generated."):
		return "1 "
	default:
		return "2 "
	}
}

// Objects returns the objects that the [Chart] installs.
func (c *Chart) Objects(
	ctx context.Context, values map[string]any, cluster Cluster,
) ([]*unstructured.Unstructured, error) {
	text, err := c.Text(ctx, values, cluster)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096); ; {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the rendered chart: %w", err)
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}
