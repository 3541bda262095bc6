/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_parts.h -- the parts of `overlap`: a table of the shingles of a test set's items, the
 * look-up of documents in it, and the results.
 *
 *     items      texts of the test set -> shingles, each with a number -> classes of equal items
 *     table      a filter with a few bits per shingle, and an exact table
 *     lane       a document: places of the items' shingles -> items that it holds
 *     found      in input order: rows, and facts per shingle and class
 *
 * A *class* is the set of shingles of one item or of several equal items, which then cost as much
 * as one.
 *
 * A shingle of very many classes belongs to *groups*: a group is a set of such shingles, stored
 * once for all classes that have the same set. These classes are its members. A document with such
 * shingles costs work per group, and per member that has another shingle in this document. Groups
 * are numbered after the classes.
 *
 * A *place* is the first unit of a shingle in a document. */
#pragma once

#include "base/column.h"
#include "base/hash_table.h"
#include "job/job_context.h"
#include "job/job_steps.h"
#include "parts/hash_filter.h"
#include "sign/ingest_cfg.h"

/* shingle_table -- numbers shingles: a filter, then an exact table.
 *
 *     filter   a Bloom filter (hash_filter.h) of 8 to 16 bits per shingle
 *     table    looked up for shingles that pass the filter; gives their number, or none
 *
 * While the filter fits into the second-level cache of a core, a shingle that is not in the table
 * costs about two nanoseconds.
 *
 * Limit: 2^32 - 2 shingles. Threads: any number may look up while no thread adds. */
#define BM_NO_SHINGLE  UINT32_MAX
#define BM_FILTER_BITS 8u /* least bits per shingle */

typedef struct bm_shingle_table {
    uint64_t *hashes; /* by shingle number */
    size_t n, cap;
    bm_hash_table table;
    bm_hash_filter filter;
} bm_shingle_table; /* {0} is empty */

/* Add the shingle if it is new; *number: its number. */
bm_status bm_shingle_table_add(bm_shingle_table *table, uint64_t hash, uint32_t *number,
                               bm_error *err);
/* Make the filter, once all shingles are added. After this, shingles may be looked up. */
bm_status bm_shingle_table_end(bm_shingle_table *table, bm_error *err);
/* Prefetch the slot of a shingle that will soon be added or looked up. */
void bm_shingle_table_fetch(const bm_shingle_table *table, uint64_t hash);
/* The number of a shingle, or BM_NO_SHINGLE. */
uint32_t bm_shingle_table_find(const bm_shingle_table *table, uint64_t hash);
/* Bytes in memory, including the filter even if it is not made yet. */
uint64_t bm_shingle_table_bytes(const bm_shingle_table *table);
void bm_shingle_table_reset(bm_shingle_table *table); /* frees */

/* May a shingle be in the table? If true, bm_shingle_table_find decides. */
static inline bool bm_shingle_table_may_have(const bm_shingle_table *table, uint64_t hash)
{
    return bm_hash_filter_may_have(&table->filter, hash);
}

/* overlap_runs -- the longest run of places in a document. Some places belong to shingles that many
 * items share.
 *
 *     places      1 2 3 . . 7 8 9 .       of shared shingles, made into stretches once
 *     own         . . . 4 . . . .  . 11   places of an item's own shingles
 *     run         1 2 3 4
 *
 * The work per item depends on its own places, not on the shared ones. */
/* Consecutive places of a document. */
typedef struct bm_stretch {
    uint64_t first, end; /* `end` is one past the last place; an empty stretch has first == end */
} bm_stretch;

/* Make stretches from ascending, unique places; `out` needs space for n. Returns how many. */
size_t bm_stretches_make(const uint64_t *places, size_t n, bm_stretch *out);
/* The longest stretch; of equals the first. If n is 0, it is empty. */
bm_stretch bm_stretches_longest(const bm_stretch *stretches, size_t n);
/* The longest stretch after the single `places` are merged with `stretches`; of equals the first.
 * No place may lie within a stretch. `longest`: the longest of `stretches` alone. */
