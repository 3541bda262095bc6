/* SPDX-License-Identifier: Apache-2.0 */
/* test_address.c -- which paths are addresses, and which part of one is shown. */
#include "base/address.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"

Test(address, a_scheme_and_two_slashes_make_one)
{
    static const char *const addresses[] = {"https://a/b", "s3://b/k", "hf://datasets/a/b/c",
                                            "x+y.z-1://", "HTTP://A"};
    static const char *const paths[] = {"",     "-",      "a",    "a/b://c",
                                        "://a", "1a://b", "a:/b", "./s3://b"};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
        cr_assert(bm_is_address(addresses[i]), "%s", addresses[i]);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        cr_assert(!bm_is_address(paths[i]), "%s", paths[i]);
}

static const char *const named[][2] = {
    {"https://a.b/c/d.jsonl?X-Amz-Signature=1&b=/@", "https://a.b/c/d.jsonl"},
    {"http://me:secret@a.b:80/c@d.jsonl#part?x", "http://a.b:80/c@d.jsonl"},
    {"https://u:p@w@a.b/c", "https://a.b/c"},
    {"https://a.b?x=@y", "https://a.b"},
    {"ftp://u:p@a.b/c?x", "ftp://a.b/c"},
    {"what+ever://u@a.b", "what+ever://a.b"},
    {"s3://bucket/a#b.jsonl?versionId=3", "s3://bucket/a#b.jsonl"},
    {"hf://datasets/a/b@v1/c.parquet", "hf://datasets/a/b@v1/c.parquet"},
    {"http://[::1]:80/c", "http://[::1]:80/c"},
    {"http://[::1]/c@d", "http://[::1]/c@d"},
    {"gs://", "gs://"},
    /* passwords without percent-encoding */
    {"http://u:p/w@a.b/c?x", "http://a.b/c"},
    {"http://u:p?w@a.b/c?x", "http://a.b/c"},
    {"http://u:p#w@a.b/c", "http://a.b/c"},
    {"http://u:12w?x", "http://"}};

Test(address, a_name_has_neither_query_nor_user)
{
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        char *name = NULL, shown[64];
        cr_assert_eq(bm_address_name(named[i][0], &name, NULL), BM_OK);
        cr_expect_str_eq(name, named[i][1]);
        bm_free(name);
        bm_path_show(named[i][0], shown, sizeof shown);
        cr_expect_str_eq(shown, named[i][1]);
    }
}

Test(address, a_path_is_shown_as_it_is)
{
    char shown[8];
    bm_path_show("a?b@c", shown, sizeof shown);
    cr_expect_str_eq(shown, "a?b@c");
    bm_path_show("http://u:p@a/b?c", shown, sizeof shown);
    cr_expect_str_eq(shown, "http://");
    bm_path_show(NULL, shown, sizeof shown);
    cr_expect_str_eq(shown, "");
}

Test(address, what_is_hidden_is_in_no_text_either)
{
    static const char *const texts[][2] = {
        {"", ""},
        {"no file \"https://u:p@h/a?s=1\" (what?)", "no file \"https://h/a\" (what?)"},
        {"--report=ftp://u:p@h/a?s: cannot open", "--report=ftp://h/a: cannot open"},
        {"https://h/a?x, s3://b/k?y and (http://u@h).", "https://h/a, s3://b/k and (http://h)."},
        {"no \"s3://b/a b?c d\" (e?f)", "no \"s3://b/a b\" (e?f)"},
        {"1http://u:p@h/?s", "1http://h/"},
        {"a?b is no address, a@b none, :// none", "a?b is no address, a@b none, :// none"},
        {"https://", "https://"}};
    char text[128];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        snprintf(text, sizeof text, "%s", texts[i][0]);
        bm_text_hide(text);
        cr_expect_str_eq(text, texts[i][1]);
    }
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        char expected[128];
        snprintf(text, sizeof text, "before %s behind", named[i][0]);
        snprintf(expected, sizeof expected, "before %s behind", named[i][1]);
        bm_text_hide(text);
        cr_expect_str_eq(text, expected);
    }
}

Test(address, errors_hide_it_in_their_words_and_in_the_name_of_their_file)
{
    bm_error err = {0};
    bm_fail_at(&err, BM_ERR_IO, "https://u:p@h/a?x y", 0, "not https://u:p@h/b?z (but a)");
    cr_expect_str_eq(err.file, "https://h/a");
    cr_expect_str_eq(err.message, "not https://h/b (but a)");
    bm_fail_errno(&err, 2, "s3://b/k?secret", "cannot open");
    cr_expect_str_eq(err.file, "s3://b/k");
}
