/* SPDX-License-Identifier: Apache-2.0 */
/* job.h -- whole jobs from files to files, as the command line runs them.
 *
 * Fill the options of a job (its _init sets every default of the documentation), call the job, read
 * the summary. A job owns its threads and devices, frees everything at its end, and leaves nothing
 * at its target when it fails. If a sign or dedup job, after a checkpoint, is cancelled or ends
 * with BM_ERR_INPUT, BM_ERR_IO, BM_ERR_NOMEM or BM_ERR_DEVICE, the checkpoint remains in
 * OUTPUT.partial, for a job with `resume`. If OUTPUT.partial has documents of a checkpoint, a job
 * for the same output without `resume` is BM_ERR_USAGE or, with `force`, removes them. If the
 * output exists already, a job with `resume` returns BM_OK and the summary of that output. If
 * OUTPUT.partial has a file that its marker file does not list, the job is BM_ERR_USAGE and leaves
 * the file there.
 *
 * Threads: several jobs may run at once in different threads. The threads that a job starts block
 * signals to the process (SIGTERM, SIGCHLD and the like), so that the program's own threads receive
 * these signals. */
#ifndef BANDMILL_JOB_H
#define BANDMILL_JOB_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* --- options: a struct for each job, composed of the parts in types.h --- */

/* Options of a job that makes a directory of signatures from documents. */
typedef struct bm_sign_options {
    size_t struct_size;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands; /* plan of the band keys; if bands and rows are given, the manifest
                            * records the plan */
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output;
    bool resume;    /* continue an interrupted job that had the same options */
    bool band_keys; /* also write band_keys.npy */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h): if BM_FIELD_SCHEME is not set, documents with
                          * weights are signed by the scheme cws instead of the default affine32 */
    /* The inputs are divided, between records, into n_shards contiguous shares, numbered from 1.
     * The job reads share `shard`. Both 0: the job reads everything. The division depends only on
     * the names and sizes of the files. The rows of all shares, one share after another, are the
     * rows of the whole (docs/cli.md). Shares need inputs that are files. They cannot be combined
     * with weights, or with numbers for repeated ids. */
    uint32_t shard, n_shards;
} bm_sign_options;

