package operator

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// Definitions writes the definitions of Azure kinds into a folder, for testenv.TemporaryCRDs: the garbage
// collector has to know the kinds at its start.
func Definitions(all *catalogue.Catalogue, kinds []*catalogue.Kind) (folder string, err error) {
	if folder, err = os.MkdirTemp("", "kinship-definitions-"); err != nil {
		return "", fmt.Errorf("write definitions: %w", err)
	}
	for _, k := range kinds {
		crd, err := catalogue.CRD(all, []*catalogue.Kind{k})
		if err != nil {
			return "", fmt.Errorf("define %s: %w", k.Kind, err)
		}
		text, err := yaml.Marshal(crd)
		if err != nil {
			return "", fmt.Errorf("write the definition of %s: %w", k.Kind, err)
		}
		if err := os.WriteFile(filepath.Join(folder, crd.GetName()+".yaml"), text, 0o600); err != nil {
			return "", fmt.Errorf("write the definition of %s: %w", k.Kind, err)
		}
	}
	return folder, nil
}
