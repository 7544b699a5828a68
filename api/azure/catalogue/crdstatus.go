package catalogue

// addOptions adds the fields of shared/v1alpha1 ExternalSpec, and what tells which existing resource an
// object stands for.
func addOptions(properties map[string]any) {
	properties["managementPolicy"] = map[string]any{
		"type": "string", "default": "managed", "enum": []any{"managed", "unmanaged"},
		"x-kubernetes-validations": []any{rule("self == oldSelf || oldSelf == 'unmanaged'",
			"managementPolicy can be changed from unmanaged to managed, and not back")},
	}
	properties["managedOptions"] = map[string]any{"type": "object", "properties": map[string]any{
		"onDelete": map[string]any{"type": "string", "default": "delete", "enum": []any{"delete", "detach"}},
	}}
	properties["resyncPeriod"] = map[string]any{
		"type": "string", "maxLength": int64(64),
		"x-kubernetes-validations": []any{rule("type(duration(self)) == google.protobuf.Duration",
			"give a duration such as 90s, 10m or 1h30m")},
	}
	properties["import"] = map[string]any{"type": "object", "properties": map[string]any{
		"id": map[string]any{
			"type": "string", "maxLength": int64(2048), "pattern": "^/",
			"description": "ID of the existing resource that the object stands for",
		},
	}}
	properties["credentialsRef"] = map[string]any{
		"type": "object", "required": []any{"secretName"}, "properties": map[string]any{
			"secretName": map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(253)},
		},
	}
}

// statusSchema returns the schema of shared/v1alpha1 ExternalStatus, and of the last ARM body.
func statusSchema() map[string]any {
	text := func(most int) map[string]any { return map[string]any{"type": "string", "maxLength": int64(most)} }
	moment := map[string]any{"type": "string", "format": "date-time"}
	condition := map[string]any{
		"type": "object", "required": []any{"lastTransitionTime", "message", "reason", "status", "type"},
		"properties": map[string]any{
			"type": text(316), "status": map[string]any{"type": "string", "enum": []any{"True", "False", "Unknown"}},
			"reason": text(1024), "message": text(32768), "lastTransitionTime": moment,
			"observedGeneration": map[string]any{"type": "integer", "format": "int64", "minimum": int64(0)},
		},
	}
	dependency := map[string]any{
		"type": "object", "required": []any{"id", "kind", "name"},
		"properties": map[string]any{"group": text(253), "kind": text(63), "name": text(253), "id": text(2048)},
	}
	return map[string]any{"type": "object", "properties": map[string]any{
		"conditions": map[string]any{
			"type": "array", "maxItems": int64(32), "items": condition,
			"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
		},
		"id":           text(2048),
		"place":        text(1024),
		"lastSyncTime": moment,
		"observedDependencies": map[string]any{
			"type": "array", "maxItems": int64(2048), "items": dependency, "x-kubernetes-list-type": "atomic",
		},
		"drift": map[string]any{
			"type": "array", "maxItems": int64(32), "items": text(1024), "x-kubernetes-list-type": "atomic",
		},
		"sent": map[string]any{
			"type": "string", "maxLength": int64(64),
			"description": "Sent is a hash of the ARM body that was last sent",
		},
		"unknown": map[string]any{
			"type": "array", "maxItems": int64(1024), "items": text(4096), "x-kubernetes-list-type": "atomic",
			"description": "Unknown lists the properties of the resource that the schema doesn't know",
		},
		"resource": map[string]any{
			"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			"description": "Resource is the ARM body that was last read",
		},
	}}
}
