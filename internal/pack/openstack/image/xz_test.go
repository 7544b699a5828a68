package image

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ulikunitz/xz"

	"github.com/kinship-dev/kinship/pkg/external"
)

// packed returns contents as streams of blocks of some bytes, with a dictionary.
func packed(t *testing.T, dictionary, block int, contents ...string) []byte {
	t.Helper()
	var file bytes.Buffer
	for _, content := range contents {
		w, err := xz.WriterConfig{DictCap: dictionary, BlockSize: int64(block)}.NewWriter(&file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}

// TestXz: every valid file is decompressed, unless it needs more memory than allowed, at any
// place of the file.
func TestXz(t *testing.T) {
	t.Parallel()
	random := make([]byte, 300_000)
	for i, x := 0, uint32(1); i < len(random); i++ {
		x = x*1664525 + 1013904223
		random[i] = byte(x >> 24)
	}
	mixed := string(random) + strings.Repeat("abc", 200_000) + string(random[:1000])
	small := packed(t, 1<<16, 1<<30, "one")
	// The third part of the header's filter is the length of the dictionary, and its last
	// part a check of the rest.
	asks := func(file []byte, code byte, from int) []byte {
		at := from + bytes.Index(file[from:], []byte{0x21, 1})
		file = slices.Clone(file)
		file[at+2] = code
		header := file[at-2:]
		end := int(header[0]) * 4
		binary.LittleEndian.PutUint32(header[end:], crc32.ChecksumIEEE(header[:end]))
		return file
	}
	const most = 40 // 4 GiB
	for reason, c := range map[string]struct {
		file    []byte
		want    string
		refused string
	}{
		"one block":          {packed(t, 1<<20, 1<<30, mixed), mixed, ""},
		"many blocks":        {packed(t, 1<<16, 1<<12, mixed), mixed, ""},
		"many streams":       {packed(t, 1<<16, 1<<14, mixed, "", "more", mixed), mixed + "more" + mixed, ""},
		"padding":            {slices.Concat(small, make([]byte, 8), small), "oneone", ""},
		"the highest preset": {packed(t, maxDictionary, 1<<30, "one"), "one", ""},
		"too much":           {asks(small, most, 0), "", "more than 64"},
		"the next stream":    {slices.Concat(small, asks(small, most, 0)), "", "more than 64"},
		"the next block":     {asks(packed(t, 1<<16, 4, "onetwo.."), most, 40), "", "more than 64"},
		"no file of that":    {[]byte(strings.Repeat("no", 100)), "", ""},
		"cut":                {small[:len(small)-5], "", ""},
	} {
		for way, of := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "by bytes": iotest.OneByteReader,
		} {
			got, err := unpack(of(bytes.NewReader(c.file)))
			if c.want != "" && (err != nil || got != c.want) {
				t.Errorf("%s, %s: %d bytes, want %d: %v", reason, way, len(got), len(c.want), err)
			}
			if c.want == "" && err == nil {
				t.Errorf("%s, %s: it is taken", reason, way)
			}
			if c.refused != "" && (!external.IsInvalid(err) || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("%s, %s: %v", reason, way, err)
			}
		}
	}
}

func unpack(from io.Reader) (string, error) {
	content, err := unxz(from)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(content)
	return string(text), err
}

// FuzzXz: nothing that is read on the way makes the walk fail otherwise than with an error.
func FuzzXz(f *testing.F) {
	f.Add([]byte("\xfd7zXZ\x00\x00\x04"))
	f.Fuzz(func(_ *testing.T, file []byte) {
		w := &walker{from: bytes.NewReader(file)}
		w.want(4, w.stream)
		_, _ = io.Copy(io.Discard, w)
	})
}
