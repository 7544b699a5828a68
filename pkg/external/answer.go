package external

import (
	"context"
	"fmt"
	"strings"
)

// A cloud may answer with anything. An answer about another resource than the one that was asked
// for must change no status: with an empty status.id the resource would be created a second time.
// Such an answer is a Transient error, so that the request is sent again.

// verify returns an error if a resource in an answer has another id than the one that was asked
// for.
func (r *reconciler[K, R]) verify(resource R, asked string) error {
	if got := r.kind.Identify(resource).ID; got != asked {
		return r.otherID(got, fmt.Sprintf("%q", asked))
	}
	return nil
}

// verifyImported is verify for an id that a person wrote. The answer may spell the same id in another
// way: "C5A2F2A4-1E0B-..." and "c5a2f2a41e0b..." are equal.
func (r *reconciler[K, R]) verifyImported(resource R, asked string) error {
	got := r.kind.Identify(resource).ID
	plain := func(id string) string { return strings.ReplaceAll(id, "-", "") }
	if got == "" || !strings.EqualFold(plain(got), plain(asked)) {
		return r.otherID(got, fmt.Sprintf("%q", asked))
	}
	return nil
}

// verifyCreated returns an error if the answer to Create has no id, or not the one of Kind.Address.
// Then it is not known what was created: the intent stays, and the next pass searches for the
// resource.
func (r *reconciler[K, R]) verifyCreated(p *pass[K, R], resource R) error {
	if r.kind.Address != nil {
		return r.verify(resource, r.kind.Address(p.Input))
	}
	if r.kind.Identify(resource).ID == "" && !r.isAnonymous() {
		return r.otherID("", "a new one")
	}
	return nil
}

func (r *reconciler[K, R]) otherID(got, want string) error {
	return &Error{Class: Transient, Message: fmt.Sprintf(
		"%s answered with %s %q instead of %s", r.engine.Cloud, r.kind.GVK.Kind, got, want)}
}

// find is Actuator.Find. A list with a resource that has no id is an error: the resource may be
// the one that an attempt has created.
func (r *reconciler[K, R]) find(ctx context.Context, p *pass[K, R], search Search) ([]R, error) {
	found, err := p.actuator.Find(ctx, p.Input, search)
	if err != nil {
		return nil, err
	}
	for _, resource := range found {
		if r.kind.Identify(resource).ID == "" && !r.isAnonymous() {
			return nil, &Error{Class: Transient, Message: fmt.Sprintf(
				"%s listed a %s without an id", r.engine.Cloud, r.kind.GVK.Kind)}
		}
	}
	return found, nil
}

// namesakes returns the resources that a creation may collide with: the one at Kind.Address, or all
// of a name.
func (r *reconciler[K, R]) namesakes(ctx context.Context, p *pass[K, R], name string) ([]R, error) {
	if r.kind.Address == nil {
		return r.find(ctx, p, Search{Name: name})
	}
	id := r.kind.Address(p.Input)
	if id == "" {
		return nil, &Error{Class: Invalid, Message: "the spec gives no id: no resource is named so"}
	}
	resource, err := r.get(ctx, p, id)
	if isClass(err, Missing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []R{resource}, nil
}

// get is Actuator.Get with a verified answer.
func (r *reconciler[K, R]) get(ctx context.Context, p *pass[K, R], id string) (R, error) {
	resource, err := p.actuator.Get(ctx, p.Input, id)
	if err == nil {
		err = r.verify(resource, id)
	}
	return resource, err
}

// isAnonymous reports whether the resources of the kind have no id.
func (r *reconciler[K, R]) isAnonymous() bool {
	_, anonymous := any(r.empty()).(Anonymous)
	return anonymous
}
