/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.h -- unpacks raw deflate data (RFC 1951) that is wholly in memory, in one call.
 *
 * This decoder and zlib's inflate() accept the same data and give the same bytes, if the output is
 * large enough; inflate.c lists where other decoders differ. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_inflate bm_inflate; /* tables, used by one thread at a time */

bm_status bm_inflate_open(bm_inflate **out, bm_error *err);
void bm_inflate_close(bm_inflate *inflate); /* NULL is fine */
/* Unpack the blocks at the beginning of `in`, to the end of the last block. True: the first *used
 * bytes of `in` were unpacked to the *given bytes at `out`, at most cap. False: the data is broken,
 * cut short, or unpacks to more than cap; the bytes at out are then undefined. */
bool bm_inflate_run(bm_inflate *inflate, bm_str in, char *out, size_t cap, size_t *used,
                    size_t *given);
