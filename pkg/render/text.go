package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tree is a line and the lines below. [Lines] sets Cells in columns and draws the branches,
// such as "├─ ", before the first [Cell].
type Tree struct {
	Cells []Cell
	Below []*Tree
}

// Cell is a column of a line.
type Cell struct {
	Text   string
	Colour Colour
}

// Colour is the SGR code of a terminal colour. 0 means no colour.
type Colour int

// Colours for lineage.Status.
const (
	Red    Colour = 31
	Green  Colour = 32
	Yellow Colour = 33
	Faint  Colour = 2
)

// Text returns a [Cell] without colour.
func Text(text string) Cell { return Cell{Text: text} }

// Lines writes trees below a header. An empty header is left out. The argument colour turns
// on Cell.Colour and is for terminals only.
func Lines(w io.Writer, header []string, trees []*Tree, colour bool) error {
	var rows [][]Cell
	if len(header) > 0 {
		row := make([]Cell, len(header))
		for i, text := range header {
			row[i] = Text(text)
		}
		rows = append(rows, row)
	}
	for _, t := range trees {
		rows = t.rows(rows, "", "")
	}
	return columns(w, rows, colour)
}

// rows appends the lines of a [Tree]. The prefix first is for the line of the Tree, and rest
// is for the lines below: "│  " continues the branch of a Tree with more lines to come.
func (t *Tree) rows(rows [][]Cell, first, rest string) [][]Cell {
	row := append([]Cell{}, t.Cells...)
	if len(row) > 0 {
		row[0].Text = first + Plain(row[0].Text)
	}
	rows = append(rows, row)
	for i, below := range t.Below {
		if i == len(t.Below)-1 {
			rows = below.rows(rows, rest+"└─ ", rest+"   ")
			continue
		}
		rows = below.rows(rows, rest+"├─ ", rest+"│  ")
	}
	return rows
}

// Table writes rows in columns below a header, as [Lines] does without branches.
func Table(w io.Writer, header []string, rows [][]string) error {
	trees := make([]*Tree, 0, len(rows))
	for _, row := range rows {
		t := &Tree{}
		for _, text := range row {
			t.Cells = append(t.Cells, Text(text))
		}
		trees = append(trees, t)
	}
	return Lines(w, header, trees, false)
}

// columns pads each [Cell] to the width of its column. columns writes no spaces after the
// last Cell.
func columns(w io.Writer, rows [][]Cell, colour bool) error {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i].Text = Plain(row[i].Text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 { // The last Cell of a row is not padded.
				widths[i] = max(widths[i], utf8.RuneCountInString(row[i].Text))
			}
		}
	}
	out := bufio.NewWriter(w)
	for _, row := range rows {
		blank := 0
		for i, cell := range row {
			if cell.Text != "" {
				fmt.Fprint(out, strings.Repeat(" ", blank), cell.paint(colour))
				blank = 0
			}
			blank += widths[i] - utf8.RuneCountInString(cell.Text) + 3
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

func (c Cell) paint(colour bool) string {
	if !colour || c.Colour == 0 {
		return c.Text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c.Colour, c.Text)
}

// Plain returns a text on 1 line that is safe to print: U+FFFD replaces each character that
// is not printable, such as the ESC (0x1b) of an escape sequence.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, text)
}
