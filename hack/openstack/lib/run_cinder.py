"""cinder-scheduler, cinder-volume and cinder-api in one process."""
import sys
import eventlet
eventlet.monkey_patch()
import __original_module_threading as orig_threading  # noqa
import threading  # noqa
orig_threading.current_thread.__globals__['_active'] = threading._active
from oslo_config import cfg  # noqa
from oslo_log import log as logging  # noqa
from cinder import i18n  # noqa
i18n.enable_lazy()
from cinder.common import config, constants  # noqa
from cinder import coordination, objects, rpc, service, utils, version  # noqa

CONF = cfg.CONF
host_opt = cfg.StrOpt('backend_host')
CONF.register_cli_opt(host_opt)
CONF.register_opt(cfg.StrOpt('cluster'))


def main():
    objects.register_all()
    CONF(sys.argv[1:], project='cinder', version=version.version_string())
    config.set_middleware_defaults()
    logging.setup(CONF, 'cinder')
    utils.monkey_patch()
    coordination.COORDINATOR.start()
    rpc.init(CONF)
    sched = service.Service.create(binary='cinder-scheduler')
    # It waits 60 s for the first report of a volume service.
    eventlet.spawn(sched.start)
    eventlet.sleep(0.5)
    for backend in CONF.enabled_backends:
        CONF.register_opt(host_opt, group=backend)
        vol = service.Service.create(host='%s@%s' % (CONF.host, backend),
                                     service_name=backend,
                                     binary=constants.VOLUME_BINARY,
                                     coordination=True)
        vol.start()
    api = service.WSGIService('osapi_volume')
    api.start()
    while True:
        eventlet.sleep(3600)


main()
