package scenario

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestOpenstack runs the stories of OpenStack objects, with an operator and a cloud. The
// operator has only this pack, so that stories without an operator still see no operator of
// Usages.
func TestOpenstack(t *testing.T) {
	cloud := operator.Cloud(t, emulator.Options{})
	operator.Start(t, func(o *options.Options) { o.Packs = []string{"openstack"} })
	tell(t, "openstack", map[string]string{
		"CLOUDS": base64.StdEncoding.EncodeToString([]byte(cloud.CloudsYAML())),
		"WRONG": base64.StdEncoding.EncodeToString(
			[]byte(strings.ReplaceAll(cloud.CloudsYAML(), "password: secret", "password: wrong"))),
	})
}
