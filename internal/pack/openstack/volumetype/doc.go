// Package volumetype is the kind VolumeType of the openstack pack, for /v3/PROJECT_ID/types of
// Cinder. Its extra specs are changed with requests of their own ([kit.Table.Specs]).
package volumetype
