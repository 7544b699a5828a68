package image

import (
	"bytes"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/kinship-dev/kinship/pkg/external"
)

// Bounds of the memory for an xz file. The library has no bounds: it allocates a dictionary of
// the size that the file asks for, up to 4 GiB, for each block.
const (
	// maxDictionary is the dictionary size of the highest preset, xz -9.
	maxDictionary = 64 << 20
	// maxBlocks limits the blocks of a stream: the library keeps a record of each block.
	maxBlocks = 1 << 20
)

// unxz returns the decompressed content of an xz file.
func unxz(from io.Reader) (io.Reader, error) {
	w := &walker{from: from}
	w.want(4, w.stream)
	return xz.NewReader(w)
}

// walker passes a file on to the library, and checks the sizes in the file
// (https://tukaani.org/xz/xz-file-format.txt). If a header is not valid, Read returns an error,
// and the library stops.
type walker struct {
	from io.Reader

	skip  int                // bytes to skip before the next part
	size  int                // size of the next part
	part  []byte             // bytes of the next part that were read
	next  func([]byte) error // is called with the complete part
	check int                // size of the check behind each block
	data  int                // bytes of the current block
	left  int                // numbers of the index that follow
	count int                // bytes of the index so far
	n     uint64             // the current number of the index
	shift uint
	many  int // number of blocks in the stream
}

// Read implements io.Reader.
func (w *walker) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if refused := w.walk(p[:n]); refused != nil {
		return 0, refused
	}
	return n, err
}

func (w *walker) walk(text []byte) error {
	for len(text) > 0 {
		if n := min(w.skip, len(text)); n > 0 {
			w.skip, text = w.skip-n, text[n:]
			continue
		}
		n := min(w.size-len(w.part), len(text))
		w.part, text = append(w.part, text[:n]...), text[n:]
		if len(w.part) < w.size {
			break
		}
		part := w.part
		w.part = w.part[:0]
		if err := w.next(part); err != nil {
			return err
		}
	}
	return nil
}

// want makes walk collect size bytes and call next with them.
func (w *walker) want(size int, next func([]byte) error) { w.size, w.next = size, next }

// wrong returns the error for a header that the xz library would refuse as well.
func wrong(what string) error {
	return &external.Error{Class: external.Invalid, Message: "the content is no xz file: wrong " + what}
}

// stream reads the header of a stream, or the padding before the header.
func (w *walker) stream(part []byte) error {
	if bytes.Equal(part, make([]byte, 4)) {
		return nil // Padding: read the next four bytes.
	}
	w.want(8, func(rest []byte) error {
		kind := rest[3] & 0xf
		w.check, w.many = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[kind], 0
		w.want(1, w.block)
		return nil
	})
	return nil
}

// block reads the header size of a block, or the 0 before the index.
func (w *walker) block(part []byte) error {
	if part[0] == 0 {
		w.left, w.count = -1, 1
		w.want(1, w.index)
		return nil
	}
	if w.many++; w.many > maxBlocks {
		return wrong(fmt.Sprintf("number of blocks, which is above %d", maxBlocks))
	}
	w.want(int(part[0])*4+3, w.header)
	return nil
}

// header reads the header of a block. The library supports the filter LZMA2 only.
func (w *walker) header(part []byte) error {
	flags, at := part[0], 1
	for _, has := range []byte{0x40, 0x80} {
		for more := flags&has != 0; more; at++ {
			if at == len(part) {
				return wrong("header")
			}
			more = part[at]&0x80 != 0
		}
	}
	if flags&3 != 0 || at+3 > len(part) || part[at] != 0x21 || part[at+1] != 1 {
		return wrong("filters")
	}
	size, err := lzma.DecodeDictCap(part[at+2])
	if err != nil {
		return wrong("dictionary")
	}
	if size > maxDictionary {
		return &external.Error{Class: external.Invalid, Message: fmt.Sprintf(
			"unpacking the content takes a dictionary of %d MiB, more than %d", size>>20, maxDictionary>>20)}
	}
	w.data = 0
	w.want(1, w.chunk)
	return nil
}

// chunk reads the first byte of a chunk, or the end of the block.
func (w *walker) chunk(part []byte) error {
	control := part[0]
	w.data++
	if control == 0 {
		w.skip = (4-w.data%4)%4 + w.check
		w.want(1, w.block)
		return nil
	}
	rest, compressed := 2, control >= 0x80
	if compressed {
		rest = 4
	}
	w.want(rest, func(part []byte) error {
		w.skip = int(part[rest-2])<<8 + int(part[rest-1]) + 1
		if control >= 0xc0 {
			w.skip++ // The properties byte.
		}
		w.data += rest + w.skip
		w.want(1, w.chunk)
		return nil
	})
	return nil
}

// index reads one byte of the index: the number of records, then two numbers for each record.
func (w *walker) index(part []byte) error {
	w.count++
	if w.shift > 56 {
		return wrong("index")
	}
	w.n |= uint64(part[0]&0x7f) << w.shift
	w.shift += 7
	if part[0]&0x80 != 0 {
		return nil
	}
	number := w.n
	w.n, w.shift = 0, 0
	switch {
	case w.left < 0 && number > maxBlocks:
		return wrong("index")
	case w.left < 0:
		w.left = int(number) * 2
	default:
		w.left--
	}
	if w.left == 0 {
		w.skip = (4-w.count%4)%4 + 4 + 12 // Padding and check of the index, and the footer of the stream.
		w.want(4, w.stream)
	}
	return nil
}
