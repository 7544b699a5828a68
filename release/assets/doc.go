// Package assets makes the files of a release besides the images: archives of the program, the chart,
// one manifest to install from, the manifest for krew, the notes and the checksums.
package assets
