package catalogue

import "testing"

// FuzzDefinitions: no content of a block makes the decoder panic or hang, or gives a shape that can't be
// walked.
func FuzzDefinitions(f *testing.F) {
	c, err := Embedded()
	if err != nil {
		f.Fatal(err)
	}
	for _, kinds := range c.groups()[:40] {
		packed, size, err := encodeBlock(kinds)
		if err != nil {
			f.Fatal(err)
		}
		block, err := unpack(packed, size, nil)
		if err != nil {
			f.Fatal(err)
		}
		if len(block) < 4000 {
			f.Add(block, len(kinds))
		}
	}
	f.Fuzz(func(_ *testing.T, block []byte, count int) {
		packed, err := pack(block)
		if err != nil {
			return
		}
		definitions, err := decodeBlock(packed, len(block), count)
		if err != nil {
			return
		}
		for _, d := range definitions[:min(len(definitions), 2)] {
			schemas{kinds: c}.of(d.Body, 1)
			listFields(d.Body, "spec", func(*Shape, string) {})
		}
	})
}