/* Options of a job that groups near-duplicates and writes the kept documents. The inputs are
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
    bool write_pairs; /* also write pairs.tsv */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h) */
    const char *sources; /* directory below which the inputs of signatures may now be found; NULL:
                            none */
    /* Known documents: one index, or one directory that a sign job wrote, or any number of inputs
     * with documents. NULL: none. If a document reaches the threshold with a known document, it is
     * removed. With components, every document that is joined to a removed one is removed too.
     *
     * An index or directory of signatures prescribes how documents are cut and signed. An index
     * also prescribes the plan. If a field of `text`, `sketch` or `bands` is set (as in
     * bm_index_add_options) and contradicts this, the call is BM_ERR_USAGE.
     *
     * Known documents from signatures are compared exactly if all inputs of the directory are found
     * unchanged (see `sources`), because their sets can then be made again. If not, they are
     * compared by signature or, if `verify` requires exact comparison, the call is BM_ERR_FORMAT.
     *
     * Known documents are read before the documents of `input`, and are cut and signed in the same
     * way. They are never written. Standard input is BM_ERR_USAGE. */
    const char *const *against;
    size_t n_against;
    /* Text and id fields of the known documents; NULL: as in `input`. The name of each file in
     * `against` determines its format. */
    const char *const *against_text_fields;
    size_t n_against_text_fields;
    const char *against_id_field;
    double against_threshold; /* with an index; 0: the threshold of the index. The bands are always
                               * the index's own */
    /* A list of rules, which can do more than `keep`, such as "max:score,longest". Rules are first,
     * last, longest, shortest, max:FIELD, min:FIELD, order:FIELD=A|B|C, sources:A|B|C and none. The
     * first rule that decides is used. If no rule decides, the first document in the input is kept
     * (docs/pairing.md). With a list, `keep` must be FIRST. NULL: `keep` is used. */
    const char *keep_rules;
    /* With `verify` CONTAINED: a document is removed if a kept document holds this share of its
     * distinct shingles. The share is more than 0 and at most 1, with up to 15 decimals; 0: 1.
     * `cluster` must be COMPONENTS. `keep` FIRST without `keep_rules` then prefers the document
     * with most distinct shingles, then the longest, then the first. */
    double containment;
    /* If a component has more documents than this, counting copies, it is divided into stars, which
     * may still be larger. Documents that are in no star are kept. The least value is 2.
     * BM_ERR_USAGE with STAR. 0: no component is divided. */
    uint64_t max_group_size;
    /* How the removed records are written. They are written byte for byte, into files that are
     * named like the kept files: `removed` with the input's ending, or removed/PATH
     * (docs/formats.md). BM_ERR_USAGE: the formats FILES and HASHES, or a table in memory, because
     * these have no records. The inputs of signatures are read again, and must be unchanged.
     * BM_RECORDS_NOT_WRITTEN, the default: none are written. */
    bm_records removed;
    /* If output.path is NULL, the kept records go here in input order, as one stream (one header,
     * one array), once groups are known. Nothing else is written except output.report. `kept` =
     * BM_RECORDS_SAME then means no compression. If `write` returns non-zero, the job stops with
     * BM_ERR_PIPE. BM_ERR_USAGE: `resume`, `write_pairs`, `removed`, `kept` =
     * BM_RECORDS_NOT_WRITTEN, or several tables. */
    bm_write_fn write;
    void *write_ctx;
    /* ALL: groups are made from all pairs that reach the threshold. The pairs are found exactly,
     * without bands and signatures. BM_ERR_USAGE with `bands`, with another `verify` than EXACT, or
     * with `against`. */
    bm_candidate_rule candidates;
    /* LINE, PARAGRAPH, SPAN: compare these parts of texts instead of documents. Of equal parts the
     * first `keep_count` (0: 1) stay, and the rest are cut out of the kept records. Units of fewer
     * than `min_words` (0: 8) words always stay. If a document has only White_Space left, it is
     * removed (docs/units.md). Kept records can only be written for text files, and for files of
     * tables with one text field. `threshold` is 1 if it is not given. Below 1, lines and
     * paragraphs that are nearly equal are found too, in the same way as documents. With
     * `keep_count`, `keep` must be FIRST. BM_ERR_USAGE: see --unit in docs/cli.md. */
    uint64_t keep_count;
    bm_unit unit;
    uint32_t min_words;
    /* With SPAN: the number K, 1 to BM_SHINGLE_K_MAX; 0: 50. The job cuts the longest stretches in
     * which every run of K units has occurred `keep_count` times before. The units are those of the
     * text's shingles: words, characters or bytes. There are no groups, and `keep` must be FIRST.
     * BM_ERR_USAGE with stop word shingles. */
    uint32_t span_k;
    /* With a unit: units are compared only among documents that have the same value in this field
     * or column. Strings are the same if their decoded text is; numbers, if their spelling is. If
     * the field is missing, null, a boolean, an array or an object, no unit of the document is
     * compared. BM_ERR_INPUT: no document has the field. NULL: all documents are compared. */
    const char *within;
    /* Decimals of similarities in removed.tsv and pairs.tsv: 6 or 20; 0: 6. With 20 decimals, the
     * exact double can be read back. */
    uint32_t decimals;
} bm_dedup_options;

