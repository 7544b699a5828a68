package image

import (
	"fmt"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// properties returns the image properties of the spec. Glance keeps all properties as strings,
// except min_disk and min_ram.
func properties(p *openstackv1alpha1.ImageProperties) []kit.Field {
	if p == nil {
		return nil
	}
	all := []kit.Field{
		kit.Fixed("min_disk", p.MinDiskGB), kit.Fixed("min_ram", p.MinMemoryMB),
		text("architecture", p.Architecture), text("hypervisor_type", p.HypervisorType),
	}
	if s := p.OperatingSystem; s != nil {
		all = append(all, text("os_distro", s.Distro), text("os_version", s.Version))
	}
	h := p.Hardware
	if h == nil {
		return all
	}
	if h.QemuGuestAgent != nil {
		word := map[bool]string{true: "yes", false: "no"}[*h.QemuGuestAgent]
		all = append(all, text("hw_qemu_guest_agent", &word))
	}
	return append(all,
		text("hw_cpu_sockets", h.CPUSockets), text("hw_cpu_cores", h.CPUCores), text("hw_cpu_threads", h.CPUThreads),
		text("hw_cpu_policy", h.CPUPolicy), text("hw_cpu_thread_policy", h.CPUThreadPolicy),
		text("hw_cdrom_bus", h.CdromBus), text("hw_disk_bus", h.DiskBus), text("hw_scsi_model", h.SCSIModel),
		text("hw_vif_model", h.VIFModel), text("hw_rng_model", h.RngModel))
}

func text[T any](name string, value *T) kit.Field {
	if value == nil {
		return kit.Fixed[string](name, nil)
	}
	word := fmt.Sprint(*value)
	return kit.Fixed(name, &word)
}
