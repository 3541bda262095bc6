/* SPDX-License-Identifier: Apache-2.0 */
/* test_whole_io.c -- blocks at offsets of a file, its end, unusable descriptors, a full disk. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

static int temporary_file(void)
{
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    return fileno(file);
}

Test(whole_io, writes_and_reads_at_a_place_and_leaves_the_position)
{
    const int fd = temporary_file();
    char found[16] = "";
    size_t got = 99;
    cr_assert_eq(bm_pwrite_all(fd, "abcdef", 6, 0), 0);
    cr_assert_eq(bm_pwrite_all(fd, "XY", 2, 2), 0);
    cr_assert_eq(bm_pwrite_all(fd, NULL, 0, 100), 0);
    cr_assert_eq(bm_pread_all(fd, found, 6, 0, &got), 0);
    cr_expect_eq(got, 6);
    cr_expect_str_eq(found, "abXYef");
    cr_expect_eq(lseek(fd, 0, SEEK_CUR), 0);
    cr_expect_eq(lseek(fd, 0, SEEK_END), 6, "nothing was written behind the end");
    close(fd);
}

Test(whole_io, says_how_much_was_read_where_the_file_ends)
{
    const int fd = temporary_file();
    char found[16];
    size_t got = 99;
    cr_assert_eq(bm_pwrite_all(fd, "abc", 3, 0), 0);
    cr_assert_eq(bm_pread_all(fd, found, sizeof found, 1, &got), 0);
    cr_expect(got == 2 && memcmp(found, "bc", 2) == 0);
    cr_assert_eq(bm_pread_all(fd, found, sizeof found, 50, &got), 0);
    cr_expect_eq(got, 0);
    close(fd);
}

Test(whole_io, says_what_the_system_says)
{
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC), reading = open("/dev/null", O_RDONLY);
    size_t got = 99;
    char found;
    cr_expect_eq(bm_pwrite_all(full, "a", 1, 0), ENOSPC);
    cr_expect_eq(bm_pwrite_all(reading, "a", 1, 0), EBADF);
    cr_expect_eq(bm_pread_all(full, &found, 1, 0, &got), EBADF);
    cr_expect_eq(got, 0);
    close(full);
    close(reading);
}
