/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "report/page.h"
#include "tests/world/world_random.h"
#include "tests/world/world_text.h"

/* The length of a longest common subsequence, by the textbook table. */
static size_t longest(const char *a, const char *b)
{
    static size_t table[128][128];
    const size_t n = strlen(a), m = strlen(b);
    memset(table, 0, sizeof table);
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            const size_t up = table[i - 1][j], left = table[i][j - 1];
            table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : up > left ? up : left;
        }
    return table[n][m];
}

/* Words of one letter each. */
static void spell(const char *letters, char *out)
{
    for (; *letters != '\0'; letters++) {
        *out++ = *letters;
        *out++ = ' ';
    }
    *out = '\0';
}

/* Expects the i-th common word of one text to equal the i-th of the other; counts them in
 * *n_common. */
static void check_common(const bm_diff_text *a, const bm_diff_text *b, size_t *n_common)
{
    size_t j = 0;
    *n_common = 0;
    for (size_t i = 0; i < a->n; i++) {
        const bm_diff_word *x = &a->words[i];
        if (!x->common)
            continue;
        while (j < b->n && !b->words[j].common)
            j++;
        cr_assert_lt(j, b->n);
        const bm_diff_word *y = &b->words[j++];
        cr_assert_eq(x->end - x->word, y->end - y->word);
        cr_assert_eq(memcmp(a->text.data + x->word, b->text.data + y->word, x->end - x->word), 0);
        ++*n_common;
    }
    while (j < b->n)
        cr_assert_not(b->words[j++].common);
}

Test(word_diff, common_words_are_a_longest_common_subsequence)
{
    uint64_t state = 1;
    for (size_t round = 0; round < 3000; round++) {
        char letters[2][64], texts[2][128];
        for (size_t side = 0; side < 2; side++) {
            const uint32_t n = world_below(&state, 40), alphabet = 1 + world_below(&state, 6);
            for (uint32_t i = 0; i < n; i++)
                letters[side][i] = (char)('a' + world_below(&state, alphabet));
            letters[side][n] = '\0';
            spell(letters[side], texts[side]);
        }
        bm_diff_text a = {.text = world_str(texts[0])}, b = {.text = world_str(texts[1])};
        size_t n_common;
        cr_assert_eq(bm_word_diff(&a, &b, NULL), BM_OK);
        check_common(&a, &b, &n_common);
        cr_assert_eq(n_common -
                         (a.n > 0 && b.n > 0 ? a.words[a.n - 1].word == a.words[a.n - 1].end : 0),
                     longest(letters[0], letters[1]), "%s / %s", letters[0], letters[1]);
        bm_diff_text_reset(&a);
        bm_diff_text_reset(&b);
    }
}

Test(word_diff, the_words_of_a_text_are_all_of_it)
{
    static const char text[] = "  one\ttwo\n\n three \x0b";
    bm_diff_text a = {.text = {text, sizeof text - 1}}, b = {.text = world_str("one two three")};
    cr_assert_eq(bm_word_diff(&a, &b, NULL), BM_OK);
    size_t at = 0;
    for (size_t i = 0; i < a.n; i++) {
        cr_expect_eq(a.words[i].begin, at);
        at = a.words[i].end;
    }
    cr_expect_eq(at, sizeof text - 1);
    cr_expect_eq(a.n, 4u); /* the last word is empty: only the trailing white space */
    for (size_t i = 0; i < 3; i++)
        cr_expect(a.words[i].common && b.words[i].common);
    bm_diff_text_reset(&a);
    bm_diff_text_reset(&b);
}

Test(word_diff, texts_that_differ_in_much_end_with_a_common_sequence)
{
    enum { N = 6000 };
    static char texts[2][N * 8];
    uint64_t state = 7;
    for (size_t side = 0; side < 2; side++) {
        size_t len = 0;
        for (size_t i = 0; i < N; i++)
            len += (size_t)sprintf(texts[side] + len, "%u ", world_below(&state, 300));
    }
    bm_diff_text a = {.text = world_str(texts[0])}, b = {.text = world_str(texts[1])};
    size_t n_common;
    cr_assert_eq(bm_word_diff(&a, &b, NULL), BM_OK);
    check_common(&a, &b, &n_common);
    cr_expect_gt(n_common, N / 50);
    bm_diff_text_reset(&a);
    bm_diff_text_reset(&b);
}
