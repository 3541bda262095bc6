/* SPDX-License-Identifier: Apache-2.0 */
/* test_unreadable.c -- the rule, compared with counting code point by code point; and the shingler
 * on every instruction set, compared with the rule. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/system.h"
#include "base/utf8.h"
#include "text/unreadable.h"
#include "text/unit_text.h"

#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

static bool counts(uint32_t code)
{
    return code == 0xFFFD || (code < 0x20 && code != 9 && code != 10 && code != 12 && code != 13);
}

/* Counts as unreadable: more than a tenth of the code points, and more than two, are bad. */
static bool by_the_rule(bm_str text)
{
    uint64_t n = 0, bad = 0;
    for (const char *at = text.data, *end = text.data + text.len; at < end; n++)
        bad += counts(bm_utf8_next(&at, end));
    return bad > 2 && 10 * bad > n;
}

/* About one code point in `rarity` counts against the text. */
static bm_str make_text(uint64_t *state, char *out, size_t n_codes, uint64_t rarity)
{
    /* neighbours of bad code points, by bits and by bytes; and letters of one to four bytes */
    static const uint32_t good[] = {'a',    'Z',    ' ',    9,      10,     12,      13,
                                    0x7F,   0x85,   0x20,   0xFFFC, 0xFFFE, 0xFF0C,  0xFBFD,
                                    0x3FFD, 0x5B57, 0x0416, 0xE9,   0xEFBF, 0x1F600, 0x1FFFD};
    static const uint32_t bad[] = {0, 1, 8, 11, 14, 0x1B, 0x19, 0x1F, 0xFFFD, 0xFFFD, 0xFFFD};
    char *end = out;
    for (size_t i = 0; i < n_codes; i++)
        end = bm_utf8_put(end, world_random(state) % rarity == 0
                                   ? bad[world_random(state) % (sizeof bad / sizeof *bad)]
                                   : good[world_random(state) % (sizeof good / sizeof *good)]);
    return (bm_str){out, (size_t)(end - out)};
}

Test(unreadable, needs_three_and_more_than_a_tenth)
{
    static const struct {
        const char *text;
        size_t len;
        bool is;
    } rows[] = {
        {"", 0, false},
        {"\xEF\xBF\xBD\xEF\xBF\xBD", 6, false},
        {"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 9, true},
        {"\0\0\0", 3, true},
        {"\t\n\f\r\t\n\f\r", 8, false},
        {"\x01 a \x02 b \x03 abcdefghijklmnopqrst", 30, false}, /* 3 of 30 */
        {"\x01 a \x02 b \x03 abcdefghijklmnopqrs", 29, true},   /* 3 of 29 */
        {"\x01\x02\xEF\xBF\xBD", 5, true},
        {"\xD0\x96\xD0\x96\xD0\x96\x1B\x1B\x1B", 9, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(bm_text_is_unreadable((bm_str){rows[i].text, rows[i].len}), rows[i].is,
                     "row %zu", i);
}

Test(unreadable, is_the_rule_on_random_texts)
{
    static char text[4 * 2000];
    uint64_t state = 1;
    size_t n_unreadable = 0;
    for (size_t i = 0; i < 4000; i++) {
        const bm_str t = make_text(&state, text, world_random(&state) % (i % 4 == 0 ? 2000 : 120),
                                   i % 3 == 0 ? 11 : 1 + world_random(&state) % 60);
        n_unreadable += by_the_rule(t);
        cr_assert_eq(bm_text_is_unreadable(t), by_the_rule(t), "text %zu", i);
    }
    cr_assert(n_unreadable > 400 && n_unreadable < 3600, "%zu", n_unreadable);
}

static bm_shingler *open_shingler(const bm_text_options *options, const char *isa)
{
    return world_open(bm_shingler, options, isa);
}

/* Checks the shingler, and a batch of texts for a device. */
static void check(const bm_text_options *options, const char *isa, uint64_t seed)
{
    static char text[4 * 600];
    uint64_t state = seed;
    bm_shingler *shingler = open_shingler(options, isa);
    bm_shingle_batch batch = {0}, again = {0};
    bm_text_batch texts = {.options = *options};
    uint64_t n_unreadable = 0;
    for (size_t i = 0; i < 300; i++) {
        const bm_str t = make_text(&state, text, world_random(&state) % 600,
                                   i % 2 == 0 ? 11 : 1 + world_random(&state) % 200);
        const bool is = by_the_rule(t);
        n_unreadable += is;
        cr_assert_eq(bm_shingler_add(shingler, t, &batch, NULL), BM_OK);
        cr_assert_eq(bm_content_is_unreadable(batch.content[i]), is, "%s, text %zu", isa, i);
        cr_assert(!is || bm_shingle_batch_last(&batch) == 0);
        cr_assert_eq(batch.n_unreadable, n_unreadable);
        if (!bm_text_batch_able(options))
            continue;
        cr_assert_eq(bm_unit_text_add(shingler, t, &texts, NULL), BM_OK);
        cr_assert_eq(texts.docs[i].unreadable, is);
        cr_assert_eq(bm_unit_text_hash(shingler, &texts, i, &again, NULL), BM_OK);
        cr_assert_eq(again.content[i].lo, batch.content[i].lo);
        cr_assert_eq(again.content[i].hi, batch.content[i].hi);
        cr_assert_eq(texts.n_unreadable, n_unreadable);
        cr_assert_eq(texts.n_empty + again.n_empty, batch.n_empty);
    }
    cr_assert(n_unreadable > 20 && n_unreadable < 280, "%lu", (unsigned long)n_unreadable);
    bm_shingle_batch_reset(&batch);
    bm_shingle_batch_reset(&again);
    bm_text_batch_reset(&texts);
    bm_shingler_close(shingler);
}

Test(unreadable, has_no_shingles_of_any_kind_on_any_processor)
{
    static const char *const isas[] = {"scalar", "avx2", "avx512", "neon"};
    static const bm_shingle_kind kinds[] = {BM_SHINGLE_WORD, BM_SHINGLE_CHAR, BM_SHINGLE_BYTE,
                                            BM_SHINGLE_STOPWORD};
    static const uint32_t normalize[] = {BM_NORM_LOWER, 0, BM_NORM_NFKC | BM_NORM_PUNCT};
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        bm_isa isa;
        if (bm_isa_choose(isas[i], &isa, NULL) != BM_OK)
            continue;
        for (size_t k = 0; k < 4; k++)
            for (size_t n = 0; n < 3; n++)
                for (unsigned words = BM_WORDS_ALNUM; words <= BM_WORDS_TEXT_DEDUP; words++)
                    check(&(bm_text_options){.normalize = normalize[n],
                                             .words = (bm_words)words,
                                             .shingle = kinds[k],
                                             .shingle_k = 2},
                          isas[i], 100 * i + 10 * k + n);
    }
}
