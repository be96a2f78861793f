package claudesim

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // the formats that the service takes
	_ "image/jpeg" // the formats that the service takes
	_ "image/png"  // the formats that the service takes
	"net/http"
	"slices"
)

// A mediaSource is where an image or a document comes from.
type mediaSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

const (
	defaultImageLimit = 10 << 20 // bytes of base64, as the service counts
	maxImageSide      = 8000
	manyImages        = 20 // more of them in a request, and each may only have
	maxManySide       = 2000
	maxPages          = 100
)

// checkImage checks and counts an image by its content, as the service does.
func (c *checker) checkImage(where string, src *mediaSource) {
	at := where + ".image.source"
	c.images++
	if src == nil {
		c.refuse("%s: Field required", at)
		return
	}
	if src.Type == "url" || src.Type == "file" {
		c.tokens += tokensPerURL
		return
	}
	at += ".base64"
	if !slices.Contains(imageTypes, src.MediaType) {
		c.refuse("%s.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", at)
		return
	}
	if n := int64(len(src.Data)); n > c.rules.image {
		c.refuse("%s: image exceeds %d MB maximum: %d bytes > %d bytes", at, c.rules.image>>20, n, c.rules.image)
		return
	}
	data, err := base64.StdEncoding.DecodeString(src.Data)
	if err != nil || len(data) == 0 {
		c.refuse("%s: invalid base64 data", at)
		return
	}
	kind, width, height := imageSize(data)
	switch {
	case kind == "" || width < 1 || height < 1:
		c.refuse("Could not process image")
		return
	case kind != src.MediaType:
		c.refuse("%s.data: The image was specified using the %s media type, but the image appears to be a %s image", at, src.MediaType, kind)
	case width > maxImageSide || height > maxImageSide:
		c.refuse("%s.data: At least one of the image dimensions exceed max allowed size: %d pixels", at, maxImageSide)
	case c.images > manyImages && (width > maxManySide || height > maxManySide):
		c.refuse("%s.data: At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", at, maxManySide)
	}
	c.tokens += imageTokens(width, height)
	fmt.Fprintf(&c.ask, "image %dx%d %08x\n", width, height, checksum(data))
	c.prefix.WriteString(src.Data)
}

// imageSize reads an image's format and size; kind is empty when the bytes are no image.
func imageSize(data []byte) (kind string, width, height int) {
	if w, h, ok := webpSize(data); ok {
		return "image/webp", w, h
	}
	cfg, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return "", 0, 0
	}
	return "image/" + format, cfg.Width, cfg.Height
}

// webpSize reads the three kinds of WebP header: lossy, lossless and extended.
func webpSize(d []byte) (width, height int, ok bool) {
	if len(d) < 30 || string(d[:4]) != "RIFF" || http.DetectContentType(d) != "image/webp" {
		return 0, 0, false
	}
	switch string(d[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(d[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(d[28:]) & 0x3fff), true
	case "VP8L":
		bits := binary.LittleEndian.Uint32(d[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, true
	case "VP8X":
		three := func(at int) int { return int(d[at]) | int(d[at+1])<<8 | int(d[at+2])<<16 }
		return three(24) + 1, three(27) + 1, true
	}
	return 0, 0, false
}

// checkDocument checks and counts a document: plain text, or a PDF by its first bytes and its number of pages.
func (c *checker) checkDocument(where string, src *mediaSource) {
	at := where + ".pdf.source"
	switch {
	case src == nil:
		c.refuse("%s: Field required", at)
	case src.Type == "text":
		c.checkText("messages", src.Data)
		c.ask.WriteString(src.Data + "\n")
		c.count(src.Data)
	case src.Type == "base64":
		data, err := base64.StdEncoding.DecodeString(src.Data)
		if err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) {
			c.refuse("%s.base64.data: The PDF specified was not valid.", at)
			return
		}
		if bytes.Contains(data, []byte("/Encrypt")) {
			c.refuse("%s.base64.data: The PDF specified is password protected.", at)
		}
		pages := max(1, bytes.Count(data, []byte("/Type /Page"))-bytes.Count(data, []byte("/Type /Pages")))
		if pages > maxPages {
			c.refuse("%s.base64.data: A maximum of %d PDF pages may be provided.", at, maxPages)
		}
		c.tokens += int64(pages) * tokensPerPage
		fmt.Fprintf(&c.ask, "document %08x\n", checksum(data))
		c.prefix.WriteString(src.Data)
	default:
		c.tokens += tokensPerURL
	}
}
