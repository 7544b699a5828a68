package object_test

import (
	"fmt"

	"github.com/kinship-dev/kinship/pkg/object"
)

// An ID has one text for people and another text for machines.
func ExampleID() {
	id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "prod", Name: "web"}
	fmt.Println("waiting for", id)
	fmt.Println(id.Key())
	// Output:
	// waiting for Deployment.apps/web in namespace prod
	// Deployment.apps/prod/web
}

func ExampleParse() {
	id, err := object.Parse("Cluster.eks.upbound.io//my-cluster")
	fmt.Println(id.Kind, id.Name, err)

	_, err = object.Parse("my-cluster")
	fmt.Println(err)
	// Output:
	// Cluster my-cluster <nil>
	// parse object key "my-cluster": want kind.group/namespace/name with two slashes (nothing between them if cluster-scoped), got 0
}
