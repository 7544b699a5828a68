// Package incluster tests the chart on a real control plane. The operator runs as processes with
// the arguments of the chart's Deployment and tokens of the chart's ServiceAccount. The API server
// calls the operator processes through the chart's Service.
package incluster
