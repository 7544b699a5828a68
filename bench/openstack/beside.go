package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// besideObjects is the number of Networks of each bad cloud.
const besideObjects = 40

// neighbours are the faults of bad clouds, each an emulator.Fault.
var neighbours = []struct {
	name  string
	fault emulator.Fault
}{
	{"hangs at login", emulator.Fault{Service: "identity", Delay: time.Hour}},
	{"hangs", emulator.Fault{Service: "network", Delay: time.Hour}},
	{"slow, 3 s a call", emulator.Fault{Service: "network", Delay: 3 * time.Second}},
	{"429 for an hour", emulator.Fault{
		Service: "network", Status: http.StatusTooManyRequests, RetryAfter: int(time.Hour / time.Second),
	}},
}

// besideFigures are the times of the Networks of a good cloud, alone and beside each bad cloud.
type besideFigures struct {
	alone  wakes
	beside []wakes // one element for each of neighbours
}

// beside calls oneByOne for a good cloud alone, and then besideOne for each of neighbours. Each
// time lasts from the Create until a watch shows that the Network is Available.
func (r *rig) beside(ctx context.Context) (f besideFigures, err error) {
	if r.emulator == nil {
		return f, errors.New("beside: only with the emulator")
	}
	if f.alone, err = r.oneByOne(ctx); err != nil {
		return f, err
	}
	for _, n := range neighbours {
		fmt.Fprintf(os.Stderr, "Beside a cloud that misbehaves: %s ...\n", n.name)
		took, err := r.besideOne(ctx, n.fault)
		if err != nil {
			return f, fmt.Errorf("beside a cloud (%s): %w", n.name, err)
		}
		f.beside = append(f.beside, took)
	}
	return f, nil
}

// besideOne calls oneByOne beside a bad cloud, whose Networks are in a namespace of their own.
func (r *rig) besideOne(ctx context.Context, fault emulator.Fault) (took wakes, err error) {
	bad, err := emulator.Start(emulator.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bad.Close()) }()
	fault.Times = -1
	bad.AddFault(fault)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: r.namespace + "-"}}
	if ns, err = r.server.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create namespace: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName},
		Data:       map[string][]byte{openstack.CloudsKey: []byte(bad.CloudsYAML())},
	}
	if _, err := r.server.CoreV1().Secrets(ns.Name).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create Secret: %w", err)
	}
	for i := range besideObjects {
		e := &element{kind: network, name: fmt.Sprintf("bad-%d", i), resource: fields{}}
		_, err := r.objects.Resource(network.gvr()).Namespace(ns.Name).
			Create(ctx, e.object(ns.Name, r.cloud), metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", e.name, err)
		}
	}
	return r.oneByOne(ctx)
}

// oneByOne creates one Network after the other, and finally deletes all of these Networks.
func (r *rig) oneByOne(ctx context.Context) (all wakes, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var made []*element
	for i := range r.wakes {
		e := &element{kind: network, name: fmt.Sprintf("good-%d", i), resource: fields{}}
		begin := time.Now()
		if err := r.create(ctx, []*element{e}); err != nil {
			return nil, err
		}
		made = append(made, e)
		if err := r.seen.until(ctx, firstNetworks+len(made)); err != nil {
			return nil, err
		}
		all = append(all, r.seen.since(e).Sub(begin))
	}
	slices.Sort(all)
	if err := r.remove(ctx, made); err != nil {
		return nil, err
	}
	return all, r.await(ctx, firstNetworks)
}

func (w wakes) p99() time.Duration { return w[len(w)*99/100] }

func (f besideFigures) print(out io.Writer) {
	fmt.Fprintf(out, "\nNetwork created -> Available, %d times alone: median %s, p99 %s\n",
		len(f.alone), millis(f.alone[len(f.alone)/2]), millis(f.alone.p99()))
	for i, took := range f.beside {
		fmt.Fprintf(out, "beside %d Networks of a cloud (%s): median %s, p99 %s, p99 is %.2f times that alone\n",
			besideObjects, neighbours[i].name, millis(took[len(took)/2]), millis(took.p99()),
			float64(took.p99())/float64(f.alone.p99()))
	}
}
