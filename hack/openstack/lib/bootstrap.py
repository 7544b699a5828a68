"""Waits for the APIs; creates what a fresh cloud needs. Idempotent."""
import json, os, sys, time, urllib.error, urllib.request

E = os.environ
HOST, PW, REGION, SERVICES = E['HOST'], E['PASSWORD'], E['REGION'], E['SERVICES'].split()
KS = 'http://%s:%s/v3' % (HOST, E['KEYSTONE_PORT'])
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
TOKEN = None


def call(method, url, body=None, ok=(), headers=None, raw=None):
    h = {'Content-Type': 'application/json', 'Accept': 'application/json'}
    if TOKEN:
        h['X-Auth-Token'] = TOKEN
    h.update(headers or {})
    data = raw if raw is not None else (json.dumps(body).encode() if body is not None else None)
    req = urllib.request.Request(url, data, h, method=method)
    try:
        with opener.open(req, timeout=120) as r:
            txt = r.read()
            return r.status, (json.loads(txt) if txt.strip()[:1] in (b'{', b'[') else txt), r.headers
    except urllib.error.HTTPError as e:
        if e.code in ok:
            return e.code, None, e.headers
        raise SystemExit('%s %s: %s %s' % (method, url, e.code, e.read()[:800]))


def wait(name, url, seconds=240):
    end = time.time() + seconds
    pid = open('%s/run/%s.pid' % (E['STATE'], name)).read().split()[0]
    while True:
        if not os.path.exists('/proc/' + pid):
            raise SystemExit('%s died: see %s/log/%s.log' % (name, E['STATE'], name))
        try:
            opener.open(urllib.request.Request(url), timeout=30).close()
            return
        except urllib.error.HTTPError as e:
            if e.code in (300, 401):
                return
            err = e
        except OSError as e:
            err = e
        if time.time() > end:
            raise SystemExit('%s is not answering: %s' % (url, err))
        time.sleep(0.25)


def one(coll, kind, name, **attrs):
    key = coll.split('/')[-1]
    found = call('GET', '%s/%s?name=%s' % (KS, coll, name))[1][key]
    if found:
        return found[0]['id']
    return call('POST', '%s/%s' % (KS, coll), {kind: dict(attrs, name=name)})[1][kind]['id']


def login():
    global TOKEN
    TOKEN = None
    _, _, h = call('POST', KS + '/auth/tokens', {'auth': {
        'identity': {'methods': ['password'], 'password': {'user': {
            'name': 'admin', 'domain': {'id': 'default'}, 'password': PW}}},
        'scope': {'project': {'name': 'admin', 'domain': {'id': 'default'}}}}})
    TOKEN = h['X-Subject-Token']


def identity():
    wait('keystone', KS)
    login()
    roles = {r['name']: r['id'] for r in call('GET', KS + '/roles')[1]['roles']}
    for name in ('service', 'heat_stack_owner'):
        if name not in roles:
            roles[name] = call('POST', KS + '/roles', {'role': {'name': name}})[1]['role']['id']
    admin_project = one('projects', 'project', 'admin')
    for project, user, rr in (('service', 'service', ('admin', 'service')),
                              ('demo', 'demo', ('member', 'reader')),
                              ('alt_demo', 'alt_demo', ('member', 'reader'))):
        pid = one('projects', 'project', project, domain_id='default')
        uid = one('users', 'user', user, domain_id='default', password=PW, default_project_id=pid)
        for r in rr:
            call('PUT', '%s/projects/%s/users/%s/roles/%s' % (KS, pid, uid, roles[r]))
    catalog = {
        'keystone': ('identity', KS),
        'neutron': ('network', 'http://%s:%s' % (HOST, E['NEUTRON_PORT'])),
        'glance': ('image', 'http://%s:%s' % (HOST, E['GLANCE_PORT'])),
        'placement': ('placement', 'http://%s:%s' % (HOST, E['PLACEMENT_PORT'])),
        'nova': ('compute', 'http://%s:%s/v2.1' % (HOST, E['NOVA_PORT'])),
        'cinder': ('volumev3', 'http://%s:%s/v3/$(project_id)s' % (HOST, E['CINDER_PORT'])),
    }
    endpoints = call('GET', KS + '/endpoints')[1]['endpoints']
    for name, (typ, url) in catalog.items():
        if name not in SERVICES:
            continue
        sid = one('services', 'service', name, type=typ)
        for iface in ('public', 'internal', 'admin'):
            have = [e for e in endpoints if e['service_id'] == sid and e['interface'] == iface]
            if have and have[0]['url'] == url:
                continue
            body = {'endpoint': {'service_id': sid, 'interface': iface, 'url': url, 'region_id': REGION}}
            if have:
                call('PATCH', KS + '/endpoints/' + have[0]['id'], body)
            else:
                call('POST', KS + '/endpoints', body)


def seed():
    login()
    if 'neutron' in SERVICES:
        n = 'http://%s:%s/v2.0' % (HOST, E['NEUTRON_PORT'])
        if not call('GET', n + '/networks?name=public')[1]['networks']:
            net = call('POST', n + '/networks', {'network': {
                'name': 'public', 'router:external': True, 'provider:network_type': 'flat',
                'provider:physical_network': 'public', 'is_default': True}})[1]['network']['id']
            call('POST', n + '/subnets', {'subnet': {
                'name': 'public-subnet', 'network_id': net, 'ip_version': 4, 'cidr': '172.24.0.0/16',
                'gateway_ip': '172.24.0.1', 'enable_dhcp': False}})
    if 'glance' in SERVICES:
        g = 'http://%s:%s/v2' % (HOST, E['GLANCE_PORT'])
        if not call('GET', g + '/images?name=cirros')[1]['images']:
            i = call('POST', g + '/images', {'name': 'cirros', 'disk_format': 'raw',
                                             'container_format': 'bare', 'visibility': 'public'})[1]['id']
            call('PUT', '%s/images/%s/file' % (g, i), raw=b'\0' * 1024,
                 headers={'Content-Type': 'application/octet-stream'})
    if 'nova' in SERVICES:
        c = 'http://%s:%s/v2.1' % (HOST, E['NOVA_PORT'])
        names = [f['name'] for f in call('GET', c + '/flavors')[1]['flavors']]
        for name, ram, disk, fid in (('m1.tiny', 64, 1, '1'), ('m1.small', 128, 1, '2')):
            if name not in names:
                call('POST', c + '/flavors', {'flavor': {'name': name, 'ram': ram, 'disk': disk,
                                                         'vcpus': 1, 'id': fid}}, ok=(409,))


def ready():
    for name, port in (('neutron', 'NEUTRON'), ('glance', 'GLANCE'), ('placement', 'PLACEMENT'),
                       ('nova', 'NOVA'), ('cinder', 'CINDER')):
        if name in SERVICES:
            wait(name, 'http://%s:%s/' % (HOST, E[port + '_PORT']))


for step in sys.argv[1:]:
    {'identity': identity, 'ready': ready, 'seed': seed}[step]()
