/* SPDX-License-Identifier: Apache-2.0 */
/* result_tables.h -- the tables that bandmill writes (docs/formats.md). Headers, columns and the
 * forms of rows are defined here, for all readers and writers.
 *
 * Text files: UTF-8, fields separated by tabs, lines ended by LF. In ids, paths and reasons, a
 * backslash, tab, newline or carriage return is written as \\ \t \n \r. An unknown number is an
 * empty field. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "json/json_write.h"

typedef enum bm_table {
    BM_TABLE_PAIRS,          /* pairs.tsv */
    BM_TABLE_CONTAINED,      /* pairs.tsv of containment */
    BM_TABLE_PAIRS_PARTS,    /* pairs.tsv of parts of documents */
    BM_TABLE_PAIRS_EDIT,     /* pairs.tsv with edit distances */
    BM_TABLE_CONTAINED_EDIT, /* pairs.tsv of containment with edit distances */
    BM_TABLE_REMOVED,        /* removed.tsv */
    BM_TABLE_SOURCES,        /* sources.tsv */
    BM_TABLE_SKIPPED,        /* skipped.tsv */
    BM_TABLE_THRESHOLDS,     /* the table of `cluster` with several thresholds */
    BM_TABLE_ANSWERS,        /* the table of `query` */
    BM_TABLE_HOLDERS,        /* the table of `query` by containment */
    BM_TABLE_HISTOGRAM,      /* the histogram of `pairs` */
    BM_TABLE_OVERLAP,        /* overlap.tsv */
    BM_TABLE_ITEMS,          /* items.tsv */
    BM_TABLE_CUTS,           /* cuts.tsv */
    BM_N_TABLES
} bm_table;

/* Maximum length of a row that readers accept. It does not apply to groups, which may have any
 * number of members. */
#define BM_TABLE_ROW_MAX ((size_t)64 << 20)

/* Indexes of the columns that readers use, in the head of the table (bm_table_head). */
enum {
    BM_REMOVED_ID = 0,
    BM_REMOVED_KEPT = 1,
    BM_REMOVED_JACCARD = 2,
    BM_REMOVED_REASON = 3,
    BM_REMOVED_FILE = 4,
    BM_REMOVED_LINE = 5,
    BM_REMOVED_LOST = 6
};
/* Reasons for a removal that readers compare with. */
#define BM_REMOVED_IS_IDENTICAL "identical"
#define BM_REMOVED_IS_EQUAL     "equal"
#define BM_REMOVED_IS_CHAINED   "chained"
#define BM_REMOVED_IS_CONTAINED "contained"
#define BM_REMOVED_IS_KNOWN     "known"
#define BM_REMOVED_IS_OVERLAP   "overlap"
#define BM_REMOVED_IS_EMPTY     "empty"
enum {
    BM_CUTS_ID = 0,
    BM_CUTS_FROM = 1,
    BM_CUTS_TO = 2,
    BM_CUTS_KEPT = 3,
    BM_CUTS_KEPT_FROM = 4,
    BM_CUTS_JACCARD = 5,
    BM_CUTS_REASON = 6,
    BM_CUTS_FILE = 7,
    BM_CUTS_LINE = 8
};
enum {
    BM_OVERLAP_ID = 0,
    BM_OVERLAP_ITEM = 1,
    BM_OVERLAP_COVERAGE = 2,
    BM_OVERLAP_HITS = 3,
    BM_OVERLAP_LONGEST = 4,
    BM_OVERLAP_FROM = 5,
    BM_OVERLAP_TO = 6,
    BM_OVERLAP_FILE = 7,
    BM_OVERLAP_LINE = 8
};
enum {
    BM_ITEMS_ITEM = 0,
    BM_ITEMS_SHINGLES = 1,
    BM_ITEMS_DOCUMENTS = 2,
    BM_ITEMS_COVERAGE = 3,
    BM_ITEMS_TOGETHER = 4,
    BM_ITEMS_FILE = 5,
    BM_ITEMS_LINE = 6
};
enum { BM_SKIPPED_FILE = 0, BM_SKIPPED_LINE = 1, BM_SKIPPED_REASON = 2 };
enum {
    BM_SOURCES_FILE = 0,
    BM_SOURCES_DOCUMENTS = 2,
    BM_SOURCES_SKIPPED = 3,
    BM_SOURCES_REMOVED = 4
};

bm_table bm_table_of_pairs(bm_measure measure, bool edit);
bm_table bm_table_of_answers(bm_measure measure);
/* The header row of a table: names of columns, separated by tabs. */
typedef struct bm_table_head {
    const char *columns; /* all columns in order, without a newline */
    size_t n_old; /* number of first columns that files of every version have; 0: all columns */
} bm_table_head;

bm_table_head bm_table_head_of(bm_table table);
const char *bm_table_header(bm_table table); /* bm_table_head.columns */
/* The name of the table's file in a directory; NULL: it has no such file. */
const char *bm_table_file(bm_table table);
/* A word for the table, such as "pairs", "removed" or "histogram". Several tables may have the same
 * word. */
const char *bm_table_kind(bm_table table);
/* Find the table by its header line, which may be of an older version. BM_N_TABLES: there is no
 * such table. */
bm_table bm_table_of_header(bm_str line);
/* Write the header and a newline. bm_table_begin writes all columns; bm_table_begin_old writes only
 * the columns that files of every version have. */
