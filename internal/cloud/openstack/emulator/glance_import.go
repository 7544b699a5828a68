package emulator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// longestDownload bounds how long the content of an image may take.
const longestDownload = time.Minute

// Properties of an image that show an import: the id of the task, the stores still to be
// filled, and the stores that failed. With one store both lists stay empty, also after a
// failure.
const (
	importTask   = "os_glance_import_task"
	importsTo    = "os_glance_importing_to_stores"
	failedImport = "os_glance_failed_import"
)

// importBegins is how long an import waits for its turn, importEnds how long its task outlives
// the import. In a real Glance these took 30 to 60 ms and 20 to 100 ms.
const (
	importBegins = 30 * time.Millisecond
	importEnds   = 20 * time.Millisecond
)

// importImage serves web-download only. The image is queued until the task has its turn,
// importing until the content is there, and queued again if the download fails.
func importImage(rq *request, o object) (any, error) {
	method := asObject(rq.body["method"])
	address, err := url.Parse(method.str("uri"))
	switch {
	case method.str("name") != "web-download":
		return nil, invalid("Unknown import method name '%s'.", method.str("name"))
	case o.str("status") == "active":
		return nil, conflicting("", "Image with status active cannot be target for import")
	case o.str("status") != "queued":
		return nil, conflicting("", "Image needs to be in 'queued' state to use 'web-download' method")
	case o["disk_format"] == nil || o["container_format"] == nil:
		return nil, conflicting("", "'disk_format' and 'container_format' needs to be set before import")
	case o.str(importTask) != "":
		return nil, conflicting("", "Image has active task")
	case err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https"):
		return nil, invalid("URI for web-download does not pass filtering: %s", method.str("uri"))
	}
	o[importTask] = uuid.NewString()
	rq.cloud.download(rq.Context(), o, method.str("uri"))
	return reply{status: http.StatusAccepted}, nil
}

// HoldImports keeps imports that are accepted from now on waiting until release is called:
// their images stay queued, as in a busy Glance.
func (s *Server) HoldImports() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := make(chan struct{})
	s.importTurn = turn
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(turn)
		s.importTurn = nil
	})
}

// download fetches the content of an image in the background. The download ends early when the
// image is deleted (DELETE /v2/images/ID) and when [Server.Close] is called.
func (s *Server) download(ctx context.Context, o object, address string) {
	if s.downloads == nil {
		return // The server is being closed.
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestDownload)
	s.downloads[o.id()] = cancel
	turn := s.importTurn
	s.background.Go(func() {
		defer cancel()
		awaitTurn(ctx, turn)
		s.change(func() {
			o["status"], o[importsTo], o[failedImport] = "importing", "", ""
			o["updated_at"] = stamp(image, time.Now().UTC())
		})
		content, err := fetch(ctx, address)
		s.change(func() {
			delete(s.downloads, o.id())
			o["updated_at"] = stamp(image, time.Now().UTC())
			if err != nil { // Only Glance's logs have the reason.
				o["status"] = "queued"
				return
			}
			fill(o, content)
			o["status"] = "active"
		})
		sleep(ctx, importEnds)
		s.change(func() { delete(o, importTask) })
	})
}

// change runs a function with Server.mu, for goroutines that change the cloud's state.
func (s *Server) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// awaitTurn waits until an import begins, or is not to any more.
func awaitTurn(ctx context.Context, turn <-chan struct{}) {
	if turn == nil {
		sleep(ctx, importBegins)
		return
	}
	select {
	case <-turn:
	case <-ctx.Done():
	}
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// stopDownload ends the download of an image.
func (s *Server) stopDownload(o object) {
	if cancel := s.downloads[o.id()]; cancel != nil {
		cancel()
	}
}

// stopDownloads ends all downloads, and waits for their end.
func (s *Server) stopDownloads() {
	s.mu.Lock()
	for _, cancel := range s.downloads {
		cancel()
	}
	s.downloads = nil
	s.mu.Unlock()
	s.background.Wait()
}

// fetch returns the content of an http URL. Like the operator, fetch refuses the addresses from
// which machines get their credentials, such as 169.254.169.254.
func fetch(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	response, err := openstack.New(openstack.Options{Open: openstack.Loopback}).Outside().Do(request)
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
