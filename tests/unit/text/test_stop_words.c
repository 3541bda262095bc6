/* SPDX-License-Identifier: Apache-2.0 */
/* test_stop_words.c -- lists of stop words, their hash table, and shingles that begin with them,
 * written by hand from the rules and hashed here with the xxHash library. */
#include "text/stop_words.c"

#include "tests/unit/text/special_check.h"

#include <stdio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory.h"
#include "text/stop_table.h"
#include "text/stop_words_en.h"
#include "tests/world/scratch.h"
#include "tests/world/world_random.h"
#include "tests/world/world_text.h"

static bm_text_options stop(uint32_t k, const char *words)
{
    return (bm_text_options){.normalize = BM_NORM_LOWER,
                             .shingle = BM_SHINGLE_STOPWORD,
                             .shingle_k = k,
                             .stopwords = words};
}

/* Expects these distinct shingles of the text on every path; `expected` separates them by '|'. */
static void expect(bm_text_options options, const char *text, const char *expected)
{
    uint64_t hashes[64];
    size_t n = 0;
    for (const char *at = expected; *expected != '\0'; at++) {
        size_t len = strcspn(at, "|");
        hashes[n++] = XXH3_64bits(at, len);
        at += len;
        if (*at == '\0')
            break;
    }
    for (size_t i = 0; i <= N_ISAS; i++) {
        const special_path path = {i < N_ISAS ? isas[i] : "scalar", i == N_ISAS, false};
        if (!available(path.isa))
            continue;
        bm_shingle_batch batch = shingle(&options, path, world_str(text));
        cr_expect_eq(batch.offsets[1], n, "%s: %zu shingles of '%s'", path.isa,
                     (size_t)batch.offsets[1], text);
        if (batch.offsets[1] == n && n > 0)
            cr_expect_arr_eq(batch.hashes, hashes, n * sizeof hashes[0], "%s: '%s'", path.isa,
                             text);
        bm_shingle_batch_reset(&batch);
    }
}

Test(stop_words, a_shingle_is_a_stop_word_and_the_words_after_it)
{
    expect(stop(2, NULL), "Yesterday the black cat slept on a warm mat",
           "the black cat|on a warm|a warm mat");
    expect(stop(1, NULL), "A spokesperson for the Sudzo Corporation revealed today that",
           "a spokesperson|for the|the sudzo");
    expect(stop(2, "cat mat"), "the CAT sat; the cat sat. Mat", "cat sat the|cat sat mat");
    expect(stop(3, NULL), "no three words follow after it", "no three words follow");
}

Test(stop_words, fewer_words_at_the_end_are_no_shingle)
{
    expect(stop(2, NULL), "cats and dogs play the", "and dogs play");
    expect(stop(5, NULL), "one two three four five the", "");
    expect(stop(1, NULL), "cat dog the", "");
}

Test(stop_words, a_text_shorter_than_a_shingle_is_one_whole_or_none)
{
    bm_text_options options = stop(2, NULL);
    expect(options, "Black cat", "black cat");
    expect(options, "the cat", "the cat");
    expect(options, "the black cat", "the black cat");
    expect(options, "big black cat", "");
    bm_shingle_batch batch = shingle(&options, (special_path){0}, (bm_str){"Black cat", 9});
    cr_expect(batch.n_short == 1 && batch.n_empty == 0);
    bm_shingle_batch_reset(&batch);
    batch = shingle(&options, (special_path){0}, (bm_str){"big black cat", 13});
    cr_expect(batch.n_short == 0 && batch.n_empty == 1, "it has units enough, and no stop word");
    bm_shingle_batch_reset(&batch);
    batch = shingle(&options, (special_path){0}, (bm_str){" ... ", 5});
    cr_expect(batch.n_short == 0 && batch.n_empty == 1);
    bm_shingle_batch_reset(&batch);
    options.short_rule = BM_SHORT_SKIP;
    expect(options, "the cat", "");
}

Test(stop_words, words_are_cut_by_the_rule_asked_for)
{
    bm_text_options options = stop(1, "don't ενα 的");
    expect(options, "don't stop 我的书", "的 书");
    options.words = BM_WORDS_SPACE;
    expect(options, "don't stop 我的书 και ΕΝΑ δυο", "don't stop|ενα δυο");
}

