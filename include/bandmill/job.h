/* SPDX-License-Identifier: Apache-2.0 */
/* job.h -- whole jobs from files to files, as the command line runs them.
 *
 * Fill the options of a job (its _init sets every default of the documentation), call the job, read
 * the summary. A job owns its threads and devices, frees everything at its end, and leaves nothing
 * at its target when it fails. A sign or dedup job that was cancelled, or ended by BM_ERR_INPUT,
 * BM_ERR_IO, BM_ERR_NOMEM or BM_ERR_DEVICE after a checkpoint, leaves the checkpoint in
 * OUTPUT.partial, for a job with `resume`. If that directory has documents saved by a checkpoint,
 * another job for the same output is BM_ERR_USAGE or, with `force`, removes them. If the output
 * exists already, a job with `resume` returns BM_OK and the summary of that output. If
 * OUTPUT.partial has a file that its marker file does not list, the job is BM_ERR_USAGE and leaves
 * the file there.
 *
 * Threads: several jobs may run at once in different threads. The threads that a job starts block
 * the signals of the process (SIGTERM, SIGCHLD and the like), so that the program's own threads
 * receive them. */
#ifndef BANDMILL_JOB_H
#define BANDMILL_JOB_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* --- options: a struct for each job, made of the parts in types.h --- */

/* Options of a job that makes a directory of signatures from documents. */
typedef struct bm_sign_options {
    size_t struct_size;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands; /* plan of the band keys; if bands and rows are given, the manifest
                            * records it too */
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output;
    bool resume;    /* continue an interrupted job of the same options */
    bool band_keys; /* write band_keys.npy too */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h): without BM_FIELD_SCHEME, documents with
                          * weights get the scheme cws instead of the default affine32 */
    /* The inputs are divided at records into n_shards contiguous shares, numbered from 1, and the
     * job reads share `shard`; both 0: all. The division depends only on the names and sizes of the
     * files, and the shares, one after another, hold the rows of the whole (docs/cli.md). For files
     * only, without weights, and without numbers for repeated ids. */
    uint32_t shard, n_shards;
} bm_sign_options;

/* Options of a job that groups near-duplicates and writes the documents kept. The inputs are
 * documents, or directories that a sign job wrote. */
