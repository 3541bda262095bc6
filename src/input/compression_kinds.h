/* compression_kinds.h -- the kinds of compression that are taken off: how a name promises one, and how
 * the first bytes tell it. */
#ifndef BM_IO_BYTES_COMPRESSION_KINDS_H
#define BM_IO_BYTES_COMPRESSION_KINDS_H

#include <stddef.h>

#include "model/compression.h"

/* What these first bytes of a file begin. Zstandard and LZ4 share their skippable frames, with which
 * a file of either may begin: then it is what follows them, where that is among these bytes, else
 * what the name promised. */
bm_compression bm_compression_of_bytes(const char *head, size_t len, bm_compression promised);
/* What the ending of a name promises, in either case. *len, the length of the name, is shortened by
 * that ending. */
bm_compression bm_compression_of_name(const char *name, size_t *len);
/* For people: "gzip", "Zstandard"; NULL for NONE. */
const char *bm_compression_name(bm_compression kind);
/* Of names: ".gz"; "" for NONE. */
const char *bm_compression_ending(bm_compression kind);

#endif