Test(stop_words, gives_on_every_path_what_the_exact_path_gives)
{
    static const char *const lists[] = {NULL, "cat", "i της και του x ωμέγα",
                                        "a an the themselvest yourselve"};
    static char text[64 * 1024];
    uint64_t state = 5;
    for (uint32_t each = 0; each < 240; each++) {
        bm_text_options options = stop(each % 7 == 0 ? 60 : 1 + each % 4, lists[each % 4]);
        options.words = each % 3 == 0 ? BM_WORDS_SPACE : BM_WORDS_ALNUM;
        options.normalize = each % 5 == 0 ? BM_NORM_LOWER | BM_NORM_STRIP_ACCENTS : BM_NORM_LOWER;
        options.short_rule = (bm_short_rule)(each % 2);
        options.bag = each % 8 >= 4;
        compare_paths(&options, (bm_str){text, random_words(&state, text, sizeof text)});
    }
}

/* Texts longer than a window, with words across the windows' borders. */
Test(stop_words, carries_shingles_from_window_to_window)
{
    static char text[20 * 1024];
    uint64_t state = 11;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = world_random(&state) % 3 == 0 ? ' ' : (char)('a' + world_random(&state) % 4);
    for (uint32_t k = 1; k <= 1024; k *= 8) {
        const bm_text_options options = stop(k, "a ab c");
        compare_paths(&options, (bm_str){text, sizeof text});
    }
    memset(text + 1000, 'w', 9000);
    const bm_text_options options = stop(5, "a ab c");
    compare_paths(&options, (bm_str){text, sizeof text});
    memset(text, 'w', sizeof text); /* no stop word except in the last window */
    memcpy(text + sizeof text - 20, " x a b c d e f g h a", 20);
    compare_paths(&options, (bm_str){text, sizeof text});
    for (size_t i = 0; i + 2 <= sizeof text; i += 2)
        memcpy(text + i, "a ", 2); /* every word is a stop word */
    compare_paths(&options, (bm_str){text, sizeof text});
}

/* Text outside of shingles does not count: both texts have the same shingles, but different words
 * and windows. Nor does it matter in which window a shingle is. */
Test(stop_words, texts_with_the_same_shingles_have_one_content_hash)
{
    static char text[2][20 * 1024];
    const bm_text_options options = stop(1, "the");
    size_t len[2] = {0};
    for (uint32_t i = 0; i < 500; i++)
        for (int side = 0; side < 2; side++)
            len[side] +=
                (size_t)snprintf(text[side] + len[side], sizeof text[side] - len[side],
                                 side == 0 || i % 3 == 0 ? "the n%u, " : "big black the n%u ", i);
    for (size_t i = 0; i < N_ISAS; i++) {
        const special_path path = {.isa = isas[i]};
        if (!available(path.isa))
            continue;
        bm_shingle_batch one = shingle(&options, path, (bm_str){text[0], len[0]}),
                         other = shingle(&options, path, (bm_str){text[1], len[1]}),
                         less = shingle(&options, path, (bm_str){text[0], len[0] - 5});
        cr_expect(same_batch(&one, &other), "%s", path.isa);
        cr_expect_eq(one.offsets[1], 500);
        cr_expect_neq(one.content[0].hi, less.content[0].hi);
        bm_shingle_batch_reset(&one);
        bm_shingle_batch_reset(&other);
        bm_shingle_batch_reset(&less);
    }
}

/* --- lists --- */

static bm_status parse(const char *file, size_t len, const bm_text_options *options, char **out,
                       bm_error *err)
{
    *out = NULL;
    return parse_list((bm_str){file, len}, options, "list.txt", out, err);
}

Test(stop_words, a_list_is_sorted_normalised_and_each_word_once)
{
    static const char file[] = "\xEF\xBB\xBFThe\r\n\n  of \nA\n\xE3\x80\x80\nthe\nΚΑΙ\nab";
    const bm_text_options options = stop(2, NULL);
    bm_error err = {0};
    char *words;
    cr_assert_eq(parse(file, sizeof file - 1, &options, &words, &err), BM_OK, "%s", err.message);
    cr_expect_str_eq(words, "a ab of the και");
    cr_expect(is_list(words));
    bm_free(words);
}

