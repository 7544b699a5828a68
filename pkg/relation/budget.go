package relation

import "fmt"

// Budget bounds the memory and the time of many calls of [Path.SetWithin], whose paths and values one
// user wrote. Without a budget, 160 bytes such as "a[999][999][999]" make lists of thousands of elements,
// and a list of a megabyte can be set at a thousand paths. Budget counts each element of a map or list
// that Set copies or fills, and each element and byte of a value. Budget is not safe for concurrent use.
// A nil *Budget has no bound.
type Budget struct{ left, total int }

// NewBudget returns a Budget of so many elements and bytes.
func NewBudget(total int) *Budget { return &Budget{left: total, total: total} }

func (b *Budget) take(n int) error {
	if b == nil {
		return nil
	}
	if b.left -= n; b.left < 0 {
		return fmt.Errorf("all paths together set more than %d elements and bytes", b.total)
	}
	return nil
}

// spend takes the size of a value. spend stops counting when the budget is spent.
func (b *Budget) spend(value any) error {
	if b == nil {
		return nil
	}
	size := 1
	switch v := value.(type) {
	case string:
		size += len(v)
	case map[string]any:
		for key, inner := range v {
			size += len(key)
			if err := b.spend(inner); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := b.spend(inner); err != nil {
				return err
			}
		}
	}
	return b.take(size)
}
