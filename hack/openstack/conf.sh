# The configuration of the services: write_conf writes it into the state directory.
# Sourced by openstack.sh, which sets the variables.
# shellcheck shell=bash disable=SC2154 # S, HOST and so on are openstack.sh's

db_url() { echo "mysql+pymysql://root@localhost/$1?unix_socket=$S/mysql.sock&charset=utf8"; }

common_conf() { # service: authtoken, database, policy
  cat <<EOF
[keystone_authtoken]
www_authenticate_uri = http://$HOST:$KEYSTONE_PORT
$(auth_opts)
service_token_roles_required = false
token_cache_time = 300
[oslo_concurrency]
lock_path = $S/$1/lock
[oslo_messaging_notifications]
driver = noop
[oslo_policy]
policy_file = $S/etc/$1-policy.yaml
policy_dirs = $S/etc/$1-policy.d
EOF
}
db_opts() { cat <<EOF
connection = $1
max_pool_size = ${2:-10}
max_overflow = 40
connection_recycle_time = 3600
mysql_enable_ndb = false
EOF
}
auth_opts() { cat <<EOF
auth_type = password
auth_url = http://$HOST:$KEYSTONE_PORT/v3
username = service
password = $PASSWORD
project_name = service
user_domain_id = default
project_domain_id = default
region_name = $REGION
EOF
}
log_opts() { cat <<EOF
use_stderr = true
use_syslog = false
debug = ${OPENSTACK_DEBUG:-false}
default_log_levels = castellan=ERROR,keystone.common.password_hashing=ERROR,keystone.common.rbac_enforcer=ERROR,oslo_config=ERROR,placement.requestlog=WARN,oslo_policy=ERROR,oslo_messaging=ERROR,sqlalchemy=WARN,urllib3=WARN,keystonemiddleware=ERROR,stevedore=ERROR,amqp=WARN,neutron.scheduler=ERROR,neutron.db.l3_agentschedulers_db=ERROR,eventlet.wsgi=WARN,neutron.wsgi=WARN,nova.osapi_compute.wsgi.server=WARN,glance.eventlet.wsgi.server=WARN
EOF
}

