/* text_units.h -- a text as its units, of which shingles are made, and where each stands in the text. */
#ifndef BM_TEXT_TEXT_UNITS_H
#define BM_TEXT_TEXT_UNITS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_text_unit {
    uint64_t hash;   /* of what it is after normalisation */
    size_t from, to; /* bytes of the text */
} bm_text_unit;

typedef struct bm_text_units {
    bm_text_unit *list; /* owned */
    size_t n, cap;
} bm_text_units; /* {0} is empty */

/* The units of a text of valid UTF-8, by the options' kind of shingle: words (of a stop word shingle too), code points of
 * normalised text in which a run of White_Space is one, bytes of normalised text. Where normalisation merges characters,
 * a unit stands where all of these do. BM_ERR_NOMEM, BM_ERR_INPUT. */
bm_status bm_text_units_make(const bm_text_options *options, bm_str text, bm_text_units *out,
                             bm_error *err);
void bm_text_units_reset(bm_text_units *units);

#endif
