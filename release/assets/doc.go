// Package assets makes the files of a release besides the images: .tar.gz archives of the program,
// the chart, install.yaml, the manifest for krew, the release notes and checksums.txt.
package assets
