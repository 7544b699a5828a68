package oam

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"path"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/authorise"
)

// selectorLabel is the label of the Pods of a ContainerizedWorkload. Its value is metadata.uid of
// the ContainerizedWorkload.
const selectorLabel = "containerizedworkload.oam.crossplane.io"

var containerizedKind = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindContainerizedWorkload)

// Translate returns the children of a ContainerizedWorkload: a ConfigMap for each of configFiles
// with a value, a Deployment, and a Service if a container has a port. The ContainerizedWorkload is
// the controller of all children. Names and labels of the children are those of the published OAM
// runtime. Translate is pure.
func Translate(w *oamv1alpha2.ContainerizedWorkload) []client.Object {
	deployment := deploymentOf(w)
	var all []client.Object
	for i := range w.Spec.Containers {
		c := &w.Spec.Containers[i]
		for _, file := range c.ConfigFiles {
			if file.Value != nil {
				all = append(all, configMapOf(w, c.Name, file))
			}
		}
	}
	all = append(all, deployment)
	if service := serviceOf(w); service != nil {
		all = append(all, service)
	}
	return all
}

func childOf(w *oamv1alpha2.ContainerizedWorkload, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: w.Namespace, Name: name,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w, containerizedKind)},
	}
}

func selectorOf(w *oamv1alpha2.ContainerizedWorkload) map[string]string {
	return map[string]string{selectorLabel: string(w.UID)}
}

func deploymentOf(w *oamv1alpha2.ContainerizedWorkload) *appsv1.Deployment {
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: childOf(w, w.Name),
	}
	d.Labels = inherited(w.Labels, selectorOf(w))
	d.Annotations = inherited(w.Annotations)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: selectorOf(w)}
	// The template has no LabelAppRevision: a new revision with the same containers must start no
	// Pods.
	d.Spec.Template.Labels = inherited(w.Labels, selectorOf(w))
	delete(d.Spec.Template.Labels, oamv1alpha2.LabelAppRevision)
	pod := &d.Spec.Template.Spec
	if os := w.Spec.OperatingSystem; os != nil {
		pod.NodeSelector = map[string]string{corev1.LabelOSStable: *os}
	}
	if arch := w.Spec.CPUArchitecture; arch != nil {
		pod.NodeSelector = inherited(pod.NodeSelector, map[string]string{corev1.LabelArchStable: *arch})
	}
	volumes := map[string]corev1.Volume{}
	for i := range w.Spec.Containers {
		c := &w.Spec.Containers[i]
		pod.Containers = append(pod.Containers, containerOf(w, c, volumes))
		if c.ImagePullSecret == nil {
			continue
		}
		secret := corev1.LocalObjectReference{Name: *c.ImagePullSecret}
		if !slices.Contains(pod.ImagePullSecrets, secret) {
			pod.ImagePullSecrets = append(pod.ImagePullSecrets, secret)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		pod.Volumes = append(pod.Volumes, volumes[name])
	}
	return d
}

// containerOf returns a corev1.Container, and adds the volumes that the container mounts.
func containerOf(
	w *oamv1alpha2.ContainerizedWorkload, c *oamv1alpha2.Container, volumes map[string]corev1.Volume,
) corev1.Container {
	k := corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Arguments}
	for _, e := range c.Environment {
		v := corev1.EnvVar{Name: e.Name}
		if e.Value != nil {
			v.Value = *e.Value
		}
		if from := e.FromSecret; from != nil {
			v.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: from.Name}, Key: from.Key,
			}}
		}
		k.Env = append(k.Env, v)
	}
	for _, p := range c.Ports {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = corev1.Protocol(*p.Protocol)
		}
		k.Ports = append(k.Ports, corev1.ContainerPort{Name: p.Name, ContainerPort: p.Port, Protocol: protocol})
	}
	k.LivenessProbe, k.ReadinessProbe = probeOf(c.LivenessProbe), probeOf(c.ReadinessProbe)
	if r := c.Resources; r != nil {
		k.Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU: r.CPU.Required, corev1.ResourceMemory: r.Memory.Required,
		}
		for _, v := range r.Volumes {
			volumes[v.Name] = emptyVolume(v)
			k.VolumeMounts = append(k.VolumeMounts, corev1.VolumeMount{
				Name: v.Name, MountPath: v.MountPath, ReadOnly: v.AccessMode != nil && *v.AccessMode == "RO",
			})
		}
	}
	for _, file := range c.ConfigFiles {
		v, mount := configVolume(w, c.Name, file)
		volumes[v.Name] = v
		k.VolumeMounts = append(k.VolumeMounts, mount)
	}
	return k
}

