/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.h -- finds the items of a test set that occur in training text, with their documents and
 * positions.
 *
 * Items are documents of their own, such as the questions of a benchmark. An item is compared as
 * the set of its distinct shingles. A document *holds* an item if it has at least the share
 * `threshold` of these shingles. The comparison is exact: there are no signatures, and no pair is
 * missed.
 *
 * Example
 *
 *     const char *const train[] = {"train.jsonl"}, *const test[] = {"test.jsonl"};
 *     bm_overlap_options options;
 *     bm_summary *summary = NULL;
 *     bm_error err = {0};
 *     bm_overlap_options_init(&options);
 *     options.input.paths = train;
 *     options.input.n_paths = 1;
 *     options.against = test;
 *     options.n_against = 1;
 *     options.output.path = "clean";
 *     if (bm_job_overlap(&options, &summary, &err) != BM_OK)
 *         fprintf(stderr, "%s\n", err.message);
 *     bm_summary_free(summary);
 *
 * The output is a directory (docs/formats.md): overlap.tsv has a row for each item that a document
 * holds, items.tsv has a row for each item, kept… has the documents that hold no item, and
 * removed.tsv lists the documents that hold one. With `cut` the latter are kept too, and cuts.tsv
 * lists the stretches that were cut out of them. In bm_counts, `edges` is the number of rows of
 * overlap.tsv. */
#ifndef BANDMILL_OVERLAP_H
#define BANDMILL_OVERLAP_H

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define BM_OVERLAP_SHINGLE_K     13u
#define BM_OVERLAP_MIN_WORDS     8u
#define BM_OVERLAP_MIN_WORDS_MAX 1024u

typedef struct bm_overlap_options {
    size_t struct_size;
    bm_input_options input;
    /* Words, characters or bytes; BM_SHINGLE_WORD of 13 by default. BM_ERR_USAGE: shingles of stop
     * words, or a field after `shingle_k` with another value than its default. */
    bm_text_options text;
    /* The test sets with which the documents of `input` are compared: files or directories. They
     * are read first, and are never written. The name of each file determines its format, so
     * formats may differ. An item and a document may have the same id. Standard input is
     * BM_ERR_USAGE. */
    const char *const *against;
    size_t n_against;
    /* Text and id fields of the items in `against`; NULL: as in `input`. The name of each file in
     * `against` determines its format. */
    const char *const *against_text_fields;
    size_t n_against_text_fields;
    const char *against_id_field;
    double threshold; /* the share of an item's shingles that a document must have; more than 0, at
                         most 1; 0.5 by default */
    /* Items of fewer words are not searched. If an item has fewer units than a shingle, it is
     * searched as one run of all its units. 1 to BM_OVERLAP_MIN_WORDS_MAX. */
    uint32_t min_words;
    /* If a shingle is in more documents of `input` than this number, it does not count: neither
     * among the shingles of an item, nor among those that a document has. `input` is then read
     * twice. 0: all shingles count. */
    uint64_t stop_shingles;
    /* Keep the documents that hold items, but cut the stretches of these items out of them. If the
     * cuts leave only White_Space, the document is removed. Kept records can only be written for
     * text files, and for files of tables with one text field. */
    bool cut;
    bm_records kept;
    bm_device_options device; /* only `cpu` is used: nothing runs on a device */
    bm_resource_options resources;
    bm_output_options output;
    /* If output.path is NULL, the kept records go here, as in bm_dedup_options. */
    bm_write_fn write;
    void *write_ctx;
    bool resume;
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h) */
    /* The items as a table in memory, instead of `against`, and the ids of its rows if it has no
     * ids. They are like `stream` and `row_ids` of bm_input_options. */
    struct ArrowArrayStream *against_stream;
    uint64_t against_row_ids;
} bm_overlap_options;

/* Set every default of the documentation. */
BM_API void bm_overlap_options_init_sized(bm_overlap_options *options, size_t struct_size);
static inline void bm_overlap_options_init(bm_overlap_options *options)
{
    bm_overlap_options_init_sized(options, sizeof *options);
}

/* Returns BM_OK and a summary, which the caller frees, or an error and nothing at the target.
 * BM_ERR_USAGE, BM_ERR_INPUT, BM_ERR_IO, BM_ERR_NOMEM (also if the shingles of the items do not fit
 * into `memory`), BM_ERR_FORMAT, BM_ERR_LOCKED, BM_ERR_CANCELLED, BM_ERR_PIPE. */
BM_API bm_status bm_job_overlap(const bm_overlap_options *options, bm_summary **out, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
