/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_parts.h -- the parts of `overlap`: a table of the shingles of a test set's items, the
 * look-up of documents in this table, and the results.
 *
 *     items      texts of the test set -> shingles, each with a number -> classes of equal items
 *     table      a filter with a few bits for each shingle, and an exact table
 *     lane       a document: places of the items' shingles -> items that it contains
 *     found      in input order: rows, and facts about each shingle and class
 *
 * A *class* is the set of shingles of an item. Items with equal sets share a class, so together
 * they cost as much as one item.
 *
 * Shingles that very many classes have are in *groups* instead of classes. A group is a set of such
 * shingles. It is stored once for all classes that have the same set; these classes are the
 * *members* of the group. If a document has such shingles, the work is proportional to the number
 * of their groups, plus the number of members of which the document has another shingle. Groups are
 * numbered after the classes.
 *
 * A *place* is the number of the unit at which a shingle begins in a document. Shingles that too
 * many documents have may be *stopped*; all other shingles are *counting* shingles. */
#pragma once

#include "base/column.h"
#include "base/hash_table.h"
#include "job/job_context.h"
#include "job/job_steps.h"
#include "parts/hash_filter.h"
#include "sign/ingest_cfg.h"

/* shingle_table -- numbers shingles, with a filter before an exact table.
 *
 *     filter   a Bloom filter (hash_filter.h) of 8 to 16 bits for each shingle
 *     table    looked up for shingles that pass the filter; gives their number, or none
 *
 * While the filter fits into the second-level cache of a core, looking up a shingle that is not in
 * the table takes about two nanoseconds.
 *
 * Limit: 2^32 - 2 shingles. While no thread adds shingles, any number of threads may look up. */
#define BM_NO_SHINGLE  UINT32_MAX
#define BM_FILTER_BITS 8u /* smallest number of bits for each shingle */

typedef struct bm_shingle_table {
    uint64_t *hashes; /* hashes[i] is the hash of shingle i */
    size_t n, cap;
    bm_hash_table table;
    bm_hash_filter filter;
} bm_shingle_table; /* start with {0} */

/* Add the shingle if it is new. Sets *number to its number. */
bm_status bm_shingle_table_add(bm_shingle_table *table, uint64_t hash, uint32_t *number,
                               bm_error *err);
/* Make the filter. Call this after all shingles were added, and before any is looked up. */
bm_status bm_shingle_table_end(bm_shingle_table *table, bm_error *err);
/* Prefetch the slot of a shingle that will be added or looked up soon. */
void bm_shingle_table_fetch(const bm_shingle_table *table, uint64_t hash);
/* The number of a shingle, or BM_NO_SHINGLE. */
uint32_t bm_shingle_table_find(const bm_shingle_table *table, uint64_t hash);
/* Bytes in memory. Those of the filter are included even before it is made. */
uint64_t bm_shingle_table_bytes(const bm_shingle_table *table);
void bm_shingle_table_reset(bm_shingle_table *table);

/* Does the shingle pass the filter? Only bm_shingle_table_find tells whether it is in the table. */
static inline bool bm_shingle_table_may_have(const bm_shingle_table *table, uint64_t hash)
{
    return bm_hash_filter_may_have(&table->filter, hash);
}

/* overlap_runs -- finds the longest run of places of an item in a document, if the item has
 * shingles that many items share.
 *
 *     places      1 2 3 . . 7 8 9 .       of shared shingles, made into stretches once
 *     own         . . . 4 . . . .  . 11   places of an item's own shingles
 *     run         1 2 3 4
 *
 * The work for an item depends on the number of its own places, not on that of shared places. */
/* Consecutive places of a document. */
typedef struct bm_stretch {
    uint64_t first, end; /* `end` is one past the last place; if the stretch is empty, first ==
                          * end */
} bm_stretch;

/* Make stretches from ascending, distinct places. `out` needs space for n stretches. Returns the
 * number of stretches. */
size_t bm_stretches_make(const uint64_t *places, size_t n, bm_stretch *out);
/* The longest stretch; of equally long ones, the first. If n is 0, the result is empty. */
bm_stretch bm_stretches_longest(const bm_stretch *stretches, size_t n);
/* The longest run of places from `places` and `stretches` together; of equally long ones, the
 * first. No place may be in a stretch. `longest` is the longest of `stretches`. */
bm_stretch bm_stretches_longest_with(const uint64_t *places, size_t n, const bm_stretch *stretches,
                                     size_t n_stretches, bm_stretch longest);

/* overlap_items -- the items, their classes and their groups. */

#define BM_NO_CLASS UINT32_MAX

/* An item. Its number is its row among the documents of the test set. */
typedef struct bm_item {
    uint32_t class; /* BM_NO_CLASS: the item is not searched for */
    bool too_short; /* the item has words, but too few to be searched for */
} bm_item;

