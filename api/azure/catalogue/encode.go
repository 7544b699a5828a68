package catalogue

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The file is magic, one byte format, the SHA-256 of the rest, and the rest: the index and then one
// block per group, each compressed on its own. In front of the index are its two lengths, packed and
// unpacked. The lengths of a block are in the index.
const (
	magic = "ARMCATALOGUE\n"
	// format is raised with each change of the encoding. Open refuses a later format.
	format = 2
)

// Bits of the properties that a shape has.
const (
	hasOpen = 1 << iota
	hasDiscriminator
	hasItems
	hasEnum
	hasPattern
	hasFormat
	hasMinLength
	hasMaxLength
	hasMinimum
	hasMaximum
	hasTargets

	hasEnd
)

// Bits of a property.
const (
	isNested = 1 << iota
	isRequired
	isRenamed
	isSuggested
)

// Encode returns the file of a Catalogue. The same kinds always give the same bytes.
func (c *Catalogue) Encode() ([]byte, error) {
	var index, blocks writer
	sources := c.sources()
	index.number(len(sources))
	for _, s := range sources {
		index.text(s.Path)
		index.text(s.Hash)
	}
	groups := c.groups()
	index.number(len(groups))
	for _, kinds := range groups {
		block, size, err := encodeBlock(kinds)
		if err != nil {
			return nil, err
		}
		index.number(len(block))
		index.number(size)
		index.number(len(kinds))
		for _, k := range kinds {
			index.kind(k, sources)
		}
		blocks.Write(block)
	}
	index.number(len(c.refusals))
	for _, r := range c.refusals {
		index.text(r.Type)
		index.text(r.APIVersion)
		index.text(r.Reason)
	}
	packed, err := pack(index.Bytes())
	if err != nil {
		return nil, err
	}
	var rest writer
	rest.number(len(packed))
	rest.number(index.Len())
	rest.Write(packed)
	rest.Write(blocks.Bytes())
	sum := sha256.Sum256(rest.Bytes())
	return slices.Concat([]byte(magic), []byte{format}, sum[:], rest.Bytes()), nil
}

// sources returns the schema files of all kinds, sorted.
func (c *Catalogue) sources() []Source {
	sources := make([]Source, 0, len(c.kinds))
	for _, k := range c.kinds {
		sources = append(sources, k.Source)
	}
	slices.SortFunc(sources, compareSources)
	return slices.Compact(sources)
}

func compareSources(a, b Source) int { return strings.Compare(a.Path+a.Hash, b.Path+b.Hash) }

// groups returns the kinds by group.
func (c *Catalogue) groups() [][]*Kind {
	var groups [][]*Kind
	for i, k := range c.kinds {
		if i == 0 || c.kinds[i-1].Group != k.Group {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], k)
	}
	return groups
}

// encodeBlock returns the definitions of a group, packed, and their unpacked size.
func encodeBlock(kinds []*Kind) (packed []byte, size int, err error) {
	t := tables{strings: map[string]int{}, shapes: map[string]int{}}
	var definitions writer
	for _, k := range kinds {
		definition, err := k.Definition()
		if err != nil {
			return nil, 0, err
		}
		definitions.number(t.shape(definition.Body))
		definitions.number(t.shape(definition.Name))
		definitions.number(len(definition.Preserved))
		for _, p := range definition.Preserved {
			definitions.number(t.string(p.Path))
			definitions.number(t.string(p.Type))
		}
		t.facts(&definitions, definition)
	}
	var block writer
	block.number(len(t.strings))
	for _, s := range t.inOrder {
		block.text(s)
	}
	block.number(len(t.shapes))
	block.Write(t.encoded.Bytes())
	block.Write(definitions.Bytes())
	packed, err = pack(block.Bytes())
	return packed, block.Len(), err
}

// facts writes ReadOnly, Sensitive and Actions of a Definition.
func (t *tables) facts(w *writer, d *Definition) {
	paths := func(all []Path) {
		w.number(len(all))
		for _, p := range all {
			w.number(t.string(string(p)))
		}
	}
	paths(d.ReadOnly)
	paths(d.Sensitive)
	w.number(len(d.Actions))
	for _, a := range d.Actions {
		w.number(t.string(a.Name))
		paths(a.Sensitive)
	}
}

