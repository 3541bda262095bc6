/* SPDX-License-Identifier: Apache-2.0 */
/* pair_file.h -- reading a pairs.tsv, ours or another program's, a row at a time.
 *
 *     id_a <TAB> id_b <TAB> jaccard     the header, to the letter
 *     a    <TAB> b    <TAB> 0.818182    two different ids, escaped as in our files; a number from 0
 *                                       to 1, or nothing where it is not known
 *
 * Rows end in LF or CR LF; the last may lack it. One block is in memory, not the file. */
#pragma once

#include <locale.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/ids.h"
#include "results/line_file.h"

typedef struct bm_pair_file {
    bm_status bad; /* the status for a bad row */
    bm_line_file lines;
    bool own_fd;
    locale_t plain; /* the C locale, for numbers */
    /* the current row, valid until the next */
    bm_str id_a, id_b;
    double similarity; /* NAN: not known */
    bool has_edit;     /* a fourth column of edit distances; only its form is checked */
} bm_pair_file;

/* Open `path`, or standard input for "-". `bad`: BM_ERR_INPUT for other people's files,
 * BM_ERR_FORMAT for our own. `callbacks` (borrowed until close; may be NULL) are checked for
 * cancellation while waiting for input. BM_ERR_IO, BM_ERR_CANCELLED, `bad` if the header is
 * wrong. */
bm_status bm_pair_file_open(const char *path, bm_status bad, const bm_callbacks *callbacks,
                            bm_pair_file *out, bm_error *err);
void bm_pair_file_close(bm_pair_file *file);
/* Read the next row. *more false: there was no further row. */
bm_status bm_pair_file_next(bm_pair_file *file, bool *more, bm_error *err);
/* Called for each row; any status except BM_OK ends the walk. */
typedef bm_status (*bm_pair_row_fn)(void *ctx, const bm_pair_file *row, bm_error *err);
/* Walk over all rows of a file that was just opened. `listed`: the expected digest, compared at the
 * end of the file (NULL: not listed). */
bm_status bm_pair_file_each(bm_pair_file *file, bm_listed *listed, bm_pair_row_fn fn, void *ctx,
                            bm_error *err);

/* group_file -- reading the groups.jsonl that dedup wrote, a group at a time.
 *
 *     {"group":1,"kept":ID,"size":N,"members":[ID,...]}
 *     {"group":2,"kept":ID,"size":N,"members":[ID,...],"known":[ID,...]}
 *
 * The kept document is a member or a known document. One block, or the longest row, is in memory,
 * not the file. A row is one group, so its maximum length is the memory available for a group. */

typedef struct bm_group_file {
    bm_line_file lines;
    /* the current row, valid until the next */
    uint64_t group, size;
    bm_str kept, members; /* JSON text: the quoted id; the array */
    bool known;           /* the kept document is a known document, so no member is kept */
    size_t next;          /* offset in `members` */
    uint64_t left;        /* members not read yet */
    bm_buf id;            /* the last id returned */
} bm_group_file;

/* Open a file. `memory`: maximum length of a row, beyond which next returns BM_ERR_NOMEM.
 * BM_ERR_IO; BM_ERR_FORMAT if the file is missing. */
bm_status bm_group_file_open(const char *path, uint64_t memory, bm_group_file *out, bm_error *err);
void bm_group_file_close(bm_group_file *file);
/* Read the next row. *more false: there was no further row. BM_ERR_FORMAT: the row is not a group,
 * or not the next one. */
bm_status bm_group_file_next(bm_group_file *file, bool *more, bm_error *err);
/* Parse a row into a file that is {0} or open. Returns false if the row is not a group. */
bool bm_group_file_parse(bm_group_file *file, bm_str row);
/* Ids are returned byte for byte as dedup had them, UTF-8 or not. They stay valid until the next id
 * or row is read. */
/* Read the row's next member; *more false: all `size` members were read. BM_ERR_FORMAT: the number
 * of members is wrong. */
bm_status bm_group_file_member(bm_group_file *file, bm_str *id, bool *more, bm_error *err);
/* Called for each member of a row; any status except BM_OK ends the walk. */
typedef bm_status (*bm_group_member_fn)(void *ctx, const bm_group_file *file, bm_str id,
                                        bm_error *err);
/* Walk over all members of the current row, then set *kept to the kept id. */
bm_status bm_group_file_members(bm_group_file *file, bm_group_member_fn fn, void *ctx, bm_str *kept,
                                bm_error *err);

typedef struct bm_group_members {
    bm_id_set *ids; /* receives the members in order; borrowed */
    uint64_t most;  /* memory that they may take; beyond it loading stops */
    bool fits;      /* out: did all members fit? */
    uint32_t kept;  /* out: the kept member; BM_ID_NONE: a known document, or no document, is
                     * kept */
    bm_str kept_id; /* out: the id of the kept document */
} bm_group_members;

/* Load the current row. BM_ERR_FORMAT: it contains a document twice, or the kept document is not a
 * member. */
bm_status bm_group_file_load(bm_group_file *file, bm_group_members *out, bm_error *err);
/* Read only the kept id. Without data: no member is kept. */
bm_status bm_group_file_kept(bm_group_file *file, bm_str *kept, bm_error *err);
