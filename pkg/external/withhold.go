package external

import (
	"encoding/json"
	"errors"
	"strings"
)

// Withhold replaces some values, such as passwords, in the text of an error: a service may repeat a request there.
// The [Class] of an [Error] stays. Withhold returns an error without the values unchanged.
func Withhold(err error, values ...string) error {
	if err == nil {
		return nil
	}
	before := err.Error()
	told := before
	for _, value := range values {
		if value == "" {
			continue
		}
		told = strings.ReplaceAll(told, value, withheld)
		if quoted, err := json.Marshal(value); err == nil {
			told = strings.ReplaceAll(told, string(quoted[1:len(quoted)-1]), withheld)
		}
	}
	if told == before {
		return err
	}
	if known, ok := errors.AsType[*Error](err); ok {
		all := *known // Class and After stay.
		all.Message = told
		return &all
	}
	return errors.New(told)
}

// withheld takes the place of a value.
const withheld = "[withheld]"
