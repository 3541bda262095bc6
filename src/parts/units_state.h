/* SPDX-License-Identifier: Apache-2.0 */
/* units_state.h -- the state of a job that cuts parts out of documents. Only job_units.c and
 * units_saved.c include it. */
#pragma once

#include "job/histogram.h"
#include "job/job_steps.h"
#include "parts/units.h"

/* Facts about each document. */
typedef struct bm_unit_doc {
    uint64_t begin;  /* place of the document's first byte */
    uint64_t filled; /* number of nonblank units that are not cut; for spans, number of bytes that
                      * are neither White_Space nor cut */
} bm_unit_doc;

/* Why the documents are read. */
typedef enum bm_unit_reading {
    BM_READ_UNITS,     /* to find units or spans */
    BM_READ_DOCUMENTS, /* to count nonblank units */
    BM_READ_PARTS      /* to pass units as documents to the job of units */
} bm_unit_reading;

/* How much of the state was saved. */
typedef struct bm_units_saved {
    bool filter;
    uint64_t docs, grams, places;
    bm_buf runs; /* the list of runs when the file of by_hash was last saved */
} bm_units_saved;

struct bm_units {
    bm_job job;
    const bm_settings *settings;
    bool has_parts; /* texts consist of several fields or elements */
    /* docs: n_docs + 1 times bm_unit_doc; cuts: n_cuts times bm_text_range, with places as
     * offsets */
    bm_column docs, cuts;
    size_t n_docs, n_cuts;
    /* index of docs by place: doc_at[i] is the document that contains place i << doc_at_shift */
    size_t *doc_at;
    unsigned doc_at_shift;
    uint64_t place; /* place of the next document */
    /* Used only for spans: */
    bool spans;
    bm_hash_filter filter; /* `words` is NULL until the filter is made */
    bm_span_far far;       /* findings of long documents */
    bm_span_grams grams;
    uint64_t n_units; /* number of units in all documents so far */
    /* Used only if the units are documents of a second job. `places` has the place of each unit. */
    bool pairs;
    bm_unit_reading reading;
    bm_units_pair_fn *pair;
    bm_settings of_units;
    bm_part_source source;
    bm_column places;
    /* number of units that have places; number of documents whose units have places */
    size_t n_places, n_placed;
    uint64_t similarities[BM_HISTOGRAM_BINS]; /* histogram of the rows of pairs.tsv */
    bm_sorted_runs *by_hash, *by_group, *by_place;
    bm_buf pair_ids[2];
    bm_buf kept_id;   /* cached: the id of the document that has the last kept unit */
    size_t kept_next; /* 1 + number of the document with this id; 0: nothing is cached */
    uint8_t *dropped; /* for each document: the reason if its cuts leave it empty, otherwise 0 */
    bm_units_saved saved;
    const bm_job_context *more_of; /* see bm_units_more */
};

typedef struct bm_units bm_units;

/* What an interrupted job needs in order to continue (units_saved.c), as additional data of the
 * checkpoint that saves the documents of `of`. */
bm_checkpoint_more bm_units_more(bm_units *units, const bm_job_context *of);
/* Call this after loading. BM_ERR_FORMAT: for some documents of `of`, units were not saved. */
bm_status bm_units_check_loaded(const bm_units *units, const bm_job_context *of, bm_error *err);
