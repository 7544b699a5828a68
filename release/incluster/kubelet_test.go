package incluster_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kinship-dev/kinship/release/chart"
	"github.com/kinship-dev/kinship/test/operator"
)

// finalizer keeps a Pod until its process has ended, as a kubelet does.
const finalizer = "test.kinship.dev/kubelet"

// kubelet runs the Pods of the operator's namespace as processes of this machine.
type kubelet struct {
	t        *testing.T
	c        client.WithWatch
	watch    watch.Interface
	replicas map[string]*replica
}

// cordon keeps Pods from the nodes of the control plane until the end of the test: there, no process would run.
func cordon(t *testing.T) {
	t.Helper()
	c := operator.Client(t)
	var nodes corev1.NodeList
	if err := c.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	set := func(ctx context.Context, unschedulable bool) {
		for i := range nodes.Items {
			base := nodes.Items[i].DeepCopy()
			nodes.Items[i].Spec.Unschedulable = unschedulable
			if err := c.Patch(ctx, &nodes.Items[i], client.MergeFrom(base)); err != nil {
				t.Error(err)
			}
		}
	}
	set(t.Context(), true)
	t.Cleanup(func() { set(context.WithoutCancel(t.Context()), false) })
}

// startKubelet returns a kubelet that sees all Pods from now on.
func startKubelet(ctx context.Context, t *testing.T) *kubelet {
	t.Helper()
	c := operator.Client(t)
	w, err := c.Watch(ctx, &corev1.PodList{}, client.InNamespace(chart.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return &kubelet{t: t, c: c, watch: w, replicas: map[string]*replica{}}
}

// run starts and stops processes until done is closed. All processes have to be stopped by then.
func (k *kubelet) run(done <-chan struct{}) {
	k.t.Helper()
	for {
		select {
		case <-done:
			if len(k.replicas) > 0 {
				k.t.Errorf("%d Pods run on", len(k.replicas))
			}
			return
		case event, open := <-k.watch.ResultChan():
			if !open { // The context has ended, which ends the page.
				<-done
				return
			}
			pod, is := event.Object.(*corev1.Pod)
			if !is {
				k.t.Fatalf("watch Pods: %v", event)
			}
			running := k.replicas[pod.Name] != nil
			switch {
			case event.Type == watch.Deleted:
			case pod.DeletionTimestamp.IsZero() && !running:
				k.start(pod)
			case !pod.DeletionTimestamp.IsZero() && running:
				k.stop(pod)
			}
		}
	}
}

// start runs a Pod, and reports the Pod as ready when its process is.
func (k *kubelet) start(pod *corev1.Pod) {
	k.t.Helper()
	base := pod.DeepCopy()
	controllerutil.AddFinalizer(pod, finalizer)
	if err := k.c.Patch(k.t.Context(), pod, client.MergeFrom(base)); err != nil {
		k.t.Fatal(err)
	}
	config := kubeconfig(k.t, pod.Spec.ServiceAccountName)
	k.replicas[pod.Name] = startReplica(k.t, pod.Name, config, pod.Spec.Containers[0].Args)
	base = pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	for _, c := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		})
	}
	if err := k.c.Status().Patch(k.t.Context(), pod, client.MergeFrom(base)); err != nil {
		k.t.Fatal(err)
	}
}

// stop ends the process of a Pod, and lets the Pod be deleted.
func (k *kubelet) stop(pod *corev1.Pod) {
	k.t.Helper()
	r := k.replicas[pod.Name]
	delete(k.replicas, pod.Name)
	if err := r.Stop(); err != nil {
		k.t.Error(err)
	}
	if err := k.c.Delete(k.t.Context(), r.slice); err != nil {
		k.t.Error(err)
	}
	base := pod.DeepCopy()
	controllerutil.RemoveFinalizer(pod, finalizer)
	if err := k.c.Patch(k.t.Context(), pod, client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
		k.t.Error(err)
	}
}