Test(stop_words, a_bad_line_is_named)
{
    static const struct {
        const char *file;
        uint64_t line;
        bm_words words;
    } cases[] = {{"the\nof the\n", 2, BM_WORDS_ALNUM},
                 {"don't", 1, BM_WORDS_ALNUM},
                 {"a\n\n--\n", 3, BM_WORDS_ALNUM},
                 {"a\nb\xFF\n", 2, BM_WORDS_SPACE},
                 {"a b", 1, BM_WORDS_SPACE},
                 {"我的", 1, BM_WORDS_ALNUM},
                 {"", 0, BM_WORDS_SPACE},
                 {"\n \r\n", 0, BM_WORDS_ALNUM}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bm_text_options options = stop(2, NULL);
        bm_error err = {0};
        char *words;
        options.words = cases[i].words;
        cr_expect_eq(parse(cases[i].file, strlen(cases[i].file), &options, &words, &err),
                     BM_ERR_INPUT, "%s", cases[i].file);
        cr_expect_eq(err.line, cases[i].line, "%s: line %d", cases[i].file, (int)err.line);
        cr_expect_str_eq(err.file, "list.txt");
        cr_expect_null(words);
    }
    bm_text_options options = stop(2, NULL);
    bm_error err = {0};
    char *words;
    options.words = BM_WORDS_SPACE;
    cr_expect_eq(parse("a\0b", 3, &options, &words, &err), BM_ERR_INPUT, "a NUL");
}

/* Words of the list `en` stay the same under any normalisation and any rule of words. */
Test(stop_words, english_stays_as_it_is_under_every_rule)
{
    bm_buf file = {0};
    cr_assert(is_list(bm_stop_words_en));
    cr_assert_eq(bm_buf_add_text(&file, bm_stop_words_en, NULL), BM_OK);
    size_t n = 1;
    for (size_t i = 0; i < file.len; i++)
        if (file.data[i] == ' ') {
            file.data[i] = '\n';
            n++;
        }
    cr_expect_eq(n, 183);
    for (uint32_t bits = 0; bits < 2 * BM_NORM_INVISIBLE; bits++) {
        if ((bits & BM_NORM_NFC) && (bits & BM_NORM_NFKC))
            continue;
        for (int rule = 0; rule < 2; rule++) {
            bm_text_options options = stop(2, NULL);
            char *words;
            options.normalize = bits;
            options.words = (bm_words)rule;
            cr_assert_eq(parse(file.data, file.len, &options, &words, NULL), BM_OK);
            cr_expect_str_eq(words, bm_stop_words_en);
            bm_free(words);
        }
    }
    bm_buf_reset(&file);
}

Test(stop_words, only_a_settled_list_is_taken_for_one)
{
    static const char *const bad[] = {"", " ", " a", "a ", "a  b", "b a", "a a", "ab a", "a b ab"};
    static const char *const good[] = {"a", "a ab b", "a b", "and the",
                                       ("a\xC2\xA0"
                                        "b")};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect(!is_list(bad[i]), "'%s'", bad[i]);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        cr_expect(is_list(good[i]), "'%s'", good[i]);
}

Test(stop_words, settling_names_english_or_reads_a_file)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_put_text(&s, "words", "Zwei\nein\n");
    char *owned;
    bm_text_options options = stop(2, "en");
    cr_assert_eq(bm_stop_words_load(&options, &owned, NULL), BM_OK);
    cr_expect(options.stopwords == bm_stop_words_en && owned == NULL);
    options = (bm_text_options){.shingle_k = 5, .stopwords = "nowhere"};
    cr_assert_eq(bm_stop_words_load(&options, &owned, NULL), BM_OK);
    cr_expect(options.stopwords == NULL && owned == NULL, "words have none");
    options = stop(2, path);
    cr_assert_eq(bm_stop_words_load(&options, &owned, NULL), BM_OK);
    cr_expect_str_eq(options.stopwords, "ein zwei");
    cr_expect_eq(options.stopwords, owned);
    char name[BM_STOP_WORDS_NAME], english[BM_STOP_WORDS_NAME];
    bm_stop_words_name(owned, name);
    bm_stop_words_name(bm_stop_words_en, english);
    cr_expect_eq(strlen(name), 16);
    cr_expect_str_eq(english, "en");
    bm_free(owned);
    unlink(path);
    options = stop(2, path);
    cr_expect_eq(bm_stop_words_load(&options, &owned, NULL), BM_ERR_IO);
    cr_expect_null(owned);
}

