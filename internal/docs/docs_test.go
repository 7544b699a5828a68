package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func all(t *testing.T) []*Page {
	t.Helper()
	pages, err := All(root)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestLinks: every link between pages leads to a file and a heading that exist.
func TestLinks(t *testing.T) {
	if err := CheckLinks(root, all(t)); err != nil {
		t.Error(err)
	}
}

// mention is the name of a page in a comment, a message or a script.
var mention = regexp.MustCompile(`\bdocs/[a-zA-Z0-9_./-]+\.md(#[a-z0-9_-]+)?`)

// TestMentions: a page that code, scripts or the chart name exists, with the heading.
func TestMentions(t *testing.T) {
	anchors := map[string]map[string]bool{}
	for _, p := range all(t) {
		anchors[p.Path] = p.Anchors
	}
	for _, dir := range []string{
		"api", "bench", "charts", "cmd", "config", "examples",
		"hack", "internal", "pkg", "release", "test",
	} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() && file == "../../internal/docs" {
				return filepath.SkipDir // its tests name pages that do not exist
			}
			if err != nil || entry.IsDir() || !slices.Contains([]string{".go", ".yaml", ".sh", ".txt"}, filepath.Ext(file)) {
				return err
			}
			text, err := os.ReadFile(file)
			for _, name := range mention.FindAllString(string(text), -1) {
				page, fragment, _ := strings.Cut(name, "#")
				if known := anchors[page]; known == nil || fragment != "" && !known[fragment] {
					t.Errorf("%s names %s, which does not exist", file, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestIndex: docs/README.md leads to every page in docs but decisions, references and compatibility tables,
// which have lists of their own.
func TestIndex(t *testing.T) {
	linked := map[string]bool{}
	pages := all(t)
	for _, p := range pages {
		if p.Path == index || strings.HasPrefix(p.Path, "docs/packs/") || p.Path == "docs/decisions/README.md" {
			for _, link := range p.Links {
				if target, _, inside, err := p.resolve(link.To); inside && err == nil {
					linked[target] = true
				}
			}
		}
	}
	for _, p := range pages {
		if strings.HasPrefix(p.Path, folder) && p.Path != index && !linked[p.Path] {
			t.Errorf("no list of pages has %s", p.Path)
		}
	}
}

func TestCheckLinks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"README.md": "# Top\n[a](docs/a.md#second-part) [b](docs/b.md) [c](docs/a.md#third) " +
			"[out](https://example.com/x#y) [up](../x)",
		"docs/a.md": "# A\n## Second, part\n[self](#a) [none](#b) ![picture](a.png) [folder](../docs)\n" +
			"```sh\n[no](link.md)\n```\n",
		"docs/bin/c.md": "[not a page of ours](x.md)",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := All(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"README.md:2: docs/b.md: no such file",
		"README.md:2: docs/a.md#third: docs/a.md has no heading #third",
		"README.md:2: ../x: leads out of the repository",
		"docs/a.md:3: #b: docs/a.md has no heading #b",
		"docs/a.md:3: a.png: no such file",
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), CheckLinks(dir, pages).Error()); diff != "" {
		t.Errorf("broken links (-want +got):\n%s", diff)
	}
}

func TestAnchors(t *testing.T) {
	const page = "# `--namespaces`, and *more*\n## A Usage isn't Ready\n## A Usage isn't Ready\n## under_score über\n"
	p, err := parse("docs/a.md", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"--namespaces-and-more", "a-usage-isnt-ready", "a-usage-isnt-ready-1", "under_score-über"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(p.Anchors))); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
	if p.Title != "--namespaces, and more" {
		t.Errorf("title %q", p.Title)
	}
}

func TestCommands(t *testing.T) {
	const page = "# A\n```console\nignored\n$ one \\\n    more\nout\n\nput\n$ two\n```\n```sh\nthree\nfour\n```\n" +
		"```sh not-run=\"needs a cloud\"\nfive\n```\n```yaml\na: b\n```\n"
	p, err := parse("docs/a.md", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	var got []Command
	for _, b := range p.Blocks {
		if b.Run() {
			got = append(got, b.Commands()...)
		}
	}
	output := func(text string) *string { return &text }
	want := []Command{
		{Line: 4, Text: "one \\\n    more", Output: output("out\n\nput\n")},
		{Line: 9, Text: "two", Output: output("")},
		{Line: 12, Text: "three\nfour\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if reason := p.Blocks[2].NotRun; reason != "needs a cloud" {
		t.Errorf("reason %q", reason)
	}
}

var (
	href = regexp.MustCompile(`href="([^"]*)"`)
	id   = regexp.MustCompile(` id="([^"]*)"`)
)

// TestSite: the site has a page for each page in docs, its links lead to pages of the site, and an anchor
// is on a page once.
func TestSite(t *testing.T) {
	out := t.TempDir()
	pages := all(t)
	if err := WriteSite(root, out, pages); err != nil {
		t.Fatal(err)
	}
	ids, links := anchorsAndLinks(t, out, pages)
	if len(links["index.html"]) < 20 {
		t.Errorf("the index has %d links", len(links["index.html"]))
	}
	for at, all := range links {
		from := Page{Path: at}
		for _, to := range all {
			target, fragment, inside, err := from.resolve(strings.ReplaceAll(to, "&amp;", "&"))
			if err != nil {
				t.Error(err)
			}
			if inside && (ids[target] == nil || fragment != "" && !ids[target][fragment]) {
				t.Errorf("%s: link to %s, which does not exist", at, to)
			}
		}
	}
}

// anchorsAndLinks returns the anchors and the links of each page of the site in out. An anchor may be on a page once.
func anchorsAndLinks(
	t *testing.T, out string, pages []*Page,
) (ids map[string]map[string]bool, links map[string][]string) {
	t.Helper()
	ids, links = map[string]map[string]bool{}, map[string][]string{}
	for _, p := range pages {
		if !strings.HasPrefix(p.Path, folder) {
			continue
		}
		at := address(p.Path)
		text, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(at)))
		if err != nil {
			t.Fatal(err)
		}
		ids[at] = map[string]bool{}
		for _, found := range id.FindAllSubmatch(text, -1) {
			if ids[at][string(found[1])] {
				t.Errorf("%s has two anchors %s", at, found[1])
			}
			ids[at][string(found[1])] = true
		}
		for _, found := range href.FindAllSubmatch(text, -1) {
			links[at] = append(links[at], string(found[1]))
		}
	}
	return ids, links
}

func TestIsUntagged(t *testing.T) {
	for text, want := range map[string]bool{
		"```\n$ ls\n```": true, "```\nout\nkubectl get pods\n```": true, "```text\nhelm list\n```": true,
		"```\nkinship doctor\n```": true, "```sh\nkubectl get pods\n```": false, "```console\n$ ls\n```": false,
		"```\nkinship.dev\n```": false, "```yaml\nkind: Usage\n```": false,
	} {
		p, err := parse("docs/a.md", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Blocks[0].IsUntagged(); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// TestRun: each block of commands in README.md and docs is run by a test, or says why not.
func TestRun(t *testing.T) {
	for _, p := range all(t) {
		if p.Path != "README.md" && !strings.HasPrefix(p.Path, folder) {
			continue
		}
		for _, b := range p.Blocks {
			if b.Run() && !slices.Contains(Tested, p.Path) {
				t.Errorf("%s:%d: no test runs the commands, and no reason is given (not-run)", p.Path, b.Line)
			}
			if b.IsUntagged() {
				t.Errorf("%s:%d: the block has commands: give it the language sh or console", p.Path, b.Line)
			}
		}
	}
	for _, tested := range Tested {
		if _, err := os.Stat(filepath.Join(root, tested)); err != nil {
			t.Error(err)
		}
	}
}

// TestExplain: what kubectl explain shows has no words that only this project knows.
func TestExplain(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "config/crd/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`(?i)\bseeds?\b`).Find(text); found != nil {
			t.Errorf("%s has the word %s", file, found)
		}
	}
}
