from cinder import interface
from cinder.volume import driver


@interface.volumedriver
class LoopbackDriver(driver.VolumeDriver):
    """A volume driver that stores nothing."""
    VERSION = '1.0'

    def check_for_setup_error(self): pass
    def do_setup(self, context): pass
    def create_volume(self, volume): pass
    def delete_volume(self, volume): pass
    def create_snapshot(self, snapshot): pass
    def delete_snapshot(self, snapshot): pass
    def revert_to_snapshot(self, context, volume, snapshot): pass
    def create_cloned_volume(self, volume, src_vref): pass
    def create_volume_from_snapshot(self, volume, snapshot): pass
    def extend_volume(self, volume, new_size): pass
    def ensure_export(self, context, volume): pass
    def create_export(self, context, volume, connector): pass
    def remove_export(self, context, volume): pass
    def terminate_connection(self, volume, connector, **kwargs): pass
    def attach_volume(self, context, volume, instance_uuid, host_name, mountpoint): pass
    def detach_volume(self, context, volume, attachment=None): pass
    def retype(self, context, volume, new_type, diff, host): return True, None
    def update_migrated_volume(self, ctxt, volume, new_volume, status): return {}

    def clone_image(self, context, volume, image_location, image_meta, image_service):
        return {}, True

    def copy_image_to_volume(self, context, volume, image_service, image_id, *a, **k): pass

    def copy_volume_to_image(self, context, volume, image_service, image_meta):
        import io
        image_service.update(context, image_meta['id'], {}, io.BytesIO(b'\0' * 1024))

    def initialize_connection(self, volume, connector, **kwargs):
        return {'driver_volume_type': 'iscsi',
                'data': {'access_mode': 'rw', 'volume_id': volume.id}}

    def _update_volume_stats(self):
        self._stats = {
            'volume_backend_name': self.configuration.safe_get('volume_backend_name'),
            'vendor_name': 'loopback', 'driver_version': self.VERSION,
            'storage_protocol': 'loopback', 'multiattach': True,
            'total_capacity_gb': 'infinite', 'free_capacity_gb': 'infinite',
            'reserved_percentage': 0, 'QoS_support': False,
            'online_extend_support': True}

    def get_volume_stats(self, refresh=False):
        self._update_volume_stats()
        return self._stats
