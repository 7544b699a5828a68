package watch

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// definitionPause is the pause between two looks of [AwaitDefinition].
	definitionPause = 20 * time.Millisecond
	// definitionPatience is how long the API server may take to serve a kind.
	definitionPatience = time.Minute
)

// AwaitDefinition waits until the CustomResourceDefinition with a name is Established, at most a
// minute. With a version, AwaitDefinition also waits until the API server lists objects of that
// version: Established may be about former versions. The error of a kind that is not served says
// which of its names the API server refuses.
func AwaitDefinition(ctx context.Context, c client.Client, name, version string) error {
	why := "the API server does not serve the definition yet"
	err := wait.PollUntilContextTimeout(ctx, definitionPause, definitionPatience, true,
		func(ctx context.Context) (bool, error) {
			crd, err := ReadDefinition(ctx, c, name)
			if err != nil {
				return false, err
			}
			established := false
			for _, one := range crd.Status.Conditions {
				isTrue := one.Status == apiextensionsv1.ConditionTrue
				established = established || one.Type == apiextensionsv1.Established && isTrue
				if one.Type == apiextensionsv1.NamesAccepted && !isTrue {
					why = one.Message
				}
			}
			if !established || version == "" {
				return established, nil
			}
			return lists(ctx, c, schema.GroupVersionKind{
				Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind,
			})
		})
	if err != nil {
		return fmt.Errorf("wait for the definition %s: %s: %w", name, why, err)
	}
	return nil
}

// AwaitNoDefinition waits until the API server has removed the CustomResourceDefinition with a name,
// at most a minute. The API server removes a definition after the last object of its kind.
func AwaitNoDefinition(ctx context.Context, c client.Client, name string) error {
	err := wait.PollUntilContextTimeout(ctx, definitionPause, definitionPatience, true,
		func(ctx context.Context) (bool, error) {
			_, err := ReadDefinition(ctx, c, name)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	if err != nil {
		return fmt.Errorf("wait for the end of the definition %s: %w", name, err)
	}
	return nil
}

// ReadDefinition returns the CustomResourceDefinition with a name. The scheme of the client may lack
// CustomResourceDefinitions.
func ReadDefinition(
	ctx context.Context, c client.Client, name string,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := c.Get(ctx, client.ObjectKey{Name: name}, live); err != nil {
		return nil, fmt.Errorf("read the definition %s: %w", name, err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	return crd, runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, crd)
}

// lists reports whether the API server lists objects of a kind.
func lists(ctx context.Context, c client.Client, kind schema.GroupVersionKind) (bool, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err := c.List(ctx, list, client.Limit(1))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
