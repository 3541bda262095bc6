/* test_remote_file.c -- what is an address, and what it is called. (Reading: tests/cli/cases/addresses.sh.) */
#include "remote/remote_file.h"

#include <criterion/criterion.h>

#include "base/memory.h"

Test(remote_file, a_scheme_and_two_slashes_make_an_address)
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

Test(remote_file, a_name_has_neither_query_nor_user)
{
    static const char *const cases[][2] = {
        {"https://a.b/c/d.jsonl?X-Amz-Signature=1&b=/@", "https://a.b/c/d.jsonl"},
        {"http://me:secret@a.b:80/c@d.jsonl#part?x", "http://a.b:80/c@d.jsonl"},
        {"https://u:p@w@a.b/c", "https://a.b/c"},
        {"https://a.b?x=@y", "https://a.b"},
        {"s3://bucket/a#b.jsonl?versionId=3", "s3://bucket/a#b.jsonl"},
        {"hf://datasets/a/b@v1/c.parquet", "hf://datasets/a/b@v1/c.parquet"},
        {"gs://", "gs://"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *name = NULL;
        cr_assert_eq(bm_address_name(cases[i][0], &name, NULL), BM_OK);
        cr_assert_str_eq(name, cases[i][1]);
        bm_free(name);
    }
}

Test(remote_file, a_slash_at_the_end_a_star_or_nothing_in_a_store_make_a_folder)
{
    static const char *const folders[] = {"s3://b",
                                          "s3://b/",
                                          "s3://b/c/",
                                          "s3://b/c/?x",
                                          "gs://b/c/*.jsonl",
                                          "hf://datasets/a/b",
                                          "hf://a/b",
                                          "hf://datasets/a/b@v1/",
                                          "hf://datasets/a/b/c/*",
                                          "https://a/b/",
                                          "http://a/*.gz"};
    static const char *const files[] = {"s3://b/c",        "s3://b/c?x/*", "gs://b/c/d",
                                        "hf://datasets/a", "hf://a/b/c",   "hf://datasets/a/b/c",
                                        "https://a/b?c/",  "https://a/b",  "x://a/",
                                        "https://a/b/?c",  "http://a?b",   "s3://b*/c"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        cr_assert(bm_address_is_folder(folders[i]), "%s", folders[i]);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        cr_assert(!bm_address_is_folder(files[i]), "%s", files[i]);
}
