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
    BM_REPORT_HTML, /* one file, complete in itself: it needs no network, no other file and no
                     * scripts */
    BM_REPORT_JSON  /* the same content: one object, "schema":1 */
} bm_report_form;

typedef struct bm_report_options {
    size_t struct_size;
    const char *path; /* a directory that dedup or overlap wrote */
    uint32_t groups;  /* the most groups shown, the largest first */
    /* The most pairs shown just above the threshold, and the most of the most chained pairs. For
     * overlap: the most items shown, ordered by the share of an item that a document holds, the
     * largest share first. */
    uint32_t pairs;
    uint32_t text_bytes; /* bytes shown of each text, at most */
    bm_report_form form;
    bm_output_options output; /* `path`: a file; NULL: `write`. `report` is not for this call */
    bm_write_fn write;
    void *write_ctx;
    bm_resource_options resources; /* threads and memory */
    bm_callbacks callbacks;
    const char *sources; /* directory below which the inputs of the report may be now; NULL: none */
    /* For the result of a table in memory: the same rows once more, for their texts; moved, like
     * bm_input_options.stream. The caller has to make sure that they are the same. NULL: texts of
     * such a table are not shown. */
    struct ArrowArrayStream *stream;
    /* The most removed documents that are drawn at random, each shown with the kept one. Row i of
     * removed.tsv, from 0, is drawn if the upper 53 bits of output i of SplitMix64, seeded with
     * `sample_seed`, are among the `sample` least. */
    uint32_t sample, sample_seed;
    /* A file of judgements: was this document of the sample rightly removed? Each line is
     * "ID<tab>right" or "ID<tab>wrong", with ids as in removed.tsv; there may be a header
     * "id<tab>...". BM_ERR_INPUT names the line and the id that is not in the sample. NULL:
     * none. */
    const char *sample_labels;
    /* For overlap with items from a table in memory: their rows once more, like `stream`. */
    struct ArrowArrayStream *items_stream;
} bm_report_options;

typedef struct bm_report_result {
    size_t struct_size;
    uint64_t bytes;       /* written */
    uint64_t shown;       /* documents that are shown with their texts */
    uint64_t missing;     /* documents that are shown without text, which could not be read */
    uint64_t inputs_gone; /* inputs that are gone or were changed */
} bm_report_result;

/* groups 20, pairs 20, text_bytes 2,000, sample 20, sample_seed 1. */
BM_API void bm_report_options_init_sized(bm_report_options *options, size_t struct_size);
static inline void bm_report_options_init(bm_report_options *options)
{
    bm_report_options_init_sized(options, sizeof *options);
}

/* On BM_OK *out is filled up to its struct_size (begin with {.struct_size = sizeof}); it may be
 * NULL. Numbers are read from the directory's files, which must match its report: BM_ERR_FORMAT
 * names one that does not. Texts are read from the inputs, and shown if the input still has the
 * bytes that dedup read. Instead of other texts the page has a note, and a warning is logged.
 * BM_ERR_USAGE, BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_CANCELLED, BM_ERR_PIPE.
 *
 * The same directory and inputs give the same bytes. */
BM_API bm_status bm_report(const bm_report_options *options, bm_report_result *out, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
