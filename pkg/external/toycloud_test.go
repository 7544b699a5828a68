package external

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// toyCloud is an HTTP server with things. PUT /things/ID creates a thing with an id that the client chose,
// and POST /things a thing with an id that the cloud chooses. With toyCloud.slow, PUT and POST begin an
// operation and answer 202, with the name of the operation in the header Operation and a number of seconds
// in Retry-After. The operation ends after toyCloud.slow looks.
type toyCloud struct {
	mu     sync.Mutex
	things map[string]*thing
	// running has the operations that have not ended, by name.
	running map[string]*operation
	last    int
	calls   []string

	slow   int                 // how often an operation is asked for before it ends
	lose   string              // the method of which the next answer is lost after the call was carried out
	refuse string              // why operations fail
	fails  string              // the method that is answered with 500
	prefix string              // of the names of operations
	hides  bool                // lists lack all things
	takes  map[string][]string // the things that the deletion of a thing takes along
	then   func()              // is called once, after the next operation began

	overlaps int // how often an operation began during another one
}

type thing struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Colour is the field that PATCH /things/ID changes.
	Colour string `json:"colour,omitempty"`
}

type operation struct {
	looks int
	end   func()
}

// ServeHTTP implements http.Handler.
func (c *toyCloud) ServeHTTP(w http.ResponseWriter, rq *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, rq.Method+" "+rq.URL.RequestURI())
	collection, id, _ := strings.Cut(strings.TrimPrefix(rq.URL.Path, "/"), "/")
	answer := httptest.NewRecorder()
	switch {
	case collection == "operations":
		c.look(answer, id)
	case c.fails == rq.Method:
		http.Error(answer, "broken", http.StatusInternalServerError)
	case rq.Method == http.MethodPost, rq.Method == http.MethodPut:
		c.make(answer, rq, id)
	case rq.Method == http.MethodPatch:
		c.paint(answer, rq, id)
	case rq.Method == http.MethodDelete:
		if c.things[id] == nil {
			http.Error(answer, "no such thing", http.StatusNotFound)
			break
		}
		c.begin(answer, func() {
			for _, other := range append(c.takes[id], id) {
				delete(c.things, other)
			}
		})
	case id == "":
		c.list(answer, rq.URL.Query().Get("name"))
	default:
		c.write(answer, c.things[id])
	}
	if c.lose == rq.Method {
		c.lose = ""
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (c *toyCloud) make(w http.ResponseWriter, rq *http.Request, id string) {
	made := &thing{}
	if err := json.NewDecoder(rq.Body).Decode(made); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if made.ID = id; id == "" {
		c.last++
		made.ID = fmt.Sprint("t", c.last)
	}
	c.begin(w, func() { c.things[made.ID] = made })
	if c.slow == 0 {
		c.write(w, made)
	}
}

// paint changes the colour of a thing.
func (c *toyCloud) paint(w http.ResponseWriter, rq *http.Request, id string) {
	var change thing
	if err := json.NewDecoder(rq.Body).Decode(&change); err != nil || c.things[id] == nil {
		http.Error(w, fmt.Sprint("no thing to paint: ", err), http.StatusNotFound)
		return
	}
	c.begin(w, func() { c.things[id].Colour = change.Colour })
	if c.slow == 0 {
		c.write(w, c.things[id])
	}
}

// begin calls do at once, or begins an operation that calls do at its end.
func (c *toyCloud) begin(w http.ResponseWriter, do func()) {
	if c.slow == 0 {
		do()
		return
	}
	for _, other := range c.running {
		if other.looks > 0 {
			c.overlaps++
		}
	}
	c.last++
	name := c.prefix + fmt.Sprint("op", c.last)
	c.running[name] = &operation{c.slow, do}
	w.Header().Set("Operation", name)
	w.Header().Set("Retry-After", "3")
	w.WriteHeader(http.StatusAccepted)
	if c.then != nil {
		c.then()
		c.then = nil
	}
}

// look answers with the state of an operation, and carries out the operation at the last look.
func (c *toyCloud) look(w http.ResponseWriter, name string) {
	o := c.running[name]
	if o == nil {
		http.Error(w, "no operation "+name, http.StatusNotFound)
		return
	}
	if o.looks--; o.looks > 0 {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if c.refuse != "" {
		http.Error(w, c.refuse, http.StatusConflict)
		return
	}
	if o.end != nil {
		o.end()
		o.end = nil
	}
}

func (c *toyCloud) list(w http.ResponseWriter, name string) {
	found := []*thing{}
	for _, one := range c.things {
		if one.Name == name && !c.hides {
			found = append(found, one)
		}
	}
	c.write(w, found)
}

func (c *toyCloud) write(w http.ResponseWriter, value any) {
	if one, ok := value.(*thing); ok && one == nil {
		http.Error(w, "no such thing", http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(value)
}

// change calls do while the cloud carries out no other call.
func (c *toyCloud) change(do func(*toyCloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c)
}

// finish carries out all operations.
func (c *toyCloud) finish() {
	for _, o := range c.running {
		if o.end != nil {
			o.end()
		}
	}
	clear(c.running)
}

// toy is the Actuator of a toyCloud. With toy.put, clients choose the ids.
type toy[K Object] struct {
	address string
	put     bool
}

// call sends a request, and reads the answer into a value.
func (a toy[K]) call(ctx context.Context, method, path string, body, value any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	rq, err := http.NewRequestWithContext(ctx, method, a.address+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(rq)
	if err != nil {
		return &Error{Class: Transient, Message: "no answer"}
	}
	defer func() { _ = answer.Body.Close() }()
	after, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	switch answer.StatusCode {
	case http.StatusAccepted:
		return &Error{
			Class: Pending, Operation: answer.Header.Get("Operation"), After: time.Duration(after) * time.Second,
			Message: "accepted",
		}
	case http.StatusNotFound:
		return &Error{Class: Missing, Message: "missing"}
	case http.StatusConflict:
		return &Error{Class: Invalid, Message: "the cloud refused"}
	case http.StatusInternalServerError:
		return &Error{Class: Transient, Message: "the cloud failed"}
	}
	if value == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(value)
}

// Get implements Actuator. The engine sees only the id of a thing.
func (a toy[K]) Get(ctx context.Context, _ Input[K], id string) (string, error) {
	var one thing
	err := a.call(ctx, http.MethodGet, "/things/"+id, nil, &one)
	return one.ID, err
}

// Find implements Actuator.
func (a toy[K]) Find(ctx context.Context, _ Input[K], search Search) (ids []string, err error) {
	var found []thing
	err = a.call(ctx, http.MethodGet, "/things?name="+url.QueryEscape(search.Name), nil, &found)
	for _, one := range found {
		ids = append(ids, one.ID)
	}
	return ids, err
}

// Create implements Actuator.
func (a toy[K]) Create(ctx context.Context, in Input[K]) (string, error) {
	var one thing
	method, path := http.MethodPost, "/things"
	if a.put {
		method, path = http.MethodPut, "/things/"+toyAddress(in)
	}
	err := a.call(ctx, method, path, thing{Name: in.Object.GetName()}, &one)
	return one.ID, err
}

// Update implements Actuator. fields has a single element, the wanted colour.
func (a toy[K]) Update(ctx context.Context, _ Input[K], id string, fields []string) (string, error) {
	return id, a.call(ctx, http.MethodPatch, "/things/"+id, thing{Colour: fields[0]}, nil)
}

// Delete implements Actuator.
func (a toy[K]) Delete(ctx context.Context, _ Input[K], id string) error {
	return a.call(ctx, http.MethodDelete, "/things/"+id, nil, nil)
}

// Resume implements Resumer.
func (a toy[K]) Resume(ctx context.Context, _ Input[K], operation string) error {
	return a.call(ctx, http.MethodGet, "/operations/"+operation, nil, nil)
}

func toyAddress[K Object](in Input[K]) string { return "blue-" + in.Object.GetName() }