Test(stop_words, a_list_that_a_manifest_has_is_none_but_for_shingles_of_stop_words)
{
    char english[1 << 12];
    bm_text_options options = stop(2, NULL);
    cr_assert(bm_stop_words_recorded("ein zwei", &options));
    cr_expect_str_eq(options.stopwords, "ein zwei");
    snprintf(english, sizeof english, "%s", bm_stop_words_en);
    cr_assert(bm_stop_words_recorded(english, &options));
    cr_expect_eq(options.stopwords, bm_stop_words_en);
    cr_expect_not(bm_stop_words_recorded("zwei ein", &options));
    cr_expect_not(bm_stop_words_recorded(NULL, &options));
    options = (bm_text_options){.shingle_k = 5};
    cr_expect(bm_stop_words_recorded(NULL, &options));
    cr_expect_not(bm_stop_words_recorded("ein zwei", &options));
}

Test(stop_words, a_list_that_is_kept_outlives_whoever_lent_it)
{
    char lent[] = "ein zwei", *owned = NULL;
    bm_text_options options = stop(2, lent);
    cr_assert_eq(bm_stop_words_keep(&options, &owned, NULL), BM_OK);
    cr_expect_eq(options.stopwords, owned);
    cr_expect_str_eq(owned, "ein zwei");
    cr_expect_neq(options.stopwords, lent);
    cr_assert_eq(bm_stop_words_keep(&options, &owned, NULL), BM_OK, "it is owned already");
    cr_expect_eq(options.stopwords, owned);
    options.stopwords = bm_stop_words_en;
    cr_assert_eq(bm_stop_words_keep(&options, &owned, NULL), BM_OK);
    cr_expect_eq(options.stopwords, bm_stop_words_en);
    cr_expect_str_eq(bm_stop_words_shown(&options).stopwords, "en");
    bm_free(owned);
}

Test(stop_words, a_path_is_what_is_not_english)
{
    bm_text_options options = stop(2, "en");
    cr_expect_null(bm_stop_words_path(&options));
    options.stopwords = NULL;
    cr_expect_null(bm_stop_words_path(&options));
    options.stopwords = "words.txt";
    cr_expect_str_eq(bm_stop_words_path(&options), "words.txt");
}

/* --- the table --- */

static bool has(const bm_stop_table *table, const char *word, size_t len)
{
    char block[64];
    memset(block, 'z', sizeof block);
    memcpy(block + 16, word, len);
    return bm_stop_table_has(table, block + 16, len);
}

/* Makes a table of `n` words of 6 to 11 bytes, many with the same first eight bytes; true: some
 * words overflow their buckets. */
static bool expect_table(unsigned n)
{
    bm_buf list = {0};
    bm_stop_table table;
    for (unsigned i = 100000; i < 100000 + n; i++)
        cr_assert_eq(bm_buf_add_format(&list, NULL, "%s%.*sw%u", i > 100000 ? " " : "",
                                       (int)(i % 6), "aaaaaa", i),
                     BM_OK);
    cr_assert_eq(bm_buf_end(&list, NULL), BM_OK);
    cr_assert_eq(bm_stop_table_init(list.data, &table, NULL), BM_OK);
    for (unsigned i = 99000; i < 101000 + n; i++)
        for (int a = 0; a < 6; a++) {
            char word[32];
            const int len = snprintf(word, sizeof word, "%.*sw%u", a, "aaaaaa", i);
            const bool is = i >= 100000 && i < 100000 + n && (int)(i % 6) == a;
            cr_assert_eq(has(&table, word, (size_t)len), is, "%s", word);
            cr_assert(!has(&table, word, (size_t)len - 1));
        }
    cr_expect(!has(&table, "w", 1));
    const bool overflows = table.overflows;
    bm_stop_table_reset(&table);
    bm_buf_reset(&list);
    return overflows;
}

Test(stop_words, the_table_has_the_words_of_the_list_and_no_others)
{
    bm_stop_table table;
    cr_expect(!expect_table(1));
    cr_expect(!expect_table(183), "a common list finds room");
    cr_expect(expect_table(20000), "a very long one does not");
    cr_assert_eq(bm_stop_table_init("a abcdefgh abcdefghi", &table, NULL), BM_OK);
    cr_expect(has(&table, "a", 1) && has(&table, "abcdefgh", 8) && has(&table, "abcdefghi", 9));
    cr_expect(!has(&table, "a\0", 2) && !has(&table, "abcdefg", 7) && !has(&table, "abcdefghj", 9));
    bm_stop_table_reset(&table);
}
