/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_parts.h -- items of a test set as one table of shingles, documents looked up in it, and
 * what was found.
 *
 *     items      texts of the test set -> shingles, each with a number -> classes of equal items
 *     table      a filter of a few bits for each shingle, and an exact table
 *     lane       a document: places of shingles that items have -> items that it holds
 *     found      in input order: rows, and facts about each shingle and class
 *
 * A *class* is a set of shingles that one item or several have: equal items cost as much as one.
 *
 * A shingle of very many classes belongs to *groups*: a group is a set of such shingles, kept once
 * for all classes that have the same ones. These classes are its members. A document with such
 * shingles costs work for each group, and for members of which it has another shingle. Groups are
 * numbered after the classes.
 *
 * A *place* is the unit of a document with which a shingle begins. */
#pragma once

#include "base/column.h"
#include "base/hash_table.h"
#include "job/job_context.h"
#include "job/job_steps.h"
#include "parts/hash_filter.h"
#include "sign/ingest_cfg.h"

/* shingle_table -- shingles by number: an exact table, and a filter before it.
 *
 *     filter   a Bloom filter (hash_filter.h) of 8 to 16 bits for a shingle
 *     table    what passes the filter is looked up here, and has a number or none
 *
 * While the filter stays within the second-level cache of a core, a shingle that is not in the
 * table costs about two nanoseconds.
 *
 * Limit: 2^32 - 2 shingles. Threads: any number may look up while nobody adds. */
#define BM_NO_SHINGLE  UINT32_MAX
#define BM_FILTER_BITS 8u /* for a shingle, at least */

typedef struct bm_shingle_table {
    uint64_t *hashes; /* by number, in the order in which they were added */
    size_t n, cap;
    bm_hash_table table;
    bm_hash_filter filter;
} bm_shingle_table; /* {0} is empty */

/* *number: of the shingle, which is added where it is new. */
bm_status bm_shingle_table_add(bm_shingle_table *table, uint64_t hash, uint32_t *number,
                               bm_error *err);
/* All are added: make the filter. From now on shingles may be looked up. */
bm_status bm_shingle_table_end(bm_shingle_table *table, bm_error *err);
/* A shingle will soon be added or looked up: fetch its slot. */
void bm_shingle_table_fetch(const bm_shingle_table *table, uint64_t hash);
/* Its number, or BM_NO_SHINGLE. */
uint32_t bm_shingle_table_find(const bm_shingle_table *table, uint64_t hash);
/* Bytes in memory; of the filter too, whether it is made or not. */
uint64_t bm_shingle_table_bytes(const bm_shingle_table *table);
void bm_shingle_table_reset(bm_shingle_table *table); /* frees */

/* May a shingle be in the table? If so, look it up. */
static inline bool bm_shingle_table_may_have(const bm_shingle_table *table, uint64_t hash)
{
    return bm_hash_filter_may_have(&table->filter, hash);
}

/* overlap_runs -- the longest run among places of a document, some of which many items share.
 *
 *     places      1 2 3 . . 7 8 9 .       stretches of shingles that many items have, made once
 *     own         . . . 4 . . . .  . 11   places of an item's own shingles
 *     run         1 2 3 4
 *
 * An item's run costs its own places, and not those that it shares. */
/* Units of a document with which shingles begin, one after another. */
typedef struct bm_stretch {
    uint64_t first, end; /* `end` is one past the last; equal: it is empty */
} bm_stretch;

/* Places, ascending and each once, become stretches, at most as many. Returns how many. */
size_t bm_stretches_make(const uint64_t *places, size_t n, bm_stretch *out);
/* The longest, the first of equals; of none: an empty one. */
bm_stretch bm_stretches_longest(const bm_stretch *stretches, size_t n);
/* The longest, the first of equals, of places and stretches together. No place is in a stretch.
 * `longest`: of the stretches alone. */
bm_stretch bm_stretches_longest_with(const uint64_t *places, size_t n, const bm_stretch *stretches,
                                     size_t n_stretches, bm_stretch longest);

/* overlap_items -- the items, and what they are. */

#define BM_NO_CLASS UINT32_MAX

/* An item, by its number, which is its row among the documents of the test set. */
typedef struct bm_item {
    uint32_t class; /* BM_NO_CLASS: it is not looked for */
    bool too_short; /* for it has fewer words than that takes */
} bm_item;

/* A set of shingles: a class, or a group. */
typedef struct bm_item_class {
    uint64_t begin; /* of its own in bm_items.sets, ascending numbers; they end at ... */
    uint64_t end;
    uint64_t n;     /* that count, its group's too: all but the stopped ones */
    uint32_t units; /* of each shingle: as many as the job's, or fewer where the items are short */
    uint32_t group; /* which has its other shingles; BM_NO_CLASS: there are none */
} bm_item_class;

/* Lists of numbers: key k has list[begin[k]] ... list[begin[k + 1] - 1], ascending. */
typedef struct bm_lists {
    uint64_t *begin;
    uint32_t *list;
} bm_lists;

