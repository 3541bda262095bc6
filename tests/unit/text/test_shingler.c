/* SPDX-License-Identifier: Apache-2.0 */
/* test_shingler.c -- shingles written by hand from the rules and hashed here with the xxHash
 * library; and the fast path, compared with the exact one on random text. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/system.h"
#include "base/utf8.h"
#include "text/set_shingler.h"
#include "text/shingler.h"
#include "tests/world/sized.h"
#include "tests/unit/text/shingle_oracle.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"
#include "tests/world/world_text.h"

static const char *const isas[] = {"scalar", "avx2", "avx512", "neon"};
#define N_ISAS (sizeof isas / sizeof isas[0])

static bool available(const char *isa)
{
    bm_isa chosen;
    return bm_isa_choose(isa, &chosen, NULL) == BM_OK;
}

static bm_text_options word(uint32_t k, uint32_t normalize, bm_words words)
{
    return (bm_text_options){.normalize = normalize, .words = words, .shingle_k = k};
}

static bm_text_options other(bm_shingle_kind kind, uint32_t k, uint32_t normalize)
{
    return (bm_text_options){.normalize = normalize, .shingle = kind, .shingle_k = k};
}

/* A batch of one document; the text is in an allocation of exactly its size. */
static bm_shingle_batch shingle(bm_text_options options, const char *isa, bm_str text, bool exact)
{
    bm_error err = {0};
    bm_shingle_batch batch = {0};
    char *block = malloc(text.len == 0 ? 1 : text.len);
    memcpy(block, text.data, text.len);
    bm_shingler *shingler = world_open(bm_shingler, &options, isa);
    bm_status status = exact ? shingle_exactly(&options, (bm_str){block, text.len}, &batch, &err)
                             : bm_shingler_add(shingler, (bm_str){block, text.len}, &batch, &err);
    cr_assert_eq(status, BM_OK, "%s", err.message);
    bm_shingler_close(shingler);
    free(block);
    return batch;
}

/* The content hash by its definition, which tests/unit/model/test_content_sums.c checks
 * independently. `whole`: the joined text, or the sequence of hashes if there is none. */
static bm_hash128 content_of(const uint64_t *run, size_t n, bm_str whole)
{
    bm_content_sums sums = {0};
    bm_content_add(run, n, 0, &sums);
    bm_hash128 content = bm_content_end(&sums, n);
    if (n > 0)
        content.hi ^= XXH3_64bits(whole.data, whole.len);
    return content;
}

/* The content hash of a text. */
static bm_hash128 content_of_text(bm_text_options options, bm_str text, const uint64_t *run,
                                  size_t n)
{
    const bm_joined *joined = NULL;
    bm_shingler *shingler = world_open(bm_shingler, &options, "scalar");
    cr_assert_eq(bm_shingler_join(shingler, text, &joined, NULL), BM_OK);
    const bm_hash128 content = n == 0 && joined->len > 0
                                   ? (bm_hash128){.hi = 2} /* too short for a shingle */
                                   : content_of(run, n, (bm_str){joined->data, joined->len});
    bm_shingler_close(shingler);
    return content;
}

/* Expects these shingles of the text on every path; `expected` has them with repeats, separated by
 * '|'. */
static void expect(bm_text_options options, const char *text, const char *expected)
{
    uint64_t run[64], distinct[64];
    size_t n_run = 0, n = 0;
    for (const char *at = expected; *expected != '\0'; at++) {
        size_t len = strcspn(at, "|");
        run[n_run++] = XXH3_64bits(at, len);
        at += len;
        if (*at == '\0')
            break;
    }
    for (size_t i = 0; i < n_run; i++) {
        size_t j = 0;
        while (j < n && distinct[j] != run[i])
            j++;
        if (j == n)
            distinct[n++] = run[i];
    }
    const bm_hash128 content =
        options.shingle == BM_SHINGLE_STOPWORD
            ? content_of(run, n_run, (bm_str){(const char *)run, n_run * sizeof *run})
            : content_of_text(options, world_str(text), run, n_run);
    for (size_t i = 0; i <= N_ISAS; i++) {
        const char *isa = i < N_ISAS ? isas[i] : "scalar";
        if (!available(isa))
            continue;
        bm_shingle_batch batch = shingle(options, isa, world_str(text), i == N_ISAS);
        const char *path = i == N_ISAS ? "exact" : isa;
        cr_assert_eq(batch.n_docs, 1);
        cr_expect_eq(batch.offsets[1], n, "%s: %zu hashes for '%s'", path, (size_t)batch.offsets[1],
                     text);
        if (batch.offsets[1] == n && n > 0)
            cr_expect_arr_eq(batch.hashes, distinct, n * sizeof distinct[0], "%s: '%s'", path,
                             text);
        cr_expect_arr_eq(batch.content, &content, sizeof content, "%s", path);
        bm_shingle_batch_reset(&batch);
    }
}

