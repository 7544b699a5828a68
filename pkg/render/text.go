package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tree is one line and the lines below it. A line has cells, which are set in
// columns; the branches are drawn before the first.
type Tree struct {
	Cells []Cell
	Below []*Tree
}

// Cell is a piece of a line.
type Cell struct {
	Text   string
	Colour Colour
}

// Colour of a cell, as terminals number them; zero is none.
type Colour int

// Colours for statuses.
const (
	Red    Colour = 31
	Green  Colour = 32
	Yellow Colour = 33
	Faint  Colour = 2
)

// Text returns a cell without colour.
func Text(text string) Cell { return Cell{Text: text} }

// Lines writes trees, with a header unless it is empty. With colour, cells have
// theirs: use it for terminals only.
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

// rows appends the lines of a tree. The first gets one prefix, those below it get
// the other, which continues the lines of the trees they are part of.
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

// Table writes rows in columns below a header.
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

// columns writes rows with their cells one below the other, and nothing after the
// last.
func columns(w io.Writer, rows [][]Cell, colour bool) error {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i].Text = Plain(row[i].Text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 { // The last cell of a row needs no column.
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

// Plain returns text that is safe to print: on one line, without anything that a
// terminal would obey instead of show.
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