// pack compresses.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return b.Bytes(), nil
}

// writer collects numbers and texts.
type writer struct{ bytes.Buffer }

func (w *writer) number(n int) { w.Write(binary.AppendUvarint(nil, uint64(n))) }

func (w *writer) text(s string) {
	w.number(len(s))
	w.WriteString(s)
}

func (w *writer) kind(k *Kind, sources []Source) {
	source, _ := slices.BinarySearchFunc(sources, k.Source, compareSources)
	for _, s := range []string{k.Type, k.APIVersion, k.Kind, k.Plural, k.Owner, k.SchemaPath} {
		w.text(s)
	}
	w.number(int(k.Scopes))
	w.number(len(k.SecretFields))
	for _, field := range k.SecretFields {
		w.text(field)
	}
	w.number(bit(k.Default, 1) | bit(k.GUIDName, 2))
	w.number(source)
}

// tables number the strings and the shapes of a block. Equal shapes have one number.
type tables struct {
	strings map[string]int
	inOrder []string
	shapes  map[string]int
	encoded writer
}

func (t *tables) string(s string) int {
	n, ok := t.strings[s]
	if !ok {
		n = len(t.inOrder)
		t.strings[s] = n
		t.inOrder = append(t.inOrder, s)
	}
	return n
}

// shape returns the number of a shape. The shapes inside of it have lower numbers.
func (t *tables) shape(s *Shape) int {
	var w writer
	w.number(int(s.Type))
	w.number(s.flags())
	w.number(len(s.Properties))
	for _, p := range s.Properties {
		w.number(t.string(p.Name))
		w.number(bit(p.Nested, isNested) | bit(p.Required, isRequired) | bit(p.ARM != p.Name, isRenamed) |
			bit(p.Suggested, isSuggested))
		if p.ARM != p.Name {
			w.number(t.string(p.ARM))
		}
		w.number(t.shape(p.Shape))
	}
	if s.Discriminator != "" {
		w.number(t.string(s.Discriminator))
	}
	if s.Items != nil {
		w.number(t.shape(s.Items))
	}
	if len(s.Enum) > 0 {
		w.number(len(s.Enum))
		for _, e := range s.Enum {
			w.number(t.string(e))
		}
	}
	t.limits(&w, s)
	if len(s.Targets) > 0 {
		w.number(len(s.Targets))
		for _, target := range s.Targets {
			w.number(t.string(target.Type))
			w.number(t.string(target.Part))
		}
	}
	n, ok := t.shapes[w.String()]
	if !ok {
		n = len(t.shapes)
		t.shapes[w.String()] = n
		t.encoded.Write(w.Bytes())
	}
	return n
}

func (t *tables) limits(w *writer, s *Shape) {
	for _, text := range []string{s.Pattern, s.Format} {
		if text != "" {
			w.number(t.string(text))
		}
	}
	for _, length := range []int64{s.MinLength, s.MaxLength} {
		if length > 0 {
			w.number(int(length))
		}
	}
	for _, bound := range []*float64{s.Minimum, s.Maximum} {
		if bound != nil {
			w.Write(binary.BigEndian.AppendUint64(nil, math.Float64bits(*bound)))
		}
	}
}

func (s *Shape) flags() int {
	return bit(s.Open, hasOpen) | bit(s.Discriminator != "", hasDiscriminator) | bit(s.Items != nil, hasItems) |
		bit(len(s.Enum) > 0, hasEnum) | bit(s.Pattern != "", hasPattern) | bit(s.Format != "", hasFormat) |
		bit(s.MinLength > 0, hasMinLength) | bit(s.MaxLength > 0, hasMaxLength) |
		bit(s.Minimum != nil, hasMinimum) | bit(s.Maximum != nil, hasMaximum) | bit(len(s.Targets) > 0, hasTargets)
}

func bit(is bool, value int) int {
	if is {
		return value
	}
	return 0
}