typedef struct bm_dedup_options {
    size_t struct_size;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;
    bm_verify verify;
    bm_cluster cluster;
    bm_keep keep;
    bm_records kept;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output;
    bool resume;
    bool write_pairs; /* write pairs.tsv too */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h) */
    const char *sources; /* directory below which inputs of signatures may be now; NULL: none */
    /* Known documents: one index, or one directory that a sign job wrote, or any number of inputs
     * with documents. A document that reaches the threshold with one of them is removed; with
     * components, so is every document joined to a removed one. An index or directory of signatures
     * prescribes how documents are cut and signed, and an index prescribes the plan: fields of
     * `text`, `sketch` and `bands` that are set and contradict them (as in bm_index_add_options)
     * are BM_ERR_USAGE. Known documents from signatures are compared exactly if all inputs of the
     * directory are found unchanged (see `sources`): their sets are then made again. If not, they
     * are compared by signature or, if `verify` requires exact comparison, the call is
     * BM_ERR_FORMAT. Known documents are read before the documents of `input`, are cut and signed
     * in the same way, and are never written. Standard input is BM_ERR_USAGE. NULL: none. */
    const char *const *against;
    size_t n_against;
    /* Text and id fields of the known documents; NULL: as in `input`. The format of each file in
     * `against` follows from its name. */
    const char *const *against_text_fields;
    size_t n_against_text_fields;
    const char *against_id_field;
    double against_threshold; /* with an index; 0: the threshold of the index. The bands are always
                               * the index's own */
    /* A list of rules that does more than `keep`: "max:score,longest". Rules are first, last,
     * longest, shortest, max:FIELD, min:FIELD, order:FIELD=A|B|C, sources:A|B|C and none. The first
     * rule that decides is used; if none does, the first document in the input is kept
     * (docs/pairing.md). With a list, `keep` must be FIRST. NULL: `keep`. */
    const char *keep_rules;
    /* With `verify` CONTAINED: a document is removed if a kept one holds this share of its distinct
     * shingles. More than 0 and at most 1, with up to 15 decimals; 0: 1. `cluster` must be
     * COMPONENTS then. `keep` FIRST without `keep_rules` then means: most distinct shingles, then
     * longest, then first. */
    double containment;
    /* A component of more documents than this, counting copies, is divided into stars, which may
     * still be larger; documents that are in no star are kept. At least 2; with STAR: BM_ERR_USAGE.
     * 0: no component is divided. */
    uint64_t max_group_size;
    /* The removed records are written byte for byte, in files named like the kept files: `removed`
     * with the input's ending, or removed/PATH (docs/formats.md). Only for records: BM_ERR_USAGE
     * for formats FILES and HASHES and for a table in memory. The inputs of signatures are read
     * again, and must be unchanged. BM_RECORDS_NOT_WRITTEN, the default: none is written. */
    bm_records removed;
    /* Without output.path the kept records go here, in input order, as one stream (one header, one
     * array), once groups are known; nothing else is written except output.report. `kept` =
     * BM_RECORDS_SAME means no compression. If `write` returns non-zero, the job stops with
     * BM_ERR_PIPE. With `resume`, `write_pairs`, `removed`, `kept` = BM_RECORDS_NOT_WRITTEN, or
     * several tables: BM_ERR_USAGE. */
    bm_write_fn write;
    void *write_ctx;
    /* ALL: groups are made of every pair at the threshold, found exactly, without bands and
     * signatures. BM_ERR_USAGE with `bands`, another `verify` than EXACT, or `against`. */
    bm_candidate_rule candidates;
    /* LINE, PARAGRAPH, SPAN: compare these parts of texts instead of documents. Of equal parts the
     * first `keep_count` (0: 1) stay, and the others are cut out of the kept records. Units of
     * fewer than `min_words` (0: 8) words stay. A document that has only White_Space left is
     * removed (docs/units.md). Kept records can only be written for text files, and for files of
     * tables with one text field. `threshold` is 1 if it is not given; below 1, near lines and
     * paragraphs are found as documents are. With `keep_count`, `keep` must be FIRST. BM_ERR_USAGE:
     * see --unit in docs/cli.md. */
    uint64_t keep_count;
    bm_unit unit;
    uint32_t min_words;
    /* With SPAN: K, 1 to BM_SHINGLE_K_MAX units of the text's shingles (words, characters or
     * bytes); 0: 50. The job cuts the longest stretches in which every K units have occurred
     * `keep_count` times before. There are no groups; `keep` must be FIRST. BM_ERR_USAGE with stop
     * word shingles. */
    uint32_t span_k;
    /* With a unit: units are compared only among documents that have the same value in this field
     * or column: the same decoded string, or a number spelled the same. If the field is missing,
     * null, a boolean, an array or an object, no unit of the document is compared. BM_ERR_INPUT: no
     * document has the field. NULL: all documents are compared. */
    const char *within;
    /* Decimals of similarities in removed.tsv and pairs.tsv: 6 or 20 (20 give back the exact
     * double); 0: 6. */
    uint32_t decimals;
} bm_dedup_options;

/* Options of a job that reads the same inputs as dedup but writes pairs. */
typedef struct bm_pairs_options {
    size_t struct_size;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;
    bm_candidate_rule candidates;
    bm_verify verify;
    bm_identical identical;
    uint64_t sample; /* compare only this many documents, drawn by the seed; 0: all */
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `path`: a file; NULL: `write` */
    /* Without output.path rows go here. If `write` returns non-zero, the job stops with
     * BM_ERR_PIPE. */
    bm_write_fn write;
    void *write_ctx;
    bool json;                 /* rows for `write` as JSON Lines */
    const char *histogram;     /* file; NULL: none */
    const char *histogram_svg; /* file, the same as a picture; NULL: none */
    bm_callbacks callbacks;
    uint64_t set_fields; /* this and `sources`: as in bm_dedup_options */
    const char *sources;
    /* BM_MEASURE_CONTAINMENT compares every pair exactly, as with `candidates` ALL
     * (BM_CANDIDATES_LSH with BM_FIELD_CANDIDATES in `set_fields` is BM_ERR_USAGE). The documents
     * must have no weights. In a row the smaller document comes first, of equally large ones the
     * earlier. Rows are in the input order of their first documents, then of their second. */
    bm_measure measure;
    /* A fourth column, `edit`: the Levenshtein distance of the two texts as they were read, in code
     * points. The inputs are read once more; the arrays of a table in memory are kept for that.
     * With signatures, their inputs must still be there. The column is empty for pairs that would
     * take more than 10^10 cells; these are counted (bm_result_counts.edit_unknown). */
    bool edit;
    uint32_t decimals; /* as in bm_dedup_options; rows of JSON Lines always have all digits */
} bm_pairs_options;

