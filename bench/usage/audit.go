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

// auditPolicy makes the API server write one line for each answered request. The level Metadata logs
// user and object, and no content.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- level: Metadata
`

// auditEvent has the fields of an audit event that countClients reads.
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

// client returns the sender of a request: the program in UserAgent, and the user.
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

// countClients counts the requests of an audit log by auditEvent.client() and request(), without
// this program's requests and without watches.
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

// auditSize returns the current size of the audit log, or 0 if the log does not exist.
func auditSize(path string) (int64, error) {
	if path == "" {
		return 0, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // The API server creates the file with the first request.
	}
	if err != nil {
		return 0, fmt.Errorf("find audit log: %w", err)
	}
	return info.Size(), nil
}

// auditBetween counts the requests between two sizes of the audit log.
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
