/* SPDX-License-Identifier: Apache-2.0 */
/* result_tables.h -- the tables and rows that bandmill writes, each defined once: header, columns,
 * and the form of a row (docs/formats.md). All readers and writers use these definitions.
 *
 * Text files: UTF-8, fields separated by tabs, lines ended by LF. In ids, paths and reasons,
 * backslash, tab, newline and carriage return are written \\ \t \n \r. An unknown number is an
 * empty field. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "json/json_write.h"

typedef enum bm_table {
    BM_TABLE_PAIRS,       /* pairs.tsv */
    BM_TABLE_CONTAINED,   /* pairs.tsv of containment */
    BM_TABLE_PAIRS_PARTS, /* pairs.tsv of parts of documents */
    BM_TABLE_PAIRS_EDIT,  /* pairs.tsv with edit distances, of either kind */
    BM_TABLE_CONTAINED_EDIT,
    BM_TABLE_REMOVED,    /* removed.tsv */
    BM_TABLE_SOURCES,    /* sources.tsv */
    BM_TABLE_SKIPPED,    /* skipped.tsv */
    BM_TABLE_THRESHOLDS, /* the table of `cluster` with several thresholds */
    BM_TABLE_ANSWERS,    /* the table of `query` */
    BM_TABLE_HOLDERS,    /* the table of `query` by containment */
    BM_TABLE_HISTOGRAM,  /* the histogram of `pairs` */
    BM_TABLE_OVERLAP,    /* overlap.tsv */
    BM_TABLE_ITEMS,      /* items.tsv */
    BM_TABLE_CUTS,       /* cuts.tsv */
    BM_N_TABLES
} bm_table;

/* Maximum length of a row for readers, except for groups, which may have any number of members. */
#define BM_TABLE_ROW_MAX ((size_t)64 << 20)

/* Indexes of the columns that readers use, in the order in which they are written (line_file.h
 * finds them by name). */
enum {
    BM_REMOVED_ID = 0,
    BM_REMOVED_KEPT = 1,
    BM_REMOVED_JACCARD = 2,
    BM_REMOVED_REASON = 3,
    BM_REMOVED_FILE = 4,
    BM_REMOVED_LINE = 5,
    BM_REMOVED_LOST = 6
};
/* Words of the reasons that readers compare with. */
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
/* The header row: names of columns, separated by tabs. */
typedef struct bm_table_head {
    const char *columns; /* all columns in order, without a newline */
    size_t n_old;        /* number of leading columns that files of every version have; 0: all */
} bm_table_head;

bm_table_head bm_table_head_of(bm_table table);
const char *bm_table_header(bm_table table); /* the names of the columns */
/* The name of the table's file in a directory; NULL: it has none. */
const char *bm_table_file(bm_table table);
/* "pairs", "removed", "sources", "skipped", "thresholds", "answers", "histogram". */
const char *bm_table_kind(bm_table table);
/* The table with this header line, of this or an older version; BM_N_TABLES: not one of ours. */
bm_table bm_table_of_header(bm_str line);
/* Write the header and a newline: all columns; begin_old: only those that files of every version
 * have. */
bm_status bm_table_begin(bm_buf *out, bm_table table, bm_error *err);
bm_status bm_table_begin_old(bm_buf *out, bm_table table, bm_error *err);

#define BM_JACCARD_UNKNOWN UINT32_MAX
#define BM_ALL_DECIMALS    20u /* decimals of similarities written as exact doubles */
/* Read a similarity with 6 or 20 decimals, from 0 to 1, rounded to millionths; an empty field is
 * unknown. Returns false if the field is not one of ours. */
bool bm_table_jaccard(bm_str field, uint32_t *millionths);
bool bm_table_similarity(bm_str field, double *out); /* like bm_table_jaccard, as a double; unknown
                                                      * is NAN */

/* --- rows, each with its newline --- */

/* Two documents, or a query and its target. */
typedef struct bm_pair_line {
    bm_str id_a, id_b;
    bm_measure measure;
    double similarity; /* NaN: not known */
    bool all_digits;   /* write `similarity` with 20 decimals instead of six */
    bool has_edit;
    uint64_t edit; /* UINT64_MAX: not known */
    bool of_parts; /* the ids are of parts of documents, which begin at: */
    uint64_t from_a, from_b;
} bm_pair_line;
bm_status bm_pair_line_add(bm_buf *out, const bm_pair_line *line, bm_error *err);
/* Write the line as an object of JSON Lines. */
bm_status bm_pair_line_add_json(bm_buf *out, const bm_pair_line *line, bm_error *err);

bm_status bm_answer_line_add_json(bm_buf *out, const bm_pair_line *line, bm_error *err);

typedef struct bm_removed_line {
    bm_str id, kept;
    double jaccard; /* similarity of the two documents; NaN: not known */
    const char *reason;
    const char *file;
    uint64_t line;   /* 0: not known */
    uint64_t lost;   /* shingles that the kept document lacks; UINT64_MAX: not known */
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

/* A range that is cut out of a document, and the kept unit or item that it repeats. */
typedef struct bm_cut_line {
    bm_str id, kept;
    uint64_t from, to;  /* byte range of the text before repair, half open */
    uint64_t kept_from; /* UINT64_MAX: field left empty */
    double jaccard;     /* NaN: field left empty */
    const char *reason;
    const char *file;
    uint64_t line;
} bm_cut_line;
bm_status bm_cut_line_add(bm_buf *out, const bm_cut_line *line, bm_error *err);

typedef struct bm_source_line {
    const char *file;
    uint64_t first_row, documents, skipped, removed;
    bool of_share;        /* the row is of a share, so it has another column */
    uint64_t from_record; /* records of the file before the share's first */
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
/* and, if known documents belong to the group (they are not members): ,"known":[ID,...] */

#define BM_GROUP_NUMBER  "group"
#define BM_GROUP_KEPT    "kept"
#define BM_GROUP_SIZE    "size"
#define BM_GROUP_MEMBERS "members"
#define BM_GROUP_KNOWN   "known" /* only if the kept document is a known document */

/* Begin a group. `json` is {0} before the first group and reused; add members with
 * bm_json_string. */
/* `kept` without data: no member of the group is kept. */
void bm_group_line_begin(bm_json *json, uint64_t group, bm_str kept, uint64_t size);
/* End the members. Add the known documents in the same way, the kept one first. */
void bm_group_line_known(bm_json *json);
/* Append the whole row with its newline to `out`. */
bm_status bm_group_line_end(bm_json *json, bm_buf *out, bm_error *err);
