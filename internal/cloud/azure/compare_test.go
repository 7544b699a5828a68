package azure_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

func bodyOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// TestCompare: fields that ARM adds are no difference, and ids, locations and names are compared as ARM
// does. A field that ARM never returns differs until it was sent.
func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		want, have string
		sent       bool
		paths      []string
	}{
		"equal":           {`{"a":{"b":[1,"x",true]}}`, `{"a":{"b":[1,"x",true]}}`, false, nil},
		"defaults":        {`{"a":{"b":1}}`, `{"a":{"b":1,"c":2},"d":{}}`, false, nil},
		"changed":         {`{"a":{"b":1,"c":{"d":true}}}`, `{"a":{"b":2,"c":{"d":false}}}`, false, []string{"a.b", "a.c.d"}},
		"another type":    {`{"a":{"b":1}}`, `{"a":[1]}`, true, []string{"a"}},
		"longer list":     {`{"a":[1,2]}`, `{"a":[1]}`, true, []string{"a"}},
		"order by name":   {`{"a":[{"name":"x","v":1},{"name":"y"}]}`, `{"a":[{"name":"Y"},{"name":"x","v":1}]}`, false, nil},
		"other name":      {`{"a":[{"name":"x"}]}`, `{"a":[{"name":"z"}]}`, false, []string{"a[0]"}},
		"ids":             {`{"id":"/subscriptions/S/G/RG"}`, `{"id":"/subscriptions/s/g/rg"}`, false, nil},
		"id as a key":     {`{"i":{"/subscriptions/S/x":{"a":1}}}`, `{"i":{"/subscriptions/s/X":{"a":1}}}`, false, nil},
		"location":        {`{"location":"West Europe"}`, `{"location":"westeurope"}`, false, nil},
		"other text":      {`{"tags":{"a":"West Europe"}}`, `{"tags":{"a":"westeurope"}}`, false, []string{"tags.a"}},
		"password":        {`{"p":{"password":"x"}}`, `{"p":{}}`, false, []string{"p.password"}},
		"password sent":   {`{"p":{"password":"x"}}`, `{"p":{}}`, true, nil},
		"empty":           {`{"a":{},"b":[],"c":null}`, `{}`, false, nil},
		"a number is one": {`{"a":1}`, `{"a":1.0}`, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := azure.Compare(bodyOf(t, c.want), bodyOf(t, c.have), c.sent)
			if diff := cmp.Diff(c.paths, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}
