// Command release makes the images and the files of a release, and verifies signatures.
//
//	release image  --version V --out DIR [--key FILE]
//	release all    --version V --out DIR [--key FILE]
//	release verify --out DIR --key FILE
//
// `make image` and `make release` run the command.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kinship-dev/kinship/release/assets"
	"github.com/kinship-dev/kinship/release/image"
	"github.com/kinship-dev/kinship/release/sign"
)

// repository is the URL of the sources.
const repository = "https://github.com/kinship-dev/kinship"

func main() {
	//nolint:forbidigo // this is the main of a program, where contexts begin
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// flags are the flags of all commands.
type flags struct{ version, out, key, source, image string }

// run runs a command: image, all or verify.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("name a command: image, all or verify")
	}
	var f flags
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	set.StringVar(&f.version, "version", "", "version of the release, as in v1.2.0")
	set.StringVar(&f.out, "out", "dist", "directory of the release")
	set.StringVar(&f.key, "key", "", "file of the key: private to sign, public to verify")
	set.StringVar(&f.source, "source", "..", "directory of the sources")
	set.StringVar(&f.image, "image", "ghcr.io/kinship-dev/kinship", "repository of the images")
	if err := set.Parse(args[1:]); err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	switch args[0] {
	case "image":
		_, _, err := makeImage(ctx, f, out)
		return err
	case "all":
		return makeAll(ctx, f, out)
	case "verify":
		return verify(f, out)
	default:
		return fmt.Errorf("no command %q: name image, all or verify", args[0])
	}
}

// makeImage builds the images with image.Build, image.Bills and image.Provenance, and prints the
// images' digest. With --key, makeImage signs the images and the provenance.
func makeImage(ctx context.Context, f flags, out io.Writer) (image.Options, image.Result, error) {
	o, err := options(ctx, f)
	if err != nil {
		return o, image.Result{}, err
	}
	result, err := image.Build(ctx, o)
	if err != nil {
		return o, result, err
	}
	if _, err := image.Bills(o, result); err != nil {
		return o, result, err
	}
	statement, err := image.Provenance(o, result)
	if err != nil {
		return o, result, err
	}
	files := map[string][]byte{"provenance.json": statement, "image.digest": []byte(result.Digest.String() + "\n")}
	if f.key != "" {
		key, err := sign.LoadPrivate(f.key)
		if err != nil {
			return o, result, err
		}
		if files["provenance.dsse.json"], err = sign.Statement(key, statement); err != nil {
			return o, result, err
		}
		if err := sign.Image(key, result.Layout, f.image, result.Digest); err != nil {
			return o, result, err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(f.out, name), text, 0o644); err != nil {
			return o, result, fmt.Errorf("write %s: %w", name, err)
		}
	}
	fmt.Fprintln(out, f.image+"@"+result.Digest.String())
	return o, result, nil
}

// released matches the versions that a chart may have: v1.2.0, v1.2.0-rc.1.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// makeAll makes the images and all files of a release.
func makeAll(ctx context.Context, f flags, out io.Writer) error {
	if !released.MatchString(f.version) {
		return fmt.Errorf("%q is no version of a release: make release VERSION=v1.2.0", f.version)
	}
	o, result, err := makeImage(ctx, f, out)
	if err != nil {
		return err
	}
	return assets.Make(ctx, assets.Options{Options: o, Image: f.image, Digest: result.Digest}, result.Programs)
}

// verify checks the signatures in --out with the public key in --key.
func verify(f flags, out io.Writer) error {
	key, err := sign.LoadPublic(f.key)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(f.out, "image.digest"))
	if err != nil {
		return fmt.Errorf("read digest: %w", err)
	}
	digest, err := v1.NewHash(string(bytes.TrimSpace(text)))
	if err != nil {
		return fmt.Errorf("read digest: %w", err)
	}
	if err := sign.VerifyImage(key, filepath.Join(f.out, "layout"), f.image, digest); err != nil {
		return err
	}
	envelope, err := os.ReadFile(filepath.Join(f.out, "provenance.dsse.json"))
	if err != nil {
		return fmt.Errorf("read provenance: %w", err)
	}
	if _, err := sign.VerifyStatement(key, envelope); err != nil {
		return err
	}
	fmt.Fprintln(out, "verified", f.image+"@"+digest.String())
	return nil
}

// options returns the image.Options of a build, with the git commit of the sources and its time.
func options(ctx context.Context, f flags) (image.Options, error) {
	o := image.Options{
		Source: f.source, Package: "./cmd/kinship", Version: f.version, Repository: repository, Directory: f.out,
		Platforms: image.Platforms,
	}
	if f.version == "" {
		return o, fmt.Errorf("give --version, as in v1.2.0")
	}
	out, err := exec.CommandContext(ctx, "git", "-C", f.source, "log", "-1", "--format=%H %ct").Output()
	if err != nil {
		return o, fmt.Errorf("read the commit: %w", err)
	}
	revision, seconds, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return o, fmt.Errorf("read the time of the commit: %w", err)
	}
	o.Revision, o.Time = revision, time.Unix(unix, 0).UTC()
	return o, nil
}
