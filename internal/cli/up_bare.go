package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/kinship-dev/kinship/internal/localcluster"
)

// runBare runs a control plane without Kinship until the user's interrupt.
func (u *up) runBare(ctx context.Context) error {
	fmt.Fprintln(u.ErrOut, "Starting a control plane ...")
	cluster, err := localcluster.Start(ctx, localcluster.Options{DataDir: u.dataDir})
	if err == nil {
		u.inviteToInstall(cluster)
		select {
		case <-cluster.Done():
			err = cluster.Err()
		case <-ctx.Done():
		}
		err = errors.Join(err, cluster.Stop())
	}
	if ctx.Err() == nil {
		return err
	}
	return nil // The interrupt causes the errors.
}

// inviteToInstall prints the commands that install Kinship on a bare control plane.
func (u *up) inviteToInstall(cluster *localcluster.Cluster) {
	fmt.Fprintf(u.Out, `
Nothing of Kinship is installed. To install it, in another terminal:

  export KUBECONFIG=%[1]s PATH=%[2]s:$PATH
  kinship operator --install --packs usage --webhook-host 127.0.0.1

The operator runs until Ctrl-C. In a third terminal, with the same KUBECONFIG and PATH:

  kinship doctor
  kubectl create configmap precious
  echo '{apiVersion: protection.crossplane.io/v1beta1, kind: Usage, metadata: {name: keep}, spec: {
    of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: precious}}, reason: it is precious}}' | kubectl apply -f -
  kubectl delete configmap precious

What --install applies, for a GitOps tool: kinship manifests --packs usage

Ctrl-C ends it.
ready
`, cluster.Kubeconfig(), path(cluster))
}
