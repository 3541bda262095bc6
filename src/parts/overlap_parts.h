/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_parts.h -- the parts of `overlap`: a table of the shingles of a test set's items, the
 * look-up of documents in it, and the results.
 *
 *     items      texts of the test set -> shingles, each with a number -> classes of equal items
 *     table      a filter with a few bits for each shingle, and an exact table
 *     lane       a document: places of the items' shingles -> items that it holds
 *     found      in input order: rows, and facts about each shingle and class
 *
 * A *class* is the set of shingles of one item or of several equal items, which then cost as much
 * as one.
 *
 * A shingle of very many classes belongs to *groups* instead. A group is a set of such shingles,
 * stored once for all classes that have the same set; these classes are the group's members. A
 * document with such shingles costs work for each group, and for each member that has another
 * shingle in the document. Groups are numbered after the classes.
 *
 * A *place* is the number of the unit at which a shingle begins in a document. */
#pragma once

#include "base/column.h"
#include "base/hash_table.h"
#include "job/job_context.h"
#include "job/job_steps.h"
#include "parts/hash_filter.h"
#include "sign/ingest_cfg.h"

/* shingle_table -- numbers shingles: a filter, then an exact table.
 *
 *     filter   a Bloom filter (hash_filter.h) of 8 to 16 bits for each shingle
 *     table    looked up for shingles that pass the filter; gives their number, or none
 *
 * While the filter fits into the second-level cache of a core, looking up a shingle that is not in
 * the table takes about two nanoseconds.
 *
 * Limit: 2^32 - 2 shingles. Any number of threads may look up while no thread adds. */
#define BM_NO_SHINGLE  UINT32_MAX
#define BM_FILTER_BITS 8u /* least bits for each shingle */

typedef struct bm_shingle_table {
    uint64_t *hashes; /* by shingle number */
    size_t n, cap;
    bm_hash_table table;
    bm_hash_filter filter;
} bm_shingle_table; /* {0} is empty */

/* Add the shingle if it is new. Sets *number to its number. */
bm_status bm_shingle_table_add(bm_shingle_table *table, uint64_t hash, uint32_t *number,
                               bm_error *err);
/* Make the filter, after all shingles were added. Then shingles may be looked up. */
bm_status bm_shingle_table_end(bm_shingle_table *table, bm_error *err);
/* Prefetch the slot of a shingle that will soon be added or looked up. */
void bm_shingle_table_fetch(const bm_shingle_table *table, uint64_t hash);
/* The number of a shingle, or BM_NO_SHINGLE. */
uint32_t bm_shingle_table_find(const bm_shingle_table *table, uint64_t hash);
/* Bytes in memory, including those of the filter, which may not exist yet. */
uint64_t bm_shingle_table_bytes(const bm_shingle_table *table);
void bm_shingle_table_reset(bm_shingle_table *table); /* frees */

/* May a shingle be in the table? If true, bm_shingle_table_find decides. */
static inline bool bm_shingle_table_may_have(const bm_shingle_table *table, uint64_t hash)
{
    return bm_hash_filter_may_have(&table->filter, hash);
}

/* overlap_runs -- the longest run of places in a document, if some places are of shingles that many
 * items share.
 *
 *     places      1 2 3 . . 7 8 9 .       of shared shingles, made into stretches once
 *     own         . . . 4 . . . .  . 11   places of an item's own shingles
 *     run         1 2 3 4
 *
 * The work for each item depends on its own places, not on the shared ones. */
/* Consecutive places of a document. */
typedef struct bm_stretch {
    uint64_t first, end; /* `end` is one past the last place; an empty stretch has first == end */
} bm_stretch;

/* Make stretches from ascending, distinct places. `out` needs space for n. Returns how many there
 * are. */
size_t bm_stretches_make(const uint64_t *places, size_t n, bm_stretch *out);
/* The longest stretch; of equal ones, the first. If n is 0, it is empty. */
bm_stretch bm_stretches_longest(const bm_stretch *stretches, size_t n);
/* The longest run after the single `places` were joined with `stretches`; of equal ones, the first.
 * No place may be in a stretch. `longest` is the longest of `stretches` alone. */
bm_stretch bm_stretches_longest_with(const uint64_t *places, size_t n, const bm_stretch *stretches,
                                     size_t n_stretches, bm_stretch longest);

/* overlap_items -- the items, their classes and groups. */

#define BM_NO_CLASS UINT32_MAX