bm_stretch bm_stretches_longest_with(const uint64_t *places, size_t n, const bm_stretch *stretches,
                                     size_t n_stretches, bm_stretch longest);

/* overlap_items -- the items, their classes and groups. */

#define BM_NO_CLASS UINT32_MAX

/* An item. Its number is its row among the documents of the test set. */
typedef struct bm_item {
    uint32_t class; /* BM_NO_CLASS: not searched for */
    bool too_short; /* not searched for, because it has too few words */
} bm_item;

/* A set of shingles: a class, or a group. */
typedef struct bm_item_class {
    uint64_t begin; /* its own shingles, ascending: bm_items.sets[begin … end-1] */
    uint64_t end;
    uint64_t n;     /* its counting shingles (not stopped), including its group's */
    uint32_t units; /* units per shingle: the job's, or fewer if the items are short */
    uint32_t group; /* the group that has its other shingles; BM_NO_CLASS: no group */
} bm_item_class;

/* Lists of numbers: key k has list[begin[k]] ... list[begin[k + 1] - 1], ascending. */
typedef struct bm_lists {
    uint64_t *begin;
    uint32_t *list;
} bm_lists;

typedef struct bm_items {
    const bm_settings *settings; /* the job's settings; borrowed */
    uint64_t most_bytes;         /* BM_ERR_NOMEM for more bytes; 0: no limit */
    bm_item *items;
    size_t n, cap;
    uint64_t n_short, n_empty; /* numbers of items that are not searched for: too few words; no
                                * words */
    bm_shingle_table table;
    size_t n_own;     /* shingles with numbers below n_own belong to items; others are only
                       * anchors */
    uint8_t *stopped; /* bit per shingle: 1 if it does not count; NULL: all count */
    /* Classes, then groups, and their shingles one after another. */
    bm_item_class *classes;
    size_t n_classes, n_groups, cap_classes;
    uint32_t *sets;
    size_t n_sets, cap_sets;
    bm_hash_table by_set;
    bm_lists of_shingle;    /* the classes of each shingle, or its groups */
    bm_lists of_class;      /* the items of each class */
    bm_lists members;       /* the classes of each group; bm_items_settle orders them by n */
    uint64_t *member_items; /* prefix sums: items of all members before each one */
    /* Short items: their joined texts, and the anchors (shingles that only mark where one may
     * begin). */
    bm_buf short_text;
    uint64_t *short_ends; /* per short item: end of its text, and its units: */
    uint32_t *short_units;
    size_t n_short_texts, cap_short, cap_short_units;
    uint32_t least_units; /* units of the shortest item; 0: no short items */
    uint32_t *lengths;    /* the different unit counts of short items, ascending */
    size_t n_lengths;
    uint8_t *anchors; /* bit per shingle: first least_units units of a short item */
    uint64_t bytes;   /* bytes in memory, once complete */
} bm_items;           /* {0} is empty */

/* Read and complete the items; `build` is the job that reads them (its inputs are open).
 * BM_ERR_NOMEM: the message names a sufficient `memory`. */
bm_status bm_items_read(bm_job *build, bm_items *items, bm_error *err);
void bm_items_reset(bm_items *items);
/* Call once the stopped shingles are known. Counts the other shingles, and orders the members of
 * groups. */
bm_status bm_items_settle(bm_items *items, bm_error *err);
/* A document has `hits` counting shingles of the group: for how many of its members, from the first
 * on, is that enough? */
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

/* A class that a document holds. Or a group: the document holds all members for which the group's
 * shingles suffice, except members that have a row of their own in the document. */
typedef struct bm_overlap_row {
    uint32_t doc; /* number of the document */
    uint32_t class;
    uint32_t hits;     /* counting shingles that the document has */
    uint32_t longest;  /* units of the longest run */
    uint64_t from, to; /* bytes of the longest run, in the text before repair */
} bm_overlap_row;

typedef struct bm_overlap_rows {
    bm_overlap_row *list;
    size_t n, cap;
} bm_overlap_rows;