/* Options of a job that writes the kept documents of a directory that a dedup job wrote. */
typedef struct bm_filter_options {
    size_t struct_size;
    const char *path; /* the directory */
    /* The present paths of the directory's inputs, in the order of its report; none: the paths in
     * the report. The report also has the settings with which they are read. */
    const char *const *paths; /* borrowed; "-" is standard input */
    size_t n_paths;
    const char *files_from; /* a list of paths, one a line ("-": stdin); NULL: none */
    bool files_from_nul;    /* the list is NUL-separated */
    bm_records kept;        /* not BM_RECORDS_NOT_WRITTEN */
    bm_resource_options resources;
    bm_output_options output;
    bm_callbacks callbacks;
    const char *const *include, *const *exclude; /* as in bm_input_options, for `paths` */
    uint32_t n_include, n_exclude;
    const char *sources; /* directory below which the inputs of the report may be now; NULL: none */
    bool annotate;       /* write every document, with its group; only jsonl, json, tsv and csv */
} bm_filter_options;

/* Every default of the documentation. */
BM_API void bm_sign_options_init_sized(bm_sign_options *options, size_t struct_size);
BM_API void bm_dedup_options_init_sized(bm_dedup_options *options, size_t struct_size);
BM_API void bm_pairs_options_init_sized(bm_pairs_options *options, size_t struct_size);
BM_API void bm_filter_options_init_sized(bm_filter_options *options, size_t struct_size);

static inline void bm_sign_options_init(bm_sign_options *options)
{
    bm_sign_options_init_sized(options, sizeof *options);
}
static inline void bm_dedup_options_init(bm_dedup_options *options)
{
    bm_dedup_options_init_sized(options, sizeof *options);
}
static inline void bm_pairs_options_init(bm_pairs_options *options)
{
    bm_pairs_options_init_sized(options, sizeof *options);
}
static inline void bm_filter_options_init(bm_filter_options *options)
{
    bm_filter_options_init_sized(options, sizeof *options);
}

/* --- results of a job --- */

/* The documents of a job that changed an index. */
typedef struct bm_index_counts {
    uint64_t added;       /* including documents that are numbered or replaced another */
    uint64_t replaced;    /* removed, because an added document has the same id */
    uint64_t numbered;    /* added under an id with a number */
    uint64_t passed_over; /* not added: their ids are in the index */
    uint64_t matched;     /* not added: they reach the threshold with another document */
    uint64_t removed, not_there;
    uint64_t documents; /* in the index now */
    uint64_t commits;
} bm_index_counts;

#define BM_COUNT_UNKNOWN 0xFFFFFFFFFFFFFFFFull

/* counts of a job's results */
typedef struct bm_result_counts {
    uint64_t pairs;             /* rows of pairs, including pairs of identical documents */
    uint64_t identical_pairs;   /* pairs of identical documents only */
    uint64_t removed_identical; /* part of bm_counts.removed, as are `chained` and `known`; the rest
                                 * are near-duplicates */
    uint64_t known;             /* part of bm_counts.removed, with bm_dedup_options.against */
    bm_index_counts index;
    uint64_t weightless; /* documents with shingles, all of weight 0 */
    /* Of the removed documents: bytes of text, as read; distinct shingles, summed; and how many of
     * these shingles the document kept instead lacks. BM_COUNT_UNKNOWN: not known. */
    uint64_t removed_bytes, removed_shingles, lost_shingles;
    uint64_t edit_unknown; /* pairs without an edit distance, which needs too many cells */
    uint64_t divided;      /* components larger than bm_dedup_options.max_group_size */
} bm_result_counts;

/* Entries left out while directories were searched for files; hidden names are not counted. */
typedef struct bm_left_out {
    uint64_t directory_links; /* links to directories, which are not followed */
    uint64_t broken_links;    /* links to nothing */
    uint64_t not_regular;     /* pipes, sockets, devices */
} bm_left_out;

