/* SPDX-License-Identifier: Apache-2.0 */
/* units_state.h -- the state of a job that cuts parts out of documents. Only for job_units.c and
 * units_saved.c. */
#pragma once

#include "job/histogram.h"
#include "job/job_steps.h"
#include "parts/units.h"

/* Facts about each document. */
typedef struct bm_unit_doc {
    uint64_t begin;  /* place of the first byte */
    uint64_t filled; /* nonblank units that are not cut; for spans, bytes */
} bm_unit_doc;

/* The purpose of a pass over the documents. */
typedef enum bm_unit_reading {
    BM_READ_UNITS,     /* to find units or spans */
    BM_READ_DOCUMENTS, /* to count nonblank units */
    BM_READ_PARTS      /* to pass units as documents to another job */
} bm_unit_reading;

/* How much of the state is saved. */
typedef struct bm_units_saved {
    bool filter;
    uint64_t docs, grams, places;
    bm_buf runs; /* the runs of by_hash when its file was last saved */
} bm_units_saved;

struct bm_units {
    bm_job job;
    const bm_settings *settings;
    bool has_parts; /* texts consist of several fields or elements */
    /* docs: n_docs + 1 bm_unit_doc; cuts: n_cuts bm_text_range, whose offsets are places */
    bm_column docs, cuts;
    size_t n_docs, n_cuts;
    /* an index of docs by places: the number of the document that contains place i << shift */
    size_t *doc_at;
    unsigned doc_at_shift;
    uint64_t place; /* place of the next document */
    /* Spans only: */
    bool spans;
    bm_hash_filter filter; /* its `words` are NULL until it is made */
    bm_span_far far;       /* findings of long documents */
    bm_span_grams grams;
    uint64_t n_units; /* units in all documents so far */
    /* Used only if the units are documents of another job. `places` has the place of each unit. */
    bool pairs;
    bm_unit_reading reading;
    bm_units_pair_fn *pair;
    bm_settings of_units;
    bm_part_source source;
    bm_column places;
    /* how many units have places, and how many documents have units with places */
    size_t n_places, n_placed;
    uint64_t similarities[BM_HISTOGRAM_BINS]; /* histogram of the rows of pairs.tsv */
    bm_sorted_runs *by_hash, *by_group, *by_place;
    bm_buf pair_ids[2];
    bm_buf kept_id;   /* cached id of the document with the last kept unit */
    size_t kept_next; /* number of that document plus 1; 0: none */
    uint8_t *dropped; /* for each document that is left empty, the reason; else 0 */
    bm_units_saved saved;
    const bm_job_context *more_of; /* see bm_units_more */
};

typedef struct bm_units bm_units;

/* What an interrupted job continues with (units_saved.c), as a part of the checkpoint that saves
 * the documents of `of`. */
bm_checkpoint_more bm_units_more(bm_units *units, const bm_job_context *of);
/* Call this after loading. BM_ERR_FORMAT: units of some documents of `of` were not saved. */
bm_status bm_units_check_loaded(const bm_units *units, const bm_job_context *of, bm_error *err);