/* What was found in the documents so far. Lanes read it; the ordered sink writes it. */
typedef struct bm_overlap_found {
    const bm_items *items;
    const bm_doc_table *docs;
    bm_column column;     /* column of the rows */
    bm_overlap_row *rows; /* sorted by document; in each, classes before groups before cuts */
    uint64_t n_rows, n_saved;
    uint64_t memory; /* bytes of rows in memory; more are in a file in temp_dir */
    const char *temp_dir;
    bool cuts, meets_parts; /* items are cut out; texts have several fields */
    uint8_t *seen;          /* bit per shingle: some document has it */
    uint32_t *best;         /* per class and group: most of its shingles in one document */
    uint32_t *counts;       /* documents per shingle, while counting; else NULL */
} bm_overlap_found;

/* The most bytes that documents need in addition to the items. */
uint64_t bm_overlap_bytes(const bm_items *items);
bm_status bm_overlap_open(const bm_items *items, const bm_doc_table *docs, bm_overlap_found *out,
                          bm_error *err);
void bm_overlap_reset(bm_overlap_found *found);
/* The scan of documents, for bm_ingest_request.scan, and its sink, whose ctx is `found`. */
bm_ingest_scan bm_overlap_scan(bm_overlap_found *found);
bm_status bm_overlap_sink(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
/* Do `hits` shingles reach the threshold, for an item with n shingles? */
static inline bool bm_overlap_holds(const bm_items *items, uint64_t hits, uint64_t n)
{
    return hits > 0 && (double)hits / (double)n >= items->settings->bands.threshold;
}
/* A scan that only counts the documents of each shingle. */
bm_ingest_scan bm_overlap_counting(bm_overlap_found *found);
/* The functions with which a checkpoint saves and loads `found` (bm_checkpoint_more); `found` is
 * their ctx. */
bm_checkpoint_more bm_overlap_saved(bm_overlap_found *found);

/* What a lane passes to the ordered sink for a document: this head, then n_rows bm_overlap_row,
 * n_best bm_overlap_better and n_seen shingle numbers. */
typedef struct bm_overlap_said {
    uint32_t doc; /* number in the batch */
    uint32_t n_rows, n_seen, n_best;
} bm_overlap_said;

typedef struct bm_overlap_better {
    uint32_t class, hits;
} bm_overlap_better;

/* --- files (overlap_files.c) --- */

/* Sums over all rows. */
typedef struct bm_overlap_sums {
    uint64_t rows;     /* rows of overlap.tsv */
    uint64_t *holders; /* documents that hold each class */
} bm_overlap_sums;

/* Set dropped[i] to BM_REASON_OVERLAP for each document with a row, and compute the sums. */
bm_status bm_overlap_count(const bm_overlap_found *found, uint8_t *dropped, bm_overlap_sums *out,
                           bm_error *err);
void bm_overlap_sums_reset(bm_overlap_sums *sums);
/* Write overlap.tsv, items.tsv and removed.tsv. `against`: the job that has read the items, and has
 * their ids. */
bm_status bm_overlap_write(const bm_job_context *job, const bm_job_context *against,
                           const bm_overlap_found *found, const bm_overlap_sums *sums,
                           bm_out_dir *dir, bm_error *err);

/* --- cuts (overlap_cuts.c) --- */

/* Make the cuts of a document. Its rows from `first` on must be ascending stretches of items with
 * their bytes; they are replaced by cuts. */
bm_status bm_overlap_cuts_end(const bm_overlap_found *found, const bm_record *record,
                              bm_overlap_rows *rows, size_t first, bm_error *err);
/* Count the cuts and their bytes. Set dropped[i] to BM_REASON_OVERLAP for each document that its
 * cuts leave empty, and to 0 for other documents that have rows. */
void bm_overlap_count_cuts(const bm_overlap_found *found, uint8_t *dropped, bm_unit_counts *counts);
/* Write cuts.tsv and removed.tsv. */
bm_status bm_overlap_write_cuts(const bm_job_context *job, const bm_job_context *against,
                                const bm_overlap_found *found, bm_out_dir *dir, bm_error *err);
/* A bm_ranges_fn; `ctx` is a bm_overlap_found. */
bm_status bm_overlap_ranges(void *ctx, size_t doc, bm_buf *out, bm_error *err);