/* An item. Its number is its row among the documents of the test set. */
typedef struct bm_item {
    uint32_t class; /* BM_NO_CLASS: the item is not searched for */
    bool too_short; /* it has too few words to be searched for */
} bm_item;

/* A set of shingles: a class, or a group. */
typedef struct bm_item_class {
    uint64_t begin; /* sets[begin … end-1] of bm_items: its own shingles, ascending */
    uint64_t end;
    uint64_t n;     /* number of its counting shingles (those not stopped), including its group's */
    uint32_t units; /* units of each shingle: the job's number, or fewer if the items are short */
    uint32_t group; /* the group that has the rest of its shingles; BM_NO_CLASS: none */
} bm_item_class;

/* Lists of numbers: key k has list[begin[k]] ... list[begin[k + 1] - 1], ascending. */
typedef struct bm_lists {
    uint64_t *begin;
    uint32_t *list;
} bm_lists;

typedef struct bm_items {
    const bm_settings *settings; /* borrowed */
    uint64_t most_bytes;         /* if items need more, BM_ERR_NOMEM; 0: no limit */
    bm_item *items;
    size_t n, cap;
    /* items that are not searched for: with too few words; without words */
    uint64_t n_short, n_empty;
    bm_shingle_table table;
    size_t n_own;     /* numbers below n_own are shingles of items; others are only anchors */
    uint8_t *stopped; /* a bit for each shingle: 1 if it does not count; NULL: all count */
    /* The classes, then the groups; and the shingles of all of them, one set after another. */
    bm_item_class *classes;
    size_t n_classes, n_groups, cap_classes;
    uint32_t *sets;
    size_t n_sets, cap_sets;
    bm_hash_table by_set;
    bm_lists of_shingle;    /* the classes, or groups, of each shingle */
    bm_lists of_class;      /* the items of each class */
    bm_lists members;       /* the classes of each group; bm_items_settle orders them by n */
    uint64_t *member_items; /* for each member, how many items all earlier ones have */
    /* Short items: their joined texts, and the anchors (shingles that only mark where a short item
     * may begin). */
    bm_buf short_text;
    uint64_t *short_ends; /* for each short item: end of its text, and its number of units */
    uint32_t *short_units;
    size_t n_short_texts, cap_short, cap_short_units;
    uint32_t least_units; /* units of the shortest item; 0: there are no short items */
    uint32_t *lengths;    /* different numbers of units, ascending, in the memory of short_units */
    size_t n_lengths;
    /* a bit for each shingle: 1 for the first least_units units of a short item */
    uint8_t *anchors;
    uint64_t bytes; /* bytes in memory, after bm_items_read */
} bm_items;         /* {0} is empty */

/* Read the items and complete their tables. `build` is the job that reads them; its inputs must be
 * open. BM_ERR_NOMEM: the message names a sufficient `memory`. */
bm_status bm_items_read(bm_job *build, bm_items *items, bm_error *err);
/* Log how many items there are, and warn if none of them is looked for. */
void bm_items_log(const bm_items *items, bm_meter *meter);
void bm_items_reset(bm_items *items);
/* Count the counting shingles of each class and group, and order the members of groups. Call this
 * after the stopped shingles are known. */
bm_status bm_items_settle(bm_items *items, bm_error *err);
/* How many members of the group reach the threshold in a document with `hits` counting shingles of
 * the group? These are the first ones of the group's list. */
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
 * shingles suffice, except those that have a row of their own for this document. */
typedef struct bm_overlap_row {
    uint32_t doc; /* number of the document */
    uint32_t class;
    uint32_t hits;     /* counting shingles that the document has; 0: the row is a cut */
    uint32_t longest;  /* units of the longest run */
    uint64_t from, to; /* the longest run, as bytes of the text before repair */
} bm_overlap_row;

typedef struct bm_overlap_rows {
    bm_overlap_row *list;
    size_t n, cap;
} bm_overlap_rows;

/* What was found in the documents so far. Lanes read it; the sink, which is called in order, writes
 * it. */
typedef struct bm_overlap_found {
    const bm_items *items;
    const bm_doc_table *docs;
    bm_column column; /* memory of `rows` */
    /* ordered by document; in each document classes, then groups, then cuts */
    bm_overlap_row *rows;
    uint64_t n_rows, n_saved;
    uint64_t memory; /* if the rows need more bytes, they are in a file in temp_dir; 0: no limit */
    const bm_budget *budget; /* the job's; NULL: no limit */
    uint64_t in_lanes;       /* bytes that lanes and batches hold beyond bm_overlap_bytes */
    const char *temp_dir;
    bool cuts, meets_parts; /* items are cut out of documents; texts consist of several fields */
    uint8_t *seen;          /* a bit for each shingle: 1 if some document has it */
    uint32_t *best;         /* for each class and group: most of its shingles in one document */
    uint32_t *counts;       /* while counting, the number of documents of each shingle; else NULL */
} bm_overlap_found;