#define LOWER BM_NORM_LOWER

Test(shingler, joins_words_by_one_blank)
{
    expect(word(2, LOWER, BM_WORDS_ALNUM), "The quick, brown--FOX.",
           "the quick|quick brown|brown fox");
    expect(word(2, 0, BM_WORDS_SPACE), " The quick,\n\tbrown--FOX. ",
           "The quick,|quick, brown--FOX.");
    expect(word(1, 0, BM_WORDS_ALNUM),
           "a_b'c\x7f"
           "d",
           "a|b|c|d");
}

/* The expected words are those of Python's re.split(r"\\W", text.lower()), written by hand. */
Test(shingler, parts_words_as_text_dedup_does_at_each_character)
{
    expect(word(2, LOWER, BM_WORDS_TEXT_DEDUP), "The quick, brown--FOX.",
           "the quick|quick | brown|brown | fox|fox ");
    expect(word(3, 0, BM_WORDS_TEXT_DEDUP), " a_b 1", " a_b 1");
    expect(word(1, 0, BM_WORDS_TEXT_DEDUP), "a,b__c\xE2\x80\x94_", "a|b__c|_");
    expect(word(2, 0, BM_WORDS_TEXT_DEDUP), "\xE4\xB8\xAD\xE6\x96\x87 x\xC2\xB2\xE2\x85\xA7",
           "\xE4\xB8\xAD\xE6\x96\x87 x\xC2\xB2\xE2\x85\xA7"); /* Han, No, Nl: one word each run */
    expect(word(2, 0, BM_WORDS_TEXT_DEDUP), "e\xCC\x81t", "e t");     /* a mark separates words */
    expect(word(2, 0, BM_WORDS_TEXT_DEDUP), "a\xE2\x80\xBFz", "a z"); /* U+203F, Pc like `_` */
    expect(word(5, 0, BM_WORDS_TEXT_DEDUP), ",", " ");                /* two empty words */
    expect(word(1, 0, BM_WORDS_TEXT_DEDUP), "", "");
    expect(word(2, BM_NORM_PUNCT, BM_WORDS_TEXT_DEDUP), "don't, x_y", "dont xy");
    const bm_text_options stop = {
        .words = BM_WORDS_TEXT_DEDUP, .shingle = BM_SHINGLE_STOPWORD, .shingle_k = 1};
    expect(stop, ", the end, of, x", "the end|of ");
}

Test(shingler, keeps_distinct_hashes_in_order_of_first_occurrence)
{
    expect(word(1, LOWER, BM_WORDS_ALNUM), "b a b A c b", "b|a|b|a|c|b");
    expect(word(2, LOWER, BM_WORDS_ALNUM), "b a b a b", "b a|a b|b a|a b");
}

Test(shingler, parts_words_at_every_white_space_and_at_nothing_else)
{
    expect(word(1, 0, BM_WORDS_SPACE),
           "a\tb\nc\vd\fe\rf g\xC2\x85h\xC2\xA0i\xE1\x9A\x80j\xE2\x80\x80k\xE2\x80\x8Al\xE2\x80\xA8"
           "m\xE2\x80\xA9n\xE2\x80\xAFo\xE2\x81\x9Fp\xE3\x80\x80q",
           "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q");
    /* U+001C to U+001F, U+200B, U+180E and U+FEFF do not have the property White_Space */
    expect(word(1, 0, BM_WORDS_SPACE),
           "a\x1C\x1D\x1E\x1F"
           "b\xE2\x80\x8B"
           "c\xE1\xA0\x8E"
           "d\xEF\xBB\xBF"
           "and so many letters that four controls are few",
           "a\x1C\x1D\x1E\x1F"
           "b\xE2\x80\x8B"
           "c\xE1\xA0\x8E"
           "d\xEF\xBB\xBF"
           "and|so|many|letters|that|four|controls|are|few");
}

Test(shingler, takes_each_character_of_a_split_script_for_a_word)
{
    expect(word(1, LOWER, BM_WORDS_ALNUM), "abc中文def", "abc|中|文|def");
    expect(word(2, LOWER, BM_WORDS_ALNUM), "ひらカナ", "ひ ら|ら カ|カ ナ");
    expect(word(1, LOWER, BM_WORDS_ALNUM), "한국어 말", "한국어|말"); /* Hangul is not split */
}

