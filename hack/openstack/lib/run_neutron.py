"""neutron-server without the RPC workers (there are no agents)."""
from neutron.common import eventlet_utils
eventlet_utils.monkey_patch()
from neutron import server  # noqa
from neutron import service  # noqa
from neutron.plugins.ml2 import ovo_rpc  # noqa
from neutron_lib.callbacks import events, registry, resources  # noqa

# It would read every changed object back, to push it to the agents.
ovo_rpc.OVOServerRpcInterface._setup_change_handlers = (
    lambda self: setattr(self, '_resource_handlers', {}))


def main():
    api = service.serve_wsgi(service.NeutronApiService)
    registry.publish(resources.PROCESS, events.AFTER_SPAWN, None)
    api.wait()


server.boot_server(main)
