// Verifies a published log with golang.org/x/mod/sumdb: `<folder> <verifier key> <older checkpoint>`.
package main

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type files struct{ dir string }

func (f files) Height() int               { return 8 }
func (f files) SaveTiles([]tlog.Tile, [][]byte) {}
func (f files) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range tiles {
		// Go names tiles with their height: tile/8/<level>/<number>.
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		bytes, err := os.ReadFile(filepath.Join(f.dir, path))
		if err != nil {
			return nil, err
		}
		found = append(found, bytes)
	}
	return found, nil
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func open(path string, verifier note.Verifier) tlog.Tree {
	bytes, err := os.ReadFile(path)
	must(err)
	opened, err := note.Open(bytes, note.VerifierList(verifier))
	must(err)
	lines := strings.Split(opened.Text, "\n")
	if lines[0] != verifier.Name() {
		log.Fatalf("the checkpoint is of %s", lines[0])
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	hash, err := base64.StdEncoding.DecodeString(lines[2])
	must(err)
	tree := tlog.Tree{N: size}
	copy(tree.Hash[:], hash)
	return tree
}

func main() {
	dir, vkey, older := os.Args[1], os.Args[2], os.Args[3]
	verifier, err := note.NewVerifier(vkey)
	must(err)
	tree := open(filepath.Join(dir, "checkpoint"), verifier)
	before := open(older, verifier)
	reader := tlog.TileHashReader(tree, files{dir})
	consistency, err := tlog.ProveTree(tree.N, before.N, reader)
	must(err)
	must(tlog.CheckTree(consistency, tree.N, tree.Hash, before.N, before.Hash))
	index := int64(0)
	for tile := int64(0); tile*256 < tree.N; tile++ {
		width := tree.N - tile*256
		if width > 256 {
			width = 256
		}
		path := strings.Replace(tlog.Tile{H: 8, L: 0, N: tile, W: int(width)}.Path(), "tile/8/0/", "tile/entries/", 1)
		bytes, err := os.ReadFile(filepath.Join(dir, path))
		must(err)
		for len(bytes) > 0 {
			length := int(binary.BigEndian.Uint16(bytes))
			proof, err := tlog.ProveRecord(tree.N, index, reader)
			must(err)
			must(tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(bytes[2:2+length])))
			bytes = bytes[2+length:]
			index++
		}
	}
	if index != tree.N {
		log.Fatalf("%d entries instead of %d", index, tree.N)
	}
	fmt.Printf("%d entries, consistent with %d\n", tree.N, before.N)
}
