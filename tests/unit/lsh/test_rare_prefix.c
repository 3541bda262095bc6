/* The index of rare shingles: the least share against trying every number, and the promise on which
 * all_pairs.c rests, that two documents at the threshold meet in a list. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lsh/rare_prefix.h"
#include "lsh/verify.h"

static uint64_t state = 9;

static uint64_t draw(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

Test(rare_prefix, least_share_is_the_first_number_whose_quotient_reaches_the_threshold)
{
    for (size_t n = 1; n <= 60; n++) {
        for (size_t num = 1; num <= 60; num++) {
            double at = (double)num / 60, around[] = {at, nextafter(at, 0), nextafter(at, 1)};
            for (int i = 0; i < 3; i++) {
                size_t wanted = 0;
                while (wanted < n && (double)wanted / (double)n < around[i])
                    wanted++;
                cr_assert_eq(bm_least_share(n, around[i]), wanted);
            }
        }
    }
}

enum { N = 80, LONGEST = 30 };

typedef struct corpus {
    uint64_t hashes[N][LONGEST];
    const uint64_t *docs[N];
    uint32_t sizes[N];
    bm_set_list sets;
} corpus;

static void make(corpus *c, uint64_t words)
{
    for (size_t i = 0; i < N; i++) {
        uint64_t scratch[LONGEST];
        size_t n = draw() % (LONGEST + 1);
        for (size_t k = 0; k < n; k++)
            c->hashes[i][k] = draw() % words * (draw() % words);
        if (i > 0 && draw() % 2 == 0) {
            size_t from = draw() % i;
            n = c->sizes[from];
            memcpy(c->hashes[i], c->hashes[from], n * 8);
            for (size_t k = 0; k < n; k++)
                if (draw() % 8 == 0)
                    c->hashes[i][k] = draw() % words;
        }
        bm_hashes_sort(c->hashes[i], n, scratch);
        c->sizes[i] = (uint32_t)bm_hashes_distinct(c->hashes[i], n);
        c->docs[i] = c->hashes[i];
    }
    c->sets = (bm_set_list){.docs = c->docs, .sizes = c->sizes, .n_docs = N};
}

static bool meet(const bm_rare_prefix *index, size_t a, uint32_t b)
{
    for (size_t i = a == 0 ? 0 : index->item_ends[a - 1]; i < index->item_ends[a]; i++) {
        uint32_t shingle = index->items[i].shingle;
        for (size_t k = index->list_begins[shingle]; k < index->list_begins[shingle + 1]; k++)
            if (index->postings[k].doc == b)
                return true;
    }
    return false;
}

Test(rare_prefix, documents_at_the_threshold_meet_in_a_list)
{
    static const double thresholds[] = {1e-300, .1, .3, .5, 2.0 / 3, .8, .9, 1};
    static corpus c;
    size_t n_meet = 0, n_pairs = 0;
    for (int round = 0; round < 64; round++) {
        make(&c, 5 + draw() % 60);
        double t = thresholds[round % 8];
        bm_rare_prefix index;
        cr_assert_eq(bm_rare_prefix_build(&index, &c.sets, t, NULL, NULL), BM_OK);
        for (uint32_t a = 0; a < N; a++) {
            for (uint32_t b = a + 1; b < N; b++) {
                size_t common = bm_hashes_common(c.docs[a], c.sizes[a], c.docs[b], c.sizes[b]);
                bool met = meet(&index, a, b);
                cr_assert(met || !(bm_jaccard(common, c.sizes[a], c.sizes[b]) >= t));
                cr_assert(!met || common > 0);
                n_meet += met;
                n_pairs++;
            }
        }
        bm_rare_prefix_reset(&index);
    }
    cr_assert(n_meet > 0 && n_meet < n_pairs / 2, "an index that names everybody is none");
}

Test(rare_prefix, lists_ascend_and_ranks_are_those_of_the_rarest_first)
{
    static corpus c;
    make(&c, 20);
    bm_rare_prefix index;
    cr_assert_eq(bm_rare_prefix_build(&index, &c.sets, 1e-300, NULL, NULL), BM_OK);
    for (size_t s = 0; s < index.n_shingles; s++) {
        cr_assert_neq(index.list_begins[s + 1] - index.list_begins[s], 1);
        for (size_t k = index.list_begins[s]; k + 1 < index.list_begins[s + 1]; k++)
            cr_assert_lt(index.postings[k].doc, index.postings[k + 1].doc);
    }
    for (size_t doc = 0; doc < N; doc++) {
        size_t n_docs_before = 0, begin = doc == 0 ? 0 : index.item_ends[doc - 1];
        for (size_t i = begin; i < index.item_ends[doc]; i++) {
            uint32_t s = index.items[i].shingle;
            size_t n_docs = index.list_begins[s + 1] - index.list_begins[s];
            cr_assert_geq(n_docs, n_docs_before); /* whole documents: a list is a frequency */
            cr_assert(i == begin || index.items[i].rank == index.items[i - 1].rank + 1);
            cr_assert_lt(index.items[i].rank, c.sizes[doc]);
            n_docs_before = n_docs;
        }
    }
    bm_rare_prefix_reset(&index);
}
