package docs

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// source is the base URL of links to files that are not on the site.
const source = "https://github.com/kinship-dev/kinship"

// folder has the pages of the site, and index is the page with the menu.
const folder, index = "docs/", "docs/README.md"

//go:embed page.html
var layout string

// view is the data of the template page.html.
type view struct {
	Title      string
	Menu, Body template.HTML
}

// WriteSite writes each [Page] in docs/ as an HTML page without scripts into a directory.
func WriteSite(root, out string, pages []*Page) error {
	page, err := template.New("page").Parse(layout)
	if err != nil {
		return fmt.Errorf("parse template: %w", err)
	}
	var menu *Page
	for _, p := range pages {
		if p.Path == index {
			menu = p
		}
	}
	if menu == nil {
		return fmt.Errorf("write the site: there is no %s", index)
	}
	for _, p := range pages {
		if !strings.HasPrefix(p.Path, folder) {
			continue
		}
		if err := p.write(page, root, out, menu); err != nil {
			return fmt.Errorf("write the page of %s: %w", p.Path, err)
		}
	}
	return nil
}

func (p *Page) write(layout *template.Template, root, out string, menu *Page) error {
	body, err := p.html(root, p, true)
	if err != nil {
		return err
	}
	list, err := menu.html(root, p, false)
	if err != nil {
		return err
	}
	file := filepath.Join(out, filepath.FromSlash(address(p.Path)))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := layout.Execute(&b, view{p.Title, list, body}); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// html renders a page with links relative to the page `at`: each page shows the menu. Only the page
// or the menu may have anchors, because an anchor must be unique in an HTML page.
func (p *Page) html(root string, at *Page, anchors bool) (template.HTML, error) {
	again, err := parse(p.Path, p.source) // Rendering changes the links of the tree.
	if err != nil {
		return "", err
	}
	err = ast.Walk(again.root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if node.Kind() == ast.KindHeading && !anchors {
			node.RemoveAttributes()
		}
		if link, is := node.(*ast.Link); is && entering {
			to, err := p.href(root, at, string(link.Destination))
			link.Destination = []byte(to)
			return ast.WalkContinue, err
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := markdown().Renderer().Render(&b, again.source, again.root); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil
}

// href returns the address of a link of p, for a reader of the page `at`.
func (p *Page) href(root string, at *Page, to string) (string, error) {
	target, fragment, inside, err := p.resolve(to)
	if err != nil || !inside {
		return to, err
	}
	if fragment != "" {
		fragment = "#" + fragment
	}
	if strings.HasPrefix(target, folder) && path.Ext(target) == ".md" {
		from := path.Dir(address(at.Path))
		relative, err := filepath.Rel(filepath.FromSlash(from), filepath.FromSlash(address(target)))
		return filepath.ToSlash(relative) + fragment, err
	}
	view := "/blob/main/"
	if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err == nil && info.IsDir() {
		view = "/tree/main/"
	}
	return source + view + target + fragment, nil
}

// address returns the file of a page in the site: install.html for docs/install.md.
func address(at string) string {
	at = strings.TrimPrefix(at, folder)
	if path.Base(at) == "README.md" {
		return path.Join(path.Dir(at), "index.html")
	}
	return strings.TrimSuffix(at, ".md") + ".html"
}
