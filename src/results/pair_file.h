/* SPDX-License-Identifier: Apache-2.0 */
/* pair_file.h -- reads a pairs.tsv of bandmill or another program, a row at a time.
 *
 *     id_a <TAB> id_b <TAB> jaccard     the header, exactly
 *     a    <TAB> b    <TAB> 0.818182    two different ids, escaped as in our files; a number from 0
 *                                       to 1, or nothing if it is not known
 *
 * A fourth column `edit` may follow. Rows end with LF or CR LF, but the last row may have no line
 * ending. Only one block is in memory, or the longest row so far. */
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
    /* the current row, valid until the next row is read */
    bm_str id_a, id_b;
    double similarity; /* NAN: not known */
    bool has_edit;     /* the rows have edit distances, which are checked but not used */
} bm_pair_file;

/* Open `path`, or standard input for "-". `bad` is the status for a bad header or row: BM_ERR_INPUT
 * for the user's own files, BM_ERR_FORMAT for files that bandmill wrote. `callbacks` (borrowed
 * until close; may be NULL) are asked for cancellation while waiting for input. BM_ERR_IO,
 * BM_ERR_CANCELLED. */
bm_status bm_pair_file_open(const char *path, bm_status bad, const bm_callbacks *callbacks,
                            bm_pair_file *out, bm_error *err);
void bm_pair_file_close(bm_pair_file *file);
/* Called for each row; any status except BM_OK ends the walk. */
typedef bm_status (*bm_pair_row_fn)(void *ctx, const bm_pair_file *row, bm_error *err);
/* Walk over all rows of a file that was just opened. `listed` is the expected digest, compared at
 * the end of the file. NULL: the file is not listed. */
bm_status bm_pair_file_each(bm_pair_file *file, bm_listed *listed, bm_pair_row_fn fn, void *ctx,
                            bm_error *err);

/* group_file -- reads the groups.jsonl that dedup wrote, a group at a time.
 *
 *     {"group":1,"kept":ID,"size":N,"members":[ID,...]}
 *     {"group":2,"kept":ID,"size":N,"members":[ID,...],"known":[ID,...]}
 *
 * The kept document is a member or a known document. Only one block is in memory, or the longest
 * row so far. A row is one group, so the maximum length of a row is the memory available for a
 * group. */

typedef struct bm_group_file {
    bm_line_file lines;
    /* the current row, valid until the next row is read */
    uint64_t group, size;
    bm_str kept, members; /* JSON text: `kept` is the quoted id, `members` is the array */
    bool known;    /* the kept document is not a member, but one of the row's "known" documents */
    size_t next;   /* offset in `members` of the next member to read */
    uint64_t left; /* number of members not read yet */
    bm_buf id;     /* the last id returned */
} bm_group_file;

/* Open a file. `memory` is the maximum length of a row; for a longer row, bm_group_file_next
 * returns BM_ERR_NOMEM. BM_ERR_IO; BM_ERR_FORMAT if the file is missing. */
bm_status bm_group_file_open(const char *path, uint64_t memory, bm_group_file *out, bm_error *err);
void bm_group_file_close(bm_group_file *file);
/* Read the next row. *more is false if there is no further row. BM_ERR_FORMAT: the row is not a
 * group, or the number of its group is not the next number. */
bm_status bm_group_file_next(bm_group_file *file, bool *more, bm_error *err);
/* Parse a row into `file`, which is {0} or open. Returns false if the row is not a group. */
bool bm_group_file_parse(bm_group_file *file, bm_str row);
/* Called for each member of a row; any status except BM_OK ends the walk. */
typedef bm_status (*bm_group_member_fn)(void *ctx, const bm_group_file *file, bm_str id,
                                        bm_error *err);
/* Walk over all members of the current row, then set *kept to the kept id. */
bm_status bm_group_file_members(bm_group_file *file, bm_group_member_fn fn, void *ctx, bm_str *kept,
                                bm_error *err);

typedef struct bm_group_members {
    bm_id_set *ids; /* the members are added to this set, in order; borrowed */
    uint64_t most;  /* the most memory that the members may take */
    bool fits;      /* out: did all members fit? If not, only the first ones were added */
    /* out: the number of the kept document among the members; BM_ID_NONE: no member is kept, or not
     * all members fit */
    uint32_t kept;
    bm_str kept_id; /* out: the id of the kept document; data NULL: no document is kept */
} bm_group_members;

/* Load the members of the current row. BM_ERR_FORMAT: a document is in the row twice, or the kept
 * document is neither a member nor a known document. */
bm_status bm_group_file_load(bm_group_file *file, bm_group_members *out, bm_error *err);
/* Read only the id of the kept document. kept->data is NULL if no document is kept. */
bm_status bm_group_file_kept(bm_group_file *file, bm_str *kept, bm_error *err);
