/* SPDX-License-Identifier: Apache-2.0 */
/* test_glob.c -- patterns of paths: each special character as base/glob.h describes it; and
 * against fnmatch(3), which matches the same in the C locale without FNM_PATHNAME. */
#include <criterion/criterion.h>
#include <fnmatch.h>
#include <string.h>

#include "base/glob.h"

Test(glob, each_sign_means_what_the_header_says)
{
    static const struct {
        const char *pattern, *path;
        bool match;
    } cases[] = {
        {"*.jsonl", "a.jsonl", true},
        {"*.jsonl", "deep/er/a.jsonl", true},
        {"*.jsonl", "a.jsonl.gz", false},
        {"*.jsonl*", "a.jsonl.gz", true},
        {"*", "", true},
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"logs/*", "logs/x/y", true},
        {"logs/*", "old/logs/x", false},
        {"*/part-*", "2024/part-0", true},
        {"*/part-*", "part-0", false},
        {"?.txt", "a.txt", true},
        {"?.txt", "\xC3\xA9.txt", true}, /* one character of two bytes */
        {"?.txt", "\xFF.txt", true},     /* a byte that is no character */
        {"?.txt", "\xC3\xA9\xC3\xA9.txt", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},
        {"[!a-c]x", "bx", false},
        {"[\xC3\xA0-\xC3\xBC]", "\xC3\xA9", true},
        {"[]]", "]", true},
        {"[!]]", "]", false},
        {"[a-]", "-", true},
        {"[-a]", "-", true},
        {"[ab", "[ab", true}, /* no closing bracket */
        {"[\\]]", "]", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"a\\", "a\\", true},
        {"*a*b*c", "xxaxxbxxabc", true},
        {"*a*b*c", "xxaxxbxxab", false},
        {"**", "a/b", true},
        {"*\xC3\xA9", "a\xC3\xA9\xC3\xA9", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(bm_glob_match(cases[i].pattern, cases[i].path), cases[i].match, "%s on %s",
                     cases[i].pattern, cases[i].path);
}

/* The n-th word over the alphabet `signs`, of at most 6 characters. */
static void word(size_t n, const char *signs, char *out)
{
    size_t base = strlen(signs) + 1;
    for (; n > 0; n /= base)
        if (n % base != 0)
            *out++ = signs[n % base - 1];
    *out = '\0';
}

Test(glob, every_short_pattern_matches_as_fnmatch_does)
{
    char pattern[16], path[16];
    for (size_t i = 0; i < 7 * 7 * 7 * 7 * 7; i++) {
        word(i, "*?a/[]", pattern);
        for (size_t j = 0; j < 4 * 4 * 4 * 4; j++) {
            word(j, "a/]", path);
            cr_assert_eq(bm_glob_match(pattern, path), fnmatch(pattern, path, 0) == 0, "%s on %s",
                         pattern, path);
        }
    }
}

Test(glob, many_stars_take_no_longer_than_the_product_of_both_lengths)
{
    char pattern[2001], path[2001];
    for (size_t i = 0; i < 2000; i += 2)
        memcpy(pattern + i, "*a", 2);
    memset(path, 'a', 1999);
    strcpy(pattern + 2000 - 2, "*b");
    path[1999] = '\0';
    cr_assert_not(bm_glob_match(pattern, path)); /* in time, or the test is killed */
}
