/* SPDX-License-Identifier: Apache-2.0 */
/* result_dir.h -- a directory that `dedup` wrote, read in this one place: the facts of the job in
 * its report, and a walk over each of its tables.
 *
 *     report.json     bm_result_facts    words, threshold and plan of the job
 *     groups.jsonl    bm_result_groups   a group at a time, its members one after another
 *                                        (pair_file.h)
 *     pairs.tsv       bm_result_pairs    a pair at a time (pair_file.h)
 *     removed.tsv     bm_result_rows     a row at a time, its columns found by name (line_file.h)
 *     skipped.tsv     bm_result_rows
 *     sources.tsv     listed_order.h     the columns of all inputs at once
 *
 * Rows are handed out while the file is read: only a block, or the longest row, is in memory. A
 * file is compared with what the report lists as it is read: once a walk has come to its end,
 * BM_ERR_FORMAT where it is another. Errors name file and line. Threads: one a walk. */
#pragma once

#include "output/manifest.h"
#include "results/pair_file.h"
#include "results/result_tables.h"
#include "results/line_file.h"
#include "model/option_words.h"

typedef struct bm_result_dir {
    const bm_manifest
        *manifest; /* its report.json (or manifest.json); borrowed, as are the callbacks */
    const bm_callbacks *callbacks; /* are asked whether to stop; NULL: nobody is */
    uint64_t memory;               /* bytes of the longest row of groups.jsonl */
} bm_result_dir;

/* Is it one that `dedup` wrote? BM_ERR_FORMAT names `path`. */
bm_status bm_result_check_kind(const bm_manifest *manifest, const char *path, bm_error *err);

/* Were lines or paragraphs compared, and not documents? */
bool bm_result_is_of_units(const bm_manifest *manifest);
/* Is it one that `overlap` wrote? */
bool bm_result_is_overlap(const bm_manifest *manifest);

/* BM_ERR_FORMAT, of a file of it; line 0: as a whole. */
bm_status bm_result_fail(const bm_result_dir *dir, const char *name, uint64_t line,
                         const char *what, bm_error *err);

/* --- the facts of the job in report.json --- */

/* The facts that a reader asks for. The others stay as they are. */
typedef enum bm_result_fact {
    BM_FACT_VERIFY = 1u << 0,
    BM_FACT_CLUSTER = 1u << 1,
    BM_FACT_CANDIDATES = 1u << 2,
    BM_FACT_KEEP = 1u << 3,
    BM_FACT_THRESHOLD = 1u << 4,
    BM_FACT_SECONDS = 1u << 5,
    BM_FACT_PLAN = 1u << 6,  /* bands and rows */
    BM_FACT_PERMS = 1u << 7, /* permutations of a signature */
    BM_FACT_RECALL = 1u << 8,
} bm_result_fact;

typedef struct bm_result_facts {
    unsigned verify, cluster, candidates; /* values of options */
    unsigned keep;
    bool keep_is_list; /* of rules: then `keep` is 0 */
    double threshold;  /* more than 0, at most 1 */
    double seconds, predicted_recall;
    uint64_t bands, rows, perms;
} bm_result_facts;

/* `wanted`: a sum of bm_result_fact. BM_ERR_FORMAT names the first field that is missing, or has a
 * value that no job can have. */
bm_status bm_result_facts_read(const bm_manifest *manifest, unsigned wanted, bm_result_facts *out,
                               bm_error *err);
/* BM_ERR_FORMAT: "`field` is not known to this version". */
bm_status bm_result_fact_unknown(const bm_manifest *manifest, const char *field, bm_error *err);
/* Were documents compared with known ones, of an earlier collection? */
bool bm_result_is_against(const bm_manifest *manifest);

/* --- its tables --- */

/* For each row; anything but BM_OK ends the walk, and so does *stop, after which nothing was
 * compared. */
typedef bm_status (*bm_result_group_fn)(void *ctx, bm_group_file *row, bool *stop, bm_error *err);
bm_status bm_result_groups(const bm_result_dir *dir, bm_result_group_fn fn, void *ctx,
                           bm_error *err);

bm_status bm_result_pairs(const bm_result_dir *dir, bm_pair_row_fn fn, void *ctx, bm_error *err);

/* The fields of a row of overlap.tsv and of items.tsv, valid until the next one; `file` of `out` is
 * not filled. BM_ERR_FORMAT names file and line. */
bm_status bm_result_overlap_row(const bm_tsv_table *row, bm_overlap_line *out, bm_str *file,
                                bm_error *err);
bm_status bm_result_item_row(const bm_tsv_table *row, bm_item_line *out, bm_str *file,
                             bm_error *err);

typedef bm_status (*bm_result_row_fn)(void *ctx, const bm_tsv_table *row, bm_error *err);
bm_status bm_result_rows(const bm_result_dir *dir, bm_table table, bm_result_row_fn fn, void *ctx,
                         bm_error *err);
