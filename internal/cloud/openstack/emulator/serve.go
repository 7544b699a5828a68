package emulator

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kinship-dev/kinship/internal/cloud/emulated"
)

// maxRequest bounds a JSON body; Nova's own limit is 112 kB.
const maxRequest = 1 << 20

// service is one of the OpenStack services.
type service struct {
	name string
	// base is the beginning of the service's paths, as in /network; root is the versioned path, as
	// in /network/v2.0.
	base, root string
	// strict services refuse unknown attributes.
	strict bool
	body   func(*fault) any
}

// request is one HTTP request while a handler serves the request. The handler has Server.mu.
type request struct {
	*http.Request

	cloud   *Server
	service *service
	token   *token
	body    object
	raw     []byte
	now     time.Time
}

// store returns Server.objects.
func (rq *request) store() store { return rq.cloud.objects }

// reply is an answer of an unusual form.
type reply struct {
	status int
	header map[string]string
	body   any
}

type handler func(rq *request) (any, error)

// open serves a path without a token.
func (s *Server) open(svc *service, pattern string, handle handler) {
	s.mux.Handle(pattern, s.serve(svc, handle, false))
}

// guarded serves a path to callers with a valid X-Auth-Token.
func (s *Server) guarded(svc *service, pattern string, handle handler) {
	s.mux.Handle(pattern, s.serve(svc, handle, true))
}

func (s *Server) serve(svc *service, handle handler, needsToken bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rq := &request{Request: r, cloud: s, service: svc, now: time.Now().UTC()}
		call, single := callOf(svc, r), strings.HasSuffix(r.Pattern, "}")
		fault := s.comes(call, single)
		if fault.Late > 0 {
			err := fault.after(r, func(again *http.Request) {
				rq.Request = again
				if status, _, _ := rq.answer(handle, needsToken); status < http.StatusBadRequest {
					s.goes(call, single)
				}
			})
			if err != nil {
				return // The client is gone.
			}
		}
		if !fault.before(w, r) {
			return
		}
		status, header, body := rq.answer(handle, needsToken)
		if status < http.StatusBadRequest && !s.goes(call, single) {
			emulated.Drop(w)
			return
		}
		write(w, r, status, header, body, fault.Slow)
	})
}

// answer reads the body, checks X-Auth-Token, runs the handler with Server.mu and encodes the
// result.
func (rq *request) answer(handle handler, needsToken bool) (int, map[string]string, []byte) {
	result, err := rq.result(handle, needsToken)
	if err != nil {
		f, ok := errors.AsType[*fault](err)
		if !ok {
			f = &fault{status: http.StatusInternalServerError, kind: "HTTPInternalServerError", message: err.Error()}
		}
		return rq.encode(reply{status: f.status, body: rq.service.body(f)})
	}
	if r, ok := result.(reply); ok {
		return rq.encode(r)
	}
	status := map[string]int{http.MethodPost: http.StatusCreated, http.MethodDelete: http.StatusNoContent}[rq.Method]
	if status == 0 {
		status = http.StatusOK
	}
	return rq.encode(reply{status: status, body: result})
}

func (rq *request) result(handle handler, needsToken bool) (any, error) {
	if err := rq.read(); err != nil {
		return nil, err
	}
	rq.cloud.mu.Lock()
	defer rq.cloud.mu.Unlock()
	rq.cloud.runDue(rq.now)
	if needsToken {
		if rq.token = rq.cloud.tokenOf(rq.Header.Get("X-Auth-Token"), rq.now); rq.token == nil {
			return nil, unauthorized()
		}
	}
	return handle(rq)
}

// read reads the body into memory. A body that is not JSON is kept as bytes.
func (rq *request) read() error {
	limit := int64(maxRequest)
	isJSON := !strings.Contains(rq.Header.Get("Content-Type"), "octet-stream")
	if !isJSON {
		limit = maxUpload
	}
	raw, err := io.ReadAll(io.LimitReader(rq.Body, limit+1))
	if err != nil {
		return invalid("the body could not be read")
	}
	if int64(len(raw)) > limit {
		return refuse(http.StatusRequestEntityTooLarge, "HTTPRequestEntityTooLarge", "Request is too large.")
	}
	rq.raw = raw
	if !isJSON || len(raw) == 0 || raw[0] == '[' {
		return nil
	}
	if json.Unmarshal(raw, &rq.body) != nil {
		return invalid("Request body is not valid JSON")
	}
	return nil
}

// inside returns the object that a body wraps, as in {"network": {...}}.
func (rq *request) inside(name string) (object, error) {
	inner := asObject(rq.body[name])
	if inner == nil {
		return nil, invalid("Unable to find '%s' in request body", name)
	}
	return inner, nil
}

func (rq *request) encode(r reply) (int, map[string]string, []byte) {
	header := map[string]string{"X-Openstack-Request-Id": "req-" + uuid.NewString()}
	maps.Copy(header, r.header)
	switch body := r.body.(type) {
	case nil:
		return r.status, header, nil
	case page:
		header["Content-Type"] = "text/html; charset=UTF-8"
		return r.status, header, []byte(body)
	}
	text, err := json.Marshal(r.body)
	if err != nil {
		return http.StatusInternalServerError, header, nil
	}
	header["Content-Type"] = "application/json"
	return r.status, header, text
}

func write(w http.ResponseWriter, r *http.Request, status int, header map[string]string, body []byte,
	slow time.Duration,
) {
	for key, value := range header {
		w.Header().Set(key, value)
	}
	w.WriteHeader(status)
	if slow <= 0 {
		_, _ = w.Write(body) // A client that has gone is its own business.
		return
	}
	const pieces = 10
	for piece := range slices.Chunk(body, max(len(body)/pieces, 1)) {
		if !pause(r, slow/pieces, nil) {
			return
		}
		_, _ = w.Write(piece)
		_ = http.NewResponseController(w).Flush()
	}
}

// pause waits for a time, or until a channel is closed, and reports whether the client still waits for
// the answer (r.Context()).
func pause(r *http.Request, d time.Duration, over <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-over:
		return true
	case <-timer.C:
		return true
	}
}
