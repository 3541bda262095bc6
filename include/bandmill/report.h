/* SPDX-License-Identifier: Apache-2.0 */
/* report.h -- makes one page for people, which shows the results of dedup: what was removed, and
 * why. */
#ifndef BANDMILL_REPORT_H
#define BANDMILL_REPORT_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum bm_report_form {
    BM_REPORT_HTML, /* one file, which needs no network, no other file and no scripts */
    BM_REPORT_JSON  /* the same content as one object, "schema":1 */
} bm_report_form;

typedef struct bm_report_options {
    size_t struct_size;
    const char *path; /* a directory that dedup or overlap wrote */
    uint32_t groups;  /* most groups that are shown; the largest groups come first */
    /* How many pairs just above the threshold are shown at most, and how many of the most chained
     * pairs. For overlap: how many items are shown at most. The items of which a document holds the
     * largest share come first. */
    uint32_t pairs;
    uint32_t text_bytes; /* most bytes that are shown of each text */
    bm_report_form form;
    bm_output_options output; /* `path`: a file; NULL: the page goes to `write`. `report` must not
                                 be set */
    bm_write_fn write;
    void *write_ctx;
    bm_resource_options resources; /* threads and memory */
    bm_callbacks callbacks;
    const char *sources; /* directory below which the inputs of the report may now be found; NULL:
                            none */
    /* If the result was made from a table in memory: a stream of the same rows, for their texts. It
     * is moved, like bm_input_options.stream. The caller has to make sure that the rows are the
     * same. NULL: texts of such a table are not shown. */
    struct ArrowArrayStream *stream;
    /* How many removed documents are drawn at random, at most. Each is shown with its kept
     * document. Rows of removed.tsv are numbered from 0. Row i has a random number: the upper 53
     * bits of output i of SplitMix64, seeded with `sample_seed`. The `sample` rows with the least
     * numbers are drawn. */
    uint32_t sample, sample_seed;
    /* A file of judgements: was a document of the sample rightly removed? Each line is
     * "ID<tab>right" or "ID<tab>wrong", with ids as in removed.tsv. There may be a header
     * "id<tab>...". BM_ERR_INPUT: an id is not in the sample; the message names the line and the
     * id. NULL: none. */
    const char *sample_labels;
    /* For overlap, if the items came from a table in memory: a stream of the same rows, like
     * `stream`. */
    struct ArrowArrayStream *items_stream;
} bm_report_options;

typedef struct bm_report_result {
    size_t struct_size;
    uint64_t bytes;       /* bytes that were written */
    uint64_t shown;       /* documents that are shown with their texts */
    uint64_t missing;     /* documents that are shown without their texts, because these could not
                             be read */
    uint64_t inputs_gone; /* inputs that are gone or were changed */
} bm_report_result;

/* Set the defaults: groups 20, pairs 20, text_bytes 2,000, sample 20, sample_seed 1. */
BM_API void bm_report_options_init_sized(bm_report_options *options, size_t struct_size);
static inline void bm_report_options_init(bm_report_options *options)
{
    bm_report_options_init_sized(options, sizeof *options);
}

/* On BM_OK *out is filled up to its struct_size, which the caller sets: {.struct_size = sizeof}.
 * `out` may be NULL. Numbers are read from the directory's files, which must match its report.
 * BM_ERR_FORMAT: a file does not match; the message names it. Texts are read from the inputs. A
 * text is shown only if its input still has the bytes that dedup read. Otherwise the page has a
 * note instead of the text, and a warning is logged. BM_ERR_USAGE, BM_ERR_IO, BM_ERR_NOMEM,
 * BM_ERR_CANCELLED, BM_ERR_PIPE.
 *
 * The same directory and inputs give the same bytes. */
BM_API bm_status bm_report(const bm_report_options *options, bm_report_result *out, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
