/* SPDX-License-Identifier: Apache-2.0 */
/* units.h -- `dedup` of lines, paragraphs and spans: the parts of documents that an earlier part
 * equals are cut out of them. */
#pragma once

#include <bandmill/job.h>

#include "base/column.h"
#include "input/parser.h"
#include "job/job_context.h"
#include "job/settings.h"
#include "match/edges.h"
#include "model/stream_hash.h"
#include "parts/hash_filter.h"
#include "spill/sorted_runs.h"
#include "text/shingler.h"

/* Pair and group the documents of a job, parts of those of this one; bm_units_found is its end. */
typedef bm_status bm_units_pair_fn(bm_settings *of_units, bm_error *err);
/* A dedup job with a unit in its settings. `pair` is called where bm_settings_pair_units says
 * so. */
bm_status bm_units_job(const bm_settings *settings, bm_units_pair_fn *pair, bm_summary **out,
                       bm_error *err);
/* What the job of units has found. */
bm_status bm_units_found(const bm_job_context *of_units, const bm_match *match,
                         const bm_grouping *grouping, bm_error *err);

/* --- the cutter of texts --- */

/* The unit of `text` that begins at `at`: where it ends, and whether it is White_Space alone.
 * Lines end after their LF; a paragraph ends after the blank lines that follow it. */
typedef struct bm_text_unit_end {
    size_t end;
    bool blank;
} bm_text_unit_end;
bm_text_unit_end bm_unit_end(bm_unit unit, bm_str text, size_t at);

/* --- spans ---
 *
 *     mark    documents -> grams of K/2 units -> the least hash of each K-gram      [count]
 *     read    documents -> K-grams whose least hash comes more than once            [read]
 *     find    K-grams by hash -> those that stood before, by place -> runs of them  [group]
 *
 * A gram of K units is known by the least hash of the shorter grams in it (its minimizer): equal
 * K-grams have the same one at the same place. So most text is left after the first step, which
 * remembers one hash for about K/4 units. */

/* Add the hash of a minimizer to `marks`. */
bm_status bm_span_mark(bm_sorted_runs *marks, const char *hashes, size_t n, bm_error *err);
/* The hashes that came more than `keep_count` times. `memory`: bytes of the filter at most; 0: as
 * it needs. With less memory it lets more pass. */
bm_status bm_span_filter_make(bm_sorted_runs *marks, uint64_t keep_count, uint64_t memory,
                              bm_hash_filter *out, bm_error *err);

/* A K-gram of a text that may be repeated. `words` and `filled` count words of its field, and bytes
 * of the document that are no White_Space, before its first byte and before its end. */
typedef struct bm_span_gram {
    bm_hash128 hash; /* of its units */
    uint64_t from;   /* its first byte: in the text before repair; later in all documents */
    uint64_t unit;   /* its first unit, likewise; no two fields have neighbouring units */
    uint32_t len;    /* bytes */
    uint32_t words[2], filled[2];
} bm_span_gram;

/* K-grams in the order of their places. One thread. */
typedef struct bm_span_grams {
    bm_column column; /* of ... */
    const bm_span_gram *list;
    uint64_t n;
    bm_sorted_runs *by_hash;
    const char *temp_dir;
    uint64_t memory; /* of the column; beyond it lies in a file; 0: any */
} bm_span_grams;

/* `memory`: of each of column and sorter; 0: as they need. */
bm_status bm_span_grams_open(const char *temp_dir, uint64_t memory, bm_span_grams *out,
                             bm_error *err);
void bm_span_grams_reset(bm_span_grams *grams);
bm_status bm_span_grams_add(bm_span_grams *grams, const bm_span_gram *gram, bm_error *err);

/* A run of K-grams that stood before: from the first one to the end of the last. */
typedef struct bm_span {
    uint64_t from, to;
    uint64_t kept; /* where the first of its K-grams stood first */
    uint32_t words, filled[2];
} bm_span;
typedef bm_status bm_span_fn(void *ctx, const bm_span *span, bm_error *err);

/* Call back for the longest runs of K-grams that have stood `keep_count` times before, in the order
 * of their places. No gram is added any more. */
bm_status bm_span_grams_find(bm_span_grams *grams, uint64_t keep_count, bm_span_fn *fn, void *ctx,
                             bm_error *err);

/* The state of one thread. */
typedef struct bm_span_lane bm_span_lane;

bm_status bm_span_lane_open(const bm_settings *settings, const bm_hash_filter *filter,
                            bm_span_lane **out, bm_error *err);
void bm_span_lane_close(bm_span_lane *lane); /* NULL is fine */
/* A document begins: its text, and that before repair (data NULL: the same). Borrowed until the
 * next one. `within`: the hash of what divides documents; only those of one hash are compared. */
void bm_span_lane_begin(bm_span_lane *lane, bm_str text, bm_str as_read, bm_hash128 within);
/* Look at the next text field or element, by its place in the text before repair. Appended to
 * `out`: minimizers (uint64_t) while there is no filter, else bm_span_gram; *n is added to. */
bm_status bm_span_lane_add(bm_span_lane *lane, bm_shingler *shingler, bm_text_range range,
                           uint64_t *n, bm_buf *out, bm_error *err);
/* The next field or element, which cannot be cut. */
void bm_span_lane_skip(bm_span_lane *lane, bm_text_range range);
/* Units of the document so far, with one more for each field. */
uint64_t bm_span_lane_units(const bm_span_lane *lane);
/* Filled bytes of the document so far. A field without a K-gram that may be repeated counts as one
 * byte, or none if it is blank. */
uint64_t bm_span_lane_filled(const bm_span_lane *lane);