bm_status bm_table_begin(bm_buf *out, bm_table table, bm_error *err);
bm_status bm_table_begin_old(bm_buf *out, bm_table table, bm_error *err);

#define BM_JACCARD_UNKNOWN UINT32_MAX
#define BM_ALL_DECIMALS    20u /* decimals of similarities written as exact doubles */
/* Read a similarity from 0 to 1, with 6 or 20 decimals, and round it to millionths. An empty field
 * gives BM_JACCARD_UNKNOWN. Returns false if the field has another form. */
bool bm_table_jaccard(bm_str field, uint32_t *millionths);
bool bm_table_similarity(bm_str field, double *out); /* like bm_table_jaccard, as a double; an empty
                                                      * field gives NAN */

/* --- rows, which include their newlines --- */

/* Two documents, or a query and its target. */
typedef struct bm_pair_line {
    bm_str id_a, id_b;
    bm_measure measure;
    double similarity; /* NaN: not known */
    bool all_digits;   /* write `similarity` with 20 decimals instead of six */
    bool has_edit;
    uint64_t edit;           /* UINT64_MAX: not known */
    bool of_parts;           /* the row has two parts of documents */
    uint64_t from_a, from_b; /* if `of_parts`: the offsets at which the parts begin */
} bm_pair_line;
bm_status bm_pair_line_add(bm_buf *out, const bm_pair_line *line, bm_error *err);
/* Write the row as an object of JSON Lines, with the keys id_a and id_b. */
bm_status bm_pair_line_add_json(bm_buf *out, const bm_pair_line *line, bm_error *err);
/* Like bm_pair_line_add_json, with the keys `query` and `target`. */
bm_status bm_answer_line_add_json(bm_buf *out, const bm_pair_line *line, bm_error *err);

typedef struct bm_removed_line {
    bm_str id, kept;
    double jaccard; /* similarity of the removed and the kept document; NaN: not known */
    const char *reason;
    const char *file;
    uint64_t line;   /* 0: not known */
    uint64_t lost;   /* shingles of `id` that the kept document lacks; UINT64_MAX: not known */
    bool all_digits; /* write `jaccard` with 20 decimals instead of six */
} bm_removed_line;
bm_status bm_removed_line_add(bm_buf *out, const bm_removed_line *line, bm_error *err);

/* An item that a document contains. */
typedef struct bm_overlap_line {
    bm_str id, item;
    double coverage;
    uint64_t hits, longest, from, to;
    const char *file;
    uint64_t line;
} bm_overlap_line;
bm_status bm_overlap_line_add(bm_buf *out, const bm_overlap_line *line, bm_error *err);

typedef struct bm_item_line {
    bm_str item;
    uint64_t shingles, documents;
    double coverage, together; /* NaN: the item has no shingle left */
    const char *file;
    uint64_t line;
} bm_item_line;
bm_status bm_item_line_add(bm_buf *out, const bm_item_line *line, bm_error *err);

/* A range that is cut out of a document, and the kept unit or item whose text the range repeats. */
typedef struct bm_cut_line {
    bm_str id, kept;
    uint64_t from, to;  /* byte range of the text before repair, half open */
    uint64_t kept_from; /* UINT64_MAX: the field is left empty */
    double jaccard;     /* NaN: the field is left empty */
    const char *reason;
    const char *file;
    uint64_t line;
    bool all_digits; /* write `jaccard` with 20 decimals instead of six */
} bm_cut_line;
bm_status bm_cut_line_add(bm_buf *out, const bm_cut_line *line, bm_error *err);

typedef struct bm_source_line {
    const char *file;
    uint64_t first_row, documents, skipped, removed;
    bool of_share; /* the job read a share of its inputs, so the row has one more column */
    /* if `of_share`: records of the file before the first record of the share */
    uint64_t from_record;
} bm_source_line;
bm_status bm_source_line_add(bm_buf *out, const bm_source_line *line, bm_error *err);

typedef struct bm_skipped_line {
    const char *file;
    uint64_t line;
    const char *reason;
} bm_skipped_line;
bm_status bm_skipped_line_add(bm_buf *out, const bm_skipped_line *line, bm_error *err);

typedef struct bm_threshold_line {
    double threshold;
    uint64_t pairs, groups, largest, removed;
} bm_threshold_line;
bm_status bm_threshold_line_add(bm_buf *out, const bm_threshold_line *line, bm_error *err);

/* --- groups.jsonl: {"group":1,"kept":ID,"size":N,"members":[ID,...]} --- */
/* If the group has known documents, which are not members, then ,"known":[ID,...] follows the
 * members. */

#define BM_GROUP_NUMBER  "group"
#define BM_GROUP_KEPT    "kept"
#define BM_GROUP_SIZE    "size"
#define BM_GROUP_MEMBERS "members"
#define BM_GROUP_KNOWN   "known" /* only if the kept document is a known document */

/* Begin a group; then add the members with bm_json_string. `json` is {0} before the first group,
 * and is reused for the next groups. kept.data NULL: no document of the group is kept. */
void bm_group_line_begin(bm_json *json, uint64_t group, bm_str kept, uint64_t size);
/* If the group has known documents, call this after the members. Then add the known documents with
 * bm_json_string, the kept one first. */
void bm_group_line_known(bm_json *json);
/* End the group, and append the row with its newline to `out`. */
bm_status bm_group_line_end(bm_json *json, bm_buf *out, bm_error *err);
