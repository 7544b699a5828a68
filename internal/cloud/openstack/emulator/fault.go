package emulator

import (
	"fmt"
	"net/http"
)

// fault is an error that service.body puts into the form of the service, such as {"NeutronError":
// {...}}.
type fault struct {
	status int
	// kind is NeutronError.type; other services derive the name of an error from the status code.
	kind    string
	message string
}

// Error returns the message.
func (f *fault) Error() string { return f.message }

func refuse(status int, kind, format string, args ...any) error {
	return &fault{status: status, kind: kind, message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "HTTPBadRequest", format, args...)
}

func conflicting(kind, format string, args ...any) error {
	return refuse(http.StatusConflict, kind, format, args...)
}

func forbidden(format string, args ...any) error {
	return refuse(http.StatusForbidden, "PolicyNotAuthorized", format, args...)
}

// absent is a 404 for an object of a kind.
func absent(kind, id string) error {
	return refuse(http.StatusNotFound, kind+"NotFound", "%s %s could not be found.", kind, id)
}

// neutronError is the body of Neutron's errors.
func neutronError(f *fault) any {
	if f.status == http.StatusUnauthorized {
		return keystoneError(f)
	}
	return object{"NeutronError": object{"type": f.kind, "message": f.message, "detail": ""}}
}

// keystoneError is the body of Keystone's errors, and of every 401.
func keystoneError(f *fault) any {
	return object{"error": object{"code": f.status, "message": f.message, "title": http.StatusText(f.status)}}
}

// novaError is the body of the errors of Nova, Cinder and Manila: an object named
// after the status.
func novaError(f *fault) any {
	name, ok := map[int]string{
		http.StatusBadRequest:            "badRequest",
		http.StatusUnauthorized:          "unauthorized",
		http.StatusForbidden:             "forbidden",
		http.StatusNotFound:              "itemNotFound",
		http.StatusConflict:              "conflictingRequest",
		http.StatusRequestEntityTooLarge: "overLimit",
		http.StatusTooManyRequests:       "overLimit",
	}[f.status]
	if !ok {
		name = "computeFault"
	}
	return object{name: object{"code": f.status, "message": f.message}}
}

// page is an error as the HTML page of Glance.
type page string

func glanceError(f *fault) any {
	title := fmt.Sprintf("%d %s", f.status, http.StatusText(f.status))
	return page(fmt.Sprintf("<html>\n <head>\n  <title>%s</title>\n </head>\n <body>\n  <h1>%s</h1>\n  %s<br /><br />\n"+
		"\n\n </body>\n</html>", title, title, f.message))
}