/* counts of overlap (overlap.h) */
typedef struct bm_overlap_counts {
    /* items of the test set; how many of these are not searched, because they have too few words,
     * or no words */
    uint64_t items, too_short, empty;
    uint64_t shingles; /* distinct shingles in all items together */
    uint64_t found;    /* items that a document holds */
    uint64_t rows;     /* in overlap.tsv */
} bm_overlap_counts;

/* Counts of bm_dedup_options.unit, and of bm_overlap_options.cut. */
typedef struct bm_unit_counts {
    uint64_t units;     /* compared; 0 for overlap */
    uint64_t cuts;      /* rows of cuts.tsv */
    uint64_t cut_bytes; /* bytes of text */
} bm_unit_counts;

/* Counts are numbers of documents, unless their names name another unit. The library owns this
 * struct. Read it through the pointer: later versions may add fields at the end. */
typedef struct bm_counts {
    uint64_t records, documents, empty, short_docs, skipped, invalid_utf8, hidden_files;
    uint64_t shingles; /* distinct, summed over documents */
    uint64_t identical, candidates, verified, edges, groups, removed, chained, kept, not_compared;
    uint64_t largest_group;
    uint64_t sampled; /* of `documents`, with bm_pairs_options.sample; else 0 */
    bm_result_counts results;
    uint64_t unreadable;    /* not in UTF-8: without shingles, and kept */
    uint64_t other_records; /* records of WET files that are not documents, by their type */
    bm_left_out left_out;
    /* `identical` counts all documents with the shingles of an earlier one in the same order.
     * `equal` counts the documents among them with other bytes, or possibly other bytes, than the
     * first such document. removed_equal counts the removed documents that differ in this way from
     * the kept one; results.removed_identical does not count them. */
    uint64_t equal, removed_equal;
    bm_overlap_counts overlap;
    bm_unit_counts unit;
} bm_counts;

typedef struct bm_summary bm_summary; /* plain memory: a forked child may read and free its copy */
/* If the summary is NULL, these return NULL or 0. */
BM_API const bm_counts *bm_summary_counts(const bm_summary *summary);
/* The plan used; bands 0 if the job used none. */
BM_API const bm_band_plan *bm_summary_plan(const bm_summary *summary);
/* How the documents were signed. If the summary is NULL: BM_SCHEME_AFFINE32. */
BM_API bm_scheme bm_summary_scheme(const bm_summary *summary);
/* The whole report as one JSON object ending in a newline; valid until bm_summary_free. */
BM_API const char *bm_summary_json(const bm_summary *summary);
/* The device that signed, for people. */
BM_API const char *bm_summary_device(const bm_summary *summary);
BM_API double bm_summary_seconds(const bm_summary *summary);
BM_API void bm_summary_free(bm_summary *summary); /* NULL is fine */

/* --- jobs --- */

/* Each job returns BM_OK and a summary (the caller frees it), or an error, with nothing left at the
 * target. BM_ERR_USAGE, BM_ERR_INPUT, BM_ERR_IO, BM_ERR_DEVICE, BM_ERR_NOMEM, BM_ERR_FORMAT,
 * BM_ERR_LOCKED, BM_ERR_CANCELLED, BM_ERR_PIPE. */
BM_API bm_status bm_job_sign(const bm_sign_options *options, bm_summary **out, bm_error *err);
BM_API bm_status bm_job_dedup(const bm_dedup_options *options, bm_summary **out, bm_error *err);
BM_API bm_status bm_job_pairs(const bm_pairs_options *options, bm_summary **out, bm_error *err);
BM_API bm_status bm_job_filter(const bm_filter_options *options, bm_summary **out, bm_error *err);

/* The contents of a file or directory of ours as one JSON object; *json is the caller's, freed with
 * bm_string_free. */
BM_API bm_status bm_inspect(const char *path, char **json, bm_error *err);
/* bm_inspect with a limit: `memory` bytes, which include the text; 0: half of the free memory, the
 * limit of bm_inspect. BM_ERR_NOMEM: the text does not fit, and the message names an amount that
 * suffices. */
BM_API bm_status bm_inspect_within(const char *path, uint64_t memory, char **json, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
