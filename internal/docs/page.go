package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Page is a Markdown file.
type Page struct {
	// Path in the repository, such as docs/install.md.
	Path string
	// Title is the first heading.
	Title string
	// Anchors are the anchors of the headings: upgrade for a link docs/install.md#upgrade.
	Anchors map[string]bool
	Links   []Link
	Blocks  []Block

	root   ast.Node
	source []byte
}

// Link is a link or an image.
type Link struct {
	Line int
	To   string
}

// Block is a fenced code block.
type Block struct {
	Line     int // of its first line of text
	Language string
	// NotRun is REASON in not-run="REASON" of the opening line: no test runs the commands.
	NotRun string
	Text   string
}

// markdown returns a goldmark.Markdown with the extensions of GitHub that the pages use.
func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// Read reads the page at the path `at` in the repository with the top directory root.
func Read(root, at string) (*Page, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(at)))
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return parse(at, source)
}

func parse(at string, source []byte) (*Page, error) {
	ids := anchors{}
	p := &Page{Path: path.Clean(at), Anchors: ids, source: source}
	p.root = markdown().Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	err := ast.Walk(p.root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			p.add(node)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, fmt.Errorf("walk page %s: %w", at, err)
	}
	return p, nil
}

// notRun matches not-run="REASON" in the opening line of a [Block].
var notRun = regexp.MustCompile(`\bnot-run="([^"]+)"`)

func (p *Page) add(node ast.Node) {
	switch n := node.(type) {
	case *ast.Heading:
		if p.Title == "" {
			p.Title = plain(n, p.source)
		}
	case *ast.Link:
		p.Links = append(p.Links, Link{Line: p.lineOf(n), To: string(n.Destination)})
	case *ast.Image:
		p.Links = append(p.Links, Link{Line: p.lineOf(n), To: string(n.Destination)})
	case *ast.FencedCodeBlock:
		b := Block{Language: string(n.Language(p.source)), Text: string(n.Lines().Value(p.source))}
		if n.Lines().Len() > 0 {
			b.Line = p.line(n.Lines().At(0).Start)
		}
		if n.Info != nil {
			if found := notRun.FindSubmatch(n.Info.Value(p.source)); found != nil {
				b.NotRun = string(found[1])
			}
		}
		p.Blocks = append(p.Blocks, b)
	}
}

func (p *Page) line(offset int) int { return 1 + strings.Count(string(p.source[:offset]), "\n") }

// lineOf returns the line of the ast.TypeBlock that contains an inline ast.Node.
func (p *Page) lineOf(node ast.Node) int {
	for n := node; n != nil; n = n.Parent() {
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			return p.line(n.Lines().At(0).Start)
		}
	}
	return 1
}

// plain returns the text of an ast.Node without Markdown marks.
func plain(node ast.Node, source []byte) string {
	var b strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		if t, is := child.(*ast.Text); is {
			b.Write(t.Value(source))
			continue
		}
		b.WriteString(plain(child, source))
	}
	return b.String()
}

// anchors gives each heading the same anchor as GitHub, so that a link works on GitHub and on the
// site.
type anchors map[string]bool

// Generate implements [parser.IDs].
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := slug(string(heading))
	for n, first := 1, name; a[name]; n++ {
		name = first + "-" + strconv.Itoa(n)
	}
	a[name] = true
	return []byte(name)
}

// Put implements [parser.IDs].
func (a anchors) Put(name []byte) { a[string(name)] = true }

func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
