package catalogue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// decodeBlock reads the definitions of a group.
func decodeBlock(packed []byte, size, count int) ([]*Definition, error) {
	data, err := unpack(packed, size, nil)
	if err != nil {
		return nil, err
	}
	r := reader{data: data}
	r.each(func() { r.strings = append(r.strings, r.text()) })
	r.each(func() { r.shapes = append(r.shapes, r.shape()) })
	var all []*Definition
	for range count {
		d := &Definition{Body: r.earlier(), Name: r.earlier()}
		r.each(func() { d.Preserved = append(d.Preserved, Preserved{Path: r.string(), Type: r.string()}) })
		r.facts(d)
		if r.err == nil && (d.Body.Type != Object || d.Name.Type != String) {
			r.fail(errors.New("a body is no object, or a name is no string"))
		}
		if r.err != nil {
			return nil, r.err
		}
		all = append(all, d)
	}
	return all, r.end()
}

// facts reads ReadOnly, Sensitive and Actions of a Definition, which tables.facts wrote.
func (r *reader) facts(d *Definition) {
	d.ReadOnly, d.Sensitive = r.paths(), r.paths()
	r.each(func() { d.Actions = append(d.Actions, Action{Name: r.string(), Sensitive: r.paths()}) })
}

func (r *reader) paths() (all []Path) {
	r.each(func() { all = append(all, Path(r.string())) })
	return all
}

// reader reads numbers and texts. After the first error all results are zero.
type reader struct {
	data    []byte
	err     error
	strings []string
	shapes  []*Shape
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.data = nil
}

// end fails if bytes are left.
func (r *reader) end() error {
	if r.err == nil && len(r.data) > 0 {
		r.fail(fmt.Errorf("%d bytes are left at the end", len(r.data)))
	}
	return r.err
}

func (r *reader) number() int {
	n, length := binary.Uvarint(r.data)
	if length <= 0 || n > math.MaxInt32 {
		r.fail(errors.New("a number is cut off or too large"))
		return 0
	}
	r.data = r.data[length:]
	return int(n)
}

// below reads a number that is less than end.
func (r *reader) below(end int) int {
	n := r.number()
	if r.err == nil && n >= end {
		r.fail(fmt.Errorf("%d isn't below %d", n, end))
		return 0
	}
	return n
}

// each calls read for each of the elements that follow, after their number. Each element has at least
// one byte. The first error ends the loop.
func (r *reader) each(read func()) {
	for n := r.below(len(r.data) + 1); n > 0 && r.err == nil; n-- {
		read()
	}
}

func (r *reader) take(n int) []byte {
	if n > len(r.data) {
		r.fail(errCutOff)
		return nil
	}
	taken := r.data[:n:n]
	r.data = r.data[n:]
	return taken
}

func (r *reader) text() string { return string(r.take(r.number())) }

func (r *reader) string() string {
	i := r.below(len(r.strings))
	if r.err != nil {
		return ""
	}
	return r.strings[i]
}

// earlier reads the number of a shape that was read before. It never returns nil.
func (r *reader) earlier() *Shape {
	i := r.below(len(r.shapes))
	if r.err != nil {
		return &Shape{}
	}
	return r.shapes[i]
}

func (r *reader) bound() *float64 {
	b := r.take(8)
	if b == nil {
		return nil
	}
	f := math.Float64frombits(binary.BigEndian.Uint64(b))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.fail(errors.New("a bound is no number"))
	}
	return &f
}

func (r *reader) shape() *Shape {
	s := &Shape{Type: Type(r.below(int(typeEnd)))}
	flags := r.below(hasEnd)
	has := func(flag int) bool { return flags&flag != 0 && r.err == nil }
	s.Open = has(hasOpen)
	r.each(func() { s.Properties = append(s.Properties, r.property()) })
	if has(hasDiscriminator) {
		s.Discriminator = r.string()
	}
	if has(hasItems) {
		s.Items = r.earlier()
	}
	if has(hasEnum) {
		r.each(func() { s.Enum = append(s.Enum, r.string()) })
	}
	r.limits(s, has)
	if has(hasTargets) {
		r.each(func() { s.Targets = append(s.Targets, Target{Type: r.string(), Part: r.string()}) })
	}
	if r.err == nil {
		r.check(s)
	}
	return s
}

func (r *reader) limits(s *Shape, has func(flag int) bool) {
	if has(hasPattern) {
		s.Pattern = r.string()
	}
	if has(hasFormat) {
		s.Format = r.string()
	}
	if has(hasMinLength) {
		s.MinLength = int64(r.number())
	}
	if has(hasMaxLength) {
		s.MaxLength = int64(r.number())
	}
	if has(hasMinimum) {
		s.Minimum = r.bound()
	}
	if has(hasMaximum) {
		s.Maximum = r.bound()
	}
}

func (r *reader) property() Property {
	p := Property{Name: r.string()}
	flags := r.number()
	p.Nested, p.Required, p.Suggested = flags&isNested != 0, flags&isRequired != 0, flags&isSuggested != 0
	p.ARM = p.Name
	if flags&isRenamed != 0 {
		p.ARM = r.string()
	}
	p.Shape = r.earlier()
	return p
}

// check fails unless s can be walked: with Items where these are needed, with each property once, and
// neither too deep nor too large.
func (r *reader) check(s *Shape) {
	s.depth, s.size = 1, 1
	add := func(inner *Shape) {
		s.depth = max(s.depth, inner.depth+1)
		s.size = min(s.size+inner.size, maxShapes+1)
	}
	for i, p := range s.Properties {
		if p.Name == "" || p.ARM == "" || i > 0 && strings.Compare(s.Properties[i-1].Name, p.Name) >= 0 {
			r.fail(fmt.Errorf("the property %q is there twice or has no name", p.Name))
			return
		}
		add(p.Shape)
	}
	if s.Items != nil {
		add(s.Items)
	}
	needsItems := s.Type == List || s.Type == Map || s.Type == IDMap
	switch {
	case needsItems != (s.Items != nil):
		r.fail(errors.New("a list or a map has no items, or another value has items"))
	case s.Type != Object && len(s.Properties) > 0:
		r.fail(errors.New("a value that is no object has properties"))
	case s.depth > maxDepth || s.size > maxShapes:
		r.fail(fmt.Errorf("a shape is deeper than %d or larger than %d", maxDepth, maxShapes))
	}
}