/* Options of a job that reads the same inputs as dedup, but writes pairs. */
typedef struct bm_pairs_options {
    size_t struct_size;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;
    bm_candidate_rule candidates;
    bm_verify verify;
    bm_identical identical;
    uint64_t sample; /* compare only this many documents, which are drawn by the seed; 0: all */
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `path`: a file; NULL: rows go to `write` */
    /* If output.path is NULL, rows go here. If `write` returns non-zero, the job stops with
     * BM_ERR_PIPE. */
    bm_write_fn write;
    void *write_ctx;
    bool json;                 /* rows for `write` are JSON Lines */
    const char *histogram;     /* file for a histogram of similarities; NULL: none */
    const char *histogram_svg; /* file for the histogram as a picture; NULL: none */
    bm_callbacks callbacks;
    uint64_t set_fields; /* this field and `sources` are as in bm_dedup_options */
    const char *sources;
    /* BM_MEASURE_CONTAINMENT compares every pair exactly, as with `candidates` ALL
     * (BM_CANDIDATES_LSH with BM_FIELD_CANDIDATES in `set_fields` is BM_ERR_USAGE). The documents
     * must have no weights. In a row the smaller document comes first; of two equally large
     * documents, the earlier. Rows are in the input order of their first documents, then of their
     * second documents. */
    bm_measure measure;
    /* true: rows have a fourth column, `edit`: the Levenshtein distance, in code points, of the two
     * texts as they were read. For this, the inputs are read a second time. The library keeps the
     * arrays of a `stream` in memory for the second reading. If the inputs are signatures, the
     * files that were signed must still be there. If the product of the numbers of code points
     * exceeds 10^10, the column is empty, and bm_result_counts.edit_unknown counts the pair. */
    bool edit;
    uint32_t decimals; /* as in bm_dedup_options; rows of JSON Lines always have all digits */
} bm_pairs_options;

/* Options of a job that writes the kept documents of a directory that a dedup job wrote. */
typedef struct bm_filter_options {
    size_t struct_size;
    const char *path; /* the directory */
    /* The present paths of the directory's inputs, in the order of its report. If there are none,
     * the paths in the report are used. The inputs are read with the settings in the report. */
    const char *const *paths; /* borrowed; "-" is standard input */
    size_t n_paths;
    const char *files_from; /* file with a list of paths, one on each line ("-": stdin); NULL:
                               none */
    bool files_from_nul;    /* the paths in the list are separated by NUL */
    bm_records kept;        /* must not be BM_RECORDS_NOT_WRITTEN */
    bm_resource_options resources;
    bm_output_options output;
    bm_callbacks callbacks;
    const char *const *include, *const *exclude; /* as in bm_input_options, for `paths` */
    uint32_t n_include, n_exclude;
    const char *sources; /* directory below which the inputs of the report may now be found; NULL:
                            none */
    bool annotate;       /* write every document, with its group; only for jsonl, json, tsv and
                            csv */
} bm_filter_options;

/* Set every default of the documentation. */
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
    uint64_t added;       /* includes documents that got a numbered id or replaced another
                             document */
    uint64_t replaced;    /* documents that were removed because an added document has the same
                             id */
    uint64_t numbered;    /* documents that were added under a numbered id */
    uint64_t passed_over; /* documents that were not added, because their ids are in the index */
    uint64_t matched;     /* documents that were not added, because they reach the threshold with
                             another document */
    uint64_t removed, not_there;
    uint64_t documents; /* documents in the index now */
    uint64_t commits;
} bm_index_counts;

#define BM_COUNT_UNKNOWN 0xFFFFFFFFFFFFFFFFull

/* counts of a job's results */
typedef struct bm_result_counts {
    uint64_t pairs;             /* rows of pairs, including pairs of identical documents */
    uint64_t identical_pairs;   /* pairs of identical documents only */
    uint64_t removed_identical; /* removed documents with the text of their kept document. This,
                                 * `known`, bm_counts.removed_equal and bm_counts.chained are parts
                                 * of bm_counts.removed */
    uint64_t known;             /* documents that were removed because of
                                   bm_dedup_options.against */
    bm_index_counts index;
    uint64_t weightless; /* documents that have shingles, but all of weight 0 */
    /* About the removed documents: the bytes of their texts, as read; the sum of their numbers of
     * distinct shingles; and how many of these shingles are not in the kept document.
     * BM_COUNT_UNKNOWN: not known. */
    uint64_t removed_bytes, removed_shingles, lost_shingles;
    uint64_t edit_unknown; /* pairs without an edit distance: their texts are too long for it */
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
    /* items: number of items of the test set; too_short, empty: how many of these are not searched,
     * because they have too few words, or no words */
    uint64_t items, too_short, empty;
    uint64_t shingles; /* distinct shingles in all items together */
    uint64_t found;    /* items that a document holds */
    uint64_t rows;     /* rows in overlap.tsv */
} bm_overlap_counts;