write_conf() {
  local E=$S/etc
  mkdir -p "$S"/{run,log,home,tmp,lib/openstack_loopback-1.0.dist-info,etc/placement} \
    "$S"/keystone/{fernet,credential} "$S"/{neutron,nova,glance,cinder,placement,keystone}/lock \
    "$S"/glance/{images,staging,tasks} "$S"/nova/instances
  chmod 700 "$S" "$S"/keystone/{fernet,credential}

  cat >"$E/keystone.conf" <<EOF
[DEFAULT]
$(log_opts)
[database]
$(db_opts "$(db_url keystone)" 5)
[fernet_tokens]
key_repository = $S/keystone/fernet
[fernet_receipts]
key_repository = $S/keystone/fernet
[credential]
key_repository = $S/keystone/credential
[token]
expiration = 86400
[identity]
password_hash_rounds = 4
[oslo_policy]
policy_file = $E/keystone-policy.yaml
EOF

  cat >"$E/neutron-paste.ini" <<EOF
[composite:neutron]
use = egg:Paste#urlmap
/: neutronversions
/v2.0: neutronapi_v2_0
[pipeline:neutronapi_v2_0]
pipeline = http_proxy_to_wsgi request_id catch_errors authtoken keystonecontext extensions neutronapiapp_v2_0
[filter:request_id]
paste.filter_factory = oslo_middleware:RequestId.factory
[filter:catch_errors]
paste.filter_factory = oslo_middleware:CatchErrors.factory
[filter:http_proxy_to_wsgi]
paste.filter_factory = oslo_middleware.http_proxy_to_wsgi:HTTPProxyToWSGI.factory
[filter:keystonecontext]
paste.filter_factory = neutron.auth:NeutronKeystoneContext.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[filter:extensions]
paste.filter_factory = neutron.api.extensions:plugin_aware_extension_middleware_factory
[app:neutronversions]
paste.app_factory = neutron.pecan_wsgi.app:versions_factory
[app:neutronapiapp_v2_0]
paste.app_factory = neutron.api.v2.router:APIRouter.factory
EOF
  cat >"$E/neutron.conf" <<EOF
[DEFAULT]
$(log_opts)
bind_host = $HOST
bind_port = $NEUTRON_PORT
api_workers = $NEUTRON_WORKERS
api_paste_config = $E/neutron-paste.ini
state_path = $S/neutron
transport_url = fake://
core_plugin = ml2
service_plugins = router,qos,trunk,port_forwarding,network_ip_availability,auto_allocate,revisions,timestamp
auth_strategy = keystone
dns_domain = example.test.
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
allow_automatic_l3agent_failover = false
allow_automatic_dhcp_failover = false
dhcp_agents_per_network = 1
router_distributed = false
enable_dvr = false
l3_ha = false
setproctitle = off
[database]
$(db_opts "$(db_url neutron)" 20)
[quotas]
$(for q in network subnet port router floatingip security_group security_group_rule subnetpool rbac_policy trunk; do echo "quota_$q = -1"; done)
default_quota = -1
[ml2]
type_drivers = flat,vlan,vxlan,local
tenant_network_types = vxlan
mechanism_drivers = loopback,openvswitch
extension_drivers = port_security,qos,dns_domain_ports,uplink_status_propagation,data_plane_status
[ml2_type_flat]
flat_networks = *
[ml2_type_vlan]
network_vlan_ranges = physnet1:1:4094
[ml2_type_vxlan]
vni_ranges = 1:100000
[securitygroup]
enable_security_group = true
[placement]
$(auth_opts)
$(common_conf neutron)
EOF

  cat >"$E/glance-paste.ini" <<EOF
[pipeline:glance-api]
pipeline = http_proxy_to_wsgi versionnegotiation authtoken context rootapp
[composite:rootapp]
paste.composite_factory = glance.api:root_app_factory
/: apiversions
/v2: apiv2app
[app:apiversions]
paste.app_factory = glance.api.versions:create_resource
[app:apiv2app]
paste.app_factory = glance.api.v2.router:API.factory
[filter:versionnegotiation]
paste.filter_factory = glance.api.middleware.version_negotiation:VersionNegotiationFilter.factory
[filter:context]
paste.filter_factory = glance.api.middleware.context:ContextMiddleware.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
delay_auth_decision = true
[filter:http_proxy_to_wsgi]
paste.filter_factory = oslo_middleware:HTTPProxyToWSGI.factory
EOF
  cat >"$E/glance-api.conf" <<EOF
[DEFAULT]
$(log_opts)
bind_host = $HOST
bind_port = $GLANCE_PORT
workers = 0
public_endpoint = http://$HOST:$GLANCE_PORT
node_staging_uri = file://$S/glance/staging
show_multiple_locations = true
worker_self_reference_url = http://$HOST:$GLANCE_PORT
[database]
$(db_opts "$(db_url glance)")
[glance_store]
stores = file,http
default_store = file
filesystem_store_datadir = $S/glance/images
[task]
work_dir = $S/glance/tasks
[import_filtering_opts]
# bounded lists: without the brackets every web-download is refused; loopback must be named
allowed_schemes = [http,https]
allowed_ports = [80,443,$GLANCE_WEB_PORT]
disallowed_hosts = []
allowed_hosts = [$HOST]
[paste_deploy]
config_file = $E/glance-paste.ini
[cors]
$(common_conf glance)
EOF

  cat >"$E/placement/placement.conf" <<EOF
[DEFAULT]
$(log_opts)
[api]
auth_strategy = keystone
[placement_database]
$(db_opts "$(db_url placement)" 5)
$(common_conf placement)
EOF

  cat >"$E/nova-paste.ini" <<EOF
[composite:osapi_compute]
use = call:nova.api.openstack.urlmap:urlmap_factory
/: oscomputeversions
/v2.1: oscomputeversion_v2
/v2.1/+: openstack_compute_api_v21
[pipeline:openstack_compute_api_v21]
pipeline = http_proxy_to_wsgi compute_req_id faultwrap sizelimit authtoken keystonecontext osapi_compute_app_v21
[filter:compute_req_id]
paste.filter_factory = nova.api.compute_req_id:ComputeReqIdMiddleware.factory
[filter:faultwrap]
paste.filter_factory = nova.api.openstack:FaultWrapper.factory
[filter:sizelimit]
paste.filter_factory = oslo_middleware:RequestBodySizeLimiter.factory
[filter:http_proxy_to_wsgi]
paste.filter_factory = oslo_middleware.http_proxy_to_wsgi:HTTPProxyToWSGI.factory
[app:osapi_compute_app_v21]
paste.app_factory = nova.api.openstack.compute:APIRouterV21.factory
[pipeline:oscomputeversions]
pipeline = http_proxy_to_wsgi faultwrap oscomputeversionapp
[pipeline:oscomputeversion_v2]
pipeline = http_proxy_to_wsgi compute_req_id faultwrap oscomputeversionapp_v2
[app:oscomputeversionapp]
paste.app_factory = nova.api.openstack.compute.versions:Versions.factory
[app:oscomputeversionapp_v2]
paste.app_factory = nova.api.openstack.compute.versions:VersionsV2.factory
[filter:keystonecontext]
paste.filter_factory = nova.api.auth:NovaKeystoneContext.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
EOF
  cat >"$E/nova.conf" <<EOF
[DEFAULT]
$(log_opts)
host = loopback
my_ip = $HOST
state_path = $S/nova
instances_path = $S/nova/instances
transport_url = fake://
rpc_response_timeout = 60
enabled_apis = osapi_compute
osapi_compute_listen = $HOST
osapi_compute_listen_port = $NOVA_PORT
osapi_compute_workers = 1
compute_driver = fake.FakeDriver
allow_resize_to_same_host = true
vif_plugging_is_fatal = false
vif_plugging_timeout = 0
sync_power_state_interval = -1
update_resources_interval = 60
max_concurrent_builds = 0
[api]
auth_strategy = keystone
[wsgi]
api_paste_config = $E/nova-paste.ini
[api_database]
$(db_opts "$(db_url nova_api)")
[database]
$(db_opts "$(db_url nova)")
[quota]
$(for q in instances cores ram metadata_items key_pairs server_groups server_group_members; do echo "$q = -1"; done)
[scheduler]
workers = 1
discover_hosts_in_cells_interval = 60
[conductor]
workers = 1
[filter_scheduler]
track_instance_changes = false
[neutron]
$(auth_opts)
[placement]
$(auth_opts)
connect_retries = 5
status_code_retries = 5
[service_user]
send_service_user_token = true
$(auth_opts)
[glance]
api_servers = http://$HOST:$GLANCE_PORT
[cinder]
catalog_info = volumev3::publicURL
os_region_name = $REGION
$(auth_opts)
[vnc]
enabled = false
[key_manager]
backend = nova.keymgr.conf_key_mgr.ConfKeyManager
$(common_conf nova)
EOF

  cat >"$E/cinder-paste.ini" <<EOF
[composite:osapi_volume]
use = call:cinder.api:root_app_factory
/: apiversions
/v3: openstack_volume_api_v3
[pipeline:openstack_volume_api_v3]
pipeline = request_id http_proxy_to_wsgi faultwrap sizelimit authtoken keystonecontext apiv3
[filter:http_proxy_to_wsgi]
paste.filter_factory = oslo_middleware.http_proxy_to_wsgi:HTTPProxyToWSGI.factory
[filter:faultwrap]
paste.filter_factory = cinder.api.middleware.fault:FaultWrapper.factory
[filter:sizelimit]
paste.filter_factory = oslo_middleware.sizelimit:RequestBodySizeLimiter.factory
[app:apiv3]
paste.app_factory = cinder.api.v3.router:APIRouter.factory
[pipeline:apiversions]
pipeline = request_id http_proxy_to_wsgi faultwrap osvolumeversionapp
[app:osvolumeversionapp]
paste.app_factory = cinder.api.versions:Versions.factory
[filter:keystonecontext]
paste.filter_factory = cinder.api.middleware.auth:CinderKeystoneContext.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[filter:request_id]
paste.filter_factory = cinder.api.middleware.request_id:RequestId.factory
EOF
  cat >"$E/cinder-resource_filters.json" <<'EOF'
{"volume": ["name", "status", "metadata", "bootable", "migration_status", "availability_zone",
  "group_id", "size", "created_at", "updated_at", "consumes_quota"],
 "backup": ["name", "status", "volume_id"],
 "snapshot": ["name", "status", "volume_id", "metadata", "availability_zone", "consumes_quota"],
 "group": ["name"], "group_snapshot": ["name", "status", "group_id"],
 "attachment": ["volume_id", "status", "instance_id", "attach_status"],
 "message": ["resource_uuid", "resource_type", "event_id", "request_id", "message_level"],
 "pool": ["name", "volume_type"], "volume_type": ["is_public", "extra_specs"]}
EOF
  cat >"$E/cinder.conf" <<EOF
[DEFAULT]
$(log_opts)
host = loopback
my_ip = $HOST
state_path = $S/cinder
transport_url = fake://
auth_strategy = keystone
api_paste_config = $E/cinder-paste.ini
resource_query_filters_file = $E/cinder-resource_filters.json
osapi_volume_listen = $HOST
osapi_volume_listen_port = $CINDER_PORT
osapi_volume_workers = 1
glance_api_servers = http://$HOST:$GLANCE_PORT
enabled_backends = loopback
default_volume_type = __DEFAULT__
quota_volumes = -1
quota_snapshots = -1
quota_gigabytes = -1
quota_backups = -1
quota_backup_gigabytes = -1
quota_groups = -1
per_volume_size_limit = -1
[loopback]
volume_driver = openstack_loopback_cinder.LoopbackDriver
volume_backend_name = loopback
[coordination]
backend_url = file://$S/cinder/coordination
[database]
$(db_opts "$(db_url cinder)")
[nova]
$(auth_opts)
[service_user]
send_service_user_token = true
$(auth_opts)
[key_manager]
backend = cinder.keymgr.conf_key_mgr.ConfKeyManager
$(common_conf cinder)
EOF
  write_lib
}
