/* SPDX-License-Identifier: Apache-2.0 */
/* pair_file.h -- reading a pairs.tsv a row at a time, whoever wrote it.
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
    bm_status bad; /* what a bad row is */
    bm_line_file lines;
    bool own_fd;
    locale_t plain; /* C: what numbers are read in */
    /* the row read last, until the next */
    bm_str id_a, id_b;
    double similarity; /* NAN: not known */
    bool has_edit; /* a fourth column of edit distances, which are not looked at but for their form
                    */
} bm_pair_file;

/* `path`, or standard input for "-". `bad` is BM_ERR_INPUT for a file of others, BM_ERR_FORMAT for
 * one of our own. `callbacks` (borrowed until close; or NULL) are asked whether to stop while there
 * is nothing to read. BM_ERR_IO, BM_ERR_CANCELLED, `bad` where the header is another. */
bm_status bm_pair_file_open(const char *path, bm_status bad, const bm_callbacks *callbacks,
                            bm_pair_file *out, bm_error *err);
void bm_pair_file_close(bm_pair_file *file);
/* *more false: there was no row left. */
bm_status bm_pair_file_next(bm_pair_file *file, bool *more, bm_error *err);
/* For each row; anything but BM_OK ends the walk. */
typedef bm_status (*bm_pair_row_fn)(void *ctx, const bm_pair_file *row, bm_error *err);
/* All rows of a file that was just opened. `listed`: the expected digest, compared once the file is
 * read to its end (NULL: nobody has listed it). */
bm_status bm_pair_file_each(bm_pair_file *file, bm_listed *listed, bm_pair_row_fn fn, void *ctx,
                            bm_error *err);

/* group_file -- reading the groups.jsonl that dedup wrote, a group at a time.
 *
 *     {"group":1,"kept":ID,"size":N,"members":[ID,...]}
 *     {"group":2,"kept":ID,"size":N,"members":[ID,...],"known":[ID,...]}
 *
 * The kept one is a member, or one of the known. One block, or the longest row, is in memory, not
 * the file. A row is the ids of one group, so the bound of it is the memory that there is for a
 * group. */

typedef struct bm_group_file {
    bm_line_file lines;
    /* the row read last, until the next */
    uint64_t group, size;
    bm_str kept, members; /* text of the id, with quotes, and of the array */
    bool known;           /* the kept one is known, and no member is kept */
    size_t next;          /* place in `members` */
    uint64_t left;        /* members that should follow */
    bm_buf id;            /* the id given last */
} bm_group_file;

/* `memory`: bytes of the longest row, past which next gives BM_ERR_NOMEM. BM_ERR_IO; BM_ERR_FORMAT
 * where the file is missing. */
bm_status bm_group_file_open(const char *path, uint64_t memory, bm_group_file *out, bm_error *err);
void bm_group_file_close(bm_group_file *file);
/* *more false: there was no row left. A row that is no group, or not the next: BM_ERR_FORMAT. */
bm_status bm_group_file_next(bm_group_file *file, bool *more, bm_error *err);
/* The fields of a row into a file that is {0} or open; false: it is no group. */
bool bm_group_file_parse(bm_group_file *file, bm_str row);
/* Ids are given byte for byte as dedup had them, UTF-8 or not, and stay until the next id or row is
 * asked for. */
/* The row's next member; *more false: it had `size` of them. Another number of them: BM_ERR_FORMAT.
 */
bm_status bm_group_file_member(bm_group_file *file, bm_str *id, bool *more, bm_error *err);
/* For each member of a row; anything but BM_OK ends the walk. */
typedef bm_status (*bm_group_member_fn)(void *ctx, const bm_group_file *file, bm_str id,
                                        bm_error *err);
/* All members of the row read last, and then the one that is kept. */
bm_status bm_group_file_members(bm_group_file *file, bm_group_member_fn fn, void *ctx, bm_str *kept,
                                bm_error *err);

typedef struct bm_group_members {
    bm_id_set *ids; /* is filled with the members, in their order; borrowed */
    uint64_t most;  /* bytes that they may take: past them nothing more is added */
    bool fits;      /* filled */
    uint32_t kept; /* filled: the number of the kept one; BM_ID_NONE: it is known, and no member, or
                      none is kept */
    bm_str kept_id; /* filled */
} bm_group_members;

/* Load the row read last. BM_ERR_FORMAT: a document is twice in it, or the kept one is no member.
 */
bm_status bm_group_file_load(bm_group_file *file, bm_group_members *out, bm_error *err);
/* Only the kept member. Without data: no member is kept. */
bm_status bm_group_file_kept(bm_group_file *file, bm_str *kept, bm_error *err);
