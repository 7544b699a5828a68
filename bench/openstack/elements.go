package main

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type fields = map[string]any

// groupVersion is the measured API.
var groupVersion = schema.GroupVersion{Group: "openstack.k-orc.cloud", Version: "v1alpha1"}

// kind is a kind of objects: its name and plural in Kubernetes, and its envelope in the JSON of
// Neutron.
type kind struct{ name, plural, envelope string }

var (
	network         = kind{"Network", "networks", "network"}
	subnet          = kind{"Subnet", "subnets", "subnet"}
	router          = kind{"Router", "routers", "router"}
	routerInterface = kind{"RouterInterface", "routerinterfaces", ""}
	port            = kind{"Port", "ports", "port"}
	kinds           = []kind{network, subnet, router, routerInterface, port}
)

func (k kind) gvr() schema.GroupVersionResource { return groupVersion.WithResource(k.plural) }

// element is a resource of the tree, for the operator and for the plain client.
type element struct {
	kind  kind
	name  string
	needs []*element
	// resource is spec.resource of the object.
	resource fields
	// body returns the JSON body of the plain client's POST. body needs the id of each of
	// element.needs.
	body func() fields
	// id is the ID in the answer to the plain client's POST.
	id string
}

// shape is the size of the tree.
type shape struct{ networks, ports, perRouter int }

// elements returns the tree, dependencies first.
func (s shape) elements() []*element {
	var all []*element
	var r *element
	for i := range s.networks {
		n := &element{kind: network, name: fmt.Sprintf("net-%d", i), resource: fields{}}
		n.body = func() fields { return fields{"name": n.name} }
		sub := newSubnet(n, i)
		all = append(all, n, sub)
		if s.perRouter > 0 {
			if i%s.perRouter == 0 {
				r = newRouter(i / s.perRouter)
				all = append(all, r)
			}
			all = append(all, &element{
				kind: routerInterface, name: fmt.Sprintf("if-%d", i), needs: []*element{r, sub},
				body: func() fields { return fields{"subnet_id": sub.id} },
			})
		}
		for j := range s.ports {
			all = append(all, newPort(n, sub, fmt.Sprintf("port-%d-%d", i, j)))
		}
	}
	slices.SortStableFunc(all, func(a, b *element) int { return cmp.Compare(a.depth(), b.depth()) })
	return all
}

func newRouter(i int) *element {
	r := &element{kind: router, name: fmt.Sprintf("router-%d", i), resource: fields{}}
	r.body = func() fields { return fields{"name": r.name} }
	return r
}

// newSubnet returns a Subnet with a CIDR of its own, since several Subnets may share a Router.
func newSubnet(n *element, i int) *element {
	cidr := fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
	s := &element{
		kind: subnet, name: fmt.Sprintf("sub-%d", i), needs: []*element{n},
		resource: fields{"networkRef": n.name, "ipVersion": int64(4), "cidr": cidr},
	}
	s.body = func() fields {
		return fields{"name": s.name, "network_id": n.id, "ip_version": 4, "cidr": cidr}
	}
	return s
}

func newPort(n, sub *element, name string) *element {
	return &element{
		kind: port, name: name, needs: []*element{n, sub},
		resource: fields{"networkRef": n.name, "addresses": []any{fields{"subnetRef": sub.name}}},
		body: func() fields {
			return fields{
				"name": name, "network_id": n.id, "fixed_ips": []fields{{"subnet_id": sub.id}},
				"security_groups": []string{},
			}
		},
	}
}

// key returns the key of an element in tracker.objects.
func (e *element) key() string { return e.kind.name + "/" + e.name }

// depth returns the number of sequential calls until the element exists: a Port on a Subnet on a
// Network has depth 3.
func (e *element) depth() int {
	most := 0
	for _, n := range e.needs {
		most = max(most, n.depth())
	}
	return most + 1
}

// depth returns the largest element.depth() of all.
func depth(all []*element) int {
	most := 0
	for _, e := range all {
		most = max(most, e.depth())
	}
	return most
}

// object returns the manifest of an element.
func (e *element) object(namespace, cloud string) *unstructured.Unstructured {
	spec := fields{"cloudCredentialsRef": fields{"secretName": secretName, "cloudName": cloud}, "resource": e.resource}
	if e.kind == routerInterface {
		spec = fields{"type": "Subnet", "routerRef": e.needs[0].name, "subnetRef": e.needs[1].name}
	}
	u := &unstructured.Unstructured{Object: fields{"spec": spec}}
	u.SetGroupVersionKind(groupVersion.WithKind(e.kind.name))
	u.SetNamespace(namespace)
	u.SetName(e.name)
	return u
}
