package emulator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// longestDownload bounds how long the content of an image may take.
const longestDownload = time.Minute

// What Glance tells of an import: who works on it, and lists of stores.
const (
	importTask   = "os_glance_import_task"
	importsTo    = "os_glance_importing_to_stores"
	failedImport = "os_glance_failed_import"
	// onlyStore is the one that images are kept in.
	onlyStore = "file"
)

// importImage takes web-download only. The image is importing until its content is
// there, and queued again if that can't be had.
func importImage(rq *request, o object) (any, error) {
	method := asObject(rq.body["method"])
	address, err := url.Parse(method.str("uri"))
	switch {
	case method.str("name") != "web-download":
		return nil, invalid("Unknown import method name '%s'.", method.str("name"))
	case err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https"):
		return nil, invalid("URI for web-download does not pass filtering: %s", method.str("uri"))
	case o.str(importTask) != "":
		return nil, conflicting("", "Image has active task")
	case o.str("status") != "queued":
		return nil, conflicting("", "Only images with status active or queued can be targeted, image is %s", o.str("status"))
	case o["disk_format"] == nil || o["container_format"] == nil:
		return nil, conflicting("", "'disk_format' and 'container_format' needs to be set before import")
	}
	o["status"], o[importTask], o[importsTo], o[failedImport] = "importing", uuid(), onlyStore, ""
	touch(rq, o)
	rq.cloud.download(rq.Context(), o, method.str("uri"))
	return reply{status: http.StatusAccepted}, nil
}

// download fetches the content of an image in the background. It ends early with the
// image, and with the server.
func (s *Server) download(ctx context.Context, o object, address string) {
	if s.downloads == nil {
		return // The server is being closed.
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestDownload)
	s.downloads[o.id()] = cancel
	s.background.Go(func() {
		defer cancel()
		content, err := fetch(ctx, address)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.downloads, o.id())
		delete(o, importTask)
		o[importsTo], o["updated_at"] = "", stamp(image, time.Now().UTC())
		if err != nil { // Which nobody is told: the logs of Glance have it.
			o["status"], o[failedImport] = "queued", onlyStore
			return
		}
		fill(o, content)
		o["status"] = "active"
	})
}

// stopDownload ends what is under way for an image.
func (s *Server) stopDownload(o object) {
	if cancel := s.downloads[o.id()]; cancel != nil {
		cancel()
	}
}

// stopDownloads ends all, and waits until they have ended.
func (s *Server) stopDownloads() {
	s.mu.Lock()
	for _, cancel := range s.downloads {
		cancel()
	}
	s.downloads = nil
	s.mu.Unlock()
	s.background.Wait()
}

// fetch returns what is at an address. As little as the operator does it call those
// from which machines get their credentials.
func fetch(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	response, err := openstack.New(openstack.Options{Hosts: []string{"*"}}).Outside().Do(request)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("download %s: %s", address, response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxUpload+1))
	if err == nil && len(content) > maxUpload {
		err = fmt.Errorf("more than %d bytes", maxUpload)
	}
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", address, err)
	}
	return content, nil
}
