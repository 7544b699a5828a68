// Package chart renders charts/kinship with Helm's own library, checks values against the chart's
// schema, and packs the chart of a release.
package chart
