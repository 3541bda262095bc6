/* SPDX-License-Identifier: Apache-2.0 */
/* test_remote_file.c -- which addresses are folders. (Reading: tests/cli/cases/addresses.sh.) */
#include "remote/remote_file.h"

#include <criterion/criterion.h>

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
