/* SPDX-License-Identifier: Apache-2.0 */
/* test_all_pairs_window.c -- every set comes once, in order of sizes, whatever a window may hold;
 * and again when it begins anew. */
#include "all_pairs_world.h"

#include "match/match_all_pairs.h"

Test(all_pairs_window, every_set_comes_once_in_order_and_again)
{
    static const uint64_t most[] = {1, 5000, 100000, (uint64_t)1 << 30};
    for (int round = 0; round < 4; round++) {
        drawn *s = make_sets(500 + (size_t)round, 80, (uint64_t)round, 1 + (uint32_t)round % 2);
        bm_corpus corpus;
        cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
        uint32_t order[600];
        size_t n, windows = 0;
        bm_set_list list = {.sizes = s->sizes, .skip = corpus.skip, .n_docs = s->n};
        cr_assert_eq(bm_order_by_size(&list, order, &n, NULL), BM_OK);
        bm_set_window w = {
            .corpus = &corpus, .order = order, .n = n, .most = most[round], .pool = s->pool};
        for (int pass = 0; pass < 2; pass++) {
            size_t next = 0;
            bm_status status;
            while ((status = bm_set_window_next(&w, NULL)) == BM_OK) {
                cr_assert(w.begin == next && w.end > next && w.begin % BM_PREFIX_RANGE == 0);
                cr_assert(w.end % BM_PREFIX_RANGE == 0 || w.end == n);
                next = w.end;
                windows++;
                for (size_t at = w.begin; at < w.end; at++) {
                    uint32_t doc = order[at];
                    const uint64_t *set = bm_set_window_set(&w, at);
                    for (size_t k = 0; k < s->sizes[doc]; k++) /* they were added backwards */
                        cr_assert_eq(set[k], s->docs[doc][s->sizes[doc] - 1 - k]);
                    memset(bm_set_window_set(&w, at), 0, s->sizes[doc] * 8); /* it is ours */
                }
            }
            cr_assert(status == BM_NOT_FOUND && next == n);
        }
        cr_assert(round != 3 || windows == 2, "one window a pass");
        cr_assert(round != 0 || windows == 2 * ((n + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE));
        bm_set_window_reset(&w);
        bm_corpus_reset(&corpus);
        drop_sets(s);
    }
}
