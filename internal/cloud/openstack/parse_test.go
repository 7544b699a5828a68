package openstack

import (
	"strings"
	"testing"
)

func secretOf(text string) map[string][]byte { return map[string][]byte{CloudsKey: []byte(text)} }

const plain = `
clouds:
  one:
    region_name: RegionOne
    auth: {auth_url: "http://127.0.0.1:5000/v3", username: demo, password: 1234, project_name: demo}
`

func TestParseCloud(t *testing.T) {
	t.Parallel()
	cloud, err := ParseCloud(secretOf(plain), "one")
	if err != nil {
		t.Fatal(err)
	}
	o := cloud.options
	if o.Username != "demo" || o.Password != "1234" || o.DomainID != "default" || o.Scope.ProjectName != "demo" ||
		o.Scope.DomainID != "default" || !o.AllowReauth || cloud.availability != "public" {
		t.Errorf("parsed: %+v, scope %+v", o, o.Scope)
	}
}

func TestParseCloudKeepsClear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ reason, text, cloud, want string }{
		{"no such cloud", plain, "two", `has no cloud "two"`},
		{"not YAML", "clouds: [", "one", "not valid YAML"},
		{"wrong type says where and not what", "clouds:\n  one:\n    auth: hunter2\n", "one", "unexpected type at line 3"},
		{"no URL", "clouds: {one: {auth: {username: a, password: b}}}", "one", "auth_url must be"},
		{"a file as URL", "clouds: {one: {auth: {auth_url: 'file:///etc/passwd'}}}", "one", "auth_url must be"},
		{"no password", "clouds: {one: {auth: {auth_url: 'http://a', username: a}}}", "one", "and password"},
		{
			"no secret", "clouds: {one: {auth: {auth_url: 'http://a', application_credential_id: a}}}", "one",
			"secret is missing",
		},
		{"vendor profile", "clouds: {one: {profile: x, auth: {auth_url: 'http://a'}}}", "one", "profile is not supported"},
		{"unknown kind", "clouds: {one: {auth_type: v3oidc, auth: {auth_url: 'http://a'}}}", "one", "auth_type must be"},
		{"unknown interface", "clouds: {one: {interface: x, auth: {auth_url: 'http://a'}}}", "one", "interface must be"},
		{"too long", strings.Repeat("#", maxCloudsBytes+1), "one", "more than the"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			_, err := ParseCloud(secretOf(tt.text), tt.cloud)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error quotes what may be a password: %v", err)
			}
		})
	}
	if _, err := ParseCloud(nil, "one"); err == nil {
		t.Error("a Secret without the key is accepted")
	}
	secret := secretOf(plain)
	secret[caKey] = []byte("x")
	if _, err := ParseCloud(secret, "one"); err == nil || !strings.Contains(err.Error(), "no PEM certificate") {
		t.Errorf("a broken certificate: %v", err)
	}
}

func TestParseCloudIgnoresTheEnvironment(t *testing.T) {
	t.Setenv("OS_PASSWORD", "other")
	t.Setenv("OS_AUTH_URL", "http://other")
	t.Setenv("OS_CLOUD", "other")
	cloud, err := ParseCloud(secretOf(plain), "one")
	if err != nil {
		t.Fatal(err)
	}
	if cloud.options.Password != "1234" || cloud.options.IdentityEndpoint != "http://127.0.0.1:5000/v3" {
		t.Errorf("parsed: %+v", cloud.options)
	}
}

func TestKeysTellEntriesApart(t *testing.T) {
	t.Parallel()
	key := func(text string) string {
		cloud, err := ParseCloud(secretOf(text), "one")
		if err != nil {
			t.Fatal(err)
		}
		return cloud.Key()
	}
	if key(plain) != key("# a comment\n"+plain) {
		t.Error("a comment makes another cloud of it")
	}
	if key(plain) == key(strings.Replace(plain, "1234", "1235", 1)) {
		t.Error("another password is the same cloud")
	}
}

func FuzzParseCloud(f *testing.F) {
	f.Add([]byte(plain), []byte(""), "one")
	f.Add([]byte("clouds: &a {one: *a}"), []byte("-----BEGIN CERTIFICATE-----"), "one")
	f.Add([]byte("clouds: {one: {auth: {auth_url: 'http://[::1]:5000', token: x}, verify: false}}"), []byte(""), "one")
	f.Fuzz(func(t *testing.T, text, authority []byte, name string) {
		cloud, err := ParseCloud(map[string][]byte{CloudsKey: text, caKey: authority}, name)
		if (cloud == nil) == (err == nil) {
			t.Fatalf("got %v and %v", cloud, err)
		}
		if err == nil && (cloud.Key() == "" || cloud.options.IdentityEndpoint == "") {
			t.Errorf("accepted: %+v", cloud.options)
		}
	})
}