Test(shingler, leaves_marks_with_the_character_before)
{
    expect(word(1, LOWER, BM_WORDS_ALNUM), "ที่นี่", "ที่|นี่"); /* Thai: U+0E35, U+0E48 are Mn */
    expect(word(1, LOWER, BM_WORDS_ALNUM), "ကျ", "ကျ");  /* Myanmar: U+103B is Mc */
    expect(word(1, LOWER, BM_WORDS_ALNUM), "が\xE3\x82\x99x", "が\xE3\x82\x99|x"); /* U+3099 */
    expect(word(1, LOWER, BM_WORDS_ALNUM),
           "e\xCC\x81t \xCC\x81"
           "a",
           "e\xCC\x81t|\xCC\x81"
           "a");
    expect(word(1, LOWER, BM_WORDS_ALNUM),
           "-\xE0\xB8\xB1"
           "a",
           "\xE0\xB8\xB1|a"); /* U+0E31 first */
}

Test(shingler, drops_punctuation_of_split_scripts)
{
    /* U+0E4F Thai and U+17D4 Khmer punctuation, U+3002, U+30FB (Pd, Po, Common) */
    expect(word(1, LOWER, BM_WORDS_ALNUM), "ก๏ข។中。文・字", "ก|ข|中|文|字");
}

Test(shingler, lowers_by_the_simple_mapping)
{
    expect(word(1, LOWER, BM_WORDS_ALNUM), "İ", "i");            /* U+0130: i, and no dot above */
    expect(word(1, LOWER, BM_WORDS_ALNUM), "ΣΑΣ", "σασ");        /* no final sigma */
    expect(word(1, LOWER, BM_WORDS_ALNUM), "Iıẞ ǅ", "iıß|ǆ");    /* no Turkish rule; titlecase */
    expect(word(1, LOWER, BM_WORDS_ALNUM), "\xE2\x84\xAA", "k"); /* U+212A Kelvin sign */
    expect(word(1, LOWER, BM_WORDS_ALNUM), "ⰀᲐ𐐀ⴀ", "ⰰა𐐨ⴀ");
}

Test(shingler, applies_the_normal_forms)
{
    expect(word(1, BM_NORM_NFC, BM_WORDS_SPACE), "e\xCC\x81", "\xC3\xA9");
    expect(word(1, BM_NORM_NFC, BM_WORDS_SPACE), "\xE2\x84\xAB", "\xC3\x85"); /* U+212B */
    expect(word(1, BM_NORM_NFC, BM_WORDS_SPACE), "q\xCC\x87\xCC\xA3",
           "q\xCC\xA3\xCC\x87"); /* order */
    expect(word(1, BM_NORM_NFC, BM_WORDS_SPACE), "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8",
           "\xEA\xB0\x81"); /* Hangul jamo to U+AC01 */
    expect(word(1, BM_NORM_NFC, BM_WORDS_SPACE), "ﬁ①", "ﬁ①");
    expect(word(1, BM_NORM_NFKC, BM_WORDS_SPACE), "ﬁ①Ａ\xE3\x80\x80x", "fi1A|x");
    expect(word(1, BM_NORM_NFKC | LOWER, BM_WORDS_SPACE), "\xE2\x84\xA1", "tel"); /* U+2121 TEL */
}

Test(shingler, strips_accents_and_maps_digits)
{
    expect(word(1, BM_NORM_STRIP_ACCENTS, BM_WORDS_SPACE), "Zoë crème e\xCC\x81 ệ Łø",
           "Zoe|creme|e|e|Łø");
    expect(word(1, BM_NORM_DIGITS, BM_WORDS_SPACE), "a19 ٣٤ ９ Ⅷ²",
           "a00|00|0|Ⅷ²"); /* Nl and No are kept */
    expect(word(1, LOWER | BM_NORM_STRIP_ACCENTS | BM_NORM_DIGITS, BM_WORDS_ALNUM), "ÀÉ-٣7",
           "ae|00");
}

Test(shingler, drops_each_punctuation_before_words_are_cut)
{
    const uint32_t punct = BM_NORM_PUNCT;
    expect(word(1, punct, BM_WORDS_ALNUM), "Don't stop: e.g. (re-do)!", "Dont|stop|eg|redo");
    expect(word(1, punct, BM_WORDS_SPACE), "a - b ... !c! \"d\"", "a|b|c|d");
    expect(word(1, punct, BM_WORDS_SPACE), "$5+3<=>`^~", "$5+3<=>`^~"); /* S is kept */
    expect(word(1, punct, BM_WORDS_SPACE), "!\"#%&'()*,-./:;?@[\\]_{}x", "x");
    expect(word(1, punct, BM_WORDS_ALNUM), "«Où», l’été—là",
           "Où|lété"
           "là");
    expect(word(1, punct, BM_WORDS_ALNUM), "中。文・字x!y", "中|文|字|xy");
    expect(word(1, punct | LOWER | BM_NORM_DIGITS, BM_WORDS_ALNUM), "A-1.5", "a00");
    /* NFKC makes … into dots */
    expect(word(1, punct | BM_NORM_NFKC, BM_WORDS_SPACE), "a… b．", "a|b");
    expect(word(1, punct, BM_WORDS_ALNUM), "...?!", "");
    /* A mark after dropped punctuation attaches to the letter before, but does not compose with it.
     */
    expect(word(1, punct, BM_WORDS_ALNUM), "中!\xCC\x81", "中\xCC\x81");
    expect(word(1, punct, BM_WORDS_ALNUM), "ก.่x", "ก่|x");
    expect(word(1, punct | BM_NORM_NFC, BM_WORDS_SPACE), "e.\xCC\x81", "e\xCC\x81");
    expect(other(BM_SHINGLE_CHAR, 3, punct), " a. -. b'c ", "a b| bc");
    expect(other(BM_SHINGLE_BYTE, 3, punct), " a. -. b'c", " a |a  |  b| bc");
}

