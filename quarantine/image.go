package quarantine

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // to read the sides of images
	_ "image/jpeg" //
	_ "image/png"  //
	"net/http"
	"slices"
	"strings"

	"github.com/siding-dev/siding/claude"
)

// takenTypes are the types of images and documents that the service takes.
var takenTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf"}

// media is an image or a document, as it is looked into.
type media struct {
	declared string // the type that is said to be; empty: not said
	kind     string // the type by its content
	size     int    // in bytes
	width    int    // 0: not known
	height   int
	encoded  int // the length of its base64 form, in bytes
	cut      bool
}

// examineMedia looks at the content of an image.
func examineMedia(data []byte, declared string) media {
	m := media{declared: declared, size: len(data), encoded: base64.StdEncoding.EncodedLen(len(data))}
	m.kind, _, _ = strings.Cut(http.DetectContentType(data), ";")
	m.width, m.height = imageSides(data, m.kind)
	switch m.kind {
	case "image/jpeg":
		m.cut = !bytes.Contains(data[max(0, len(data)-64<<10):], []byte("\xff\xd9"))
	case "image/png":
		m.cut = !bytes.Contains(data[max(0, len(data)-64<<10):], []byte("IEND"))
	case "application/pdf":
		m.cut = !bytes.Contains(data[max(0, len(data)-64<<10):], []byte("%%EOF"))
	}
	return m
}

// String describes it.
func (m media) String() string {
	text := fmt.Sprintf("%s by its content, %d bytes", m.kind, m.size)
	if m.width > 0 {
		text += fmt.Sprintf(", %d × %d", m.width, m.height)
	}
	return text
}

// problem says what is wrong with it, with a code; empty: nothing.
func (m media) problem() (code, text string) {
	switch {
	case m.size == 0:
		return "empty-media", "it is empty"
	case !slices.Contains(takenTypes, m.kind):
		return "unknown-type", "it is " + m.String() + "; the service takes JPEG, PNG, GIF, WebP and PDF"
	case m.declared != "" && m.declared != m.kind:
		return "type-mismatch", fmt.Sprintf("it is said to be %s, and is %s", shorten(m.declared), m)
	case m.encoded > claude.MaxImageBase64 && m.kind != "application/pdf":
		return "media-too-large", fmt.Sprintf("it is %s; in base64 that is %d bytes, and the service takes %d", m, m.encoded, claude.MaxImageBase64)
	case max(m.width, m.height) > claude.MaxImageSide:
		return "sides-too-long", fmt.Sprintf("it is %s; the service takes %d pixels to a side", m, claude.MaxImageSide)
	case m.cut:
		return "media-cut", "it is " + m.String() + ", and its end is missing"
	case m.width == 0 && m.kind != "application/pdf":
		return "damaged-media", "it is " + m.String() + ", and its sides cannot be read: it is damaged"
	}
	return "", ""
}

// imageSides gives an image's width and height, or 0.
func imageSides(data []byte, kind string) (width, height int) {
	if kind == "image/webp" {
		return webpSides(data)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}

// webpSides reads the sides of a WebP image, by RFC 9649.
func webpSides(b []byte) (width, height int) {
	if len(b) < 30 {
		return 0, 0
	}
	le := binary.LittleEndian
	switch string(b[12:16]) {
	case "VP8 ":
		return int(le.Uint16(b[26:]) & 0x3fff), int(le.Uint16(b[28:]) & 0x3fff)
	case "VP8L":
		bits := le.Uint32(b[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		return int(le.Uint32(b[24:])&0xffffff) + 1, int(le.Uint32(b[26:])>>8) + 1
	}
	return 0, 0
}

// errSpaced says that base64 has white space in it, and is whole without it.
var errSpaced = errors.New("the base64 has white space in it, which not every reader takes")

// decodeBase64 reads base64. The error says what is wrong with it; the data are what can be made of it all the same.
func decodeBase64(text string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err == nil && !strings.ContainsAny(text, "\r\n") {
		return data, nil
	}
	plain := strings.Join(strings.Fields(text), "")
	if data, err := base64.StdEncoding.DecodeString(plain); err == nil {
		return data, errSpaced
	}
	if data, err := base64.RawStdEncoding.DecodeString(plain); err == nil {
		return data, errors.New("the base64 lacks its padding (=) at the end, or was cut")
	}
	if data, err := base64.URLEncoding.DecodeString(plain); err == nil {
		return data, errors.New("it is base64 for URLs, with - and _; the service takes that with + and /")
	}
	data, err = base64.StdEncoding.DecodeString(plain)
	if at, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return data, fmt.Errorf("the base64 is damaged at character %d of %d", int64(at), len(plain))
	}
	return data, errors.New("the base64 is damaged")
}
