/* SPDX-License-Identifier: Apache-2.0 */
/* test_open_file.c -- anything but a regular file is refused by name and kind, and nothing
 * waits. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files.h"
#include "tests/world/scratch.h"

static void refused(const char *path, const char *kind)
{
    bm_error err = {0};
    int fd = 7;
    cr_expect_eq(bm_open_regular(path, BM_ERR_FORMAT, &fd, &err), BM_ERR_FORMAT, "%s", path);
    cr_expect_eq(fd, -1);
    cr_expect_str_eq(err.file, path);
    cr_expect_not_null(strstr(err.message, kind), "%s: %s", path, err.message);
    cr_expect_eq(bm_open_given(path, BM_ERR_INPUT, &fd, NULL), BM_ERR_INPUT, "%s", path);
    cr_expect_eq(fd, -1);
}

Test(open_file, only_regular_files_are_opened)
{
    SCRATCH s = scratch_open();
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    bm_error err = {0};
    int fd;
    cr_assert_eq(mkfifo(scratch_at(&s, "fifo"), 0600), 0);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(name.sun_path, sizeof name.sun_path, "%s", scratch_at(&s, "socket"));
    cr_assert_eq(bind(listener, (const struct sockaddr *)&name, sizeof name), 0);
    refused(scratch_at(&s, "fifo"), "(it is a FIFO)");
    refused(scratch_at(&s, "socket"), "(it is a socket)");
    cr_expect_eq(bm_open_regular(s.root, BM_ERR_FORMAT, &fd, &err), BM_ERR_IO);
    cr_expect_eq(err.code, EISDIR);
    refused("/dev/null", "(it is a character device)");
    refused("/dev/../dev/zero", "(it is a character device)");
    cr_expect_eq(bm_open_regular(scratch_at(&s, "none"), BM_ERR_FORMAT, &fd, &err), BM_ERR_IO);
    cr_expect_eq(err.code, ENOENT);
    close(open(scratch_at(&s, "file"), O_CREAT | O_WRONLY, 0600));
    cr_assert_eq(symlink("fifo", scratch_at(&s, "to_fifo")), 0);
    cr_assert_eq(symlink("file", scratch_at(&s, "to_file")), 0);
    refused(scratch_at(&s, "to_fifo"), "(it is a FIFO)");
    cr_expect_eq(bm_open_regular(scratch_at(&s, "to_file"), BM_ERR_FORMAT, &fd, NULL), BM_OK);
    cr_expect_geq(fd, 0);
    close(fd);
    close(listener);
}

/* A descriptor that the process inherited may be a pipe, under each of its names. */
Test(open_file, descriptors_that_were_given_may_be_anything)
{
    char path[64], byte;
    int ends[2], fd;
    cr_assert_eq(pipe(ends), 0);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path,
                 i == 0   ? "/dev/fd/%d"
                 : i == 1 ? "/proc/self/fd/%d"
                          : "/dev/stdin",
                 ends[0]);
        if (i == 2)
            cr_assert_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        cr_assert_eq(bm_open_given(path, BM_ERR_INPUT, &fd, NULL), BM_OK, "%s", path);
        cr_assert_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0, "reading waits");
        cr_assert_eq(write(ends[1], "x", 1), 1);
        cr_assert_eq(read(fd, &byte, 1), 1);
        close(fd);
        cr_expect_eq(bm_open_regular(path, BM_ERR_INPUT, &fd, NULL), BM_ERR_INPUT);
    }
    static const char *const others[] = {"/dev/fd/", "/dev/fd/1x", "/proc/self/fd", "/dev/stdin/"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_expect_neq(bm_open_given(others[i], BM_ERR_INPUT, &fd, NULL), BM_OK, "%s", others[i]);
}

Test(open_file, a_name_in_an_open_folder_is_the_last_part_of_the_path)
{
    cr_expect_str_eq(bm_name_in(3, "a/b/c"), "c");
    cr_expect_str_eq(bm_name_in(3, "c"), "c");
    cr_expect_str_eq(bm_name_in(AT_FDCWD, "a/b/c"), "a/b/c");
}