Test(shingler, cuts_characters_with_white_space_collapsed)
{
    expect(other(BM_SHINGLE_CHAR, 3, 0), "  ab \n\xC2\xA0 c.\t", "ab |b c| c.");
    expect(other(BM_SHINGLE_CHAR, 2, LOWER), "Éa😀中", "éa|a😀|😀中");
    expect(other(BM_SHINGLE_CHAR, 1, BM_NORM_NFC), "e\xCC\x81x", "é|x");
}

Test(shingler, cuts_bytes_of_the_normalised_text_as_it_is)
{
    expect(other(BM_SHINGLE_BYTE, 3, LOWER), " A\n B", " a\n|a\n |\n b");
    expect(other(BM_SHINGLE_BYTE, 2, 0), "é ", "\xC3\xA9|\xA9 ");
}

Test(shingler, makes_one_shingle_of_a_short_document_or_none)
{
    bm_text_options options = word(5, LOWER, BM_WORDS_ALNUM);
    expect(options, "One, two", "one two");
    expect(other(BM_SHINGLE_CHAR, 5, 0), " a  b ", "a b");
    expect(other(BM_SHINGLE_BYTE, 5, 0), " a ", " a ");
    bm_shingle_batch batch = shingle(options, NULL, (bm_str){"One, two", 8}, false);
    cr_expect_eq(batch.n_short, 1);
    cr_expect_eq(batch.n_empty, 0);
    bm_shingle_batch_reset(&batch);
    options.short_rule = BM_SHORT_SKIP;
    expect(options, "One, two", "");
    expect(options, "a b c d e", "a b c d e");
    batch = shingle(options, NULL, (bm_str){"One, two", 8}, false);
    cr_expect_eq(batch.n_short, 1);
    cr_expect_eq(batch.offsets[1], 0);
    bm_shingle_batch_reset(&batch);
}

/* Texts that begin and end inside and outside the fast path, under each rule of words. */
Test(shingler, words_are_those_of_the_text_that_is_seen)
{
    const uint32_t seen = BM_NORM_INVISIBLE, punct = BM_NORM_INVISIBLE | BM_NORM_PUNCT;
    expect(word(1, seen | LOWER, BM_WORDS_ALNUM), "So\u00ADft \u2764\uFE0F 1\uFE0F\u20E3 x",
           "soft|1\u20E3|x");
    expect(word(1, 0, BM_WORDS_ALNUM), "so\u00ADft", "so|ft");
    expect(word(1, seen, BM_WORDS_ALNUM), "a\u200Bb\u00A0c\uFEFF", "a|b|c");
    expect(word(1, seen, BM_WORDS_ALNUM), "\u0645\u06CC\u200C\u062E\u0648",
           "\u0645\u06CC\u062E\u0648");
    expect(word(1, seen, BM_WORDS_ALNUM), "\u0E01\u0E31\u00AD\u0E49\u4E2D\uFE00\u6587x",
           "\u0E01\u0E31\u0E49|\u4E2D|\u6587|x"); /* marks after a one-character word */
    expect(word(1, seen, BM_WORDS_ALNUM), "-\u0E31a \u0301b", "a|b");
    expect(word(1, seen, BM_WORDS_SPACE), "a-\u0301b \u2764\uFE0F\u200Bc\u0301 \u0301",
           "a-b|\u2764|c\u0301");
    expect(word(2, seen, BM_WORDS_TEXT_DEDUP), "a\u0301b,\u0301c\u200Bd", "a b|b c|c d");
    expect(word(1, punct, BM_WORDS_ALNUM), "a,\u0301b c\u0301", "ab|c\u0301");
    expect(word(1, seen | BM_NORM_NFC, BM_WORDS_SPACE), "e\u034F\u0301 =\u0338", "\u00E9|=");
    expect(word(1, BM_NORM_NFC, BM_WORDS_SPACE), "=\u0338", "\u2260");
    /* NFKC makes the mark, after marks were dropped */
    expect(word(1, seen | BM_NORM_NFKC, BM_WORDS_SPACE), "a\u00B4b", "a|\u0301b");
    expect(other(BM_SHINGLE_CHAR, 2, seen), "\u00ADa \u200B-\u0301b", "a | -|-b");
    expect(other(BM_SHINGLE_BYTE, 2, seen), "a\u200Bb\u200D,\u0301", "a | b|b,");
}

