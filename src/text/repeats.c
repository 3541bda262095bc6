/* repeats.c -- a run of elements at a time goes through the set of the document, so that one which
 * meets another hash by chance, or on purpose, does not stand twice in the list.
 *
 * Which occurrence gets which number does not matter, so they are made from the counts once the
 * document is complete: the loop over its shingles only counts.
 *
 * Tests: tests/unit/text/test_bag.c */
#include "text/repeats.h"

#include "base/error.h"
#include "kernels/affine32.h"
#include "kernels/occurrence.h"

#define RUN ((size_t)256)

uint64_t bm_repeats_count(const uint32_t *counts, size_t n)
{
    uint64_t more = 0;
    for (size_t i = 0; i < n; i++)
        more += counts[i] - 1;
    return more;
}

bm_status bm_repeats_add(bm_distinct *set, const uint32_t *counts, bm_distinct_list *list,
                         bm_error *err)
{
    uint64_t run[RUN];
    const size_t n = list->n;
    bm_distinct_list out = {list->values, n, NULL};
    bm_status status = BM_OK;
    size_t filled = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t nth = 2; nth <= counts[i]; nth++) {
            run[filled++] = bm_occurrence(list->values[i], nth);
            if (filled == RUN) {
                BM_TRY_OUT(bm_distinct_add(set, run, filled, &out, err));
                filled = 0;
            }
        }
    }
    if (filled > 0)
        BM_TRY_OUT(bm_distinct_add(set, run, filled, &out, err));
out:
    if (status != BM_OK)
        return status;
    list->n = out.n;
    for (size_t i = 0; list->counts != NULL && i < out.n; i++)
        list->counts[i] = 1;
    return BM_OK;
}

void bm_repeats_replace(uint64_t *hashes, size_t n)
{
    uint64_t hash = 0;
    uint32_t nth = 0;
    for (size_t i = 0; i < n; i++) {
        nth = i > 0 && hashes[i] == hash ? nth + 1 : 1;
        hash = hashes[i];
        hashes[i] = bm_occurrence(hash, nth);
    }
}
