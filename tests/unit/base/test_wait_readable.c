/* SPDX-License-Identifier: Apache-2.0 */
/* test_wait_readable.c -- waiting ends on data, on the end of the file, and on cancellation. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/files.c"

typedef struct caller {
    unsigned asked, stop_at; /* 0: never */
    int write_fd;            /* `cancelled` writes a byte to it; -1: none */
} caller;

static bool cancelled(void *ctx)
{
    caller *c = ctx;
    c->asked++;
    if (c->write_fd >= 0)
        cr_assert_eq(write(c->write_fd, "x", 1), 1);
    return c->asked == c->stop_at;
}

static bm_status wait_for(int fd, caller *c)
{
    const bm_callbacks callbacks = {.ctx = c, .cancelled = cancelled};
    bm_error err = {0};
    return wait_until_readable(&callbacks, fd, &err);
}

Test(wait_readable, who_wants_to_stop_is_asked_until_there_is_something)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    caller c = {.stop_at = 2, .write_fd = -1};
    cr_assert_eq(wait_for(ends[0], &c), BM_ERR_CANCELLED);
    cr_assert_eq(c.asked, 2);
    c = (caller){.write_fd = ends[1]};
    cr_assert_eq(wait_for(ends[0], &c), BM_OK);
    cr_assert_eq(c.asked, 1, "the byte that came with the first question");
    c = (caller){.stop_at = 1, .write_fd = -1};
    cr_assert_eq(wait_for(ends[0], &c), BM_OK);
    cr_assert_eq(c.asked, 0, "the byte is there still");
}

Test(wait_readable, an_end_a_file_and_a_descriptor_that_is_none_are_left_to_the_read)
{
    int ends[2];
    caller c = {.stop_at = 1, .write_fd = -1};
    cr_assert_eq(pipe(ends), 0);
    close(ends[1]);
    cr_assert_eq(wait_for(ends[0], &c), BM_OK, "the end");
    int file = open("/dev/null", O_RDONLY);
    cr_assert_eq(wait_for(file, &c), BM_OK);
    close(file);
    cr_assert_eq(wait_for(file, &c), BM_OK, "closed");
    cr_assert_eq(c.asked, 0);
}

Test(wait_readable, without_anybody_to_ask_there_is_no_wait_here)
{
    int ends[2];
    const bm_callbacks none = {0};
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(wait_until_readable(NULL, ends[0], NULL), BM_OK);
    cr_assert_eq(wait_until_readable(&none, ends[0], NULL), BM_OK);
}

static void *write_later(void *fd)
{
    usleep(20000);
    cr_assert_eq(write(*(int *)fd, "later", 5), 5);
    return NULL;
}

Test(wait_readable, what_does_not_block_is_waited_for_by_who_reads)
{
    const caller nobody = {.write_fd = -1};
    caller asked = nobody;
    const bm_callbacks callbacks[] = {{0}, {.ctx = &asked, .cancelled = cancelled}};
    for (size_t i = 0; i < 2; i++) {
        int ends[2];
        char data[16];
        ssize_t got;
        pthread_t writer;
        cr_assert_eq(pipe2(ends, O_NONBLOCK), 0);
        cr_assert_eq(pthread_create(&writer, NULL, write_later, &ends[1]), 0);
        cr_assert_eq(bm_read_ready(&callbacks[i], ends[0], data, sizeof data, &got, NULL), BM_OK);
        cr_assert_eq(got, 5);
        pthread_join(writer, NULL);
        close(ends[1]);
        cr_assert_eq(bm_read_ready(&callbacks[i], ends[0], data, sizeof data, &got, NULL), BM_OK);
        cr_assert_eq(got, 0, "the end");
        close(ends[0]);
        cr_assert_eq(bm_read_ready(&callbacks[i], ends[0], data, sizeof data, &got, NULL), BM_OK);
        cr_assert(got < 0 && errno == EBADF, "closed");
    }
}