Test(shingler, counts_documents_without_units_as_empty)
{
    static const char *const empty[] = {"", " ", "\n\t\xE3\x80\x80", "--- ...",
                                        "\u2764\uFE0F!\u20E3"};
    for (size_t i = 0; i < 5; i++) {
        bm_str text = {empty[i], strlen(empty[i])};
        bm_shingle_batch batch =
            shingle(word(5, BM_NORM_INVISIBLE | LOWER, BM_WORDS_ALNUM), NULL, text, false);
        cr_expect_eq(batch.n_empty, 1);
        cr_expect_eq(batch.n_short, 0);
        cr_expect_eq(batch.offsets[1], 0);
        bm_shingle_batch_reset(&batch);
    }
}

Test(shingler, hashes_every_length_as_the_library_does)
{
    char text[600];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('!' + i * 7 % 90);
    for (size_t i = 0; i < N_ISAS; i++)
        for (uint32_t k = 1; available(isas[i]) && k <= 550; k++) {
            bm_text_options options = other(BM_SHINGLE_BYTE, k, 0);
            bm_shingle_batch batch = shingle(options, isas[i], (bm_str){text, k + 41}, false);
            size_t n = 0;
            for (size_t at = 0; at < 42; at++) {
                uint64_t hash = XXH3_64bits(text + at, k);
                n += n < batch.offsets[1] && batch.hashes[n] == hash;
            }
            cr_expect_eq(n, batch.offsets[1], "%s, k %u", isas[i], k);
            bm_shingle_batch_reset(&batch);
            bm_text_options whole = word(1, 0, BM_WORDS_SPACE);
            batch = shingle(whole, isas[i], (bm_str){text, k}, false);
            cr_expect_eq(batch.hashes[0], XXH3_64bits(text, k), "%s, word of %u", isas[i], k);
            bm_shingle_batch_reset(&batch);
        }
}

/* --- random text --- */

static const char *const pieces[] = {
    /* the first 30 are ASCII: some texts use only these */
    "a", "b", "Z", "A9", "7", " ", " ", "  ", "\n", "\t\v", "x.y", ",", "\x01", "\x1f", "\x7f",
    "the ", "quick ", "BROWN ", "fox", "_", "                        ",
    "averyverylongwordwithoutanyend", "\f\r", "'s ", "...", " - ", "(\"", "?!", "+$^`|~<=>",
    "!\"#%&'()*,-./:;?@[\\]_{}!\"#%&'()*,-./:;?@[\\]_{}!\"#%&'()*,-./:;",
    /* the rest */
    "é", "e\xCC\x81", "İ", "Σ", "ß", "ﬁ", "中", "国", "ー", "カ", "か\xE3\x82\x99", "ก", "ั", "้",
    "ກ", "ມ", "က", "ျ", "ខ", "្", "😀", "\xCC\x81", "\xCC\xA7", "\xC2\x85", "\xC2\xA0",
    "\xE2\x80\xA8", "\xE3\x80\x80", "\xE1\x9A\x80", "\xE2\x80\x9D", "٣", "９", "Ⅷ", "가", "각",
    "ᄀ", "ᅡ", "ᆨ", "\xE2\x84\xAA", "Å", "Привет ", "\xEF\xB7\xBA", "\xF0\xAA\x98\x80",
    "\xF3\xA0\x84\x80", "\u00AD", "\u200B", "\u200D", "\uFE0F", "\u3164", "\u17B4", "\u20E3", "。",
    "，", "\xCC\xB8", "=", "\xE0\xA6\xBE", "\xE0\xA7\x87"};
#define N_PIECES (sizeof pieces / sizeof pieces[0])
#define N_ASCII  30

static size_t random_text(uint64_t *state, char *out, size_t cap)
{
    size_t len = 0, n = world_random(state) % (world_random(state) % 8 == 0 ? 3000 : 80);
    unsigned foreign = (unsigned)(world_random(state) % 4); /* 0: ASCII only */
    for (size_t i = 0; i < n; i++) {
        bool ascii = foreign == 0 || (foreign < 3 && world_random(state) % 8 >= foreign);
        const char *piece = pieces[world_random(state) % (ascii ? N_ASCII : N_PIECES)];
        size_t add = world_random(state) % 50 == 0 ? 1 : strlen(piece); /* 1: a NUL */
        if (len + add + 1 > cap)
            break;
        if (add == 1 && strlen(piece) != 1)
            piece = "";
        memcpy(out + len, piece, add);
        len += add;
    }
    return len;
}

