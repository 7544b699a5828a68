package catalogue

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of what a file may hold. All of ARM needs about a tenth of each.
const (
	maxFile   = 64 << 20
	maxBlock  = 4 << 20 // of the index, and of the definitions of a group, unpacked
	maxDepth  = 64      // of a shape
	maxShapes = 1 << 14 // in one body, where a shape in several places counts several times
)

var errCutOff = errors.New("the file is cut off")

// Open reads the file of a Catalogue. The Catalogue keeps data, which must not change afterwards.
func Open(data []byte) (*Catalogue, error) {
	c, err := open(data)
	if err != nil {
		return nil, fmt.Errorf("reading the catalogue: %w", err)
	}
	return c, nil
}

func open(data []byte) (*Catalogue, error) {
	rest, err := checkHeader(data)
	if err != nil {
		return nil, err
	}
	r := reader{data: rest}
	packed, size := r.number(), r.number()
	index, err := unpack(r.take(packed), size, r.err)
	if err != nil {
		return nil, fmt.Errorf("unpacking the index: %w", err)
	}
	in := reader{data: index}
	kinds, err := in.kinds(r.data)
	if err != nil {
		return nil, err
	}
	var refusals []Refusal
	in.each(func() {
		refusals = append(refusals, Refusal{Type: in.text(), APIVersion: in.text(), Reason: in.text()})
	})
	if err := in.end(); err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	return indexKinds(kinds, refusals)
}

// checkHeader returns the data after the header.
func checkHeader(data []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	switch {
	case len(data) > maxFile:
		return nil, fmt.Errorf("the file has %d bytes, more than %d", len(data), maxFile)
	case !ok && strings.HasPrefix(magic, string(data)):
		return nil, errCutOff
	case !ok:
		return nil, errors.New("the file is no catalogue of armgen")
	case len(rest) == 0:
		return nil, errCutOff
	case rest[0] > format:
		return nil, fmt.Errorf("the file has format %d, and this program reads formats up to %d: "+
			"update the program, or make the file with its armgen", rest[0], format)
	case rest[0] != format:
		return nil, fmt.Errorf("the file has format %d, and this program reads format %d: make the file again with its armgen",
			rest[0], format)
	case len(rest) <= sha256.Size:
		return nil, errCutOff
	}
	want, rest := rest[1:1+sha256.Size], rest[1+sha256.Size:]
	if got := sha256.Sum256(rest); !bytes.Equal(got[:], want) {
		return nil, errors.New("the file is cut off or was changed: its hash differs")
	}
	return rest, nil
}

// kinds reads the index of all groups. The blocks follow one another in data.
func (r *reader) kinds(blocks []byte) ([]*Kind, error) {
	var sources []Source
	r.each(func() { sources = append(sources, Source{Path: r.text(), Hash: r.text()}) })
	var kinds []*Kind
	from := reader{data: blocks}
	r.each(func() {
		packed, size := from.take(r.number()), r.number()
		first := len(kinds)
		var definitions func(i int) (*Definition, error)
		r.each(func() {
			k, i := r.kind(sources), len(kinds)-first
			k.load = func() (*Definition, error) { return definitions(i) }
			kinds = append(kinds, k)
		})
		count := len(kinds) - first
		definitions = lazy(func() ([]*Definition, error) { return decodeBlock(packed, size, count) })
	})
	if err := from.end(); err != nil {
		return nil, fmt.Errorf("reading the definitions: %w", err)
	}
	return kinds, nil
}

func (r *reader) kind(sources []Source) *Kind {
	k := &Kind{
		Type: r.text(), APIVersion: r.text(), Kind: r.text(), Plural: r.text(), Owner: r.text(), SchemaPath: r.text(),
	}
	k.Group, k.Version = GroupOf(k.Type), VersionOf(k.APIVersion)
	k.Scopes = Scope(r.below(int(scopeEnd)))
	r.each(func() { k.SecretFields = append(k.SecretFields, r.text()) })
	flags := r.below(4)
	k.Default, k.GUIDName = flags&1 != 0, flags&2 != 0
	if i := r.below(len(sources)); r.err == nil {
		k.Source = sources[i]
	}
	return k
}

// unpack decompresses at most maxBlock bytes, which have to be size.
func unpack(packed []byte, size int, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if size > maxBlock {
		return nil, fmt.Errorf("%d bytes are more than %d", size, maxBlock)
	}
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), int64(size)+1))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	if len(data) != size {
		return nil, fmt.Errorf("decompressing gave %d bytes instead of %d", len(data), size)
	}
	return data, nil
}