/* Counts of bm_dedup_options.unit, and of bm_overlap_options.cut. */
typedef struct bm_unit_counts {
    uint64_t units;     /* units that were compared; 0 for overlap */
    uint64_t cuts;      /* rows of cuts.tsv */
    uint64_t cut_bytes; /* bytes of text that were cut */
} bm_unit_counts;

/* Counts are numbers of documents, unless their names say otherwise. The library owns this struct.
 * Read it through the pointer: later versions may add fields at the end. */
typedef struct bm_counts {
    uint64_t records, documents, empty, short_docs, skipped, invalid_utf8, hidden_files;
    uint64_t shingles; /* sum of the numbers of distinct shingles of all documents */
    uint64_t identical, candidates, verified, edges, groups, removed, chained, kept, not_compared;
    uint64_t largest_group;
    uint64_t sampled; /* with bm_pairs_options.sample: how many of `documents` were drawn; else 0 */
    bm_result_counts results;
    uint64_t unreadable;    /* documents that are not in UTF-8; they have no shingles, and are
                               kept */
    uint64_t other_records; /* records of WET files that are not documents, because their type is
                               another */
    bm_left_out left_out;
    /* A document counts as `identical` if it has the shingles of an earlier document, in the same
     * order. It also counts as `equal` if its bytes differ, or may differ, from those of the first
     * such document. removed_equal counts the removed documents that differ in this way from their
     * kept document; results.removed_identical does not count them. */
    uint64_t equal, removed_equal;
    bm_overlap_counts overlap;
    bm_unit_counts unit;
} bm_counts;

typedef struct bm_summary bm_summary; /* plain memory, so a forked child may read and free its
                                         copy */
/* If the summary is NULL, the functions below return NULL or 0. */
BM_API const bm_counts *bm_summary_counts(const bm_summary *summary);
/* The plan that the job used. Its `bands` is 0 if the job used none. */
BM_API const bm_band_plan *bm_summary_plan(const bm_summary *summary);
/* How the documents were signed. If the summary is NULL: BM_SCHEME_AFFINE32. */
BM_API bm_scheme bm_summary_scheme(const bm_summary *summary);
/* The whole report as one JSON object that ends with a newline. It is valid until
 * bm_summary_free. */
BM_API const char *bm_summary_json(const bm_summary *summary);
/* The name of the device that signed, for people. */
BM_API const char *bm_summary_device(const bm_summary *summary);
BM_API double bm_summary_seconds(const bm_summary *summary);
BM_API void bm_summary_free(bm_summary *summary); /* NULL is fine */

/* --- jobs --- */

/* Each job returns BM_OK and a summary, which the caller frees, or an error and nothing at the
 * target. BM_ERR_USAGE, BM_ERR_INPUT, BM_ERR_IO, BM_ERR_DEVICE, BM_ERR_NOMEM, BM_ERR_FORMAT,
 * BM_ERR_LOCKED, BM_ERR_CANCELLED, BM_ERR_PIPE. */
BM_API bm_status bm_job_sign(const bm_sign_options *options, bm_summary **out, bm_error *err);
BM_API bm_status bm_job_dedup(const bm_dedup_options *options, bm_summary **out, bm_error *err);
BM_API bm_status bm_job_pairs(const bm_pairs_options *options, bm_summary **out, bm_error *err);
BM_API bm_status bm_job_filter(const bm_filter_options *options, bm_summary **out, bm_error *err);

/* Return the contents of a file or directory that a job wrote as one JSON object. The caller frees
 * *json with bm_string_free. */
BM_API bm_status bm_inspect(const char *path, char **json, bm_error *err);
/* Like bm_inspect, but with a limit of `memory` bytes, which include the text. 0: half of the free
 * memory, which is also the limit of bm_inspect. BM_ERR_NOMEM: the text does not fit. The message
 * names an amount that suffices. */
BM_API bm_status bm_inspect_within(const char *path, uint64_t memory, char **json, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
