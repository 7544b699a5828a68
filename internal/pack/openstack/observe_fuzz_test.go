package openstack

import (
	"encoding/json"
	"testing"
)

// FuzzObserve reads any answer of a cloud as the resource of every kind. No answer stops the
// operator, and the result can be written into a status.
func FuzzObserve(f *testing.F) {
	for i := range zeroTable {
		if text, err := json.Marshal(zeroTable[i].said); err == nil {
			f.Add(text)
		}
	}
	for _, text := range []string{
		`{"id":1,"name":[],"status":{},"tags":[1,null,{}],"description":true}`,
		`{"rules":[null,1,{}],"fixed_ips":[{"ip_address":17}],"addresses":{"a":[null,{"addr":1}]},"links":"x"}`,
		`{"size":1e99,"mtu":-1e99,"vcpus":"many","created_at":"2030-01-01t00:00:00z","passwordExpiresAt":1}`,
		`{"attachments":{},"volumes_attached":[[]],"flavor":[],"image":"","security_groups":[{"name":{}}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		for i := range zeroTable {
			var said answer
			if json.Unmarshal(text, &said) != nil {
				return
			}
			zeroTable[i].observe(said)
		}
	})
}
