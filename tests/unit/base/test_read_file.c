/* SPDX-License-Identifier: Apache-2.0 */
/* test_read_file.c -- a small file as a whole, within a bound. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "tests/world/scratch.h"

Test(read_file, gives_all_bytes_up_to_the_bound)
{
    SCRATCH s = scratch_open();
    static char data[200000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 % 251);
    const char *path = scratch_put(&s, "data", data, sizeof data);
    bm_buf out = {0};
    bm_error err = {0};
    cr_assert_eq(bm_buf_add(&out, "x", 1, NULL), BM_OK);
    cr_assert_eq(bm_read_file(path, sizeof data, &out, &err), BM_OK, "%s", err.message);
    cr_assert_eq(out.len, sizeof data + 1, "appended");
    cr_expect_eq(memcmp(out.data + 1, data, sizeof data), 0);
    out.len = 0;
    cr_expect_eq(bm_read_file(path, sizeof data - 1, &out, &err), BM_ERR_INPUT);
    cr_expect_str_eq(err.file, path);
    out.len = 0;
    cr_assert_eq(truncate(path, 0), 0);
    cr_expect_eq(bm_read_file(path, 10, &out, &err), BM_OK);
    cr_expect_eq(out.len, 0);
    unlink(path);
    cr_expect_eq(bm_read_file(path, 10, &out, &err), BM_ERR_IO);
    cr_expect_eq(bm_read_file("/tmp", 10, &out, &err), BM_ERR_IO);
    cr_expect_eq(bm_read_file("/dev/null", 10, &out, &err), BM_ERR_INPUT);
    bm_buf_reset(&out);
}