/* A set of shingles: a class, or a group. */
typedef struct bm_item_class {
    uint64_t begin; /* its own shingles are sets[begin … end-1] of bm_items, ascending */
    uint64_t end;
    uint64_t n;     /* number of its shingles that are not stopped, including those of its group */
    uint32_t units; /* units in each shingle: as many as the job's shingles have, or fewer if the
                     * items are short */
    uint32_t group; /* the group that has its other shingles; BM_NO_CLASS: no group */
} bm_item_class;

/* Lists of numbers, one for each key k: list[begin[k]] ... list[begin[k + 1] - 1], ascending. */
typedef struct bm_lists {
    uint64_t *begin;
    uint32_t *list;
} bm_lists;

typedef struct bm_items {
    const bm_settings *settings; /* borrowed */
    uint64_t most_bytes;         /* limit of the items' memory, beyond which reading fails with
                                  * BM_ERR_NOMEM; 0: no limit */
    bm_item *items;
    size_t n, cap;
    /* numbers of items that are not searched for: items with too few words; items without words */
    uint64_t n_short, n_empty;
    bm_shingle_table table;
    size_t n_own;     /* shingles below n_own belong to items; the others are only anchors */
    uint8_t *stopped; /* a bit for each shingle: 1 if it is stopped; NULL: all shingles count */
    /* All classes, then all groups. `sets` has the shingles of all of them, one set after
     * another. */
    bm_item_class *classes;
    size_t n_classes, n_groups, cap_classes;
    uint32_t *sets;
    size_t n_sets, cap_sets;
    bm_hash_table by_set;
    bm_lists of_shingle;    /* for each shingle: the classes and groups that have it */
    bm_lists of_class;      /* for each class: its items */
    bm_lists members;       /* for each group: its member classes, which bm_items_settle sorts by
                             * n */
    uint64_t *member_items; /* for each member: number of items that all members before it have */
    /* Short items: their joined texts, and the anchors, which are shingles that mark where in a
     * document a short item may begin. */
    bm_buf short_text;
    uint64_t *short_ends; /* for each short item: the end of its text in short_text; short_units:
                           * its number of units */
    uint32_t *short_units;
    size_t n_short_texts, cap_short, cap_short_units;
    uint32_t least_units; /* number of units of the shortest item; 0: no item is short */
    uint32_t *lengths;    /* the distinct numbers of units of short items, ascending; in the memory
                           * of short_units */
    size_t n_lengths;
    /* a bit for each shingle: 1 if it consists of the first least_units units of a short item */
    uint8_t *anchors;
    uint64_t bytes; /* bytes in memory; set by bm_items_read */
} bm_items;         /* start with {0} */

/* Read the items, and complete the tables. `build` is the job that reads the items; its inputs must
 * be open. BM_ERR_NOMEM: the message names a `memory` that suffices. */
bm_status bm_items_read(bm_job *build, bm_items *items, bm_error *err);
/* Log the number of items, and warn if none of them is searched for. */
void bm_items_log(const bm_items *items, bm_meter *meter);
void bm_items_reset(bm_items *items);
/* Count the counting shingles of each class and group, and sort the members of groups. Call this
 * when `stopped` is final. */
bm_status bm_items_settle(bm_items *items, bm_error *err);
/* A document has `hits` counting shingles of the group. How many members of the group reach the
 * threshold with these alone? They are the first members in the group's list. */
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

/* A row: the document contains the class. If `class` is a group, the row stands for those members
 * for which the group's hits suffice, except members that have their own row for this document. */
typedef struct bm_overlap_row {
    uint32_t doc; /* number of the document */
    uint32_t class;
    uint32_t hits;     /* number of counting shingles that the document has; 0: the row is a cut */
    uint32_t longest;  /* number of units in the longest run */
    uint64_t from, to; /* bytes of the longest run in the text before repair */
} bm_overlap_row;

typedef struct bm_overlap_rows {
    bm_overlap_row *list;
    size_t n, cap;
} bm_overlap_rows;

/* What was found in the documents so far. Lanes read it. The sink, which is called in input order,
 * writes it. */
typedef struct bm_overlap_found {
    const bm_items *items;
    const bm_doc_table *docs;
    bm_column column; /* memory of `rows` */
    /* sorted by document; for each document classes, then groups, then cuts */
    bm_overlap_row *rows;
    uint64_t n_rows, n_saved;
    uint64_t memory; /* if the rows need more bytes, they are in a file in temp_dir; 0: they stay in
                      * memory */
    const bm_budget *budget; /* the budget of the job; NULL: memory has no limit */
    uint64_t in_lanes;       /* bytes of lanes and batches that bm_overlap_bytes does not include */
    const char *temp_dir;
    bool cuts, meets_parts; /* whether items are cut out of documents; whether texts consist of
                             * several fields */
    uint8_t *seen;          /* a bit for each shingle: 1 if at least one document has it */
    uint32_t *best;         /* for each class and group: the most of its shingles that one document
                             * has */
    uint32_t *counts;       /* while documents are counted: number of documents that have each
                             * shingle; otherwise NULL */
} bm_overlap_found;

