// Package sbom writes the bill of materials of a compiled Go program as SPDX and as CycloneDX: the
// modules that the compiler has recorded in the program (debug/buildinfo).
package sbom

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// Bill lists the modules from which a program was compiled.
type Bill struct {
	// Name and Version of the program.
	Name, Version string
	// SHA256 of the program, part of SPDX DocumentNamespace.
	SHA256 string
	// Time of the git commit.
	Time time.Time
	// Go is the version of the compiler, whose standard library is a part of the program.
	Go string
	// Modules are all modules besides the program's own.
	Modules []Module
}

// Module is a Go module.
type Module struct{ Path, Version string }

// purl returns the package URL of a [Module]: pkg:golang/PATH@VERSION.
func (m Module) purl() string {
	return "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
}

// Read reads the modules that the compiler has recorded in a program.
func Read(program string) (Bill, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return Bill{}, fmt.Errorf("read the modules of %s: %w", program, err)
	}
	b := Bill{Name: info.Main.Path, Go: strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		b.Modules = append(b.Modules, moduleOf(m))
	}
	return b, nil
}

func moduleOf(m *debug.Module) Module {
	if m.Replace != nil {
		return moduleOf(m.Replace)
	}
	return Module{m.Path, m.Version}
}

// all returns Bill.Modules and std, the standard library.
func (b Bill) all() []Module { return append([]Module{{"std", b.Go}}, b.Modules...) }

// CycloneDX returns the [Bill] as CycloneDX in JSON.
func (b Bill) CycloneDX() ([]byte, error) {
	root := Module{b.Name, b.Version}.purl()
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: b.Time.UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: root, Type: cyclonedx.ComponentTypeApplication, Name: b.Name, Version: b.Version, PackageURL: root,
			Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: b.SHA256}},
		},
	}
	modules := b.all()
	components := make([]cyclonedx.Component, 0, len(modules))
	needed := make([]string, 0, len(modules))
	for _, m := range modules {
		needed = append(needed, m.purl())
		components = append(components, cyclonedx.Component{
			BOMRef: m.purl(), Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: m.purl(),
		})
	}
	bom.Components, bom.Dependencies = &components, &[]cyclonedx.Dependency{{Ref: root, Dependencies: &needed}}
	var out bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	err := encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	if err != nil {
		return nil, fmt.Errorf("write CycloneDX: %w", err)
	}
	return out.Bytes(), nil
}

// SPDX returns the [Bill] as SPDX 2.3 in JSON.
func (b Bill) SPDX() ([]byte, error) {
	const unknown = "NOASSERTION"
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: b.Name + "@" + b.Version, DocumentNamespace: "https://" + b.Name + "/sbom/sha256-" + b.SHA256,
		CreationInfo: &v2_3.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "kinship-release"}},
			Created:  b.Time.UTC().Format(time.RFC3339),
		},
	}
	add := func(id common.ElementID, m Module, purpose string) *v2_3.Package {
		p := &v2_3.Package{
			PackageName: m.Path, PackageSPDXIdentifier: id, PackageVersion: m.Version,
			PackageDownloadLocation: unknown, PackageLicenseConcluded: unknown, PackageLicenseDeclared: unknown,
			PackageCopyrightText: unknown, PrimaryPackagePurpose: purpose,
			PackageExternalReferences: []*v2_3.PackageExternalReference{{
				Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: m.purl(),
			}},
		}
		doc.Packages = append(doc.Packages, p)
		return p
	}
	relate := func(a, to common.ElementID, how string) {
		doc.Relationships = append(doc.Relationships, &v2_3.Relationship{
			RefA: common.MakeDocElementID("", string(a)), RefB: common.MakeDocElementID("", string(to)), Relationship: how,
		})
	}
	const program = common.ElementID("Program")
	add(program, Module{b.Name, b.Version}, "APPLICATION").PackageChecksums = []common.Checksum{
		{Algorithm: common.SHA256, Value: b.SHA256},
	}
	relate("DOCUMENT", program, common.TypeRelationshipDescribe)
	for i, m := range b.all() {
		id := common.ElementID(fmt.Sprintf("Module-%d", i))
		add(id, m, "LIBRARY")
		relate(program, id, common.TypeRelationshipDependsOn)
	}
	var out bytes.Buffer
	if err := spdxjson.Write(doc, &out, spdxjson.Indent("  ")); err != nil {
		return nil, fmt.Errorf("write SPDX: %w", err)
	}
	return out.Bytes(), nil
}
