/* SPDX-License-Identifier: Apache-2.0 */
/* ids.h -- finds documents by number and by id: tables, sets, and the numbers of repeated ids. */
#pragma once

#include <stddef.h>

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/hash_table.h"
#include "base/column.h"
#include "base/memory.h"

/* id_bytes -- the longest id that every reader of bandmill's own files accepts.
 *
 * A row of pairs.tsv or removed.tsv has two ids and a path. Escapes may double the length of an id.
 * Readers accept rows of up to BM_TABLE_ROW_MAX bytes (results/result_tables.h). A record with a
 * longer id is a bad record. */

#define BM_ID_BYTES_MAX ((size_t)15 << 20)

/* id_kind -- the type of ids, and functions for ids that are numbers. */

/* The word for a kind: "text", "int64", "uint64", "rows". NULL: the kind is UNTYPED. */
const char *bm_id_kind_word(bm_id_kind kind);
bm_id_kind bm_id_kind_of(const char *word); /* UNTYPED: no kind has this word */
/* Is this the text of an id of this kind? Any text is one of kind TEXT or UNTYPED. Integers are
 * decimal, without a plus or leading zeros. */
bool bm_id_is_of(bm_str id, bm_id_kind kind);

#define BM_NEXT_ID_UNKNOWN UINT64_MAX

/* If the id is a number from 0 to INT64_MAX - 1 and *next is known, make *next greater than it. */
void bm_next_id_pass(uint64_t *next, bm_str id);

/* numbered_id -- ids of the form X#N, where N is 2 or more. If repeated ids are numbered, they get
 * this form. */

/* Does the id have the form X#N? *base becomes X, and *number becomes N. */
bool bm_numbered_id(bm_str id, bm_str *base, uint32_t *number);

/* next_numbers -- for each repeated id, the number at which the search for a free id#N continues.
 *
 * Ids are never removed, so a number that is in use stays in use. All searches for a repeated id X
 * together step past each id X#N in use only once. Searches for other ids do not step past it,
 * because X is the text before the last '#'. So all searches together take at most one step per
 * id. */

typedef struct bm_next_number {
    uint32_t row;    /* the row with the first occurrence of the id */
    uint32_t number; /* the next number to try; 2 at first */
} bm_next_number;

typedef struct bm_next_numbers {
    bm_next_number *list; /* table.n entries, in order of the first repeat */
    size_t cap;
    bm_hash_table table;
} bm_next_numbers; /* {0} is empty */

void bm_next_numbers_reset(bm_next_numbers *numbers); /* frees */
/* *out becomes the address of the number for the id of `row`. It may be read and written until the
 * next call. BM_ERR_NOMEM. */
bm_status bm_next_numbers_of(bm_next_numbers *numbers, uint32_t row, uint32_t **out, bm_error *err);

/* id_set -- maps ids to numbers and back. A new id gets the next number. */

#define BM_ID_NONE UINT32_MAX

typedef struct bm_id_set {
    bm_buf text;    /* all ids, one after another */
    uint64_t *ends; /* for each id, the offset of its end in `text` */
    size_t n, cap;
    bm_hash_table table;
} bm_id_set; /* {0} is empty */

void bm_id_set_reset(bm_id_set *set); /* frees */
/* Add the id if it is new, and set *number to its number. BM_ERR_NOMEM; BM_ERR_INPUT if there are
 * more than BM_DOCS_MAX ids. */
bm_status bm_id_set_add(bm_id_set *set, bm_str id, uint32_t *number, bm_error *err);
/* The number of an id, or BM_ID_NONE. */
uint32_t bm_id_set_find(const bm_id_set *set, bm_str id);
/* The id with this number, valid until the next add. */
bm_str bm_id_set_id(const bm_id_set *set, uint32_t number);

/* The bytes that a set of `n` ids with `text_bytes` of text needs, even while it grows. */
uint64_t bm_id_set_bytes(uint64_t n, uint64_t text_bytes);

/* An id, and XXH3_64bits of its text. */
typedef struct bm_doc_id {
    bm_str text;
    uint64_t hash;
} bm_doc_id;

/* doc_table -- a table with a row for each document of a job, in input order. A row has the id, the
 * file and line of the record, the size and hash of the text, and the number of shingles.
 *
 * Each id is looked up among the earlier ids, since ids must differ. The table of ids is divided
 * into shards by the last bits of the ids' hashes. When all documents were added, any number of
 * threads may read the table. Documents are appended in input order, in one of two ways:
 *
 *     bm_doc_table_add      one document, by one thread
 *
 *     bm_doc_table_reserve  rows and bytes of text for a batch: batches in order, one at a time
 *     bm_doc_table_fill     set a reserved row and its id: any thread
 *     bm_doc_table_enter    put the id of a filled row into its shard, and find the first row with
 *                           this id. For each shard the rows in order, one at a time; different
 *                           shards at once
 *     bm_doc_table_accept   the batch is part of the table: batches in order, one at a time
 *
 * Rows and ids are stored in columns (base/column.h). When they exceed a part of the memory, later
 * rows and ids are stored in files. Readers notice no difference. If rows are read only by the
 * functions below, rows and ids together take at most the memory divided by BM_DOC_FILE_PART.
 *
 * Rows that are reserved but not accepted yet are *ahead*. While rows are ahead, bm_doc_table_add
 * must not be called. One thread may reserve while another accepts. */