typedef struct bm_items {
    const bm_settings *settings; /* of the job; borrowed */
    uint64_t most_bytes;         /* BM_ERR_NOMEM beyond; 0: no limit */
    bm_item *items;
    size_t n, cap;
    uint64_t n_short, n_empty; /* items that are not looked for: of few words; without words */
    bm_shingle_table table;
    size_t n_own;     /* the first of its shingles, which are of items; those behind only say where
                         a short one may begin */
    uint8_t *stopped; /* a bit for each shingle: it does not count; NULL: all do */
    /* Classes, then groups, and their shingles one after another. */
    bm_item_class *classes;
    size_t n_classes, n_groups, cap_classes;
    uint32_t *sets;
    size_t n_sets, cap_sets;
    bm_hash_table by_set;
    bm_lists of_shingle;    /* the classes of each shingle, or its groups */
    bm_lists of_class;      /* the items of each class */
    bm_lists members;       /* the classes of each group, in bm_items_settle by ascending n */
    uint64_t *member_items; /* the items of all members before each, and of all */
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
/* Which shingles are stopped is known: count the others, and order the members of groups. */
bm_status bm_items_settle(bm_items *items, bm_error *err);
/* So many of its shingles that count are enough for the first of a group's members: how many are
 * these? */
size_t bm_items_members(const bm_items *items, uint32_t group, uint64_t hits);

static inline bool bm_items_counts(const bm_items *items, uint32_t shingle)
{
    return items->stopped == NULL || (items->stopped[shingle / 8] >> shingle % 8 & 1) == 0;
}

static inline uint64_t bm_items_of_class(const bm_items *items, uint32_t class)
{
    return items->of_class.begin[class + 1] - items->of_class.begin[class];
}

/* --- documents (overlap_lane.c) --- */

/* A class that a document holds; or a group, for all members that its shingles suffice for, except
 * those that have a row of their own in the document. */
typedef struct bm_overlap_row {
    uint32_t doc; /* its number */
    uint32_t class;
    uint32_t hits;     /* shingles that the document has, and that count */
    uint32_t longest;  /* units of the longest run */
    uint64_t from, to; /* its bytes in the text before repair */
} bm_overlap_row;

typedef struct bm_overlap_rows {
    bm_overlap_row *list;
    size_t n, cap;
} bm_overlap_rows;

/* What the documents so far have shown. Lanes read it; the ordered end writes. */
typedef struct bm_overlap_found {
    const bm_items *items;
    const bm_doc_table *docs;
    bm_column column;     /* of ... */
    bm_overlap_row *rows; /* by document, and there classes before groups, ascending numbers */
    uint64_t n_rows, n_saved;
    uint64_t memory; /* of the rows; more lie in a file in ... */
    const char *temp_dir;
    bool cuts, meets_parts; /* stretches of items are cut out; texts are of several fields */
    uint8_t *seen;          /* a bit for each shingle: a document has it */
    uint32_t *best;         /* of each class and group: the most of its shingles in one document */
    uint32_t *counts;       /* documents of each shingle, while they are counted; else NULL */
} bm_overlap_found;

/* Bytes that documents need beside the items, at most. */
uint64_t bm_overlap_bytes(const bm_items *items);
bm_status bm_overlap_open(const bm_items *items, const bm_doc_table *docs, bm_overlap_found *out,
                          bm_error *err);
void bm_overlap_reset(bm_overlap_found *found);
/* How each document is looked at, for bm_ingest_request.scan, and the sink. `found` is its ctx. */
bm_ingest_scan bm_overlap_scan(bm_overlap_found *found);
bm_status bm_overlap_sink(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
/* Are so many shingles of an item of n enough? */
static inline bool bm_overlap_holds(const bm_items *items, uint64_t hits, uint64_t n)
{
    return hits > 0 && (double)hits / (double)n >= items->settings->bands.threshold;
}
/* The documents of each shingle are counted, and nothing else. */
bm_ingest_scan bm_overlap_counting(bm_overlap_found *found);
/* What a checkpoint has of it beside the documents (job/checkpoint.h); ctx is `found`. */
bm_checkpoint_more bm_overlap_saved(bm_overlap_found *found);

/* What documents say to the ordered end: this, then so many rows, shingles and classes. */
typedef struct bm_overlap_said {
    uint32_t doc; /* in the batch */
    uint32_t n_rows, n_seen, n_best;
} bm_overlap_said;

typedef struct bm_overlap_better {
    uint32_t class, hits;
} bm_overlap_better;

/* --- files (overlap_files.c) --- */

/* The documents that hold each class; sums over all rows. */
typedef struct bm_overlap_sums {
    uint64_t rows;     /* of overlap.tsv */
    uint64_t *holders; /* of each class */
} bm_overlap_sums;

/* dropped[i] becomes BM_REASON_OVERLAP for each document with a row. */
bm_status bm_overlap_count(const bm_overlap_found *found, uint8_t *dropped, bm_overlap_sums *out,
                           bm_error *err);
void bm_overlap_sums_reset(bm_overlap_sums *sums);
/* overlap.tsv, items.tsv and removed.tsv. `against`: the job that has read the items, with their
 * ids. */
bm_status bm_overlap_write(const bm_job_context *job, const bm_job_context *against,
                           const bm_overlap_found *found, const bm_overlap_sums *sums,
                           bm_out_dir *dir, bm_error *err);

/* --- cuts (overlap_cuts.c) --- */

/* The rows of a document from `first` on are stretches of items, ascending, with their bytes: make
 * them cuts. */
bm_status bm_overlap_cuts_end(const bm_overlap_found *found, const bm_record *record,
                              bm_overlap_rows *rows, size_t first, bm_error *err);
/* dropped[i] stays other than 0 only for documents that lost all of their text. */
void bm_overlap_count_cuts(const bm_overlap_found *found, uint8_t *dropped, bm_unit_counts *counts);
/* cuts.tsv and removed.tsv. */
bm_status bm_overlap_write_cuts(const bm_job_context *job, const bm_job_context *against,
                                const bm_overlap_found *found, bm_out_dir *dir, bm_error *err);
/* A bm_ranges_fn; `ctx` is a bm_overlap_found. */
bm_status bm_overlap_ranges(void *ctx, size_t doc, bm_buf *out, bm_error *err);
