/* test_lost_shingles.c -- sets are bits of a word: lost are the bits of the removed document that
 * the kept one lacks. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "match/edges.h"

#define N       60u
#define N_KNOWN 9u

typedef struct world {
    uint64_t sets[N + N_KNOWN]; /* those of known documents behind */
    uint32_t sizes[N], kept[N], known[N], known_sizes[N_KNOWN];
    uint8_t reason[N];
    double similarity[N];
    bm_known_link links[N_KNOWN];
    bm_known from;
    bm_corpus corpus;
    bm_grouping grouping;
    bm_doc_table docs;
} world;

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* Document 0 is kept, of the others every third; the rest goes to one of these, to a known one, or
 * to nobody. */
static void open_world(world *w, uint64_t seed)
{
    uint64_t state = seed;
    for (uint32_t i = 0; i < N + N_KNOWN; i++) {
        const uint64_t set = (draw(&state) << 31 ^ draw(&state)) | UINT64_C(1) << draw(&state) % 60;
        const uint32_t size = (uint32_t)__builtin_popcountll(set);
        w->sets[i] = set;
        *(i < N ? &w->sizes[i] : &w->known_sizes[i - N]) = size;
    }
    for (uint32_t k = 0; k < N_KNOWN; k++)
        w->links[k] = (bm_known_link){.number = 3 * k + 1};
    for (uint32_t i = 0; i < N; i++) {
        char id[16];
        const int len = snprintf(id, sizeof id, "%u", i);
        const bm_doc_row row = {.line = i + 1, .text_bytes = 100 + i};
        cr_assert_eq(bm_doc_table_add(&w->docs, &row, (bm_doc_id){{id, (size_t)len}, i}, "f", NULL),
                     BM_OK);
        const uint32_t k = (uint32_t)draw(&state) % N_KNOWN;
        w->kept[i] = i % 3 == 0 ? i : (uint32_t)draw(&state) % (i / 3 + 1) * 3;
        w->known[i] = i % 3 == 1 && draw(&state) % 2 == 0 ? w->links[k].number : BM_NO_KNOWN;
        w->reason[i] = i % 3 == 0 ? BM_REASON_KEPT : BM_REASON_NEAR;
        const uint64_t other = w->sets[w->known[i] != BM_NO_KNOWN ? N + k : w->kept[i]];
        w->similarity[i] = (double)__builtin_popcountll(w->sets[i] & other) /
                           (double)__builtin_popcountll(w->sets[i] | other);
        if (i % 3 == 2 && w->known[i] == BM_NO_KNOWN && draw(&state) % 4 == 0) {
            w->kept[i] = BM_NO_KEPT;
            w->similarity[i] = NAN;
        }
    }
    w->from = (bm_known){.links = w->links, .n_links = N_KNOWN, .sizes = w->known_sizes};
    w->corpus = (bm_corpus){.n = N, .sizes = w->sizes, .cfg = {.hashes = true}};
    w->grouping = (bm_grouping){.n = N,
                                .kept = w->kept,
                                .reason = w->reason,
                                .similarity = w->similarity,
                                .from = &w->from,
                                .known = w->known};
}

static uint64_t model_lost(const world *w, uint32_t doc)
{
    uint64_t other = w->kept[doc] == BM_NO_KEPT ? 0 : w->sets[w->kept[doc]];
    for (uint32_t k = 0; k < N_KNOWN; k++)
        if (w->known[doc] == w->links[k].number)
            other = w->sets[N + k];
    return (uint64_t)__builtin_popcountll(w->sets[doc] & ~other);
}

Test(lost_shingles, are_those_that_the_kept_document_lacks)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        world w = {0};
        bm_losses sum = {0};
        open_world(&w, seed);
        const bm_lost_source from = {&w.grouping, &w.corpus};
        for (uint32_t i = 0; i < N; i++) {
            if (w.reason[i] == BM_REASON_KEPT)
                continue;
            cr_assert_eq(bm_lost_shingles(&from, i), model_lost(&w, i), "seed %d: %u", (int)seed,
                         i);
            sum.removed_bytes += 100 + i;
            sum.removed_shingles += w.sizes[i];
            sum.lost_shingles += model_lost(&w, i);
        }
        const bm_losses got = bm_lost_count(&from, &w.docs);
        cr_assert_eq(got.removed_bytes, sum.removed_bytes);
        cr_assert_eq(got.removed_shingles, sum.removed_shingles);
        cr_assert_eq(got.lost_shingles, sum.lost_shingles);
        bm_doc_table_reset(&w.docs);
    }
}

Test(lost_shingles, are_not_known_without_sets_or_with_weights)
{
    world w = {0};
    open_world(&w, 1);
    const bm_lost_source from = {&w.grouping, &w.corpus};
    w.corpus.cfg.weighted = true;
    cr_expect_eq(bm_lost_shingles(&from, 1), UINT64_MAX);
    cr_expect_eq(bm_lost_count(&from, &w.docs).lost_shingles, UINT64_MAX);
    w.corpus.cfg = (bm_corpus_cfg){0};
    cr_expect_eq(bm_lost_shingles(&from, 1), UINT64_MAX);
    cr_expect_eq(bm_lost_count(&from, &w.docs).lost_shingles, UINT64_MAX);
    bm_doc_table_reset(&w.docs);
}

/* A directory of signatures of an earlier version has no lengths. */
Test(lost_shingles, bytes_are_not_known_where_those_of_one_removed_document_are_not)
{
    world w = {0};
    open_world(&w, 1);
    const bm_lost_source from = {&w.grouping, &w.corpus};
    w.docs.rows[0].text_bytes = 0; /* it is kept */
    cr_expect_neq(bm_lost_count(&from, &w.docs).removed_bytes, UINT64_MAX);
    w.docs.rows[1].text_bytes = 0;
    cr_expect_eq(bm_lost_count(&from, &w.docs).removed_bytes, UINT64_MAX);
    bm_doc_table_reset(&w.docs);
}
