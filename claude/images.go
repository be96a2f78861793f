package claude

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/siding-dev/siding"
)

// The service's limits for images, by its documentation of August 2026.
const (
	MaxImageBase64 = 10 << 20 // of one image, in bytes of its base64 form
	MaxImageSide   = 8000     // of one image, in pixels; less in requests with more than 20
	maxImages      = 100      // in one request
)

// imageTypes are the types that the service takes; the content of a file decides, not its name.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// An imageFile is an image as it is sent.
type imageFile struct {
	mediaType string
	data      string // base64
}

// readImages reads the files that the record names, in the order of the fields.
func (h *Handler) readImages(record any) ([]imageFile, *siding.Failure) {
	var names []string
	for i, parts := range h.imageFields {
		more, f := imageNames(h.c.Images.Fields[i], lookup(record, parts))
		if f != nil {
			return nil, f
		}
		names = append(names, more...)
	}
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > maxImages {
		return nil, bodyFault(siding.CauseInvalidMedia, "the record names %d images, and a request may have %d", len(names), maxImages)
	}
	root, err := os.OpenRoot(h.c.Images.Root)
	if lacksResources(err) {
		return nil, machineFault(siding.CauseHandlerError, err)
	}
	if err != nil {
		return nil, configurationFault("images: the root cannot be opened: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	var list []imageFile
	total := 0
	for _, name := range names {
		image, f := readImage(root, name)
		if f != nil {
			return nil, f
		}
		if total += len(image.data); total > h.maxRequest {
			return nil, bodyFault(siding.CauseInputTooLarge, "the images together are larger than the %d bytes that a request may have", h.maxRequest)
		}
		list = append(list, image)
	}
	return list, nil
}

func imageNames(pointer string, v any) ([]string, *siding.Failure) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case []any:
		names := make([]string, 0, len(v))
		for i, each := range v {
			name, ok := each.(string)
			if !ok {
				return nil, bodyFault(siding.CauseInvalidMedia, "%s/%d must be the name of an image file, and it is %s", pointer, i, kindOrNull(each))
			}
			names = append(names, name)
		}
		return names, nil
	}
	return nil, bodyFault(siding.CauseInvalidMedia, "%s must be the name of an image file or a list of names, and it is %s", pointer, kindOf(v))
}

func kindOrNull(v any) string {
	if v == nil {
		return "null"
	}
	return kindOf(v)
}

// readImage reads one file inside root. os.Root keeps names and links from leading outside.
func readImage(root *os.Root, name string) (imageFile, *siding.Failure) {
	label := fmt.Sprintf("the image %q", cut(name, shown))
	if name == "" || strings.ContainsRune(name, 0) {
		return imageFile{}, bodyFault(siding.CauseInvalidMedia, "%s: this is not the name of a file", label)
	}
	// What is not a plain file is refused before it is opened: opening a pipe would wait for its other end.
	info, err := root.Stat(name)
	if err != nil {
		return imageFile{}, fileFault(label, err)
	}
	if !info.Mode().IsRegular() {
		return imageFile{}, bodyFault(siding.CauseInvalidMedia, "%s: this is not a file", label)
	}
	f, err := root.Open(name)
	if err != nil {
		return imageFile{}, fileFault(label, err)
	}
	defer f.Close()
	const most = MaxImageBase64 / 4 * 3
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return imageFile{}, fileFault(label, err)
	}
	if len(raw) > most {
		return imageFile{}, bodyFault(siding.CauseInvalidMedia, "%s: it is larger than the %d bytes that an image may have", label, most)
	}
	kind := http.DetectContentType(raw)
	if !slices.Contains(imageTypes, kind) {
		return imageFile{}, bodyFault(siding.CauseInvalidMedia, "%s: by its content it is %s; it must be JPEG, PNG, GIF or WebP", label, kind)
	}
	return imageFile{mediaType: kind, data: base64.StdEncoding.EncodeToString(raw)}, nil
}

// fileFault tells what is wrong with the record's file name from a machine that is short of something.
func fileFault(label string, err error) *siding.Failure {
	text := err
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		text = path.Err
	}
	switch {
	case lacksResources(err):
		return machineFault(siding.CauseHandlerError, err)
	case errors.Is(err, fs.ErrNotExist):
		return bodyFault(siding.CauseInvalidMedia, "%s: there is no such file under the image root", label)
	case errors.Is(err, fs.ErrPermission), strings.Contains(text.Error(), "escapes"), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL):
		return bodyFault(siding.CauseInvalidMedia, "%s: it cannot be opened under the image root: %w", label, text)
	}
	return &siding.Failure{
		Outcome: siding.OutcomeTransient, Cause: siding.CauseHandlerError, NoCall: true, Err: fmt.Errorf("%s: it cannot be read: %w", label, text),
	}
}
