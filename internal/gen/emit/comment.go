package emit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Columns is the width at which doc comments are wrapped. A tab counts as four columns.
const Columns = 100

// wrap breaks a text into lines of at most width characters. An empty line separates the
// paragraphs of the text and of the result. A word longer than width has a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	for _, paragraph := range paragraphs(text) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		line, length := "", 0
		for i, word := range paragraph {
			n := utf8.RuneCountInString(word)
			// The next word is kept on this line too when it would have a meaning at the start
			// of a line.
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

// blank reports whether a character separates words: white space, and characters that a Go
// file can't hold or that an editor doesn't show.
func blank(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsGraphic(r)
}

// plain returns the words of a paragraph such that gofmt and controller-gen read nothing but
// text. Words at the start that would make the paragraph a marker, a heading or a list lose
// that meaning, and a paragraph that would become a heading gets a full stop.
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

// special reports whether a word has a meaning at the start of a comment's line.
func special(word string) bool { return strings.ContainsAny(word[:1], "#+-*[") }
