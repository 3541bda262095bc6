/* SPDX-License-Identifier: Apache-2.0 */
/* result_dir.h -- reads a directory that `dedup` wrote: the facts of the job from the report, and
 * each table by a walk over its rows. All readers of such a directory use this module.
 *
 *     report.json     bm_result_facts    words, threshold and plan of the job
 *     groups.jsonl    bm_result_groups   a group at a time, its members one after another
 *                                        (pair_file.h)
 *     pairs.tsv       bm_result_pairs    a pair at a time (pair_file.h)
 *     removed.tsv     bm_result_rows     a row at a time, its columns found by name (line_file.h)
 *     skipped.tsv     bm_result_rows
 *     sources.tsv     listed_order.h     the columns of all inputs at once
 *
 * Rows are passed on while the file is read. Only a block of the file is in memory, or its longest
 * row so far. Each file is compared with its digest in the report while it is read. If the file
 * differs, the walk returns BM_ERR_FORMAT at the end of the file. Errors name the file and the
 * line. Threads: one per walk. */
#pragma once

#include "output/manifest.h"
#include "results/pair_file.h"
#include "results/result_tables.h"
#include "results/line_file.h"
#include "model/option_words.h"

typedef struct bm_result_dir {
    const bm_manifest *manifest; /* the report.json (or manifest.json) in the directory; borrowed */
    const bm_callbacks *callbacks; /* asked for cancellation; borrowed; may be NULL */
    uint64_t memory;               /* maximum length of a row of groups.jsonl */
} bm_result_dir;

/* Check that `dedup` wrote the directory. BM_ERR_FORMAT, naming `path`: it did not. */
bm_status bm_result_check_kind(const bm_manifest *manifest, const char *path, bm_error *err);

/* Were lines, paragraphs or spans compared instead of documents? */
bool bm_result_is_of_units(const bm_manifest *manifest);
/* Did `overlap` write the directory? */
bool bm_result_is_overlap(const bm_manifest *manifest);

/* Fail with BM_ERR_FORMAT and the message `what`, for a line of a file in the directory, or for the
 * whole file if `line` is 0. */
bm_status bm_result_fail(const bm_result_dir *dir, const char *name, uint64_t line,
                         const char *what, bm_error *err);

/* --- the facts of the job in report.json --- */

/* The facts that a reader can request. A fact that is not requested is not set. */
typedef enum bm_result_fact {
    BM_FACT_VERIFY = 1u << 0,
    BM_FACT_CLUSTER = 1u << 1,
    BM_FACT_CANDIDATES = 1u << 2,
    BM_FACT_KEEP = 1u << 3,
    BM_FACT_THRESHOLD = 1u << 4,
    BM_FACT_SECONDS = 1u << 5,
    BM_FACT_PLAN = 1u << 6,  /* bands and rows */
    BM_FACT_PERMS = 1u << 7, /* number of permutations */
    BM_FACT_RECALL = 1u << 8,
} bm_result_fact;

typedef struct bm_result_facts {
    unsigned verify, cluster, candidates; /* enum values of the options */
    unsigned keep;
    bool keep_is_list; /* the option keep was a list of rules, so the member `keep` is not set */
    double threshold;  /* more than 0, at most 1 */
    double seconds, predicted_recall;
    uint64_t bands, rows, perms;
} bm_result_facts;

/* Read facts of the job. `wanted`: an OR of bm_result_fact. BM_ERR_FORMAT: a field is missing or
 * has an impossible value; the message names the first such field. */
bm_status bm_result_facts_read(const bm_manifest *manifest, unsigned wanted, bm_result_facts *out,
                               bm_error *err);
/* Fail with BM_ERR_FORMAT and the message "`field` is not known to this version". */
bm_status bm_result_fact_unknown(const bm_manifest *manifest, const char *field, bm_error *err);
/* Were documents compared with known documents of an earlier collection? */
bool bm_result_is_against(const bm_manifest *manifest);

/* --- the tables of the directory --- */

/* Called for each row. Any status except BM_OK ends the walk and is returned. If the function sets
 * *stop, the walk ends with BM_OK, but the file is then not compared with the report. */
typedef bm_status (*bm_result_group_fn)(void *ctx, bm_group_file *row, bool *stop, bm_error *err);
bm_status bm_result_groups(const bm_result_dir *dir, bm_result_group_fn fn, void *ctx,
                           bm_error *err);

bm_status bm_result_pairs(const bm_result_dir *dir, bm_pair_row_fn fn, void *ctx, bm_error *err);

/* Read the fields of a row of overlap.tsv or items.tsv, valid until the next row. The field `file`
 * is returned in *file, and out->file is not set. BM_ERR_FORMAT names the file and the line. */
bm_status bm_result_overlap_row(const bm_tsv_table *row, bm_overlap_line *out, bm_str *file,
                                bm_error *err);
bm_status bm_result_item_row(const bm_tsv_table *row, bm_item_line *out, bm_str *file,
                             bm_error *err);

typedef bm_status (*bm_result_row_fn)(void *ctx, const bm_tsv_table *row, bm_error *err);
bm_status bm_result_rows(const bm_result_dir *dir, bm_table table, bm_result_row_fn fn, void *ctx,
                         bm_error *err);