#define BM_DOC_SHARDS    32u
#define BM_DOC_FILE_PART 16u /* rows and ids may take 1/16 of the memory */
/* each read of a row whose number is a multiple of this may remove the file pages from memory */
#define BM_DOC_LEAVE_ROWS 512u

/* The shard of an id. The table of a shard uses the other half of the hash. */
static inline uint32_t bm_doc_shard(uint64_t id_hash)
{
    return (uint32_t)id_hash % BM_DOC_SHARDS;
}

/* Some documents, sorted by the shards of their hashes. */
typedef struct bm_doc_shard_list {
    uint32_t *docs; /* numbers of the documents of shard 0, then of shard 1 … */
    uint32_t begin[BM_DOC_SHARDS + 1];
} bm_doc_shard_list;

/* Sort documents 0 to n-1 by shard; their hashes are `stride` bytes apart. The list has space for
 * n. */
void bm_doc_shard_list_fill(const uint64_t *first_hash, size_t stride, size_t n,
                            bm_doc_shard_list *out);

typedef struct bm_doc_row {
    uint64_t line;
    uint64_t text_bytes;
    uint64_t text_hash; /* XXH3_64bits of the text before repair, or BM_TEXT_UNKNOWN */
    uint32_t file;
    uint32_t n_shingles;
} bm_doc_row;

#define BM_TEXT_UNKNOWN 0u

/* Are the texts of two documents known to be identical? */
static inline bool bm_doc_same_text(const bm_doc_row *a, const bm_doc_row *b)
{
    return a->text_hash == b->text_hash && a->text_hash != BM_TEXT_UNKNOWN;
}

/* The names of the inputs; bm_doc_row.file is an index into them. */
typedef struct bm_file_names {
    const char **names;
    size_t n;
    /* for each input, how many records precede this shard of the inputs; NULL: there are no
     * shards */
    uint64_t *from_records;
} bm_file_names;

typedef struct bm_skipped {
    uint64_t line;
    uint32_t file;
    char *reason;      /* owned by the table */
    uint64_t n_behind; /* lines after `line` that were skipped as part of the record (record.h) */
} bm_skipped;

/* Sums over the documents and bad records of batches. */
typedef struct bm_doc_sums {
    size_t docs, skipped;
    /* bytes in memory of the ids, and of the reasons of bad records */
    uint64_t id_bytes, reason_bytes;
} bm_doc_sums;

typedef struct bm_doc_table {
    bm_doc_row *rows; /* to be read by bm_doc_table_row */
    size_t n;
    const char *temp_dir; /* borrowed; NULL: rows and ids stay in memory */
    struct {
        bm_column rows, ends, text; /* the columns that store `rows`, ids.ends and ids.text */
        size_t n_left; /* pages of the rows before row n_left were removed from memory */
    } columns;
    bm_id_set ids; /* the number of an id is its row; ids.table is not used, but `shards` are */
    /* the tables in which ids are looked up */
    bm_hash_table shards[BM_DOC_SHARDS];
    bool ended;           /* the shards were freed */
    bm_doc_sums reserved; /* sums over all rows, including those reserved ahead */
    bm_skipped *skipped;
    size_t n_skipped, cap_skipped;
    /* number of records that this run skipped together with lines after them */
    size_t n_swallowing;
    bool number_duplicates; /* a repeated id becomes the next free id#N; false: it is an error */
    bm_next_numbers next;
    uint64_t n_tried;      /* ids of the form id#N that were looked up to find a free one */
    uint64_t memory;       /* the most bytes; 0: no limit */
    uint64_t memory_all;   /* the limit of which `memory` is a part, for messages */
    uint64_t reason_bytes; /* bytes of the reasons in `skipped` */
    /* borrowed, for messages; NULL: the message about a repeated id does not name the id's first
     * record */
    const bm_file_names *files;
} bm_doc_table; /* {0} is empty */

void bm_doc_table_reset(bm_doc_table *table); /* frees */
/* The bytes of memory of the table (bm_doc_table_bytes), and of its shards alone
 * (bm_doc_table_shard_bytes). The latter depend only on the number of ids. */
uint64_t bm_doc_table_bytes(const bm_doc_table *table);
uint64_t bm_doc_table_shard_bytes(const bm_doc_table *table);
/* The bytes that the table will have with all rows that are reserved ahead and one more batch.
 * *shards becomes the number of these bytes that are in the shards. */
uint64_t bm_doc_table_bytes_with(const bm_doc_table *table, const bm_doc_sums *batch,
                                 uint64_t *shards);
/* Free the shards. No more documents may be added. */
void bm_doc_table_end_adding(bm_doc_table *table);
/* Remove the pages of rows and ids in files from memory, until they are accessed again. Any
 * thread. */
