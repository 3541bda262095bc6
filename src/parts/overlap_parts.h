/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_parts.h -- items of a test set as one table of shingles, documents looked up in it, and
 * what was found.
 *
 *     items      texts of the test set -> shingles, each with a number -> classes of equal items
 *     filter     a few bits for each shingle; what passes is looked up in the table
 *     lane       a document: places where a shingle of an item stands -> items that it holds
 *     found      in input order: rows, and what is known of each shingle and class
 *
 * A *class* is a set of shingles that one item or several have: equal items cost what one does.
 * A *place* is the unit of a document with which a shingle begins. */
#pragma once

#include "base/column.h"
#include "base/hash_table.h"
#include "job/job_context.h"
#include "job/job_steps.h"
#include "sign/ingest_cfg.h"

#define BM_NO_CLASS UINT32_MAX

/* An item, by its number, which is its row among the documents of the test set. */
typedef struct bm_item {
    uint32_t class; /* BM_NO_CLASS: it is not looked for */
    bool too_short; /* for it has fewer words than that takes */
} bm_item;

/* A set of shingles. */
typedef struct bm_item_class {
    uint64_t begin; /* of its shingles in bm_items.sets, ascending numbers; they end at ... */
    uint64_t end;
    uint64_t n;     /* of these, those that count: all but the stopped ones */
    uint32_t units; /* of each shingle: those of the job, or fewer where the items are short */
} bm_item_class;

typedef struct bm_items {
    const bm_settings *settings; /* of the job; borrowed */
    uint64_t most_bytes;         /* BM_ERR_NOMEM beyond; 0: no limit */
    bm_item *items;
    size_t n, cap;
    uint64_t n_short, n_empty; /* items that are not looked for: of few words; without words */
    /* Shingles by number. */
    uint64_t *hashes;
    size_t n_shingles, cap_shingles;
    size_t
        n_own; /* the first of them, which are of items; those behind only say where one begins */
    bm_hash_table table;
    uint64_t *filter; /* n_filter words, a power of two */
    size_t n_filter;
    unsigned filter_shift;
    uint8_t *stopped; /* of each shingle: it does not count; NULL: all do */
    /* Classes, and their shingles one after another. */
    bm_item_class *classes;
    size_t n_classes, cap_classes;
    uint32_t *sets;
    size_t n_sets, cap_sets;
    bm_hash_table by_set;
    /* The classes of each shingle, and the items of each class, ascending. */
    uint64_t *class_begin, *item_begin; /* n_shingles + 1; n_classes + 1 */
    uint32_t *class_list, *item_list;
    /* Short items: their joined texts, and the shingles that only say where one may begin. */
    bm_buf short_text;
    uint64_t *short_ends; /* of each, with its units in ... */
    uint32_t *short_units;
    size_t n_short_texts, cap_short, cap_short_units;
    uint32_t least_units; /* of a short item; 0: there is none */
    uint32_t *lengths;    /* units of short items, each once, ascending */
    size_t n_lengths;
    uint8_t *anchors; /* a bit for each shingle: the first `least_units` units of a short item */
    uint64_t bytes;   /* in memory, once it is complete */
} bm_items;           /* {0} is empty */

/* Read the items; `build` is the job that reads them (its inputs are open). Afterwards they are
 * complete. BM_ERR_NOMEM names the `memory` that would do. */
bm_status bm_items_read(bm_job *build, bm_items *items, bm_error *err);
void bm_items_reset(bm_items *items);
/* The word of the filter that a shingle has bits in, and these bits. */
static inline uint64_t *bm_items_filter(const bm_items *items, uint64_t hash, uint64_t *bits)
{
    const uint64_t mixed = hash * UINT64_C(0x9E3779B97F4A7C15);
    *bits = UINT64_C(1) << (mixed & 63) | UINT64_C(1) << (mixed >> 6 & 63) |
            UINT64_C(1) << (mixed >> 12 & 63);
    return &items->filter[mixed >> items->filter_shift];
}
/* A shingle may be one of the items': ask the table. */
static inline bool bm_items_may_have(const bm_items *items, uint64_t hash)
{
    uint64_t bits;
    const uint64_t word = *bm_items_filter(items, hash, &bits);
    return (word & bits) == bits;
}
/* A shingle will soon be asked for: fetch its slot. */
void bm_items_fetch(const bm_items *items, uint64_t hash);
/* Its number, or BM_NO_CLASS. */
uint32_t bm_items_find(const bm_items *items, uint64_t hash);

/* --- documents (overlap_lane.c) --- */

/* A class that a document holds. */
typedef struct bm_overlap_row {
    uint32_t doc; /* its number */
    uint32_t class;
    uint32_t hits;     /* shingles of the class that stand in the document, and count */
    uint32_t longest;  /* units of the longest run */
    uint64_t from, to; /* its bytes in the text before repair */
} bm_overlap_row;

/* What the documents so far have shown. Lanes read it; the ordered end writes. */
typedef struct bm_overlap_found {
    const bm_items *items;
    bm_column column;     /* of ... */
    bm_overlap_row *rows; /* by document */
    uint64_t n_rows;
    uint64_t memory; /* of the rows; more lie in a file in ... */
    const char *temp_dir;
    uint8_t *seen;     /* a bit for each shingle: a document has it */
    uint32_t *best;    /* of each class: the most of its shingles in one document */
    uint32_t *holders; /* documents that hold it */
    uint32_t *counts;  /* documents of each shingle, while they are counted; else NULL */
} bm_overlap_found;

bm_status bm_overlap_open(const bm_items *items, bm_overlap_found *out, bm_error *err);
void bm_overlap_reset(bm_overlap_found *found);
/* How each document is looked at, for bm_ingest_request.scan, and the sink. `found` is its ctx. */
bm_ingest_scan bm_overlap_scan(bm_overlap_found *found);
bm_status bm_overlap_sink(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
/* Are so many shingles of an item of n enough? */
bool bm_overlap_holds(const bm_items *items, uint64_t hits, uint64_t n);
/* The documents of each shingle are counted, and nothing else. */
bm_ingest_scan bm_overlap_counting(bm_overlap_found *found);

/* --- files (overlap_files.c) --- */

/* overlap.tsv, items.tsv and removed.tsv. `against`: the job that has read the items, with their
 * ids. */
bm_status bm_overlap_write(const bm_job_context *job, const bm_job_context *against,
                           const bm_overlap_found *found, bm_out_dir *dir, bm_error *err);
