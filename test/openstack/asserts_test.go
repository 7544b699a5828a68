package openstack_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// comparison compares objects with asserts. A value of an assert is compared as it is, but
// for these:
//
//	$any, $text, $id, $time, $int, $ip, $mac   a value of that form, which must be there
//	$absent                                    the field is not there
//	$(Kind/name.path)                          what the status of an object has at a path
//	$(NN Kind/name.path)                       what it had at the end of step NN
//	{$not: VALUE}                              another value, which must be there
//	{$after: TIME}                             a later time
//	{$unordered: LIST}                         the items of a list, in any order
//	{$emulator: VALUE, $real: VALUE}           one for each cloud, where OpenStack differs
type comparison struct {
	// cloud is $emulator or $real.
	cloud string
	// lookUp returns the status of an object, given as "Kind/name" or "NN Kind/name".
	lookUp func(object string) (map[string]any, error)

	differences []string
}

// ours are fields of a status that the published API doesn't have. No test of users of that API
// names them, and kuttl ignores fields that are not named.
var ours = []string{"place", "observedDependencies", "drift"}

// object returns the differences between an object and an assert. The assert may name some
// fields of metadata and spec; a status is compared whole.
func (c *comparison) object(want, got *unstructured.Unstructured) []string {
	got = got.DeepCopy()
	if finalizers := got.GetFinalizers(); len(finalizers) > 0 {
		slices.Sort(finalizers) // They are a set, in the order of their creation.
		got.SetFinalizers(finalizers)
	}
	for _, key := range sortedKeys(want.Object) {
		if key != "status" {
			c.compare(key, want.Object[key], valueAt(got.Object, key), false)
		}
	}
	if status, named := want.Object["status"].(map[string]any); named {
		c.status(status, got)
	}
	return c.differences
}

// status compares a status whole.
func (c *comparison) status(want map[string]any, object *unstructured.Unstructured) {
	got, ok := object.Object["status"].(map[string]any)
	if !ok {
		c.differ("status", want, absent)
		return
	}
	for _, field := range ours {
		delete(got, field)
	}
	want = maps.Clone(want)
	conditions, _ := want["conditions"].([]any)
	// A status that reports success has the time of that success. Any other status keeps the
	// time of an earlier success.
	if _, named := want["lastSyncTime"]; !named && succeeds(conditions) {
		want["lastSyncTime"] = "$time"
	} else if !named {
		delete(got, "lastSyncTime")
	}
	if conditions != nil {
		want["conditions"] = complete(conditions, object.GetGeneration())
	}
	c.compare("status", want, got, true)
}

// succeeds reports whether Progressing is False for reason Success.
func succeeds(conditions []any) bool {
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Progressing" && fields["reason"] == "Success"
	})
}

// complete adds the common fields to conditions: the present generation.
func complete(conditions []any, generation int64) []any {
	all := make([]any, 0, len(conditions))
	for _, condition := range conditions {
		whole := map[string]any{"observedGeneration": generation, "lastTransitionTime": "$time"}
		if fields, ok := condition.(map[string]any); ok {
			maps.Copy(whole, fields)
		}
		all = append(all, whole)
	}
	return all
}

type nothing struct{}

// absent stands for a field that is not there.
var absent = nothing{}

func valueAt(fields map[string]any, key string) any {
	if value, there := fields[key]; there {
		return value
	}
	return absent
}

func sortedKeys(fields map[string]any) []string { return slices.Sorted(maps.Keys(fields)) }

// compare compares a value. With whole, a map must have no other fields than the expected
// fields.
func (c *comparison) compare(path string, want, got any, whole bool) {
	switch want := want.(type) {
	case map[string]any:
		if c.operator(path, want, got) {
			return
		}
		fields, ok := got.(map[string]any)
		if !ok {
			c.differ(path, want, got)
			return
		}
		keys := sortedKeys(want)
		if whole {
			keys = append(keys, sortedKeys(fields)...)
			slices.Sort(keys)
			keys = slices.Compact(keys)
		}
		for _, key := range keys {
			c.compare(path+"."+key, valueAt(want, key), valueAt(fields, key), whole)
		}
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			c.differ(path, want, got)
			return
		}
		for i := range want {
			c.compare(fmt.Sprintf("%s[%d]", path, i), want[i], items[i], whole)
		}
	case string:
		c.text(path, want, got)
	default:
		if want != got {
			c.differ(path, want, got)
		}
	}
}

