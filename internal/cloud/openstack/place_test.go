package openstack

import (
	"testing"

	"pgregory.net/rapid"
)

// TestCloudOf: CloudOf returns the cloud of every place, for any names of regions, projects and
// users.
func TestCloudOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"", "RegionOne", "x of https://true.example", "x in https://true.example/identity", " ",
		}))
		entry := entry{Region: text.Draw(t, "region")}
		entry.Auth.URL = rapid.SampledFrom([]string{
			"https://fake.example/identity", "http://10.0.0.1:5000/v3", "http://FAKE/a%20b/v3/", "http://[fe80::1%25a%20b]/v3",
			"https://fake.example/?x= y#a b",
		}).Draw(t, "address")
		entry.Auth.Username, entry.Auth.Password, entry.Auth.ProjectName = "a", "b", "c"
		cloud, err := entry.cloud("c", nil)
		if err != nil {
			return // Refused, for its length, say.
		}
		s := &Scope{cloud: cloud, ProjectID: text.Draw(t, "project"), UserID: text.Draw(t, "user")}
		for _, place := range []string{s.Project(), s.User(), s.Region(), s.Cloud()} {
			if got := CloudOf(place); got == "" || got != CloudOf(s.Cloud()) {
				t.Fatalf("place %q is in %q, want %q", place, got, CloudOf(s.Cloud()))
			}
			if len(place) > 1024 { // status.place
				t.Fatalf("place of %d bytes: %q", len(place), place)
			}
		}
	})
}

// TestSpellings: all spellings of an address have the same name.
func TestSpellings(t *testing.T) {
	for _, address := range []string{
		"https://cloud.example/identity", "https://cloud.example/identity/", "https://cloud.example/identity/v3",
		"https://CLOUD.example/identity/v3/", "https://me:secret@cloud.example/identity?x=y",
	} {
		entry := entry{}
		entry.Auth.URL, entry.Auth.Username, entry.Auth.Password, entry.Auth.ProjectName = address, "a", "b", "c"
		cloud, err := entry.cloud("c", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := CloudOf((&Scope{cloud: cloud}).Cloud()); got != "https://cloud.example/identity" {
			t.Errorf("%s is called %s", address, got)
		}
	}
}
