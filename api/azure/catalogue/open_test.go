package catalogue_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// header is the length of what precedes the compressed data.
const header = len("ARMCATALOGUE\n") + 1 + sha256.Size

func encoded(t *testing.T, c *catalogue.Catalogue) []byte {
	t.Helper()
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// forged returns data with the header that fits to it.
func forged(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(append([]byte("ARMCATALOGUE\n\x02"), sum[:]...), data...)
}

// content is what a catalogue says of a kind.
type content struct {
	Kind       catalogue.Kind
	Definition *catalogue.Definition
}

func contents(t *testing.T, c *catalogue.Catalogue) []content {
	t.Helper()
	all := make([]content, 0, len(c.Kinds()))
	for _, k := range c.Kinds() {
		definition, err := k.Definition()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, content{*k, definition})
	}
	return all
}

// TestEncode: a file has all that the catalogue had, and the same catalogue gives the same bytes.
func TestEncode(t *testing.T) {
	before := sample(t)
	data := encoded(t, before)
	after, err := catalogue.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	ignore := cmpopts.IgnoreUnexported(catalogue.Kind{}, catalogue.Shape{})
	if diff := cmp.Diff(contents(t, before), contents(t, after), ignore); diff != "" {
		t.Errorf("kinds (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.Refusals(), after.Refusals()); diff != "" {
		t.Errorf("refusals (-before +after):\n%s", diff)
	}
	if !bytes.Equal(data, encoded(t, sample(t))) || !bytes.Equal(data, encoded(t, after)) {
		t.Error("the same catalogue gave other bytes")
	}
}

// TestOpenRefuses: each file that isn't whole, or isn't from this program, is refused with a reason.
func TestOpenRefuses(t *testing.T) {
	data := encoded(t, sample(t))
	for n := range data {
		if _, err := catalogue.Open(data[:n]); err == nil || !strings.Contains(err.Error(), "cut off") {
			t.Fatalf("the first %d of %d bytes: %v", n, len(data), err)
		}
	}
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 1
		if _, err := catalogue.Open(changed); err == nil {
			t.Fatalf("a change of byte %d isn't noticed", i)
		}
	}
	later := bytes.Clone(data)
	later[header-sha256.Size-1] = 3
	earlier := bytes.Clone(data)
	earlier[header-sha256.Size-1] = 1
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"a later format":    {later, "the file has format 3, and this program reads formats up to 2"},
		"an earlier format": {earlier, "format 1, and this program reads format 2: make the file again"},
		"another file":      {[]byte("<html>"), "no catalogue of armgen"},
		"more at the end": {
			forged(append(bytes.Clone(data[header:]), 0)), "1 bytes are left",
		},
		"a huge number": {
			forged([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}), "too large",
		},
		"no index": {forged([]byte{200, 1, 1}), "cut off"},
		"a bomb":   {forged([]byte{1, 0x80, 0x80, 0x80, 0x80, 1, 0}), "more than"},
	} {
		if _, err := catalogue.Open(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestShapesAreBounded: a shape that is too deep, or that is large because it has a part many times, is
// refused before anything walks it.
func TestShapesAreBounded(t *testing.T) {
	deep, wide := text, text
	for range 70 {
		deep = listOf(deep)
	}
	for range 20 {
		wide = object(top("a", wide), top("b", wide))
	}
	for name, shape := range map[string]*catalogue.Shape{"deep": deep, "wide": wide} {
		k := *sample(t).Default("My.Id/identities")
		c, err := catalogue.New([]catalogue.Entry{
			{Kind: k, Definition: &catalogue.Definition{Body: object(top("a", shape)), Name: text}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = catalogue.Open(encoded(t, c)); err != nil {
			t.Fatal(err)
		}
		if err := c.Verify(); err == nil || !strings.Contains(err.Error(), "is deeper than 64 or larger than") {
			t.Errorf("a %s shape: %v", name, err)
		}
	}
}

// TestEmbedded: the embedded file is whole, knows all of ARM, and is small.
func TestEmbedded(t *testing.T) {
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Verify(); err != nil {
		t.Fatal(err)
	}
	types := map[string]bool{}
	for _, k := range c.Kinds() {
		types[strings.ToLower(k.Type)] = true
	}
	if len(types) < 2493*95/100 {
		t.Errorf("only %d of 2493 types are usable", len(types))
	}
	info, err := os.Stat("arm.catalogue")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 3<<20 {
		t.Errorf("the file has %d bytes", info.Size())
	}
	t.Logf("%d types, %d kinds, %d refused, %d bytes", len(types), len(c.Kinds()), len(c.Refusals()), info.Size())
}

// FuzzOpen: no content makes Open, the definitions or the CRDs panic or hang.
func FuzzOpen(f *testing.F) {
	data, err := sample(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[header:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := catalogue.Open(forged(data))
		if err != nil {
			return
		}
		for _, k := range c.Kinds() {
			if _, err := k.Definition(); err != nil {
				continue
			}
			if _, err := catalogue.CRD(c, []*catalogue.Kind{k}); err != nil {
				t.Errorf("the definition of %s: %v", k.Type, err)
			}
			if _, err := k.ReferenceFields(); err != nil {
				t.Errorf("the references of %s: %v", k.Type, err)
			}
		}
	})
}
