package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

// auditPolicy has the API server write one line for each request, when it is
// answered. Metadata says who asked for what, and nothing of the content.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- level: Metadata
`

// auditEvent is what of an audit event is of use here.
type auditEvent struct {
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		APIGroup    string `json:"apiGroup"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
}

// client names who sent the request: the program, and the user it acted as.
func (e auditEvent) client() string {
	program, _, _ := strings.Cut(e.UserAgent, "/")
	return program + " as " + e.User.Username
}

func (e auditEvent) request() string {
	if e.ObjectRef == nil {
		return e.Verb + " of no resource"
	}
	return gauge.Request{
		Verb: e.Verb, Group: e.ObjectRef.APIGroup,
		Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
	}.String()
}

// countClients counts the requests of an audit log by client and request,
// without our own and without watches.
func countClients(log io.Reader) (map[string]int, error) {
	result := map[string]int{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event auditEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("parse audit log: %w", err)
		}
		if strings.HasPrefix(event.UserAgent, userAgent) || event.Verb == "watch" {
			continue
		}
		result[event.client()+": "+event.request()]++
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	return result, nil
}

// auditSize is how long the log is by now; without one it is 0.
func auditSize(path string) (int64, error) {
	if path == "" {
		return 0, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // Written with the first request.
	}
	if err != nil {
		return 0, fmt.Errorf("find audit log: %w", err)
	}
	return info.Size(), nil
}

// auditBetween counts what was written to the log between two sizes of it.
func auditBetween(path string, from, to int64) (clients map[string]int, err error) {
	if path == "" {
		return nil, nil
	}
	log, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	return countClients(io.NewSectionReader(log, from, to-from))
}
