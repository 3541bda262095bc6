/* SPDX-License-Identifier: Apache-2.0 */
/* test_corpus_range.c -- ranges of a corpus in memory or in files have the documents that were
 * drawn: every representative once, in order, with its keys and its sorted set. */
#include "tests/unit/corpus/corpus_world.h"
#include "tests/world/world_order.h"

#include "corpus/corpus.h"

static void fill_open(world *w, const bm_corpus_cfg *cfg, bm_corpus *corpus)
{
    bm_corpus_init(corpus, cfg);
    for (uint32_t i = 0; i < N; i += 250)
        cr_assert_eq(add_batch(w, corpus, i, 250, NULL), BM_OK);
}

static void check_set(const world *w, uint32_t doc, const uint64_t *set)
{
    uint64_t wanted[MOST];
    memcpy(wanted, w->sets[doc], sizeof wanted);
    qsort(wanted, w->sizes[doc], sizeof *wanted, world_ascending);
    cr_assert_eq(memcmp(wanted, set, w->sizes[doc] * sizeof *set), 0);
}

/* Checks all ranges of at most `most` bytes of sets. Returns the number of ranges. */
static size_t check_all(world *w, bm_corpus *corpus, uint64_t most)
{
    bm_corpus_range range = {0};
    size_t n_ranges = 0;
    uint32_t doc = 0;
    bm_status status;
    while ((status = bm_corpus_range_next(corpus, most, w->pool, &range, NULL)) == BM_OK) {
        uint64_t hashes = 0;
        for (size_t i = 0; i < range.n; i++, doc++) {
            while (w->identity[doc] != doc || w->sizes[doc] == 0)
                doc++;
            cr_assert_eq(range.docs[i], doc);
            cr_assert_eq(range.sizes[i], w->sizes[doc]);
            cr_assert_eq(memcmp(range.keys + i * BANDS, w->keys[doc], sizeof w->keys[doc]), 0);
            if (corpus->cfg.hashes)
                check_set(w, doc, range.sets[i]);
            else
                cr_assert_eq(memcmp(range.words + i * PERMS, w->words[doc], sizeof w->words[doc]),
                             0);
            hashes += range.sizes[i];
        }
        cr_assert(hashes * sizeof(uint64_t) <= most || range.n == 1);
        n_ranges++;
    }
    cr_assert_eq(status, BM_NOT_FOUND);
    for (; doc < N; doc++)
        cr_assert(w->identity[doc] != doc || w->sizes[doc] == 0);
    bm_corpus_range_reset(&range);
    return n_ranges;
}

Test(corpus_range, documents_in_memory_and_in_files_are_those_that_were_drawn)
{
    world *w = open_world(5);
    for (int in_file = 0; in_file < 2; in_file++)
        for (int words = 0; words < 2; words++) {
            bm_corpus corpus;
            bm_corpus_cfg cfg = in_file ? in_files(w, 1 << 20) : in_memory();
            cfg.hashes = !words;
            cfg.words = (bm_word_rows){words ? PERMS : 0, 4};
            fill_open(w, &cfg, &corpus);
            cr_assert_gt(check_all(w, &corpus, 10000), 50);
            cr_assert_eq(check_all(w, &corpus, UINT64_MAX), 1);
            cr_assert_gt(check_all(w, &corpus, 1), 3000, "one document at a time");
            cr_assert_eq(bm_corpus_end_adding(&corpus, NULL), BM_OK);
            bm_set_reader reader = {.corpus = &corpus};
            if (!words)
                for (uint32_t doc = 0; doc < N; doc += 97) {
                    uint64_t set[MOST];
                    if (corpus.rep[doc] != doc)
                        continue;
                    cr_assert_eq(bm_corpus_copy_set(&reader, doc, set, NULL), BM_OK);
                    check_set(w, doc, set);
                }
            bm_set_reader_reset(&reader);
            bm_corpus_reset(&corpus);
        }
    close_world(w);
}