static void compare_paths(bm_text_options options, bm_str text)
{
    bm_shingle_batch exact = shingle(options, NULL, text, true);
    for (size_t i = 0; i < N_ISAS; i++) {
        if (!available(isas[i]))
            continue;
        bm_shingle_batch fast = shingle(options, isas[i], text, false);
        bool same = fast.offsets[1] == exact.offsets[1] && fast.n_empty == exact.n_empty &&
                    fast.n_short == exact.n_short &&
                    (exact.offsets[1] == 0 ||
                     memcmp(fast.hashes, exact.hashes, exact.offsets[1] * 8) == 0) &&
                    memcmp(fast.content, exact.content, sizeof *exact.content) == 0;
        cr_assert(same, "%s differs: normalize %x words %d kind %d k %u, %zu bytes: '%.*s'",
                  isas[i], options.normalize, options.words, options.shingle, options.shingle_k,
                  text.len, (int)text.len, text.data);
        bm_shingle_batch_reset(&fast);
    }
    bm_shingle_batch_reset(&exact);
}

Test(shingler, gives_on_every_path_what_the_exact_path_gives)
{
    static const uint32_t ks[] = {1, 2, 3, 5, 9};
    static const uint32_t forms[] = {0, BM_NORM_NFC, BM_NORM_NFKC, BM_NORM_INVISIBLE};
    static char text[64 * 1024];
    uint64_t state = 20240611;
    for (size_t round = 0; round < sized(4, 2); round++)
        for (uint32_t each = 0; each < 64; each++)
            for (uint32_t kind = 0; kind < 5; kind++)
                for (uint32_t k = 0; k < 5; k++) {
                    bm_text_options options = {
                        .normalize = forms[each % 4] | each / 4 * BM_NORM_LOWER |
                                     (each % 2) * BM_NORM_INVISIBLE,
                        .words = kind == 4   ? BM_WORDS_TEXT_DEDUP
                                 : kind == 3 ? BM_WORDS_SPACE
                                             : BM_WORDS_ALNUM,
                        .shingle = kind >= 3 ? BM_SHINGLE_WORD : (bm_shingle_kind)kind,
                        .shingle_k = ks[k],
                        .short_rule = (bm_short_rule)(round % 2)};
                    size_t len = random_text(&state, text, sizeof text);
                    compare_paths(options, (bm_str){text, len});
                }
}

/* With `space` words, the fast paths look at two bytes after a lead byte that may begin a
 * White_Space character. Tests each such character at the last bytes of a block, and across the
 * border. */
Test(shingler, finds_white_space_across_the_border_of_two_blocks)
{
    const bm_text_options options = {
        .words = BM_WORDS_SPACE, .shingle = BM_SHINGLE_WORD, .shingle_k = 1};
    for (uint32_t code = 0x80; code < 0x4000; code = code == 0xFF ? 0x800 : code + 1) {
        const uint32_t page = code >> 8; /* the pages with white space */
        if (page != 0 && page != 0x16 && page != 0x20 && page != 0x30 && code % sized(1, 24) != 0)
            continue;
        char text[64 * 5 + 8], cp[4];
        size_t n = (size_t)(bm_utf8_put(cp, code) - cp), len = 0;
        for (size_t at = 60; at < 64; at++) {
            for (; len % 64 != at; len++)
                text[len] = (char)('a' + len % 7);
            memcpy(text + len, cp, n);
            len += n;
        }
        text[len++] = 'z';
        compare_paths(options, (bm_str){text, len});
    }
}

Test(shingler, cuts_long_stretches_where_nothing_changes)
{
    /* Longer than a stretch (16 KiB) and a window (4 KiB), mostly not ASCII, with marks throughout.
     */
    static char text[100 * 1024];
    uint64_t state = 7;
    size_t len = 0;
    while (len + 16 < sized(sizeof text, 50 * 1024)) {
        const char *piece = pieces[N_ASCII + world_random(&state) % (N_PIECES - N_ASCII)];
        memcpy(text + len, piece, strlen(piece));
        len += strlen(piece);
    }
    const uint32_t all =
        BM_NORM_NFKC | LOWER | BM_NORM_STRIP_ACCENTS | BM_NORM_DIGITS | BM_NORM_PUNCT;
    compare_paths(word(3, 0, BM_WORDS_ALNUM), (bm_str){text, len});
    for (int words = 0; words < 3; words++)
        for (uint32_t more = 0; more < 3; more++)
            compare_paths(word(3, BM_NORM_INVISIBLE | (uint32_t[]){LOWER, all, BM_NORM_PUNCT}[more],
                               (bm_words)words),
                          (bm_str){text, len});
    compare_paths(word(3, all, BM_WORDS_ALNUM), (bm_str){text, len});
    compare_paths(other(BM_SHINGLE_CHAR, 5, BM_NORM_NFC), (bm_str){text, len});
}

