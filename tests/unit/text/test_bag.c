/* SPDX-License-Identifier: Apache-2.0 */
/* test_bag.c -- bags: the n-th occurrence of a shingle is an element of its own. The elements are
 * computed here once more, after the description in kernels/occurrence.h. */
#include "tests/unit/text/special_check.h"
#include "tests/world/world_order.h"
#include "tests/world/world_random.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory.h"
#include "kernels/affine32.h"
#include "kernels/occurrence.h"
#include "text/distinct.h"
#include "text/set_shingler.h"

static uint64_t element(uint64_t hash, uint32_t n)
{
    if (n == 1)
        return hash;
    uint64_t k = hash + (uint64_t)(n - 1) * UINT64_C(0x9E3779B97F4A7C15);
    k = (k ^ k >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    k = (k ^ k >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return k ^ k >> 33;
}

static uint64_t of(const char *text, uint32_t n)
{
    return element(XXH3_64bits(text, strlen(text)), n);
}

static const bm_text_options bag1 = {.normalize = BM_NORM_LOWER, .shingle_k = 1, .bag = true};

Test(bag, the_function_is_that_of_its_words)
{
    uint64_t state = 99;
    for (uint32_t n = 1; n < 2000; n++) {
        const uint64_t hash = world_random(&state);
        cr_assert_eq(bm_occurrence(hash, n), element(hash, n));
    }
    cr_expect_eq(bm_occurrence(7, UINT32_MAX), element(7, UINT32_MAX));
}

Test(bag, each_further_occurrence_is_an_element)
{
    const uint64_t expected[] = {of("a", 1), of("b", 1), of("c", 1),
                                 of("a", 2), of("a", 3), of("b", 2)};
    for (size_t i = 0; i <= N_ISAS; i++) {
        const special_path path = {i < N_ISAS ? isas[i] : "scalar", i == N_ISAS, i % 2 == 0};
        if (!available(path.isa))
            continue;
        bm_shingle_batch batch = shingle(&bag1, path, (bm_str){"a b A, c b a", 12});
        cr_assert_eq(batch.offsets[1], 6);
        cr_expect_arr_eq(batch.hashes, expected, sizeof expected);
        for (size_t j = 0; path.counted && j < 6; j++)
            cr_expect_eq(batch.counts[j], 1, "an element is one of its own");
        bm_shingle_batch_reset(&batch);
    }
}

/* As a set, a bag does not depend on the order of its shingles; two bags share as many elements as
 * the sum of the smaller counts. */
Test(bag, two_bags_share_as_much_as_their_counts_say)
{
    bm_shingle_batch a = shingle(&bag1, (special_path){0}, (bm_str){"x y x x z y x w", 15});
    bm_shingle_batch b = shingle(&bag1, (special_path){0}, (bm_str){"w w y y y x x q", 15});
    qsort(a.hashes, 8, sizeof *a.hashes, world_ascending);
    qsort(b.hashes, 8, sizeof *b.hashes, world_ascending);
    cr_assert(a.offsets[1] == 8 && b.offsets[1] == 8);
    size_t both = 0;
    for (size_t i = 0, j = 0; i < 8 && j < 8;) {
        both += a.hashes[i] == b.hashes[j];
        if (a.hashes[i] == b.hashes[j])
            i++, j++;
        else if (a.hashes[i] < b.hashes[j])
            i++;
        else
            j++;
    }
    cr_expect_eq(both, 5, "x twice, y twice, w once");
    bm_shingle_batch_reset(&a);
    bm_shingle_batch_reset(&b);
}

Test(bag, a_set_is_as_without_it_where_nothing_repeats)
{
    bm_text_options set = bag1;
    set.bag = false;
    bm_shingle_batch a = shingle(&bag1, (special_path){0}, (bm_str){"a b c d", 7});
    bm_shingle_batch b = shingle(&set, (special_path){0}, (bm_str){"a b c d", 7});
    cr_expect(same_batch(&a, &b));
    bm_shingle_batch_reset(&a);
    bm_shingle_batch_reset(&b);
    /* the content hash, which decides about identical documents, never depends on `bag` */
    a = shingle(&bag1, (special_path){0}, (bm_str){"a b a", 5});
    b = shingle(&set, (special_path){0}, (bm_str){"a b a", 5});
    cr_expect(memcmp(a.content, b.content, sizeof *a.content) == 0);
    cr_expect(a.offsets[1] == 3 && b.offsets[1] == 2);
    bm_shingle_batch_reset(&a);
    bm_shingle_batch_reset(&b);
}

Test(bag, gives_on_every_path_what_the_exact_path_gives)
{
    static char text[64 * 1024];
    uint64_t state = 17;
    for (uint32_t each = 0; each < 160; each++) {
        const bm_text_options options = {.normalize = BM_NORM_LOWER,
                                         .words = (bm_words)(each / 2 % 2),
                                         .shingle = (bm_shingle_kind)(each % 4),
                                         .shingle_k = 1 + each % 3,
                                         .short_rule = (bm_short_rule)(each / 4 % 2),
                                         .bag = true};
        size_t len = random_words(&state, text, sizeof text);
        len = len < 8000 ? len : 8000; /* the exact path is quadratic */
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
        compare_paths(&options, (bm_str){text, len});
    }
}

/* Enough repeats for the table of large documents and for several runs of elements. */
Test(bag, of_one_shingle_many_times)
{
    static char text[40000];
    uint64_t sum = 0, expected = 0;
    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "a ", 2);
    bm_shingle_batch batch = shingle(&bag1, (special_path){0}, (bm_str){text, sizeof text});
    cr_assert_eq(batch.offsets[1], sizeof text / 2);
    for (uint32_t n = 1; n <= sizeof text / 2; n++) {
        sum += batch.hashes[n - 1];
        expected += of("a", n);
    }
    cr_expect_eq(sum, expected);
    bm_shingle_batch_reset(&batch);
}

Test(bag, hashes_that_are_given_become_elements_too)
{
    const uint64_t given[] = {5, 9, 5, 5, 0, 0};
    const uint64_t expected[] = {5, 9, 0, element(5, 2), element(5, 3), element(0, 2)};
    bm_set_shingler scratch = {.bag = true};
    bm_shingle_batch batch = {.counted = true};
    bm_hash128 content[2];
    for (int round = 0; round < 2; round++) {
        scratch.bag = round == 0;
        cr_assert_eq(bm_shingle_set_add(&scratch, given, 6, &batch, NULL), BM_OK);
        content[round] = batch.content[round];
    }
    cr_assert_eq(batch.offsets[1], 6);
    cr_expect_arr_eq(batch.hashes, expected, sizeof expected);
    cr_assert_eq(batch.offsets[2], 9);
    cr_expect_arr_eq(batch.hashes + 6, expected, 3 * sizeof *expected);
    const uint32_t counts[] = {1, 1, 1, 1, 1, 1, 3, 1, 2};
    cr_expect_arr_eq(batch.counts, counts, sizeof counts);
    cr_expect_eq(memcmp(&content[0], &content[1], sizeof *content), 0);
    bm_shingle_batch_reset(&batch);
    bm_set_shingler_reset(&scratch);
    uint64_t sorted[] = {0, 0, 5, 5, 5, 9};
    const uint64_t replaced[] = {0, element(0, 2), 5, element(5, 2), element(5, 3), 9};
    bm_repeats_replace(sorted, 6);
    cr_expect_arr_eq(sorted, replaced, sizeof sorted);
}

/* A hash that was made equal to an element of another shingle: the set has it only once. */
Test(bag, an_element_that_meets_another_stands_once)
{
    const uint64_t given[] = {5, 5, element(5, 2)};
    bm_set_shingler scratch = {.bag = true};
    bm_shingle_batch batch = {0};
    cr_assert_eq(bm_shingle_set_add(&scratch, given, 3, &batch, NULL), BM_OK);
    cr_expect_eq(batch.offsets[1], 2);
    bm_shingle_batch_reset(&batch);
    bm_set_shingler_reset(&scratch);
}

Test(bag, a_document_over_the_limit_says_what_is_enough)
{
    static char text[200000];
    size_t len = 0;
    for (unsigned i = 0; len < sizeof text - 16; i++) /* every word three times */
        len += (size_t)snprintf(text + len, 16, "%u ", i % 10000 * 2654435761u);
    bm_shingler *shingler = NULL;
    bm_shingle_batch batch = {0}, whole = shingle(&bag1, (special_path){0}, (bm_str){text, len});
    cr_assert_eq(bm_shingler_open(&bag1, NULL, &shingler, NULL), BM_OK);
    uint64_t limit = len + 1000, needed = limit;
    for (int tries = 0; tries < 3 && needed != 0; tries++) {
        bm_shingler_limit(shingler, limit);
        const bm_status status = bm_shingler_add(shingler, (bm_str){text, len}, &batch, NULL);
        needed = bm_shingler_needed(shingler);
        if (status == BM_OK)
            break;
        cr_assert_eq(status, BM_ERR_NOMEM);
        cr_assert_gt(needed, limit);
        cr_assert_eq(batch.n_docs, 0, "the batch is as before");
        limit = needed;
    }
    cr_assert_eq(batch.n_docs, 1, "what was named is enough");
    cr_assert_eq(batch.offsets[1], whole.offsets[1]);
    cr_assert_eq(memcmp(batch.hashes, whole.hashes, whole.offsets[1] * 8), 0);
    bm_shingler_close(shingler);
    bm_shingle_batch_reset(&batch);
    bm_shingle_batch_reset(&whole);
}
