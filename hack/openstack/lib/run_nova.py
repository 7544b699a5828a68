"""nova-conductor, nova-scheduler, nova-compute and nova-api in one process."""
import sys
import nova.monkey_patch  # noqa
import os_vif  # noqa
from oslo_log import log as logging  # noqa
import nova.conf  # noqa
from nova.conf import remote_debug  # noqa
from nova import config, context, objects, service  # noqa
from nova.objects import host_mapping  # noqa

CONF = nova.conf.CONF
remote_debug.register_cli_opts(CONF)


def main():
    config.parse_args(sys.argv)
    logging.setup(CONF, 'nova')
    objects.register_all()
    os_vif.initialize()
    services = []
    for name in ('conductor', 'scheduler', 'compute'):
        svc = service.Service.create(binary='nova-' + name, topic=name)
        svc.start()
        services.append(svc)
    host_mapping.discover_hosts(context.get_admin_context())
    api = service.WSGIService('osapi_compute')
    api.start()
    api.wait()


main()