Test(shingler, composes_across_the_border_of_any_two_blocks)
{
    for (size_t before = 0; before <= 200; before++) {
        char text[256], expected[256];
        memset(text, 'x', before);
        memset(expected, 'x', before);
        strcpy(text + before, "e\xCC\x81z");
        strcpy(expected + before, "\xC3\xA9z");
        expect(word(1, BM_NORM_NFC, BM_WORDS_SPACE), text, expected);
    }
}

Test(shingler, carries_shingles_from_window_to_window)
{
    static char text[40 * 1024];
    uint64_t state = 11;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = world_random(&state) % 6 == 0 ? ' ' : (char)('a' + world_random(&state) % 26);
    for (uint32_t k = 1; k <= 1024; k = k * 4) {
        compare_paths(word(k, 0, BM_WORDS_SPACE), (bm_str){text, sizeof text});
        compare_paths(other(BM_SHINGLE_CHAR, k, 0), (bm_str){text, 9000});
    }
    memset(text + 1000, 'w', 30000); /* one word across seven windows */
    compare_paths(word(5, 0, BM_WORDS_SPACE), (bm_str){text, sizeof text});
}

Test(shingler, orders_a_long_run_of_marks_in_reasonable_time)
{
    /* Alternating classes 230 and 220 are quadratic for an exchange sort (10^10 steps here). */
    const size_t n = 200 * 1000;
    char *text = malloc(4 * n + 1);
    text[0] = 'q';
    for (size_t i = 0; i < n; i++)
        memcpy(text + 1 + 4 * i, "\xCC\x81\xCC\xA3", 4);
    bm_shingle_batch batch =
        shingle(word(1, BM_NORM_NFC, BM_WORDS_SPACE), NULL, (bm_str){text, 4 * n + 1}, false);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + 1 + 2 * i, "\xCC\xA3", 2);
        memcpy(text + 1 + 2 * (n + i), "\xCC\x81", 2);
    }
    cr_expect_eq(batch.hashes[0], XXH3_64bits(text, 4 * n + 1));
    bm_shingle_batch_reset(&batch);
    free(text);
}

/* --- batches, sets, bad options --- */

Test(shingler, appends_documents_one_behind_the_other)
{
    bm_text_options options = word(1, LOWER, BM_WORDS_ALNUM);
    bm_shingle_batch batch = {0};
    bm_error err;
    bm_shingler *shingler = world_open(bm_shingler, &options, NULL);
    for (size_t i = 0; i < 1000; i++) {
        bm_str text = i % 3 == 0   ? (bm_str){"x y x", 5}
                      : i % 3 == 1 ? (bm_str){"", 0}
                                   : (bm_str){"z", 1};
        cr_assert_eq(bm_shingler_add(shingler, text, &batch, &err), BM_OK);
    }
    cr_expect_eq(batch.n_docs, 1000);
    cr_expect_eq(batch.n_empty, 333);
    cr_expect_eq(batch.offsets[999], 999);
    cr_expect_eq(batch.hashes[batch.offsets[996] + 1], XXH3_64bits("y", 1));
    cr_expect_eq(batch.hashes[batch.offsets[998]], XXH3_64bits("z", 1));
    bm_shingler_close(shingler);
    bm_shingle_batch_reset(&batch);
}

Test(shingler, drops_repeats_of_given_hashes)
{
    const uint64_t hashes[] = {7, 0, 7, UINT64_MAX, 0, 8}, distinct[] = {7, 0, UINT64_MAX, 8};
    bm_set_shingler scratch = {0};
    bm_shingle_batch batch = {0};
    bm_error err;
    cr_assert_eq(bm_shingle_set_add(&scratch, hashes, 6, &batch, &err), BM_OK);
    cr_assert_eq(bm_shingle_set_add(&scratch, NULL, 0, &batch, &err), BM_OK);
    cr_assert_eq(bm_shingle_set_add(&scratch, hashes, 6, &batch, &err), BM_OK);
    cr_expect_eq(batch.offsets[1], 4);
    cr_expect_eq(batch.offsets[2], 4);
    cr_expect_eq(batch.offsets[3], 8, "what another document has is no repeat");
    cr_expect_arr_eq(batch.hashes, distinct, sizeof distinct);
    cr_expect_arr_eq(batch.hashes + 4, distinct, sizeof distinct);
    cr_expect_eq(batch.n_empty, 1);
    const bm_hash128 content = content_of(hashes, 6, (bm_str){(const char *)hashes, sizeof hashes});
    cr_expect_arr_eq(batch.content, &content, sizeof content);
    bm_set_shingler_reset(&scratch);
    bm_shingle_batch_reset(&batch);
}

