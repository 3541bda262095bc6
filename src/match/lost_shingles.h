/* lost_shingles.h -- what goes for good with the removed documents: their shingles that the document kept instead lacks.
 *
 * No set is compared for it. The number of shared shingles follows from the Jaccard similarity that grouping left of each removed
 * document and its kept one, which is the very double that was made of that number (bm_jaccard_common). */
#ifndef BM_MATCH_LOST_SHINGLES_H
#define BM_MATCH_LOST_SHINGLES_H

#include "model/doc_table.h"
#include "corpus/corpus.h"
#include "match/group_columns.h"

typedef struct bm_lost_source {
    const bm_grouping *grouping; /* every similarity is filled in */
    const bm_corpus *corpus;
} bm_lost_source; /* both are borrowed */

/* How many distinct shingles of a removed document its kept one lacks; UINT64_MAX: not known, for no sets were compared, or their
 * elements have weights. */
uint64_t bm_lost_shingles(const bm_lost_source *from, size_t doc);

/* Of all removed documents; UINT64_MAX: not known. */
typedef struct bm_losses {
    uint64_t removed_bytes; /* of text, as read */
    uint64_t removed_shingles, lost_shingles;
} bm_losses;

bm_losses bm_lost_count(const bm_lost_source *from, const bm_doc_table *docs);

#endif