// operator compares with a map that is an operator such as $not, and reports whether it is one.
func (c *comparison) operator(path string, want map[string]any, got any) bool {
	if chosen, ok := want[c.cloud]; ok {
		c.compare(path, chosen, got, true)
		return true
	}
	if unwanted, ok := want["$not"]; ok {
		other := &comparison{cloud: c.cloud, lookUp: c.lookUp}
		if other.compare(path, unwanted, got, true); len(other.differences) == 0 || got == absent {
			c.differ(path, want, got)
		}
		return true
	}
	if before, ok := want["$after"].(string); ok {
		earlier, err := expand(before, c.lookUp)
		at, isText := got.(string)
		if err != nil || !isText || !forms["$time"].MatchString(at) || at <= earlier {
			c.differ(path, map[string]any{"$after": cmp.Or(earlier, before)}, got)
		}
		return true
	}
	if items, ok := want["$unordered"].([]any); ok {
		c.unordered(path, items, got)
		return true
	}
	return false
}

// unordered compares the items of a list with the expected items, in any order.
func (c *comparison) unordered(path string, want []any, got any) {
	items, ok := got.([]any)
	if !ok || len(items) != len(want) {
		c.differ(path, want, got)
		return
	}
	left := slices.Clone(items)
	for _, item := range want {
		i := slices.IndexFunc(left, func(other any) bool {
			one := &comparison{cloud: c.cloud, lookUp: c.lookUp}
			one.compare(path, item, other, true)
			return len(one.differences) == 0
		})
		if i < 0 {
			c.differ(path, item, left)
			return
		}
		left = slices.Delete(left, i, i+1)
	}
}

// forms are the placeholders for texts.
var forms = map[string]*regexp.Regexp{
	"$text": regexp.MustCompile(`.`),
	"$id":   regexp.MustCompile(`^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`),
	"$time": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`),
	"$ip":   regexp.MustCompile(`^(\d+(\.\d+){3}|[0-9a-f:]*:[0-9a-f:]*)$`),
	"$mac":  regexp.MustCompile(`^[0-9a-f]{2}(:[0-9a-f]{2}){5}$`),
}

// text compares with a text, which may stand for something else.
func (c *comparison) text(path, want string, got any) {
	same := false
	switch form, isForm := forms[want]; {
	case want == "$absent":
		same = got == absent
	case want == "$any":
		same = got != absent
	case want == "$int":
		_, same = got.(int64)
	case isForm:
		text, ok := got.(string)
		same = ok && form.MatchString(text)
	default:
		expanded, err := expand(want, c.lookUp)
		if err != nil {
			c.differences = append(c.differences, fmt.Sprintf("%s: %v", path, err))
			return
		}
		want, same = expanded, got == expanded
	}
	if !same {
		c.differ(path, want, got)
	}
}

func (c *comparison) differ(path string, want, got any) {
	c.differences = append(c.differences, fmt.Sprintf("  %s: want %s, got %s", path, show(want), show(got)))
}

func show(value any) string {
	if value == absent {
		return "nothing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// statusReference is a reference to a path in the status of another object.
var statusReference = regexp.MustCompile(`\$\(((?:\d\d )?[A-Za-z]+/[a-z0-9-]+)\.([A-Za-z.]+)\)`)

// expand replaces references in a text.
func expand(text string, lookUp func(string) (map[string]any, error)) (string, error) {
	var failed error
	expanded := statusReference.ReplaceAllStringFunc(text, func(match string) string {
		parts := statusReference.FindStringSubmatch(match)
		status, err := lookUp(parts[1])
		if err != nil {
			failed = err
			return match
		}
		value, found, err := unstructured.NestedFieldNoCopy(status, strings.Split(parts[2], ".")...)
		if err != nil || !found {
			failed = fmt.Errorf("%s has no status.%s: %w", parts[1], parts[2], err)
			return match
		}
		return fmt.Sprint(value)
	})
	return expanded, failed
}
