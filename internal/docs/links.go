package docs

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// skipped are directories in which [All] reads no [Page].
var skipped = map[string]bool{".git": true, "bin": true, "dist": true, "testdata": true}

// All reads each [Page] of a repository: every file README.md, docs/install.md and so on.
func All(root string) ([]*Page, error) {
	var pages []*Page
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && skipped[entry.Name()]:
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(file) != ".md":
			return nil
		}
		at, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		page, err := Read(root, filepath.ToSlash(at))
		pages = append(pages, page)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read all pages: %w", err)
	}
	return pages, nil
}

// CheckLinks returns an error for each link to a file or a heading of the repository that does not
// exist.
func CheckLinks(root string, pages []*Page) error {
	byPath := map[string]*Page{}
	for _, p := range pages {
		byPath[p.Path] = p
	}
	var broken []error
	for _, p := range pages {
		for _, link := range p.Links {
			if err := checkLink(root, byPath, p, link.To); err != nil {
				broken = append(broken, fmt.Errorf("%s:%d: %s: %w", p.Path, link.Line, link.To, err))
			}
		}
	}
	return errors.Join(broken...)
}

func checkLink(root string, pages map[string]*Page, from *Page, to string) error {
	target, fragment, inside, err := from.resolve(to)
	if err != nil || !inside {
		return err
	}
	if strings.HasPrefix(target, "../") {
		return errors.New("leads out of the repository")
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
		return errors.New("no such file")
	}
	page := pages[target]
	if fragment == "" || page == nil {
		return nil
	}
	if !page.Anchors[fragment] {
		return fmt.Errorf("%s has no heading #%s", target, fragment)
	}
	return nil
}

// resolve returns the path in the repository that a link leads to. For an address outside of the
// repository, such as https://kubernetes.io, `inside` is false.
func (p *Page) resolve(to string) (target, fragment string, inside bool, err error) {
	u, err := url.Parse(to)
	if err != nil {
		return "", "", false, fmt.Errorf("parse link: %w", err)
	}
	if u.Scheme != "" || u.Host != "" {
		return "", "", false, nil
	}
	if u.Path == "" {
		return p.Path, u.Fragment, true, nil
	}
	return path.Join(path.Dir(p.Path), u.Path), u.Fragment, true, nil
}
