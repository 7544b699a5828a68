// Package chart renders charts/kinship with the Helm library, checks values against
// values.schema.json, and packs the chart of a release.
package chart
