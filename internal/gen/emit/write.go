package emit

import (
	"bytes"
	"fmt"
	"strings"
)

// writer collects the text of a Declaration.
type writer struct{ bytes.Buffer }

func (w *writer) line(indent, format string, arguments ...any) {
	w.WriteString(indent)
	fmt.Fprintf(w, format, arguments...)
	w.WriteByte('\n')
}

// comment writes doc and markers as a doc comment. If apart is true, an empty line separates doc from
// markers.
func (w *writer) comment(indent, doc string, markers []string, apart bool) {
	lines := wrap(doc, Columns-len("// ")-4*len(indent))
	if apart && len(lines) > 0 && len(markers) > 0 {
		lines = append(lines, "")
	}
	for _, line := range append(lines, markers...) {
		w.line(indent, "%s", strings.TrimRight("// "+line, " "))
	}
}

func (d Struct) write(w *writer) {
	w.comment("", d.Doc, d.Markers, true)
	w.line("", "type %s struct {", d.Name)
	for i, f := range d.Fields {
		if i > 0 && d.Fields[i-1].Name == "" && f.Name != "" {
			w.line("", "")
		}
		w.comment("\t", f.Doc, f.Markers, false)
		tag := ""
		if f.JSON != "" {
			tag = strings.TrimRight(" `json:\""+f.JSON+"\" "+f.Tags, " ") + "`"
		}
		w.line("\t", "%s %s%s", f.Name, f.Type, tag)
	}
	w.line("", "}")
}

func (d Named) write(w *writer) {
	w.comment("", d.Doc, d.Markers, true)
	w.line("", "type %s %s", d.Name, d.Type)
}

func (d Consts) write(w *writer) {
	w.line("", "const (")
	for _, c := range d.Values {
		w.comment("\t", c.Doc, nil, false)
		w.line("\t", "%s %s = %s", c.Name, d.Type, c.Value)
	}
	w.line("", ")")
}

func (d Var) write(w *writer) {
	w.comment("", d.Doc, nil, false)
	w.line("", "var %s = %s", d.Name, d.Value)
}

func (d Func) write(w *writer) {
	w.comment("", d.Doc, nil, false)
	receiver := ""
	if d.Receiver != "" {
		receiver = "(" + d.Receiver + ") "
	}
	w.line("", "func %s%s%s {\n%s\n}", receiver, d.Name, d.Signature, d.Body)
}
