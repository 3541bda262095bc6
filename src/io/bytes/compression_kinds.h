/* compression_kinds.h -- the kinds of compression that are taken off: how a name promises one, and how
 * the first bytes tell it. */
#ifndef BM_IO_BYTES_COMPRESSION_KINDS_H
#define BM_IO_BYTES_COMPRESSION_KINDS_H

#include <stddef.h>

#include "model/compression.h"

#define BM_COMPRESSIONS 3u /* values of bm_compression */

/* What these first bytes of a file begin. */
bm_compression bm_compression_of_bytes(const char *head, size_t len);
/* What the ending of a name promises. *len, the length of the name, is shortened by that ending. */
bm_compression bm_compression_of_name(const char *name, size_t *len);
/* For people: "gzip", "Zstandard"; NULL for NONE. */
const char *bm_compression_name(bm_compression kind);

#endif