void bm_doc_table_leave(const bm_doc_table *table);
/* Called before `row` is read. Like bm_doc_table_leave, but does nothing if this thread has done it
 * for the same row a short time ago. (A document may be read once for each of a million copies.) */
void bm_doc_table_leave_for(const bm_doc_table *table, size_t row);
/* Call this for each row while walking over the table in order, if only some rows are read. */
static inline void bm_doc_table_pass(const bm_doc_table *table, size_t row)
{
    if (row % BM_DOC_LEAVE_ROWS == 0)
        bm_doc_table_leave_for(table, row);
}
/* Get a row (bm_doc_table_row), or its id as given, unescaped (bm_doc_table_id). Any thread. */
static inline const bm_doc_row *bm_doc_table_row(const bm_doc_table *table, size_t row)
{
    bm_doc_table_pass(table, row);
    return &table->rows[row];
}
bm_str bm_doc_table_id(const bm_doc_table *table, size_t row);
/* Like bm_doc_table_id, for rows in random order. If the id is in a file, it is read into `room`,
 * which takes less time than page faults. The id is valid until `room` is used again. */
bm_str bm_doc_table_id_anywhere(const bm_doc_table *table, size_t row, bm_buf *room);
/* Append a document. BM_ERR_INPUT: the id is repeated, and repeated ids are not numbered. The
 * message names `file_name`, the line, and the location of the first record with this id.
 * BM_ERR_NOMEM: there is no memory, or the table would exceed table->memory. */
bm_status bm_doc_table_add(bm_doc_table *table, const bm_doc_row *row, bm_doc_id id,
                           const char *file_name, bm_error *err);
/* Prefetch the slot of an id that will soon be added. */
void bm_doc_table_expect(const bm_doc_table *table, uint64_t id_hash);
/* Begin to reserve rows after the last row. Call it only while no rows are reserved ahead. */
void bm_doc_table_begin(bm_doc_table *table);
/* May rows for the batch be reserved? They may not if repeated ids are numbered, or if the limit of
 * memory or of documents is near. Then the caller must add the documents of the batch one by one,
 * after all reserved rows were accepted. */
bool bm_doc_table_may_reserve(const bm_doc_table *table, const bm_doc_sums *batch);
/* Grow the columns for a batch whose rows may be reserved. BM_ERR_NOMEM, BM_ERR_IO: there is no
 * space. */
bm_status bm_doc_table_make_room(bm_doc_table *table, const bm_doc_sums *batch, bm_error *err);
/* After bm_doc_table_make_room: reserve rows for the batch, and return the number of the first row.
 * *text becomes the offset at which the text of the batch's ids begins. */
size_t bm_doc_table_reserve(bm_doc_table *table, const bm_doc_sums *batch, uint64_t *text);
/* Set a row. Its id was copied to the text of ids before, and ends there at offset `end`. */
static inline void bm_doc_table_fill(const bm_doc_table *table, size_t at, const bm_doc_row *row,
                                     uint64_t end)
{
    table->rows[at] = *row;
    table->ids.ends[at] = end;
}
/* Put the id of `row` into its shard. `id_hash` is the hash of the id. *first becomes the first row
 * with this id. BM_ERR_NOMEM. */
bm_status bm_doc_table_enter(bm_doc_table *table, uint32_t row, uint64_t id_hash, uint32_t *first,
                             bm_error *err);
void bm_doc_table_accept(bm_doc_table *table, const bm_doc_sums *batch);
/* Fail with BM_ERR_INPUT because of a repeated id, as bm_doc_table_add does: `row` has the same id
 * as row number `first`. */
bm_status bm_doc_table_repeated(const bm_doc_table *table, const bm_doc_row *row, uint32_t first,
                                const char *file_name, bm_error *err);
/* The bytes of memory that the reason of a bad record takes. */
uint64_t bm_doc_table_reason_bytes(const bm_skipped *skipped);
/* Append a bad record, which was skipped. On BM_OK the table owns skipped->reason. */
bm_status bm_doc_table_skip(bm_doc_table *table, const bm_skipped *skipped, bm_error *err);
/* Remove the rows from number `n_rows` on, and the skipped records from number `n_skipped` on.
 * Nothing may be added afterwards, since the shards still have the removed ids. */
void bm_doc_table_cut(bm_doc_table *table, size_t n_rows, size_t n_skipped);

/* pair_order -- the order of pairs. A pair is also represented by two words that sort in this
 * order.
 *
 *     key     a << 32 | b         ascends as pairs do
 *     value   bits of the similarity */

/* Compare two bm_pair by a, then by b; for qsort and bsearch. */
int bm_pair_by_place(const void *x, const void *y);

static inline uint64_t bm_pair_key(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

uint64_t bm_edge_bits(double similarity);
double bm_edge_similarity(uint64_t bits);

/* Make the pair of a key and the bits of the pair's similarity. */
bm_pair bm_pair_of_key(uint64_t key, uint64_t bits);
