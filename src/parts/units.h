/* SPDX-License-Identifier: Apache-2.0 */
/* units.h -- `dedup` of lines, paragraphs and spans: cuts parts that repeat an earlier part out of
 * their documents. */
#pragma once

#include <pthread.h>

#include <bandmill/job.h>

#include "base/column.h"
#include "input/parser.h"
#include "job/job_context.h"
#include "job/settings.h"
#include "match/edges.h"
#include "model/stream_hash.h"
#include "parts/hash_filter.h"
#include "spill/sorted_runs.h"
#include "spill/spill_file.h"
#include "text/shingler.h"

/* Runs a second job, whose documents are the units of this job. It pairs and groups the units, and
 * calls bm_units_found at the end. */
typedef bm_status bm_units_pair_fn(bm_settings *of_units, bm_error *err);
/* Run a dedup job whose settings choose a unit. If bm_settings_pair_units is true, `pair` is
 * called. */
bm_status bm_units_job(const bm_settings *settings, bm_units_pair_fn *pair, bm_summary **out,
                       bm_error *err);
/* Store the groups of units that the second job has found. */
bm_status bm_units_found(const bm_job_context *of_units, const bm_match *match,
                         const bm_grouping *grouping, bm_error *err);

/* --- the cutter of texts --- */

/* Where a unit ends, and whether it is only White_Space. bm_unit_end returns this for the unit of
 * `text` that begins at `at`. A line ends after its LF. A paragraph ends after the blank lines that
 * follow it. */
typedef struct bm_text_unit_end {
    size_t end;
    bool blank;
} bm_text_unit_end;
bm_text_unit_end bm_unit_end(bm_unit unit, bm_str text, size_t at);

/* --- spans ---
 *
 *     mark    documents -> grams of K/2 units -> the minimizer of each K-gram       [count]
 *     read    documents -> K-grams whose minimizer is repeated                      [read]
 *     find    K-grams by hash -> those that occurred before, by place -> runs       [group]
 *
 * The minimizer of a K-gram is the smallest hash of the shorter grams in it. Equal K-grams have the
 * same minimizer at the same offset. So the first step, which stores about one hash for every K/4
 * units, excludes most text. */

/* A temporary file for findings, if a document has too many for memory. Any thread may add to the
 * file; one thread reads. `file` NULL: not open. */
typedef struct bm_span_far {
    bm_spill_file *file;
    pthread_mutex_t lock;
    bm_buf read;
} bm_span_far;

bm_status bm_span_far_open(const char *temp_dir, bm_span_far *out, bm_error *err);
void bm_span_far_close(bm_span_far *far); /* may be {0} */

/* Called for n findings. They need not be aligned. */
typedef bm_status bm_span_each_fn(void *ctx, const char *findings, size_t n, bm_error *err);
/* Call `fn` for all findings of the document at *at, in order, in one or more calls. *at becomes
 * the address after them. `size`: bytes of one finding. */
bm_status bm_span_each(bm_span_far *far, const char **at, size_t size, bm_span_each_fn *fn,
                       void *ctx, bm_error *err);

/* Add n hashes of minimizers to the bm_sorted_runs `marks`. */
bm_status bm_span_mark(void *marks, const char *hashes, size_t n, bm_error *err);
/* Make a filter of the hashes that occur more than `keep_count` times. `memory` limits the bytes of
 * the filter; 0: no limit. A smaller filter lets more of the other hashes pass too. */
bm_status bm_span_filter_make(bm_sorted_runs *marks, uint64_t keep_count, uint64_t memory,
                              bm_hash_filter *out, bm_error *err);

/* A K-gram that may be repeated. words[0] counts the words of the field before the K-gram's first
 * byte, words[1] those before its end. `filled` counts the document's bytes that are not
 * White_Space up to the same two points. */
typedef struct bm_span_gram {
    bm_hash128 hash; /* hash of the K-gram's units */
    /* offset of the K-gram's first byte in the text before repair; in bm_span_grams, the place of
     * this byte (job_units.c) */
    uint64_t from;
    uint64_t unit; /* number of the K-gram's first unit in the document; in bm_span_grams, in all
                    * documents. After each field, one number is left out */
    uint32_t len;  /* length in bytes */
    uint32_t words[2], filled[2];
} bm_span_gram;

/* K-grams in the order in which they occur. Used by one thread. */
typedef struct bm_span_grams {
    bm_column column; /* the K-grams */
    size_t left;      /* bytes at the beginning of the column whose pages were removed from
                       * memory */
    uint64_t n;
    bm_sorted_runs *by_hash;
    const char *temp_dir;
    uint64_t memory; /* if the column needs more bytes, it is stored in a file; 0: no limit */
} bm_span_grams;

/* `memory` limits the column, and separately the sorter; 0: no limit. */
bm_status bm_span_grams_open(const char *temp_dir, uint64_t memory, bm_span_grams *out,
                             bm_error *err);
void bm_span_grams_reset(bm_span_grams *grams);
bm_status bm_span_grams_add(bm_span_grams *grams, const bm_span_gram *gram, bm_error *err);

/* A run of repeated K-grams, from the beginning of its first to the end of its last. */
typedef struct bm_span {
    uint64_t from, to;
    uint64_t kept; /* place where the first K-gram of the span occurs first */
    uint32_t words, filled[2];
} bm_span;
typedef bm_status bm_span_fn(void *ctx, const bm_span *span, bm_error *err);

/* Call `fn` for the longest runs of K-grams that occurred at least `keep_count` times before. Runs
 * come in the order in which they occur. No gram may be added afterwards. */
bm_status bm_span_grams_find(bm_span_grams *grams, uint64_t keep_count, bm_span_fn *fn, void *ctx,
                             bm_error *err);

/* The state of one thread that scans documents. */
typedef struct bm_span_lane bm_span_lane;

/* If `far` is NULL, all findings of a document stay in memory. */
bm_status bm_span_lane_open(const bm_settings *settings, const bm_hash_filter *filter,
                            bm_span_far *far, bm_span_lane **out, bm_error *err);
void bm_span_lane_close(bm_span_lane *lane); /* may be NULL */
/* Begin a document. `text` is its text, and `as_read` the text before repair (data NULL: the same).
 * Both are borrowed until the next document. Until the document ends, its findings are appended to
 * `out`. Without a filter they are hashes of minimizers (uint64_t), with a filter bm_span_gram;
 * bm_span_each reads them. `within`: hash of the value that divides documents; documents are
 * compared only if their values are equal. */
bm_status bm_span_lane_begin(bm_span_lane *lane, bm_str text, bm_str as_read, bm_hash128 within,
                             bm_buf *out, bm_error *err);
bm_status bm_span_lane_end(bm_span_lane *lane, bm_error *err);
/* Scan the next text field or element, given by its range in the text before repair. */
bm_status bm_span_lane_add(bm_span_lane *lane, bm_shingler *shingler, bm_text_range range,
                           bm_error *err);
/* Skip the next field or element, which cannot be cut. */
void bm_span_lane_skip(bm_span_lane *lane, bm_text_range range);
/* Number of units in the document so far, plus one for each field. */
uint64_t bm_span_lane_units(const bm_span_lane *lane);
/* Bytes of the document so far that are not White_Space. A field that was skipped, or has no K-gram
 * that may be repeated, counts as one byte, or as none if it is blank. */
uint64_t bm_span_lane_filled(const bm_span_lane *lane);
