package openstack

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gophercloud/gophercloud/v2"
	"go.yaml.in/yaml/v3"
)

// The keys of a Secret with credentials.
const (
	CloudsKey = "clouds.yaml"
	caKey     = "cacert"
)

// maxCloudsBytes is far above any clouds.yaml of a person, and keeps the parser's work short.
const maxCloudsBytes = 64 << 10

// entry is one cloud of a clouds.yaml, with field names of openstacksdk. Fields that name files
// are left out on purpose.
type entry struct {
	Auth         auth   `yaml:"auth"`
	AuthType     string `yaml:"auth_type"`
	Region       string `yaml:"region_name"`
	Interface    string `yaml:"interface"`
	EndpointType string `yaml:"endpoint_type"`
	Verify       *bool  `yaml:"verify"`
	Profile      string `yaml:"profile"`
}

type auth struct {
	URL               string `yaml:"auth_url"`
	Token             string `yaml:"token"`
	Username          string `yaml:"username"`
	UserID            string `yaml:"user_id"`
	Password          string `yaml:"password"`
	ProjectName       string `yaml:"project_name"`
	ProjectID         string `yaml:"project_id"`
	UserDomainName    string `yaml:"user_domain_name"`
	UserDomainID      string `yaml:"user_domain_id"`
	ProjectDomainName string `yaml:"project_domain_name"`
	ProjectDomainID   string `yaml:"project_domain_id"`
	DomainName        string `yaml:"domain_name"`
	DomainID          string `yaml:"domain_id"`
	DefaultDomain     string `yaml:"default_domain"`
	SystemScope       string `yaml:"system_scope"`
	CredentialID      string `yaml:"application_credential_id"`
	CredentialName    string `yaml:"application_credential_name"`
	CredentialSecret  string `yaml:"application_credential_secret"`
}

// Cloud is a checked entry of a clouds.yaml. Cloud holds secrets: log only its name.
type Cloud struct {
	// Name is the entry's name in its file.
	Name string

	options      gophercloud.AuthOptions
	region       string
	availability gophercloud.Availability
	insecure     bool
	authorities  []byte
	key          string
}

// Key returns the same text for equal entries of clouds.yaml in any Secret. The text is a SHA-256
// hash that reveals nothing of the credentials.
func (c *Cloud) Key() string { return c.key }

// Bounds of the parts of a [Cloud.Place], in bytes. [ParseCloud] refuses a longer address or
// region: cut off, two clouds could get one name. The id of a project or a user is cut off after
// maxID.
const (
	maxName = 255
	maxID   = 384
)

// Place names the cloud by region_name and auth_url, without the user: all users at one place share
// one limiter.
func (c *Cloud) Place() string {
	place := c.address()
	if c.region != "" {
		place = "region " + c.region + " of " + place
	}
	return place
}

// CloudOf returns the name of the cloud that a place is in. The place ends with the address of
// the cloud, which has no spaces. Spellings of one address have the same name. Places keep
// their spelling, since statuses record places, and places are compared as texts.
func CloudOf(place string) string {
	u, err := url.Parse(place[strings.LastIndexByte(place, ' ')+1:])
	if err != nil {
		return ""
	}
	u.Host, u.Path, u.RawPath = strings.ToLower(u.Host), strings.TrimSuffix(u.Path, "/v3"), ""
	return u.String()
}

// brief bounds an id that a cloud chose.
func brief(id string) string { return strings.ToValidUTF8(id[:min(len(id), maxID)], "") }

// address returns the address of the cloud, without secrets that an author wrote into the URL.
func (c *Cloud) address() string {
	u, err := url.Parse(c.options.IdentityEndpoint)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}).String()
}

