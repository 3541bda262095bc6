/* SPDX-License-Identifier: Apache-2.0 */
/* members.h -- handles members of gzip and frames of Zstandard that are wholly in memory: finds
 * their ends, as far as possible without unpacking them, and unpacks several in one call.
 *
 *     gzip        the next member begins with the same ten bytes, if the same program wrote both
 *                 (bandmill, or a tool that compresses in blocks); a member ends with its length
 *     Zstandard   headers of frames and blocks state their lengths; a frame that does not state the
 *                 size of its content is not cut
 *
 * Compressed data may contain those ten bytes by chance, so a cut is right only if bm_members_run
 * succeeds. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/compression_kinds.h"

/* Whole members, cut off the beginning of some bytes. */
typedef struct bm_members_cut {
    /* stored: compressed bytes of the members; plain: their uncompressed bytes */
    size_t stored, plain;
    size_t seen; /* bytes in which an end was searched without success; 0 after a cut */
} bm_members_cut;

typedef enum bm_members_found {
    BM_MEMBERS_CUT,
    BM_MEMBERS_MORE, /* no end of the first member was found in `in` */
    BM_MEMBERS_NONE  /* the first member cannot be cut, or is larger than `most` */
} bm_members_found;

/* Find whole members at the beginning of `in`, as many as have together at most `most` compressed
 * and at most `most` uncompressed bytes. `end`: no bytes come after `in`. Before the call, set
 * cut->seen to 0; but leave its value if `in` begins with the bytes of the previous call. */
bm_members_found bm_members_cut_off(bm_compression kind, bm_str in, bool end, size_t most,
                                    bm_members_cut *cut);

typedef struct bm_members bm_members;

/* Open a decoder of members, GZ or ZST. BM_ERR_NOMEM; BM_ERR_IO: its library is missing. */
bm_status bm_members_open(bm_compression kind, bm_members **out, bm_error *err);
void bm_members_close(bm_members *members); /* NULL is fine */
/* Unpack whole members to `out`. True: `in` consists of whole members with right checksums, and
 * their content of n bytes is in `out`. False for all data that decompress.h refuses. */
bool bm_members_run(bm_members *members, bm_str in, char *out, size_t n);