/* the number of touched classes of a document for which memory is reserved */
#define BM_OVERLAP_TOUCHED ((size_t)1 << 18)

/* The most bytes that looking up documents needs besides the items. Memory that lanes count with
 * bm_overlap_hold is not included: rows of batches, and touched classes beyond
 * BM_OVERLAP_TOUCHED. */
uint64_t bm_overlap_bytes(const bm_items *items);
/* Add `more` to the bytes that lanes and batches hold, and subtract `less`. Any thread.
 * BM_ERR_NOMEM: they exceed the memory for documents; the message names a `memory` that
 * suffices. */
bm_status bm_overlap_hold(bm_overlap_found *found, uint64_t more, uint64_t less, bm_error *err);
bm_status bm_overlap_open(const bm_items *items, const bm_doc_table *docs, bm_overlap_found *out,
                          bm_error *err);
void bm_overlap_reset(bm_overlap_found *found);
/* Call this while rows are read in order; `at` is the next row. If rows are in a file, their pages
 * are removed from memory once every BM_OVERLAP_LEAVE rows. *left is the row at which this was done
 * last. */
#define BM_OVERLAP_LEAVE 32768u
static inline void bm_overlap_leave(const bm_overlap_found *found, uint64_t at, uint64_t *left)
{
    if (at - *left < BM_OVERLAP_LEAVE)
        return;
    bm_column_leave(&found->column);
    *left = at;
}
/* The scan and the sink with which documents are read. The ctx of the sink is `found`. */
bm_ingest_scan bm_overlap_scan(bm_overlap_found *found);
bm_status bm_overlap_sink(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
/* Do `hits` of the n shingles of an item reach the threshold? */
static inline bool bm_overlap_holds(const bm_items *items, uint64_t hits, uint64_t n)
{
    return hits > 0 && (double)hits / (double)n >= items->settings->bands.threshold;
}
/* A scan that only counts how many documents have each shingle. */
bm_ingest_scan bm_overlap_counting(bm_overlap_found *found);
/* The functions with which a checkpoint saves and loads `found`. Their ctx is `found`. */
bm_checkpoint_more bm_overlap_saved(bm_overlap_found *found);

/* What a lane passes to the sink for a document: this head, then n_rows times bm_overlap_row,
 * n_best times bm_overlap_better, and n_seen shingle numbers. */
typedef struct bm_overlap_said {
    uint32_t doc; /* number of the document in its batch */
    uint32_t n_rows, n_seen, n_best;
} bm_overlap_said;

typedef struct bm_overlap_better {
    uint32_t class, hits;
} bm_overlap_better;

/* --- files (overlap_files.c) --- */

/* Sums over the rows of all documents. */
typedef struct bm_overlap_sums {
    uint64_t rows;     /* rows of overlap.tsv */
    uint64_t *holders; /* for each class: number of documents that contain it */
} bm_overlap_sums;

/* Set dropped[i] to BM_REASON_OVERLAP for each document i with a row, and compute the sums. */
bm_status bm_overlap_count(const bm_overlap_found *found, uint8_t *dropped, bm_overlap_sums *out,
                           bm_error *err);
void bm_overlap_sums_reset(bm_overlap_sums *sums);
/* Write overlap.tsv, items.tsv and, unless items are cut out, removed.tsv. `against` is the job
 * that read the items, and has their ids. */
bm_status bm_overlap_write(const bm_job_context *job, const bm_job_context *against,
                           const bm_overlap_found *found, const bm_overlap_sums *sums,
                           bm_out_dir *dir, bm_error *err);

/* --- cuts (overlap_cuts.c) --- */

/* Turn the rows from `first` on, which all belong to one document, into the cuts of that document.
 * The rows must be stretches of items, with their bytes, in ascending order. */
bm_status bm_overlap_cuts_end(const bm_overlap_found *found, const bm_record *record,
                              bm_overlap_rows *rows, size_t first, bm_error *err);
/* Count the cuts and their bytes. If a document's cuts leave it empty, dropped[i] becomes
 * BM_REASON_OVERLAP; for other documents with rows it becomes 0. */
void bm_overlap_count_cuts(const bm_overlap_found *found, uint8_t *dropped, bm_unit_counts *counts);
/* Write cuts.tsv and removed.tsv. */
bm_status bm_overlap_write_cuts(const bm_job_context *job, const bm_job_context *against,
                                const bm_overlap_found *found, bm_out_dir *dir, bm_error *err);
/* A bm_ranges_fn; `ctx` is a bm_overlap_found. */
bm_status bm_overlap_ranges(void *ctx, size_t doc, bm_buf *out, bm_error *err);
