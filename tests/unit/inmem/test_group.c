/* Groups against a breadth-first search, and the promise of stars. */
#include <criterion/criterion.h>

#include <string.h>

#include "inmem/group.h"

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

enum { N = 50 };

typedef struct corpus {
    bm_pair pairs[200];
    size_t n_pairs;
    bool joined[N][N];
    uint32_t order[N];
} corpus;

static corpus make(uint64_t seed)
{
    corpus c = {.n_pairs = 0};
    state = seed;
    size_t n = draw(100);
    for (size_t i = 0; i < n; i++) {
        uint32_t a = draw(N), b = draw(N);
        c.pairs[c.n_pairs++] = (bm_pair){a, b, .5};
        c.joined[a][b] = c.joined[b][a] = true;
    }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t at = draw(i + 1);
        c.order[i] = c.order[at];
        c.order[at] = i;
    }
    return c;
}

Test(group, components_equal_a_breadth_first_search)
{
    for (uint64_t seed = 1; seed < 500; seed++) {
        corpus c = make(seed);
        uint32_t labels[N], wanted[N], queue[N];
        cr_assert_eq(bm_group_components((bm_pair_list){c.pairs, c.n_pairs, N}, labels, NULL),
                     BM_OK);
        memset(wanted, 0xFF, sizeof wanted);
        for (uint32_t doc = 0; doc < N; doc++) {
            if (wanted[doc] != UINT32_MAX)
                continue;
            size_t head = 0, tail = 0;
            wanted[queue[tail++] = doc] = doc;
            while (head < tail) {
                uint32_t at = queue[head++];
                for (uint32_t other = 0; other < N; other++) {
                    if (!c.joined[at][other] || wanted[other] != UINT32_MAX)
                        continue;
                    wanted[other] = doc;
                    queue[tail++] = other;
                }
            }
        }
        cr_assert(memcmp(labels, wanted, sizeof labels) == 0);
    }
}

Test(group, stars_equal_the_rule_and_each_document_is_itself_a_pair_of_its_centre)
{
    for (uint64_t seed = 1; seed < 500; seed++) {
        corpus c = make(seed);
        for (int with_order = 0; with_order < 2; with_order++) {
            uint32_t labels[N], wanted[N];
            cr_assert_eq(bm_group_stars((bm_pair_list){c.pairs, c.n_pairs, N},
                                        with_order ? c.order : NULL, labels, NULL),
                         BM_OK);
            memset(wanted, 0xFF, sizeof wanted);
            for (uint32_t i = 0; i < N; i++) {
                uint32_t centre = with_order ? c.order[i] : i;
                if (wanted[centre] != UINT32_MAX)
                    continue;
                for (uint32_t other = 0; other < N; other++)
                    if (c.joined[centre][other] && wanted[other] == UINT32_MAX)
                        wanted[other] = centre;
                wanted[centre] = centre;
            }
            cr_assert(memcmp(labels, wanted, sizeof labels) == 0);
            for (uint32_t doc = 0; doc < N; doc++) {
                cr_assert_eq(labels[labels[doc]], labels[doc]);
                cr_assert(labels[doc] == doc || c.joined[doc][labels[doc]]);
                for (uint32_t other = 0; other < N; other++) /* no two centres are a pair */
                    cr_assert(doc == other || labels[doc] != doc || labels[other] != other ||
                              !c.joined[doc][other]);
            }
        }
    }
}

Test(group, no_documents_and_no_pairs_are_fine)
{
    uint32_t labels[3];
    cr_assert_eq(bm_group_components((bm_pair_list){NULL, 0, 0}, NULL, NULL), BM_OK);
    cr_assert_eq(bm_group_stars((bm_pair_list){NULL, 0, 0}, NULL, NULL, NULL), BM_OK);
    cr_assert_eq(bm_group_stars((bm_pair_list){NULL, 0, 3}, NULL, labels, NULL), BM_OK);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(labels[i], i);
}

Test(group, a_pair_of_no_document_is_bad_input_and_leaves_the_labels_alone)
{
    bm_pair pairs[] = {{0, 1, 1}, {1, 3, 1}};
    uint32_t labels[3] = {7, 7, 7};
    bm_error err = {0};
    cr_assert_eq(bm_group_components((bm_pair_list){pairs, 2, 3}, labels, &err), BM_ERR_INPUT);
    cr_assert(strstr(err.message, "pair 1 joins documents 1 and 3") != NULL, "%s", err.message);
    cr_assert_eq(bm_group_stars((bm_pair_list){pairs, 2, 3}, NULL, labels, &err), BM_ERR_INPUT);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(labels[i], 7);
}

Test(group, an_order_that_is_no_permutation_is_bad_input)
{
    uint32_t labels[3] = {7, 7, 7};
    static const uint32_t twice[] = {0, 1, 1}, outside[] = {0, 1, 3};
    bm_error err = {0};
    cr_assert_eq(bm_group_stars((bm_pair_list){NULL, 0, 3}, twice, labels, &err), BM_ERR_INPUT);
    cr_assert(strstr(err.message, "place 2") != NULL, "%s", err.message);
    cr_assert_eq(bm_group_stars((bm_pair_list){NULL, 0, 3}, outside, labels, &err), BM_ERR_INPUT);
    cr_assert_eq(labels[0], 7);
}
