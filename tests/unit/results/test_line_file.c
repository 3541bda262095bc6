/* SPDX-License-Identifier: Apache-2.0 */
/* test_line_file.c -- lines, compared with a plain split of the whole text: arbitrary bytes, lines
 * across blocks, input from a pipe; and the exact limit of length. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/world/scratch.h"
#include "tests/world/world_random.h"
#include "results/line_file.h"

/* Writes the text to a scratch file; returns a descriptor to read it. */
static int put(scratch *s, const char *text, size_t len)
{
    scratch_put(s, "lines", text, len);
    int fd = open(scratch_at(s, "lines"), O_RDONLY);
    cr_assert_geq(fd, 0);
    return fd;
}

/* Expects the lines of `fd` to be those of `text`, up to LF or the end. */
static void compare(int fd, const char *text, size_t len, size_t longest)
{
    bm_line_file file = {.fd = fd, .name = "x", .longest = longest, .too_long = BM_ERR_INPUT};
    bm_error err = {0};
    uint64_t number = 0;
    size_t at = 0;
    bool more;
    while (at < len) {
        size_t n = 0;
        while (at + n < len && text[at + n] != '\n')
            n++;
        const bool ended = at + n < len;
        number++;
        const bm_status status = bm_line_file_next(&file, &more, &err);
        if (n > longest) {
            cr_assert_eq(status, BM_ERR_INPUT);
            cr_assert(!more && err.line == number && strcmp(err.file, "x") == 0);
            break;
        }
        cr_assert(status == BM_OK && more, "line %d: %s", (int)number, err.message);
        cr_assert(file.number == number && file.len == n && file.ended == ended);
        cr_assert(memcmp(file.text, text + at, n) == 0);
        memset(file.text, 'X', n); /* the caller may overwrite the line until it reads the next */
        at += n + ended;
        if (at == len) {
            cr_assert_eq(bm_line_file_next(&file, &more, &err), BM_OK);
            cr_assert(!more && file.n_bytes == len);
        }
    }
    bm_line_file_reset(&file);
}

Test(line_file, any_bytes_are_split_at_lf_alone)
{
    static const char text[] = "a\r\n\r\n\n\0\nb\0c\n\xFF\xEF\xBB\xBF\nlast\r";
    SCRATCH s = scratch_open();
    for (size_t len = 0; len < sizeof text; len++) { /* every possible end, with LF and without */
        int fd = put(&s, text, len);
        compare(fd, text, len, 100);
        close(fd);
    }
}

Test(line_file, an_empty_file_has_no_line_however_often_it_is_asked)
{
    SCRATCH s = scratch_open();
    bool more = true;
    bm_line_file file = {.fd = put(&s, "", 0), .name = "x", .longest = 1, .too_long = BM_ERR_INPUT};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(bm_line_file_next(&file, &more, NULL), BM_OK);
        cr_assert_not(more);
    }
    close(file.fd);
    bm_line_file_reset(&file);
}

Test(line_file, the_bound_holds_to_the_byte_with_lf_and_without)
{
    SCRATCH s = scratch_open();
    for (size_t n = 0; n < 40; n++) {
        char text[64] = "short\n";
        memset(text + 6, 'y', n);
        for (int ended = 0; ended < 2; ended++) {
            text[6 + n] = '\n';
            int fd = put(&s, text, 6 + n + (size_t)ended);
            compare(fd, text, 6 + n + (size_t)ended, 20);
            close(fd);
        }
    }
}

/* Lines of up to 3 MiB among shorter ones: many line ends fall on block boundaries, and longer
 * lines span several blocks. */
static char *long_text(size_t *len)
{
    const size_t room = (size_t)12 << 20;
    char *text = malloc(room);
    cr_assert_not_null(text);
    for (size_t i = 0; i < room; i++)
        text[i] = (char)world_pick(256);
    for (size_t i = 0; i < room; i++)
        if (text[i] == '\n')
            text[i] = 'n';
    for (size_t at = 0; at < room;
         at += world_pick(4) != 0 ? world_pick(100000) : world_pick(3 << 20))
        text[at] = '\n';
    text[((size_t)1 << 20) - 1] = text[(size_t)2 << 20] = '\n';
    *len = room - 5;
    return text;
}

Test(line_file, lines_across_blocks_are_whole)
{
    SCRATCH s = scratch_open();
    size_t len;
    char *text = long_text(&len);
    int fd = put(&s, text, len);
    compare(fd, text, len, (size_t)3 << 20);
    cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
    compare(fd, text, len, (size_t)1 << 20); /* one line is over the limit */
    close(fd);
    free(text);
}

Test(line_file, a_pipe_that_gives_a_little_at_a_time_is_read_to_its_end)
{
    size_t len;
    int ends[2];
    char *text = long_text(&len);
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        for (size_t at = 0; at < len;) {
            size_t n = 1 + world_pick(50000);
            ssize_t written = write(ends[1], text + at, n < len - at ? n : len - at);
            if (written < 0)
                _exit(1);
            at += (size_t)written;
        }
        _exit(0);
    }
    close(ends[1]);
    compare(ends[0], text, len, (size_t)3 << 20);
    close(ends[0]);
    int how = 1;
    cr_assert(waitpid(child, &how, 0) == child && how == 0);
    free(text);
}

Test(line_file, what_cannot_be_read_is_an_error_of_that_file)
{
    bool more = true;
    bm_error err = {0};
    bm_line_file file = {.fd = open("/", O_RDONLY), .name = "folder", .longest = 9};
    cr_assert_eq(bm_line_file_next(&file, &more, &err), BM_ERR_IO);
    cr_assert(!more && err.code == EISDIR && strcmp(err.file, "folder") == 0);
    close(file.fd);
    bm_line_file_reset(&file);
}
