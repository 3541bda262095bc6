/* lost_shingles.c -- one number a removed document, and their sums.
 *
 * Tests: tests/unit/match/test_lost_shingles.c, tests/reference/test_lost.py */
#include "match/lost_shingles.h"

#include "lsh/verify.h"
#include "match/known_groups.h"

uint64_t bm_lost_shingles(const bm_lost_source *from, size_t doc)
{
    const bm_grouping *g = from->grouping;
    const bm_corpus *corpus = from->corpus;
    const uint32_t n = corpus->sizes[doc];
    if (!corpus->cfg.hashes || corpus->cfg.weighted)
        return UINT64_MAX;
    if (!bm_grouping_is_known(g, doc) && g->kept[doc] == BM_NO_KEPT)
        return n;
    const uint32_t n_kept = bm_grouping_is_known(g, doc)
                                ? g->from->sizes[bm_known_place(g->from, g->known[doc])]
                                : corpus->sizes[g->kept[doc]];
    return n - bm_jaccard_common(g->similarity[doc], n, n_kept);
}

bm_losses bm_lost_count(const bm_lost_source *from, const bm_doc_table *docs)
{
    bm_losses sum = {0};
    for (size_t i = 0; i < from->grouping->n; i++) {
        if (from->grouping->reason[i] == BM_REASON_KEPT)
            continue;
        const uint64_t bytes = docs->rows[i].text_bytes, lost = bm_lost_shingles(from, i);
        sum.removed_shingles += from->corpus->sizes[i];
        /* A document that is removed has shingles, and so has text: no bytes are none that are known. */
        sum.removed_bytes =
            bytes == 0 || sum.removed_bytes == UINT64_MAX ? UINT64_MAX : sum.removed_bytes + bytes;
        sum.lost_shingles = lost == UINT64_MAX ? UINT64_MAX : sum.lost_shingles + lost;
    }
    if (!from->corpus->cfg.hashes || from->corpus->cfg.weighted)
        sum.lost_shingles = UINT64_MAX;
    return sum;
}
