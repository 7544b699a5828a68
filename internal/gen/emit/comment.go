package emit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Columns is the width at which doc comments are wrapped. A tab counts as four columns.
const Columns = 100

// wrap breaks a text into lines of at most width characters. An empty line separates paragraphs,
// in the text as in the result. A line is longer than width if a word is, and if special words
// follow each other.
func wrap(text string, width int) []string {
	var lines []string
	for _, paragraph := range paragraphs(text) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		line, length := "", 0
		for i, word := range paragraph {
			n := utf8.RuneCountInString(word)
			// A special word must not start a line. The line with "a" also takes "+b" after "a".
			after := 0
			if i+1 < len(paragraph) && special(paragraph[i+1]) {
				after = 1 + utf8.RuneCountInString(paragraph[i+1])
			}
			if line == "" || (special(word) || length+1+n+after <= width) {
				if line != "" {
					line, length = line+" ", length+1
				}
				line, length = line+word, length+n
				continue
			}
			lines = append(lines, line)
			line, length = word, n
		}
		lines = append(lines, line)
	}
	return lines
}

// paragraphs returns the words of each paragraph of a text.
func paragraphs(text string) [][]string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD")
	var all [][]string
	var words []string
	for line := range strings.SplitSeq(text+"\n\n", "\n") {
		here := strings.FieldsFunc(line, blank)
		switch {
		case len(here) > 0:
			words = append(words, here...)
		case len(words) > 0:
			if words = plain(words); len(words) > 0 {
				all = append(all, words)
			}
			words = nil
		}
	}
	return all
}

// blank reports whether a character separates words: white space, control characters such as NUL,
// and invisible characters such as U+FEFF.
func blank(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsGraphic(r)
}

// plain returns a paragraph's words such that gofmt and controller-gen see plain text. "+optional"
// at the start becomes "optional", and "# Title" becomes "Title". A paragraph that ends with a
// letter or digit gets a full stop, or else gofmt could turn a short paragraph into a heading.
func plain(words []string) []string {
	for len(words) > 0 && special(words[0]) {
		if words[0] = strings.TrimLeft(words[0], "#+-*["); words[0] == "" {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return nil
	}
	last := &words[len(words)-1]
	if r, _ := utf8.DecodeLastRuneInString(*last); unicode.IsLetter(r) || unicode.IsDigit(r) {
		*last += "."
	}
	return words
}

// special reports whether gofmt or controller-gen interpret a word at the start of a line.
func special(word string) bool { return strings.ContainsAny(word[:1], "#+-*[") }
