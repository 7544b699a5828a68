from neutron.db import models_v2
from neutron_lib.api.definitions import portbindings
from neutron_lib import constants as const
from neutron_lib.callbacks import events, registry, resources
from neutron_lib.plugins import constants as plugins, directory
from neutron_lib.plugins.ml2 import api
from oslo_log import log

LOG = log.getLogger(__name__)
ROUTER_OWNERS = set(const.ROUTER_INTERFACE_OWNERS) | {const.DEVICE_OWNER_ROUTER_GW}


class LoopbackMechanismDriver(api.MechanismDriver):
    def initialize(self):
        for event in (events.AFTER_CREATE, events.AFTER_UPDATE):
            registry.subscribe(self._floating_ip, resources.FLOATING_IP, event)

    @property
    def connectivity(self):
        return portbindings.CONNECTIVITY_L2

    def bind_port(self, context):
        for segment in context.segments_to_bind:
            context.set_binding(segment[api.ID], portbindings.VIF_TYPE_OVS,
                                {portbindings.CAP_PORT_FILTER: True},
                                status=const.PORT_STATUS_ACTIVE)
            return

    def create_port_precommit(self, context):
        self._router_port(context)

    def update_port_precommit(self, context):
        self._router_port(context)

    def _router_port(self, context):
        # In the transaction of the port: the gateway port of a router is
        # created in the transaction of the router, so that it is not visible
        # (and its network's rows are locked) until that ends.
        port = context.current
        if (port['device_owner'] in ROUTER_OWNERS and
                port['status'] != const.PORT_STATUS_ACTIVE):
            row = context._plugin_context.session.get(models_v2.Port, port['id'])
            if row is not None:
                row.status = port['status'] = const.PORT_STATUS_ACTIVE

    def _floating_ip(self, resource, event, trigger, payload):
        l3 = directory.get_plugin(plugins.L3)
        fip = payload.latest_state or {}
        status = (const.FLOATINGIP_STATUS_ACTIVE if fip.get('port_id')
                  else const.FLOATINGIP_STATUS_DOWN)
        if fip.get('status') != status:
            l3.update_floatingip_status(payload.context.elevated(),
                                        payload.resource_id, status)
