/* page_what_if.h -- what stars, and higher thresholds, would have done with the pairs of a directory.
 *
 * A group at a higher threshold is a part of a group at the one that was used, so its pairs are all there. */
#ifndef BM_PAGE_PAGE_WHAT_IF_H
#define BM_PAGE_PAGE_WHAT_IF_H

#include "lsh/union_find.h"
#include "pipeline/context/settings.h"
#include "pipeline/page/page_content.h"

typedef struct bm_page_level { /* a threshold */
    double threshold;
    uint64_t pairs;
    bm_union_find sets;
    size_t cap;
} bm_page_level;

typedef struct bm_page_weigh {
    const bm_settings *settings;
    bm_page_content *content;
    uint64_t room; /* bytes */
    bm_id_set ids;
    bm_page_level levels[BM_PAGE_CHOICES];
    size_t n_levels;
    bm_pair *pairs; /* for stars */
    size_t n_pairs, cap_pairs;
    bool by_length;    /* stars begin with the longest or shortest texts */
    uint64_t *lengths; /* of the texts of `ids`, as page_texts.h fills them; NULL: not asked for */
} bm_page_weigh;

/* Which thresholds, and whether anything can be said: content->what_if. */
void bm_page_weigh_begin(bm_page_weigh *weigh, const bm_settings *settings,
                         bm_page_content *content);
bm_status bm_page_weigh_pair(bm_page_weigh *weigh, bm_str a, bm_str b, double jaccard,
                             bm_error *err);
/* All pairs were taken: counts the groups at other thresholds. */
bm_status bm_page_weigh_end(bm_page_weigh *weigh, bm_error *err);
/* Where stars need the lengths of texts, weigh->lengths is there then. */
bm_status bm_page_weigh_ask_lengths(bm_page_weigh *weigh, bm_error *err);
/* Counts the stars. Lengths that were asked for are filled in, as far as texts were found. */
bm_status bm_page_weigh_stars(bm_page_weigh *weigh, bm_error *err);
void bm_page_weigh_reset(bm_page_weigh *weigh);

#endif
