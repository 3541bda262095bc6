/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.h -- raw deflate data (RFC 1951) that lie whole in memory, unpacked at once.
 *
 * What is accepted here, zlib's inflate() accepts too, and gives the same bytes (inflate.c lists
 * where decoders differ). The reverse holds too, as far as the output has room. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_inflate bm_inflate; /* the tables of one thread */

bm_status bm_inflate_open(bm_inflate **out, bm_error *err);
void bm_inflate_close(bm_inflate *inflate); /* NULL is fine */
/* Unpack the blocks that begin `in`, up to the last of them. True: they were *used bytes, and are
 * the *given bytes at out, at most cap. False: they are broken, cut short, or more than cap; what
 * is at out then is anything. */
bool bm_inflate_run(bm_inflate *inflate, bm_str in, char *out, size_t cap, size_t *used,
                    size_t *given);
