/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_units.c -- units of texts and their positions, compared with ones written by hand; and
 * each unit, made again from its own part of the text alone, is the same. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "text/shingle_ops.h"
#include "text/unit_text.h"
#include "tests/world/world_random.h"
#include "tests/world/world_text.h"

static bm_text_options options_of(bm_shingle_kind kind, bm_words words, uint32_t normalize)
{
    return (bm_text_options){
        .shingle = kind, .shingle_k = 3, .words = words, .normalize = normalize};
}

/* `stretches`: the part of the text of each unit; ends with NULL. */
static void expect(const bm_text_options *options, const char *text, const char *const *stretches)
{
    bm_text_units units = {0};
    cr_assert_eq(bm_text_units_make(options, world_str(text), &units, NULL), BM_OK);
    size_t n = 0;
    for (; stretches[n] != NULL; n++) {
        cr_assert_lt(n, units.n, "%s: %zu units", text, units.n);
        const bm_text_unit *unit = &units.list[n];
        const size_t len = unit->to - unit->from;
        cr_expect(len == strlen(stretches[n]) && memcmp(text + unit->from, stretches[n], len) == 0,
                  "%s, unit %zu: %.*s for %s", text, n, (int)len, text + unit->from, stretches[n]);
        bm_text_units alone = {0};
        cr_assert_eq(bm_text_units_make(options, (bm_str){stretches[n], len}, &alone, NULL), BM_OK);
        if (options->shingle == BM_SHINGLE_WORD)
            cr_expect_eq(alone.list[0].hash, unit->hash);
        bm_text_units_reset(&alone);
    }
    cr_expect_eq(units.n, n, "%s: %zu units", text, units.n);
    bm_text_units_reset(&units);
}

#define STRETCHES(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(text_units, words_stand_where_their_letters_do)
{
    const bm_text_options alnum = options_of(BM_SHINGLE_WORD, BM_WORDS_ALNUM, BM_NORM_LOWER),
                          space = options_of(BM_SHINGLE_WORD, BM_WORDS_SPACE, 0);
    expect(&alnum, " Don't, 42 \xC3\x89t\xC3\xA9!",
           STRETCHES("Don", "t", "42", "\xC3\x89t\xC3\xA9"));
    expect(&alnum,
           "a\xE6\x97\xA5\xE6\x9C\xAC"
           "b",
           STRETCHES("a", "\xE6\x97\xA5", "\xE6\x9C\xAC", "b"));
    expect(&space, "  Don't,\t42\n", STRETCHES("Don't,", "42"));
    expect(&alnum, "...", STRETCHES(NULL));
    expect(&alnum, "", STRETCHES(NULL));
}

Test(text_units, of_characters_that_are_composed_all_belong_to_the_unit)
{
    const bm_text_options nfc = options_of(BM_SHINGLE_WORD, BM_WORDS_ALNUM, BM_NORM_NFC),
                          chars = options_of(BM_SHINGLE_CHAR, BM_WORDS_ALNUM, BM_NORM_NFC),
                          nfkc = options_of(BM_SHINGLE_CHAR, BM_WORDS_ALNUM, BM_NORM_NFKC);
    expect(&nfc, "\xD1\x81\xD0\xBB\xD0\xBE\xD0\xB2\xD0\xBE e\xCC\x81t",
           STRETCHES("\xD1\x81\xD0\xBB\xD0\xBE\xD0\xB2\xD0\xBE", "e\xCC\x81t"));
    expect(&chars, " e\xCC\x81 \t\xE1\x84\x80\xE1\x85\xA1", /* a jamo and its vowel */
           STRETCHES("e\xCC\x81", " \t", "\xE1\x84\x80\xE1\x85\xA1"));
    /* the ligature fi: two units */
    expect(&nfkc, "\xEF\xAC\x81", STRETCHES("\xEF\xAC\x81", "\xEF\xAC\x81"));
}

Test(text_units, what_is_dropped_within_a_unit_belongs_to_it)
{
    const uint32_t seen = BM_NORM_INVISIBLE, nfc = BM_NORM_INVISIBLE | BM_NORM_NFC;
    const bm_text_options words = options_of(BM_SHINGLE_WORD, BM_WORDS_ALNUM, seen),
                          composed = options_of(BM_SHINGLE_WORD, BM_WORDS_ALNUM, nfc),
                          chars = options_of(BM_SHINGLE_CHAR, BM_WORDS_ALNUM, nfc);
    expect(&words, "so\u00ADft \u2764\uFE0F \u200D1\uFE0F\u20E3",
           STRETCHES("so\u00ADft", "1\uFE0F\u20E3"));
    expect(&composed, "a\u200Bso\u00ADft e\u034F\u0301.\u0301 c", /* not in one piece */
           STRETCHES("a", "so\u00ADft", "e\u034F\u0301", "c"));
    expect(&composed, "\u0905\u0903 \u2014\u0903\u0905", STRETCHES("\u0905\u0903", "\u0905"));
    expect(&chars, "\uAC00\u200D\u11A8\u0915\u0903",
           STRETCHES("\uAC00\u200D\u11A8", "\u0915", "\u0903"));
}