// ParseCloud reads the entry called name from the data of a Secret.
func ParseCloud(secret map[string][]byte, name string) (*Cloud, error) {
	text, ok := secret[CloudsKey]
	if !ok {
		return nil, fmt.Errorf("the Secret has no key %s", CloudsKey)
	}
	if len(text) > maxCloudsBytes {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d allowed", CloudsKey, len(text), maxCloudsBytes)
	}
	var file struct {
		Clouds map[string]entry `yaml:"clouds"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("parse %s: %w", CloudsKey, withoutValues(err))
	}
	e, ok := file.Clouds[name]
	if !ok {
		return nil, fmt.Errorf("%s has no cloud %q", CloudsKey, name)
	}
	cloud, err := e.cloud(name, secret[caKey])
	if err != nil {
		return nil, fmt.Errorf("cloud %q of %s: %w", name, CloudsKey, err)
	}
	return cloud, nil
}

// withoutValues keeps the lines of a type error and drops quoted values: a value may be a
// password, and conditions show this text.
func withoutValues(err error) error {
	typeError, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return errors.New("it is not valid YAML")
	}
	lines := make([]string, 0, len(typeError.Errors))
	for _, text := range typeError.Errors {
		line, _, _ := strings.Cut(text, ":")
		lines = append(lines, line)
	}
	return fmt.Errorf("unexpected type at %s", strings.Join(lines, ", "))
}

func (e entry) cloud(name string, authorities []byte) (*Cloud, error) {
	if e.Profile != "" {
		return nil, errors.New("profile is not supported: write auth_url")
	}
	endpoint, err := url.Parse(e.Auth.URL)
	if err != nil || endpoint.Host == "" || (endpoint.Scheme != "http" && endpoint.Scheme != "https") {
		return nil, errors.New("auth.auth_url must be a http or https URL")
	}
	for field, text := range map[string]string{"auth.auth_url": endpoint.String(), "region_name": e.Region} {
		if len(text) > maxName || !utf8.ValidString(text) {
			return nil, fmt.Errorf("%s must be valid text of at most %d bytes", field, maxName)
		}
	}
	availability, err := e.availability()
	if err != nil {
		return nil, err
	}
	options, err := e.options()
	if err != nil {
		return nil, err
	}
	if len(authorities) > 0 && !x509.NewCertPool().AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("the Secret's key %s holds no PEM certificate", caKey)
	}
	hash, err := e.hash(authorities)
	if err != nil {
		return nil, err
	}
	return &Cloud{
		Name: name, options: options, region: e.Region, availability: availability,
		insecure: e.Verify != nil && !*e.Verify, authorities: authorities, key: hash,
	}, nil
}

func (e entry) availability() (gophercloud.Availability, error) {
	word := strings.TrimSuffix(first(e.EndpointType, e.Interface, "public"), "URL")
	known := []gophercloud.Availability{
		gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin,
	}
	if !slices.Contains(known, gophercloud.Availability(word)) {
		return "", errors.New("interface must be public, internal or admin")
	}
	return gophercloud.Availability(word), nil
}

func (e entry) options() (gophercloud.AuthOptions, error) {
	a := e.Auth
	options := gophercloud.AuthOptions{IdentityEndpoint: a.URL, AllowReauth: true}
	switch e.AuthType {
	case "", "password", "v3password", "token", "v3token", "v3applicationcredential":
	default:
		return options, errors.New("auth_type must be password, token or v3applicationcredential")
	}
	if e.AuthType == "v3applicationcredential" || a.CredentialID != "" || a.CredentialName != "" {
		return a.credential(options)
	}
	if e.AuthType == "token" || e.AuthType == "v3token" || (a.Token != "" && a.Password == "") {
		if a.Token == "" {
			return options, errors.New("auth.token is missing")
		}
		// A token (v3token) can't be renewed without the credentials from which the token was made.
		options.TokenID, options.AllowReauth = a.Token, false
		options.Scope = a.scope()
		return options, nil
	}
	if a.Password == "" || (a.Username == "" && a.UserID == "") {
		return options, errors.New("auth needs username or user_id, and password")
	}
	options.Password = a.Password
	a.user(&options)
	options.Scope = a.scope()
	return options, nil
}

// credential returns the login by application_credential_id or application_credential_name. An
// application credential belongs to one project, so AuthOptions.Scope stays nil.
func (a auth) credential(options gophercloud.AuthOptions) (gophercloud.AuthOptions, error) {
	if a.CredentialSecret == "" {
		return options, errors.New("auth.application_credential_secret is missing")
	}
	options.ApplicationCredentialID = a.CredentialID
	options.ApplicationCredentialSecret = a.CredentialSecret
	if a.CredentialID != "" {
		return options, nil
	}
	if a.CredentialName == "" || (a.Username == "" && a.UserID == "") {
		return options, errors.New("auth needs application_credential_id, or application_credential_name and a user")
	}
	options.ApplicationCredentialName = a.CredentialName
	a.user(&options)
	return options, nil
}

func (a auth) user(options *gophercloud.AuthOptions) {
	if a.UserID != "" {
		options.UserID = a.UserID
		return
	}
	options.Username = a.Username
	options.DomainID, options.DomainName = a.domain(a.UserDomainID, a.UserDomainName)
}

// scope returns AuthOptions.Scope: a project, a domain, or the system. With nil, Keystone uses
// default_project_id of the user.
func (a auth) scope() *gophercloud.AuthScope {
	switch {
	case a.SystemScope != "":
		return &gophercloud.AuthScope{System: true}
	case a.ProjectID != "":
		return &gophercloud.AuthScope{ProjectID: a.ProjectID}
	case a.ProjectName != "":
		id, name := a.domain(a.ProjectDomainID, a.ProjectDomainName)
		return &gophercloud.AuthScope{ProjectName: a.ProjectName, DomainID: id, DomainName: name}
	case a.DomainID != "" || a.DomainName != "":
		id, name := a.domain("", "")
		return &gophercloud.AuthScope{DomainID: id, DomainName: name}
	default:
		return nil
	}
}

// domain returns an ID or a name, as Keystone requires exactly one of both.
func (a auth) domain(id, name string) (string, string) {
	switch {
	case id != "":
		return id, ""
	case name != "":
		return "", name
	case a.DomainID != "":
		return a.DomainID, ""
	case a.DomainName != "":
		return "", a.DomainName
	default:
		return first(a.DefaultDomain, "default"), ""
	}
}

func (e entry) hash(authorities []byte) (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("hash the entry: %w", err)
	}
	sum := sha256.New()
	// The length keeps the two parts apart.
	fmt.Fprintf(sum, "%d ", len(text))
	sum.Write(text)
	sum.Write(authorities)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func first(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}