#define BM_OVERLAP_TOUCHED ((size_t)1 << 18) /* memory is reserved for so many classes a document */

/* The most bytes that look-ups need besides the items. Not included is what lanes count
 * (bm_overlap_hold): rows of batches, and classes of a document beyond BM_OVERLAP_TOUCHED. */
uint64_t bm_overlap_bytes(const bm_items *items);
/* Add `more` to the bytes that lanes and batches hold, and subtract `less`. Any thread.
 * BM_ERR_NOMEM: they hold more than the memory that is for documents; the message names a
 * sufficient `memory`. */
bm_status bm_overlap_hold(bm_overlap_found *found, uint64_t more, uint64_t less, bm_error *err);
bm_status bm_overlap_open(const bm_items *items, const bm_doc_table *docs, bm_overlap_found *out,
                          bm_error *err);
void bm_overlap_reset(bm_overlap_found *found);
/* Called while rows are read in order; `at` is the next row. If rows are in a file, remove their
 * pages from memory, once in BM_OVERLAP_LEAVE rows. *left: the row at which this was done last. */
#define BM_OVERLAP_LEAVE 32768u
static inline void bm_overlap_leave(const bm_overlap_found *found, uint64_t at, uint64_t *left)
{
    if (at - *left < BM_OVERLAP_LEAVE)
        return;
    bm_column_leave(&found->column);
    *left = at;
}
/* The scan and the sink for the documents; the ctx of the sink is `found`. */
bm_ingest_scan bm_overlap_scan(bm_overlap_found *found);
bm_status bm_overlap_sink(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
/* Do `hits` of an item's n shingles reach the threshold? */
static inline bool bm_overlap_holds(const bm_items *items, uint64_t hits, uint64_t n)
{
    return hits > 0 && (double)hits / (double)n >= items->settings->bands.threshold;
}
/* A scan that only counts the documents of each shingle. */
bm_ingest_scan bm_overlap_counting(bm_overlap_found *found);
/* Functions by which a checkpoint saves and loads `found`, which is their ctx. */
bm_checkpoint_more bm_overlap_saved(bm_overlap_found *found);

/* What a lane passes to the sink for a document: this head, then n_rows bm_overlap_row, n_best
 * bm_overlap_better, and n_seen shingle numbers. */
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
    uint64_t *holders; /* for each class: number of documents that hold it */
} bm_overlap_sums;

/* Set dropped[i] to BM_REASON_OVERLAP for each document i with a row, and compute the sums. */
bm_status bm_overlap_count(const bm_overlap_found *found, uint8_t *dropped, bm_overlap_sums *out,
                           bm_error *err);
void bm_overlap_sums_reset(bm_overlap_sums *sums);
/* Write overlap.tsv, items.tsv and, unless items are cut out, removed.tsv. `against` is the job
 * that has read the items, and has their ids. */
bm_status bm_overlap_write(const bm_job_context *job, const bm_job_context *against,
                           const bm_overlap_found *found, const bm_overlap_sums *sums,
                           bm_out_dir *dir, bm_error *err);

/* --- cuts (overlap_cuts.c) --- */

/* Turn the rows from `first` on, all of one document, into the cuts of that document. The rows must
 * be stretches of items, with their bytes, in ascending order. */
bm_status bm_overlap_cuts_end(const bm_overlap_found *found, const bm_record *record,
                              bm_overlap_rows *rows, size_t first, bm_error *err);
/* Count the cuts and their bytes. Sets dropped[i] to BM_REASON_OVERLAP for each document that is
 * left empty by its cuts, and to 0 for other documents with rows. */
void bm_overlap_count_cuts(const bm_overlap_found *found, uint8_t *dropped, bm_unit_counts *counts);
/* Write cuts.tsv and removed.tsv. */
bm_status bm_overlap_write_cuts(const bm_job_context *job, const bm_job_context *against,
                                const bm_overlap_found *found, bm_out_dir *dir, bm_error *err);
/* A bm_ranges_fn; `ctx` is a bm_overlap_found. */
bm_status bm_overlap_ranges(void *ctx, size_t doc, bm_buf *out, bm_error *err);
