package emulator

import (
	"cmp"
	"crypto/md5" // Glance's checksum
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

var image = &service{name: "image", base: "/image", root: "/image/v2", body: glanceError}

var (
	diskFormats      = []string{"", "ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop"}
	containerFormats = []string{"", "ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed"}
	visibilities     = []string{"public", "private", "shared", "community"}
)

// imageAttributes are the typed attributes; every other key is a property.
var imageAttributes = attributes{
	"name": {text, cu | nullable, nil}, "disk_format": {text, cu | nullable, nil},
	"container_format": {text, cu | nullable, nil}, "visibility": {text, cu, "shared"}, "protected": {flag, cu, false},
	"min_disk": {number, cu, 0}, "min_ram": {number, cu, 0}, "tags": {list, cu, []any{}}, "os_hidden": {flag, cu, false},
	"id": {identifier, create, nil}, "owner": {text, create | admin | nullable, nil},
}

// readOnly are the keys that Glance keeps for itself.
var readOnly = []string{
	"status", "checksum", "size", "virtual_size", "created_at", "updated_at", "schema", "self", "file",
	"os_hash_algo", "os_hash_value", "direct_url", "locations", "stores", "id",
	importTask, importsTo, failedImport,
}

func (s *Server) glance() {
	for _, root := range []string{"GET /image", "GET /image/{$}"} {
		s.open(image, root, func(*request) (any, error) {
			links := anys(object{"rel": "self", "href": s.url + "/image/v2/"})
			return reply{status: http.StatusMultipleChoices, body: object{"versions": anys(
				object{"id": "v2.15", "status": "CURRENT", "links": links},
				object{"id": "v2.9", "status": "SUPPORTED", "links": links},
			)}}, nil
		})
	}
	res := &resource{
		service: image, table: "image/images", name: "Image", path: "/images", plural: "images",
		attrs: imageAttributes, perPage: 25,
		visible: func(rq *request, o object) bool {
			word := o.str("visibility")
			return rq.token.admin() || o.str("owner") == rq.token.project || word == "public" || word == "community"
		},
		filter: filterImage,
		remove: func(rq *request, o object) error {
			if o.flag("protected") {
				return forbidden("Image %s is protected and cannot be deleted.", o.id())
			}
			rq.cloud.stopDownload(o)
			return nil
		},
		prepare: prepareImage,
		links: func(answer object, _, next string) {
			answer["first"], answer["schema"] = "/v2/images", "/v2/schemas/images"
			if next != "" {
				answer["next"] = next
				if parsed, err := url.Parse(next); err == nil {
					answer["next"] = strings.TrimPrefix(parsed.Path, image.base) + "?" + parsed.RawQuery
				}
			}
		},
	}
	s.add(res)
	root := image.root + "/images"
	s.guarded(image, "PATCH "+root+"/{id}", onImage(res, patchImage))
	s.guarded(image, "PUT "+root+"/{id}/file", onImage(res, uploadImage))
	s.guarded(image, "GET "+root+"/{id}/file", onImage(res, func(_ *request, o object) (any, error) {
		if o.str("status") != "active" {
			return reply{status: http.StatusNoContent}, nil
		}
		return reply{status: http.StatusOK, body: page("")}, nil
	}))
	s.guarded(image, "POST "+root+"/{id}/import", onImage(res, importImage))
	s.guarded(image, "GET "+image.root+"/info/import", func(*request) (any, error) {
		return object{"import-methods": object{"type": "array", "value": anys("glance-direct", "web-download")}}, nil
	})
	s.imageTags(res)
	s.missing(image)
}

func onImage(res *resource, do func(rq *request, o object) (any, error)) handler {
	return func(rq *request) (any, error) {
		o, err := res.find(rq, rq.PathValue("id"))
		if err != nil {
			return nil, err
		}
		if !rq.token.admin() && o.str("owner") != rq.token.project {
			return nil, forbidden("You are not permitted to modify this image.")
		}
		return do(rq, o)
	}
}

// prepareImage takes free properties as well, which the table of attributes can't
// know.
func prepareImage(rq *request, o object) error {
	for key, value := range rq.body {
		if _, known := imageAttributes[key]; known {
			continue
		}
		if err := cmp.Or(checkKey(key), checkProperty(key, value)); err != nil {
			return err
		}
		o[property(key)] = value
	}
	if id, ok := o["_asked"].(string); ok {
		delete(o, "_asked")
		if rq.store().get("image/images", id) != nil {
			return conflicting("Duplicate", "Image ID %s already exists!", id)
		}
		o["id"] = id
	}
	if o.str("owner") == "" {
		o["owner"] = rq.token.project
	}
	if err := checkImage(rq, o); err != nil {
		return err
	}
	now := stamp(image, rq.now)
	maps.Copy(o, (object{
		"status": "queued", "checksum": nil, "size": nil, "virtual_size": nil, "os_hash_algo": nil, "os_hash_value": nil,
		"created_at": now, "updated_at": now, "schema": "/v2/schemas/image",
		"self": "/v2/images/" + o.id(), "file": "/v2/images/" + o.id() + "/file",
	}))
	return nil
}

// checkKey refuses keys that no client may write. Names that begin with os_glance are Glance's
// own.
func checkKey(key string) error {
	switch {
	case slices.Contains(readOnly, key):
		return forbidden("Attribute '%s' is read-only.", key)
	case strings.HasPrefix(key, "os_glance"):
		return forbidden("Attribute '%s' is reserved.", key)
	}
	return nil
}

// quoted begins the keys under which properties are kept that begin with an underscore, as
// the emulator's own notes do.
const quoted = "\x00"

// property returns the key under which a property is kept.
func property(name string) string {
	if strings.HasPrefix(name, "_") || strings.HasPrefix(name, quoted) {
		return quoted + name
	}
	return name
}

// checkProperty checks a property. Glance takes any name, even an empty one.
func checkProperty(key string, value any) error {
	if _, ok := value.(string); !ok {
		return invalid("Provided object does not match schema 'image': %v is not of type 'string'", value)
	}
	if utf8.RuneCountInString(key) > 255 {
		return invalid("Custom property should not be greater than 255 characters.")
	}
	return nil
}

func checkImage(rq *request, o object) error {
	for key, allowed := range map[string][]string{
		"disk_format": diskFormats, "container_format": containerFormats, "visibility": visibilities,
	} {
		if !slices.Contains(allowed, o.str(key)) {
			return invalid("Provided object does not match schema 'image': '%s' is not one of %v", o.str(key), allowed)
		}
	}
	if o.str("visibility") == "public" && !rq.token.admin() {
		return forbidden("You are not authorized to complete publicize_image action.")
	}
	for _, key := range []string{"min_disk", "min_ram"} {
		if o.num(key) < 0 {
			return invalid("Provided object does not match schema 'image': %d is less than the minimum of 0", o.num(key))
		}
	}
	return nil
}

// withOperator are the fields whose filter may begin with an operator and a colon, such as in:a,b and eq:a.
var withOperator = []string{"id", "name", "status", "container_format", "disk_format"}

func filterImage(rq *request, o object) bool {
	for key, values := range rq.URL.Query() {
		operator, operand, has := strings.Cut(values[0], ":")
		switch {
		case slices.Contains(notFilters, key) || key == "visibility" && values[0] == "all":
		case key == "tag":
			if !containsAll(o.strings("tags"), values) {
				return false
			}
		case has && slices.Contains(withOperator, key): // Glance answers 400 to an unknown operator.
			wanted := map[string][]string{"in": strings.Split(operand, ","), "eq": {operand}}[operator]
			if !slices.Contains(wanted, textOf(o[key])) {
				return false
			}
		case key == "size_min" || key == "size_max":
		default:
			if textOf(o[key]) != values[0] && !equals(o[key], values[0]) {
				return false
			}
		}
	}
	return true
}

// patchImage applies a JSON patch (RFC 6902) of one level, as Glance does.
func patchImage(rq *request, o object) (any, error) {
	if !strings.HasPrefix(rq.Header.Get("Content-Type"), "application/openstack-images-v2") {
		return nil, refuse(http.StatusUnsupportedMediaType, "", "Unsupported Content-Type")
	}
	var steps []object
	if json.Unmarshal(rq.raw, &steps) != nil {
		return nil, invalid("Request body must be a JSON array of operation objects.")
	}
	after := object{}
	maps.Copy(after, o)
	for _, step := range steps {
		if err := patch(after, step); err != nil {
			return nil, err
		}
	}
	if err := checkImage(rq, after); err != nil {
		return nil, err
	}
	clear(o)
	maps.Copy(o, after)
	touch(rq, o)
	return rq.cloud.named["image/images"].show(rq, o), nil
}

func patch(o, step object) error {
	name, pointer := strings.CutPrefix(step.str("path"), "/")
	if !pointer || strings.Contains(name, "/") {
		return invalid("Invalid JSON pointer for this resource: '%s'", step.str("path"))
	}
	key := strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	if err := checkKey(key); err != nil {
		return err
	}
	attr, known := imageAttributes[key]
	kept := property(key)
	_, has := o[kept]
	switch step.str("op") {
	case "remove":
		if known {
			return forbidden("Property %s may not be removed.", key)
		}
		if !has {
			return conflicting("", "Property %s does not exist.", key)
		}
		delete(o, kept)
		return nil
	case "replace", "add":
		if step.str("op") == "replace" && !has {
			return conflicting("", "Property %s does not exist.", key)
		}
		value, err := step["value"], error(nil)
		if known {
			value, err = attr.convert(key, value)
		} else {
			err = checkProperty(key, value)
		}
		o[kept] = value
		return err
	default:
		return invalid("Operations must be 'add', 'replace' or 'remove'.")
	}
}

func uploadImage(rq *request, o object) (any, error) {
	if o.str("status") != "queued" {
		return nil, conflicting("", "Image status transition from %s to saving is not allowed", o.str("status"))
	}
	if o["disk_format"] == nil || o["container_format"] == nil {
		return nil, invalid("Properties disk_format, container_format must be set prior to saving data.")
	}
	fill(o, rq.raw)
	o["status"] = "active"
	touch(rq, o)
	return reply{status: http.StatusNoContent}, nil
}

func fill(o object, data []byte) {
	sum, hash := md5.Sum(data), sha512.Sum512(data) // Glance's checksum
	o["size"], o["checksum"] = len(data), hex.EncodeToString(sum[:])
	o["os_hash_algo"], o["os_hash_value"] = "sha512", hex.EncodeToString(hash[:])
}

func (s *Server) imageTags(res *resource) {
	path := image.root + "/images/{id}/tags/{tag}"
	s.guarded(image, "PUT "+path, onImage(res, func(rq *request, o object) (any, error) {
		if tag := rq.PathValue("tag"); !slices.Contains(o.strings("tags"), tag) {
			o["tags"] = append(o.list("tags"), tag)
		}
		return reply{status: http.StatusNoContent}, nil
	}))
	s.guarded(image, "DELETE "+path, onImage(res, func(rq *request, o object) (any, error) {
		tag := rq.PathValue("tag")
		if !slices.Contains(o.strings("tags"), tag) {
			return nil, absent("Tag", tag)
		}
		o["tags"] = slices.DeleteFunc(slices.Clone(o.list("tags")), func(other any) bool { return other == tag })
		return nil, nil
	}))
}
