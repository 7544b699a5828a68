package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Story shows one feature, in steps that build upon each other.
type Story struct {
	// Title names the feature.
	Title string
	// Cast are the objects of the story. [Tell] first deletes the objects of Cast that an
	// interrupted run left (Stage.clear).
	Cast []*unstructured.Unstructured
	// Steps are told in this order.
	Steps []Step
}

// Step is an action and the check of its result.
type Step struct {
	// Name is the line that [Tell] prints: the action of the step and the expected result.
	Name string
	// Do runs the step, and returns a text to quote, or "". A [Mismatch] means that the result
	// is not the one in Name.
	Do func(ctx context.Context, s *Stage) (quote string, err error)
}

// Mismatch is the error of [Step].Do when the result is not the expected one.
type Mismatch struct {
	Expected, Seen string
}

// Error implements error.
func (m *Mismatch) Error() string { return fmt.Sprintf("expected %s, saw %s", m.Expected, m.Seen) }

// Tell runs the steps of each [Story] and prints a line for each [Step]. A step that fails ends its
// own story and no other. The error of Tell counts the stories that failed.
func Tell(ctx context.Context, out io.Writer, stage *Stage, stories []Story) error {
	failed := 0
	for _, s := range stories {
		if _, err := fmt.Fprintf(out, "\n%s\n", s.Title); err != nil {
			return fmt.Errorf("tell: %w", err)
		}
		if err := s.tell(ctx, out, stage); err != nil {
			failed++
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d stories did not go as told", failed, len(stories))
	}
	return nil
}

func (s Story) tell(ctx context.Context, out io.Writer, stage *Stage) error {
	start := time.Now()
	err := within(ctx, func(ctx context.Context) error { return stage.clear(ctx, s.Cast...) })
	if err != nil {
		if ctx.Err() == nil {
			report(out, "clear the stage", time.Since(start), "", err)
		}
		return err
	}
	for _, step := range s.Steps {
		start := time.Now()
		var quote string
		err := within(ctx, func(ctx context.Context) (err error) {
			quote, err = step.Do(ctx, stage)
			return errors.Join(err, stage.warned())
		})
		if ctx.Err() != nil {
			return ctx.Err() // An interrupt is no failure.
		}
		report(out, step.Name, time.Since(start), quote, err)
		if err != nil {
			return err
		}
	}
	return nil
}

// longest is how long a step may take. Stage.await looks at its patience only between two requests, and an API
// server without its etcd answers a request after a minute.
const longest = 2 * time.Minute

// within calls do with a context that ends after longest. The caller's context, whose end is an interrupt, goes on.
func within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("not done after %s", longest))
	defer cancel()
	return do(ctx)
}

// report writes the line of a step, with its details indented below.
func report(out io.Writer, name string, took time.Duration, quote string, err error) {
	const below = "               "
	mark := "✓"
	if err != nil {
		mark = "✗"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %s %7d ms  %s\n", mark, took.Milliseconds(), name)
	if quote != "" {
		fmt.Fprintf(&b, "%s%s\n", below, quote)
	}
	var mismatch *Mismatch
	switch {
	case errors.As(err, &mismatch):
		fmt.Fprintf(&b, "%sexpected: %s\n%ssaw:      %s\n", below, mismatch.Expected, below, mismatch.Seen)
	case err != nil:
		fmt.Fprintf(&b, "%sfailed:   %v\n", below, err)
	}
	_, _ = io.WriteString(out, b.String()) // If this write fails, so does the next title.
}
