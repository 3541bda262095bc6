/* SPDX-License-Identifier: Apache-2.0 */
/* members.h -- members of gzip and frames of Zstandard that lie whole in memory: where they end, as
 * far as that is told without unpacking them, and unpacking them at once.
 *
 *     gzip        the next member begins with the same ten bytes, as those of one writer do (ours,
 *                 and tools that compress in blocks); the length of a member is at its end
 *     Zstandard   headers of frames and blocks say how long they are; the size of the content,
 *                 where the writer has told it
 *
 * Ten bytes may be in compressed data by chance: a cut is right only if bm_members_run confirms
 * it. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/compression_kinds.h"

/* Members at the beginning of some bytes. */
typedef struct bm_members_cut {
    size_t stored, plain; /* their bytes, compressed and not */
    size_t seen;          /* searched for an end, in vain; 0 after a cut */
} bm_members_cut;

typedef enum bm_members_found {
    BM_MEMBERS_CUT,
    BM_MEMBERS_MORE, /* the first member does not end in these bytes, as far as can be told */
    BM_MEMBERS_NONE  /* they are of no kind that can be cut, or larger than `most` */
} bm_members_found;

/* As many members of `in` as have no more than `most` bytes, compressed or not, or as are whole in
 * it. `end`: nothing follows. cut->seen is 0, or as the call before, with the beginning of the same
 * bytes, left it. */
bm_members_found bm_members_cut_off(bm_compression kind, bm_str in, bool end, size_t most,
                                    bm_members_cut *cut);

typedef struct bm_members bm_members;

/* Open a decoder of members, GZ or ZST. BM_ERR_NOMEM; BM_ERR_IO: its library is not there. */
bm_status bm_members_open(bm_compression kind, bm_members **out, bm_error *err);
void bm_members_close(bm_members *members); /* NULL is fine */
/* True: `in` is whole members, right by their checksums, and they are the n bytes that are at out
 * now. Never of what decompress.h refuses. */
bool bm_members_run(bm_members *members, bm_str in, char *out, size_t n);