Test(text_units, characters_and_bytes_are_those_of_the_normalised_text)
{
    const bm_text_options chars = options_of(BM_SHINGLE_CHAR, BM_WORDS_ALNUM, BM_NORM_PUNCT),
                          bytes = options_of(BM_SHINGLE_BYTE, BM_WORDS_ALNUM, 0);
    expect(&chars, "  a,b  \xC3\xA9 ", STRETCHES("a", "b", "  ", "\xC3\xA9"));
    expect(&bytes, "a \xC3\xA9", STRETCHES("a", " ", "\xC3\xA9", "\xC3\xA9"));
}

/* For a long text that is read in blocks: the positions of units in one repetition are the same in
 * every other. */
static void repeat(const bm_text_options *options, const char *part)
{
    enum { TIMES = 9000 };
    const size_t len = strlen(part);
    bm_text_units one = {0}, all = {0};
    char *text = malloc(TIMES * len);
    cr_assert_not_null(text);
    for (size_t i = 0; i < TIMES; i++)
        memcpy(text + i * len, part, len);
    cr_assert_eq(bm_text_units_make(options, (bm_str){part, len}, &one, NULL), BM_OK);
    cr_assert_eq(bm_text_units_make(options, (bm_str){text, TIMES * len}, &all, NULL), BM_OK);
    cr_assert_eq(all.n, TIMES * one.n, "%s: %zu units of %zu", part, all.n, one.n);
    for (size_t i = 0; i < all.n; i++) {
        const bm_text_unit *unit = &all.list[i], *of = &one.list[i % one.n];
        const size_t at = i / one.n * len;
        cr_assert(unit->hash == of->hash && unit->from == at + of->from && unit->to == at + of->to,
                  "%s, unit %zu", part, i);
    }
    free(text);
    bm_text_units_reset(&one);
    bm_text_units_reset(&all);
}

Test(text_units, of_a_long_text_they_stand_where_they_do_in_its_parts)
{
    const uint32_t seen = BM_NORM_INVISIBLE | BM_NORM_LOWER;
    const char *const part = " One, zw\u00ADei \u65E5\u672C e\u0301t\u0301 "
                             "\u0915\u0903 \uAC00\u11A8.";
    const bm_text_options alnum = options_of(BM_SHINGLE_WORD, BM_WORDS_ALNUM, seen),
                          space = options_of(BM_SHINGLE_WORD, BM_WORDS_SPACE, seen),
                          nfc = options_of(BM_SHINGLE_WORD, BM_WORDS_ALNUM, seen | BM_NORM_NFC),
                          bytes = options_of(BM_SHINGLE_BYTE, BM_WORDS_ALNUM, seen);
    repeat(&alnum, part);
    repeat(&space, part);
    repeat(&nfc, part);
    repeat(&bytes, part);
}

static bm_status append(void *ctx, uint64_t number, bm_str bytes, size_t from, size_t to,
                        bm_error *err)
{
    bm_buf *joined = ctx;
    cr_assert_leq(from, to);
    if (number > 0)
        BM_TRY(bm_buf_add(joined, " ", 1, err));
    return bm_buf_add(joined, bytes.data, bytes.len, err);
}

/* Words of ASCII have their own loop. */
Test(text_units, words_are_those_of_the_joined_text_whatever_is_between_them)
{
    static const char *const pieces[] = {
        "word",   "Two",    "x9",           " ",       "\n",         "\t",     ",",
        "-",      "\x1F",   "\u00E9",       "e\u0301", "\u00A0",     "\u3000", "\u200B",
        "\u6F22", "\uFB01", "\u0421\u0414", "\u00AD",  "\U0001F600", "\u0903", "."};
    static const uint32_t norms[] = {0,
                                     BM_NORM_LOWER,
                                     BM_NORM_INVISIBLE | BM_NORM_LOWER,
                                     BM_NORM_NFC | BM_NORM_LOWER,
                                     BM_NORM_NFKC | BM_NORM_INVISIBLE,
                                     BM_NORM_PUNCT};
    for (size_t i = 0; i < 3000; i++) {
        char text[400] = "";
        bm_buf joined = {0};
        const struct bm_joined *expected = NULL;
        bm_shingler *shingler = NULL;
        const bm_text_options options =
            options_of(BM_SHINGLE_WORD, i % 2 == 0 ? BM_WORDS_ALNUM : BM_WORDS_SPACE,
                       norms[i / 2 % (sizeof norms / sizeof norms[0])]);
        for (uint32_t n = world_pick(40); n > 0; n--)
            strcat(text, pieces[world_pick(sizeof pieces / sizeof pieces[0])]);
        const bm_str whole = {text, strlen(text)};
        cr_assert_eq(bm_shingler_open(&options, NULL, &shingler, NULL), BM_OK);
        cr_assert_eq(bm_shingler_join(shingler, whole, &expected, NULL), BM_OK);
        cr_assert_eq(bm_text_units_walk(&options, whole, append, &joined, NULL), BM_OK);
        if (!expected->unreadable) {
            cr_expect_eq(joined.len, expected->len, "%s", text);
            cr_expect(joined.len == 0 || memcmp(joined.data, expected->data, joined.len) == 0,
                      "%s: %.*s", text, (int)joined.len, joined.data);
        }
        bm_shingler_close(shingler);
        bm_buf_reset(&joined);
    }
}