// emptyVolume returns an EmptyDir volume for a VolumeResource. The operator creates no
// PersistentVolumeClaims, so the disk exists as long as the Pod.
func emptyVolume(v oamv1alpha2.VolumeResource) corev1.Volume {
	source := &corev1.EmptyDirVolumeSource{}
	if v.Disk != nil {
		source.SizeLimit = &v.Disk.Required
	}
	return corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{EmptyDir: source}}
}

// configName returns the name of the ConfigMap of a file.
func configName(workload, container, file string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(file))
	return fmt.Sprintf("%s-%s-%d", workload, container, hash.Sum32())
}

// configVolume returns the volume of a file, and its VolumeMount. SubPath mounts only the file, so
// that the other files of the folder in the image stay visible.
func configVolume(
	w *oamv1alpha2.ContainerizedWorkload, container string, file oamv1alpha2.ContainerConfigFile,
) (corev1.Volume, corev1.VolumeMount) {
	name, key := configName(w.Name, container, file.Path), path.Base(file.Path)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(container + "\n" + file.Path))
	v := corev1.Volume{Name: fmt.Sprintf("config-%d", hash.Sum32())}
	if from := file.FromSecret; from != nil {
		v.Secret = &corev1.SecretVolumeSource{
			SecretName: from.Name, Items: []corev1.KeyToPath{{Key: from.Key, Path: key}},
		}
	} else {
		v.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	}
	return v, corev1.VolumeMount{Name: v.Name, MountPath: file.Path, SubPath: key}
}

func configMapOf(
	w *oamv1alpha2.ContainerizedWorkload, container string, file oamv1alpha2.ContainerConfigFile,
) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: childOf(w, configName(w.Name, container, file.Path)),
	}
	cm.Labels = inherited(w.Labels)
	cm.Data = map[string]string{path.Base(file.Path): *file.Value}
	return cm
}

// serviceOf returns a Service with all ports of the workload, or nil without ports: the API server
// refuses a Service without ports.
func serviceOf(w *oamv1alpha2.ContainerizedWorkload) *corev1.Service {
	s := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: childOf(w, w.Name),
	}
	s.Labels = inherited(w.Labels, selectorOf(w))
	s.Spec.Selector = selectorOf(w)
	taken := map[string]bool{}
	for i := range w.Spec.Containers {
		for _, p := range w.Spec.Containers[i].Ports {
			protocol := corev1.ProtocolTCP
			if p.Protocol != nil {
				protocol = corev1.Protocol(*p.Protocol)
			}
			key := fmt.Sprintf("%s/%d", protocol, p.Port)
			if taken[key] || taken[p.Name] {
				continue // A Service has each port and each name once.
			}
			taken[key], taken[p.Name] = true, true
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
				Name: cmp.Or(p.Name, w.Name), Port: p.Port, TargetPort: intstr.FromInt32(p.Port), Protocol: protocol,
			})
		}
	}
	if len(s.Spec.Ports) == 0 {
		return nil
	}
	return s
}

func probeOf(p *oamv1alpha2.ContainerHealthProbe) *corev1.Probe {
	if p == nil {
		return nil
	}
	probe := &corev1.Probe{
		InitialDelaySeconds: value(p.InitialDelaySeconds), PeriodSeconds: value(p.PeriodSeconds),
		TimeoutSeconds: value(p.TimeoutSeconds), SuccessThreshold: value(p.SuccessThreshold),
		FailureThreshold: value(p.FailureThreshold),
	}
	switch {
	case p.Exec != nil:
		probe.Exec = &corev1.ExecAction{Command: p.Exec.Command}
	case p.HTTPGet != nil:
		probe.HTTPGet = &corev1.HTTPGetAction{Path: p.HTTPGet.Path, Port: intstr.FromInt32(p.HTTPGet.Port)}
		for _, h := range p.HTTPGet.HTTPHeaders {
			probe.HTTPGet.HTTPHeaders = append(probe.HTTPGet.HTTPHeaders, corev1.HTTPHeader{Name: h.Name, Value: h.Value})
		}
	case p.TCPSocket != nil:
		probe.TCPSocket = &corev1.TCPSocketAction{Port: intstr.FromInt32(p.TCPSocket.Port)}
	}
	return probe
}

func value(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// inherited merges labels or annotations; later maps override earlier maps. inherited leaves out
// LastAppliedConfigAnnotation and authorise.Annotations, which concern the ContainerizedWorkload alone.
func inherited(all ...map[string]string) map[string]string {
	sum := map[string]string{}
	for _, m := range all {
		maps.Copy(sum, m)
	}
	delete(sum, corev1.LastAppliedConfigAnnotation)
	for _, name := range authorise.Annotations {
		delete(sum, name)
	}
	return sum
}