Test(shingler, drops_repeats_in_a_document_of_millions)
{
    const size_t n = 3000000;
    uint64_t *hashes = malloc(n * sizeof *hashes);
    for (size_t i = 0; i < n; i++)
        hashes[i] = i % (n / 2) * UINT64_C(0x100000001);
    bm_set_shingler scratch = {0};
    bm_shingle_batch batch = {0};
    bm_error err;
    cr_assert_eq(bm_shingle_set_add(&scratch, hashes, n, &batch, &err), BM_OK);
    cr_expect_eq(batch.offsets[1], n / 2);
    cr_expect(memcmp(batch.hashes, hashes, n / 2 * sizeof *hashes) == 0);
    bm_set_shingler_reset(&scratch);
    bm_shingle_batch_reset(&batch);
    free(hashes);
}

Test(shingler, withstands_hashes_made_to_collide)
{
    /* Small multiples of the inverse of the table's factor all fall into slot 0. */
    uint64_t factor = UINT64_C(0x9E3779B97F4A7C15), inverse = factor;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - factor * inverse;
    const size_t n = 400000;
    uint64_t *hashes = malloc(n * sizeof *hashes);
    for (size_t i = 0; i < n; i++)
        hashes[i] = inverse * i;
    bm_set_shingler scratch = {0};
    bm_shingle_batch batch = {0};
    bm_error err;
    cr_assert_eq(bm_shingle_set_add(&scratch, hashes, n, &batch, &err), BM_OK);
    cr_expect_eq(batch.offsets[1], n);
    cr_expect(memcmp(batch.hashes, hashes, n * sizeof *hashes) == 0);
    bm_set_shingler_reset(&scratch);
    bm_shingle_batch_reset(&batch);
    free(hashes);
}

Test(shingler, refuses_options_out_of_range)
{
    bm_text_options options[] = {
        word(0, 0, BM_WORDS_SPACE),       word(1025, 0, BM_WORDS_SPACE),
        word(5, 1u << 7, BM_WORDS_SPACE), word(5, BM_NORM_NFC | BM_NORM_NFKC, BM_WORDS_SPACE),
        word(5, 0, (bm_words)3),          other((bm_shingle_kind)4, 5, 0)};
    bm_shingler *shingler = NULL;
    bm_error err;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        cr_expect_eq(bm_shingler_open(&options[i], NULL, &shingler, &err), BM_ERR_USAGE);
    options[0].shingle_k = 5;
    cr_expect_eq(bm_shingler_open(&options[0], "sse9", &shingler, &err), BM_ERR_USAGE);
    cr_expect_null(shingler);
    bm_shingler_close(NULL);
}

/* --- a limit --- */

Test(shingler, a_document_over_the_limit_says_what_is_enough)
{
    static char text[400000];
    size_t len = 0;
    for (unsigned i = 0; len < sizeof text - 16; i++)
        len += (size_t)snprintf(text + len, 16, "%u ", i * 2654435761u);
    const bm_text_options kinds[] = {other(BM_SHINGLE_WORD, 5, 0), other(BM_SHINGLE_CHAR, 5, 0),
                                     other(BM_SHINGLE_BYTE, 8, 0)};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bm_shingle_batch batch = {0}, whole = shingle(kinds[i], NULL, (bm_str){text, len}, false);
        const struct bm_joined *joined;
        bm_shingler *shingler = world_open(bm_shingler, &kinds[i], NULL);
        bm_shingler_limit(shingler, len / 2);
        cr_assert_eq(bm_shingler_add(shingler, (bm_str){text, len}, &batch, NULL), BM_ERR_NOMEM);
        bm_shingler_limit(shingler, len + 100000);
        cr_assert_eq(bm_shingler_add(shingler, (bm_str){text, len}, &batch, NULL), BM_ERR_NOMEM);
        const uint64_t needed = bm_shingler_needed(shingler);
        cr_assert_gt(needed, len + 100000);
        cr_assert_eq(batch.n_docs, 0, "the batch is as before");
        bm_shingler_limit(shingler, needed);
        cr_assert_eq(bm_shingler_join(shingler, (bm_str){text, len}, &joined, NULL), BM_OK);
        cr_assert_eq(bm_shingler_add_last_joined(shingler, &batch, NULL), BM_OK);
        cr_assert_eq(batch.n_docs, 1);
        cr_assert_eq(batch.offsets[1], whole.offsets[1]);
        cr_assert_eq(memcmp(batch.hashes, whole.hashes, whole.offsets[1] * 8), 0);
        bm_shingler_close(shingler);
        bm_shingle_batch_reset(&batch);
        bm_shingle_batch_reset(&whole);
    }
}
