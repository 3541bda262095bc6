/* SPDX-License-Identifier: Apache-2.0 */
/* test_spill_saved.c -- a saved file is the written one up to the noted byte, whatever a killed
 * process left after it. */
#include "spill/spill_saved.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/world/scratch.h"

#define LONGEST 600000u /* of a record: more bytes than a walk reads at once */

/* Byte j of record i. */
static unsigned char byte_of(size_t i, size_t j)
{
    return (unsigned char)((i * 2654435761u + j * 40503u) >> 7);
}

static size_t length_of(size_t i)
{
    static const size_t lengths[] = {0, 1, 8, 1203, 4080, 300, 70001, 24, 7, LONGEST, 64};
    return lengths[i % 11];
}

static void add_records(bm_spill_file *file, size_t from, size_t to)
{
    unsigned char *data = malloc(LONGEST);
    for (size_t i = from; i < to; i++) {
        uint64_t place = 0, expected = bm_spill_bytes(file);
        for (size_t j = 0; j < length_of(i); j++)
            data[j] = byte_of(i, j);
        cr_assert_eq(bm_spill_add(file, data, length_of(i), &place, NULL), BM_OK);
        cr_assert_eq(place, expected);
    }
    free(data);
}

static bm_spill_file *opened(scratch *s, size_t buffer)
{
    bm_spill_file *file = NULL;
    cr_assert_eq(bm_spill_open(s->root, BM_SPILL_SETS, buffer, &file, NULL), BM_OK);
    return file;
}

typedef struct walk {
    size_t n, stop_at; /* n: records seen; stop_at: the record where the walk is stopped */
    uint64_t place;    /* of the next record */
} walk;

static bm_status see(void *ctx, uint64_t place, const void *data, size_t len, bm_error *err)
{
    walk *w = ctx;
    const unsigned char *bytes = data;
    (void)err;
    if (w->n == w->stop_at)
        return BM_ERR_CANCELLED;
    cr_assert_eq(place, w->place);
    cr_assert_eq(len, length_of(w->n));
    cr_assert_eq((uintptr_t)data % 8, 0u, "record %zu", w->n);
    for (size_t j = 0; j < len; j++)
        if (bytes[j] != byte_of(w->n, j)) /* one assertion per byte would take ten times as long */
            cr_assert_fail("record %zu byte %zu", w->n, j);
    w->place += BM_SPILL_RECORD + len;
    w->n++;
    return BM_OK;
}

static bm_status walk_all(const bm_spill_file *file, size_t *n, bm_error *err)
{
    walk w = {.stop_at = SIZE_MAX, .place = BM_SPILL_HEADER};
    bm_status status = bm_spill_walk(file, see, &w, err);
    *n = w.n;
    return status;
}

static void assert_holds(const bm_spill_file *file, size_t n_records)
{
    bm_error err = {0};
    size_t n = 0;
    cr_assert_eq(walk_all(file, &n, &err), BM_OK, "%s", err.message);
    cr_assert_eq(n, n_records);
    cr_assert_eq(bm_spill_records(file), n_records);
}

static uint64_t size_of(const char *path)
{
    struct stat info;
    cr_assert_eq(lstat(path, &info), 0);
    return (uint64_t)info.st_size;
}

Test(spill_saved, a_saved_file_outlives_its_handle_and_is_gone_on_with)
{
    static const size_t buffers[] = {0, 64, 4096, 1 << 20};
    for (size_t b = 0; b < 4; b++) {
        SCRATCH s = scratch_open();
        const char *path = scratch_at(&s, ".bandmill-sets");
        bm_spill_file *file = opened(&s, buffers[b]);
        add_records(file, 0, 13);
        cr_assert_eq(scratch_count(&s, "."), 0u);
        cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, path, NULL), BM_OK);
        cr_assert_eq(scratch_count(&s, "."), 1u);
        cr_assert_eq(size_of(path), bm_spill_bytes(file), "it is flushed");
        add_records(file, 13, 30);
        cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
        assert_holds(file, 30);
        uint64_t bytes = bm_spill_bytes(file);
        bm_spill_close(file);
        cr_assert_eq(size_of(path), bytes);
        cr_assert_eq(bm_spill_reopen_in(AT_FDCWD, &(bm_spill_saved){path, BM_SPILL_SETS, bytes, 30},
                                        buffers[3 - b], &file, NULL),
                     BM_OK);
        assert_holds(file, 30);
        add_records(file, 30, 50);
        cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
        assert_holds(file, 50);
        bm_spill_close(file);
    }
}

Test(spill_saved, in_an_open_folder_is_there_whatever_has_come_to_its_path)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "work");
    bm_spill_file *file = opened(&s, 64);
    const int folder = open(scratch_at(&s, "work"), O_RDONLY | O_DIRECTORY);
    cr_assert_geq(folder, 0);
    cr_assert_eq(rename(scratch_at(&s, "work"), scratch_at(&s, "moved")), 0);
    scratch_folder(&s, "work");
    scratch_put_text(&s, "work/saved", "another's");
    add_records(file, 0, 5);
    const char *path = scratch_at(&s, "work/saved");
    cr_assert_eq(bm_spill_save_in(file, folder, path, NULL), BM_OK);
    const uint64_t bytes = bm_spill_bytes(file);
    bm_spill_close(file);
    cr_assert(scratch_holds(&s, "work/saved", "another's"));
    cr_assert_eq(size_of(scratch_at(&s, "moved/saved")), bytes);
    cr_assert_eq(bm_spill_reopen_in(folder, &(bm_spill_saved){path, BM_SPILL_SETS, bytes, 5}, 64,
                                    &file, NULL),
                 BM_OK);
    assert_holds(file, 5);
    bm_spill_close(file);
    close(folder);
}

Test(spill_saved, close_leaves_a_saved_file)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    bm_spill_file *file = opened(&s, 64);
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, path, NULL), BM_OK, "without a record");
    bm_spill_close(file);
    cr_assert(scratch_has(&s, "saved"));
    cr_assert_eq(bm_spill_reopen_in(AT_FDCWD,
                                    &(bm_spill_saved){path, BM_SPILL_SETS, BM_SPILL_HEADER, 0}, 64,
                                    &file, NULL),
                 BM_OK);
    assert_holds(file, 0);
    bm_spill_close(file);
    cr_assert(scratch_has(&s, "saved"));
    cr_assert_eq(bm_spill_reopen_in(AT_FDCWD,
                                    &(bm_spill_saved){path, BM_SPILL_SETS, BM_SPILL_HEADER, 0}, 64,
                                    &file, NULL),
                 BM_OK);
    bm_spill_close(file);
    cr_assert(scratch_has(&s, "saved"));
}

Test(spill_saved, a_torn_tail_of_every_length_is_cut_off)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    bm_spill_file *file = opened(&s, 256);
    add_records(file, 0, 3);
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, path, NULL), BM_OK);
    uint64_t noted = bm_spill_bytes(file);
    add_records(file, 3, 4);
    cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
    bm_spill_close(file);
    size_t whole;
    char *bytes = scratch_get(&s, "saved", &whole);
    cr_assert_eq(whole, noted + BM_SPILL_RECORD + length_of(3));
    for (size_t len = noted; len <= whole; len++) {
        scratch_put(&s, "saved", bytes, len);
        cr_assert_eq(bm_spill_reopen_in(AT_FDCWD, &(bm_spill_saved){path, BM_SPILL_SETS, noted, 3},
                                        256, &file, NULL),
                     BM_OK);
        cr_assert_eq(size_of(path), noted);
        assert_holds(file, 3);
        add_records(file, 3, 4);
        cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
        bm_spill_close(file);
        size_t now;
        char *again = scratch_get(&s, "saved", &now);
        cr_assert(now == whole && memcmp(again, bytes, whole) == 0, "as if it was never killed");
        free(again);
    }
    free(bytes);
}

Test(spill_saved, every_length_below_what_was_noted_is_refused_and_left_alone)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    bm_spill_file *file = opened(&s, 256), *again = NULL;
    add_records(file, 0, 3);
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, path, NULL), BM_OK);
    uint64_t noted = bm_spill_bytes(file);
    for (uint64_t len = noted; len-- > 0;) {
        bm_error err = {0};
        cr_assert_eq(truncate(path, (off_t)len), 0);
        cr_assert_eq(bm_spill_reopen_in(AT_FDCWD, &(bm_spill_saved){path, BM_SPILL_SETS, noted, 3},
                                        64, &again, &err),
                     BM_ERR_FORMAT);
        cr_assert_null(again);
        cr_assert_str_eq(err.file, path);
        cr_assert_eq(size_of(path), len);
    }
    bm_spill_close(file);
}

Test(spill_saved, what_lies_at_the_name_is_replaced_and_a_link_is_not_followed)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "precious", "mine");
    scratch_put_text(&s, "a", "an older file of the same name");
    cr_assert_eq(symlink("precious", scratch_at(&s, "b")), 0);
    cr_assert_eq(symlink("nowhere", scratch_at(&s, "c")), 0);
    cr_assert_eq(mkfifo(scratch_at(&s, "d"), 0600), 0);
    for (char name[2] = "a"; name[0] <= 'd'; name[0]++) {
        struct stat info;
        bm_spill_file *file = opened(&s, 64);
        add_records(file, 0, 5);
        cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, scratch_at(&s, name), NULL), BM_OK);
        cr_assert_eq(lstat(scratch_at(&s, name), &info), 0);
        cr_assert(S_ISREG(info.st_mode), "%s", name);
        cr_assert_eq(info.st_mode & 077, 0u, "nobody else may read it");
        cr_assert_eq((uint64_t)info.st_size, bm_spill_bytes(file));
        bm_spill_close(file);
    }
    cr_assert(scratch_holds(&s, "precious", "mine"));
    cr_assert_not(scratch_has(&s, "nowhere"));
}

Test(spill_saved, a_name_that_cannot_be_leaves_the_file_as_it_was)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    bm_spill_file *file = opened(&s, 64);
    add_records(file, 0, 5);
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, scratch_at(&s, "no/saved"), &err), BM_ERR_IO);
    cr_assert_str_eq(err.file, scratch_at(&s, "no/saved"));
    scratch_folder(&s, "folder");
    scratch_put_text(&s, "folder/a", "mine");
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, scratch_at(&s, "folder"), &err), BM_ERR_IO);
    cr_assert(scratch_holds(&s, "folder/a", "mine"));
    assert_holds(file, 5);
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, scratch_at(&s, "saved"), NULL), BM_OK,
                 "another one is fine");
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, scratch_at(&s, "twice"), &err), BM_ERR_INTERNAL);
    cr_assert_not(scratch_has(&s, "twice"));
    add_records(file, 5, 9);
    cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
    assert_holds(file, 9);
    bm_spill_close(file);
}

Test(spill_saved, what_is_no_such_file_is_refused_by_its_name)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    bm_spill_file *file = opened(&s, 64), *again = NULL;
    add_records(file, 0, 3);
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, path, NULL), BM_OK);
    uint64_t bytes = bm_spill_bytes(file);
    bm_spill_close(file);
    cr_assert_eq(symlink("saved", scratch_at(&s, "link")), 0);
    cr_assert_eq(mkfifo(scratch_at(&s, "pipe"), 0600), 0);
    scratch_folder(&s, "folder");
    char zeros[4096] = {0};
    scratch_put(&s, "zeros", zeros, sizeof zeros);
    static const char *const names[] = {"missing", "link", "pipe", "folder", "zeros", "no/folder"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bm_error err = {0};
        const char *name = scratch_at(&s, names[i]);
        cr_expect_eq(bm_spill_reopen_in(AT_FDCWD, &(bm_spill_saved){name, BM_SPILL_SETS, bytes, 3},
                                        64, &again, &err),
                     BM_ERR_FORMAT, "%s", names[i]);
        cr_expect_str_eq(err.file, name);
    }
    cr_expect_eq(bm_spill_reopen_in(AT_FDCWD, &(bm_spill_saved){path, BM_SPILL_KEYS, bytes, 3}, 64,
                                    &again, NULL),
                 BM_ERR_FORMAT, "another kind");
    static const struct {
        uint64_t bytes, n_records;
    } impossible[] = {{0, 0}, {31, 0}, {32, 1}, {47, 1}, {32 + 16 * 3, 4}, {64, UINT64_MAX}};
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++)
        cr_expect_eq(bm_spill_reopen_in(AT_FDCWD,
                                        &(bm_spill_saved){path, BM_SPILL_SETS, impossible[i].bytes,
                                                          impossible[i].n_records},
                                        64, &again, NULL),
                     BM_ERR_FORMAT, "%zu", i);
    cr_expect_eq(bm_spill_reopen_in(AT_FDCWD, &(bm_spill_saved){path, BM_SPILL_SETS, UINT64_MAX, 3},
                                    64, &again, NULL),
                 BM_ERR_FORMAT);
    cr_expect_null(again);
    cr_expect_eq(size_of(path), bytes, "and nothing was cut");
    cr_expect_eq(size_of(scratch_at(&s, "zeros")), sizeof zeros);
}

Test(spill_saved, every_changed_byte_ends_the_walk_before_its_record)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    bm_spill_file *file = opened(&s, 64), *again = NULL;
    add_records(file, 0, 4);
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, path, NULL), BM_OK);
    uint64_t bytes = bm_spill_bytes(file);
    uint64_t ends[4], end = BM_SPILL_HEADER;
    for (size_t i = 0; i < 4; i++)
        ends[i] = end += BM_SPILL_RECORD + length_of(i);
    for (uint64_t at = 0; at < bytes; at++) {
        unsigned char byte, flipped;
        size_t n = 0, before = 0;
        bm_error err = {0};
        cr_assert_eq(pread(bm_spill_fd(file), &byte, 1, (off_t)at), 1);
        flipped = byte ^ (unsigned char)(1u << at % 8);
        cr_assert_eq(pwrite(bm_spill_fd(file), &flipped, 1, (off_t)at), 1);
        cr_assert_eq(walk_all(file, &n, &err), BM_ERR_FORMAT, "byte %d", (int)at);
        cr_assert_str_eq(err.file, path);
        while (at >= BM_SPILL_HEADER && at >= ends[before])
            before++;
        cr_assert_eq(n, before, "byte %d", (int)at);
        cr_assert_eq(bm_spill_reopen_in(AT_FDCWD, &(bm_spill_saved){path, BM_SPILL_SETS, bytes, 4},
                                        64, &again, NULL),
                     at < BM_SPILL_HEADER ? BM_ERR_FORMAT : BM_OK, "byte %d", (int)at);
        bm_spill_close(at < BM_SPILL_HEADER ? NULL : again);
        cr_assert_eq(pwrite(bm_spill_fd(file), &byte, 1, (off_t)at), 1);
    }
    assert_holds(file, 4);
    bm_spill_close(file);
}

Test(spill_saved, numbers_that_do_not_fit_the_records_end_the_walk)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    bm_spill_file *file = opened(&s, 64);
    add_records(file, 0, 6);
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, path, NULL), BM_OK);
    uint64_t bytes = bm_spill_bytes(file), last = bytes - BM_SPILL_RECORD - length_of(5);
    bm_spill_close(file);
    for (uint64_t n_records = 0; n_records < 12; n_records++) {
        size_t n;
        cr_assert_eq(bm_spill_reopen_in(AT_FDCWD,
                                        &(bm_spill_saved){path, BM_SPILL_SETS, bytes, n_records},
                                        64, &file, NULL),
                     BM_OK);
        cr_assert_eq(walk_all(file, &n, NULL), n_records == 6 ? BM_OK : BM_ERR_FORMAT);
        bm_spill_close(file);
    }
    /* each iteration truncates the file further */
    for (uint64_t cut = bytes - 1; cut > last; cut--) {
        size_t n;
        bm_error err = {0};
        cr_assert_eq(bm_spill_reopen_in(AT_FDCWD, &(bm_spill_saved){path, BM_SPILL_SETS, cut, 6},
                                        64, &file, NULL),
                     BM_OK);
        cr_assert_eq(walk_all(file, &n, &err), BM_ERR_FORMAT);
        cr_assert_eq(n, 5u);
        cr_assert_not_null(strstr(
            err.message, cut < last + BM_SPILL_RECORD ? "ends within" : "longer than the file"));
        bm_spill_close(file);
    }
}

Test(spill_saved, a_length_longer_than_the_file_is_refused_before_it_is_allocated)
{
    SCRATCH s = scratch_open();
    bm_spill_file *file = opened(&s, 64);
    bm_error err = {0};
    size_t n;
    add_records(file, 0, 3);
    cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
    /* kind and length of the third record; the length becomes the largest possible */
    uint64_t head;
    uint64_t place = bm_spill_bytes(file) - BM_SPILL_RECORD - length_of(2);
    cr_assert_eq(pread(bm_spill_fd(file), &head, sizeof head, (off_t)place), sizeof head);
    head |= (UINT64_C(1) << 56) - 1;
    cr_assert_eq(pwrite(bm_spill_fd(file), &head, sizeof head, (off_t)place), sizeof head);
    cr_assert_eq(walk_all(file, &n, &err), BM_ERR_FORMAT, "not out of memory");
    cr_assert_eq(n, 2u);
    cr_assert_not_null(strstr(err.message, "longer"));
    bm_spill_close(file);
}

Test(spill_saved, a_visitor_may_end_the_walk)
{
    SCRATCH s = scratch_open();
    bm_spill_file *file = opened(&s, 64);
    add_records(file, 0, 20);
    walk w = {.stop_at = 12, .place = BM_SPILL_HEADER};
    cr_assert_eq(bm_spill_walk(file, see, &w, NULL), BM_ERR_INTERNAL, "not flushed");
    cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
    cr_assert_eq(bm_spill_walk(file, see, &w, NULL), BM_ERR_CANCELLED);
    cr_assert_eq(w.n, 12u);
    cr_assert_eq(bm_spill_walk(file, NULL, NULL, NULL), BM_OK, "checks without a visitor");
    bm_spill_close(file);
}

typedef struct note {
    uint64_t bytes, n_records;
} note;

/* Appends records from the file's end on, and reports the flushed lengths through `fd` after every
 * flush, until killed. */
static void append_until_killed(bm_spill_file *file, int fd)
{
    for (size_t i = (size_t)bm_spill_records(file);; i++) {
        add_records(file, i, i + 1);
        if (i % 3 != 2)
            continue;
        if (bm_spill_flush(file, NULL) != BM_OK)
            _exit(1);
        note now = {bm_spill_bytes(file), bm_spill_records(file)};
        if (write(fd, &now, sizeof now) != (ssize_t)sizeof now)
            _exit(1);
    }
}

Test(spill_saved, kill_9_while_appending_loses_nothing_that_was_noted)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    note noted = {BM_SPILL_HEADER, 0};
    bm_spill_file *file = opened(&s, 5000);
    cr_assert_eq(bm_spill_save_in(file, AT_FDCWD, path, NULL), BM_OK);
    bm_spill_close(file);
    for (int round = 0; round < 20; round++) {
        int ends[2];
        cr_assert_eq(pipe(ends), 0);
        /* One page, so that a child that is killed late blocks instead of writing on without
         * end. */
        cr_assert_geq(fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
        cr_assert_eq(
            bm_spill_reopen_in(AT_FDCWD,
                               &(bm_spill_saved){path, BM_SPILL_SETS, noted.bytes, noted.n_records},
                               5000, &file, NULL),
            BM_OK);
        assert_holds(file, (size_t)noted.n_records);
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0)
            append_until_killed(file, ends[1]);
        close(ends[1]);
        for (int i = 0; i <= round % 4; i++) /* read(2) waits for the child */
            cr_assert_eq(read(ends[0], &noted, sizeof noted), (ssize_t)sizeof noted);
        usleep((useconds_t)(round * 97 % 1000));
        cr_assert_eq(kill(child, SIGKILL), 0);
        int status;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status));
        while (read(ends[0], &noted, sizeof noted) == (ssize_t)sizeof noted)
            ;
        close(ends[0]);
        bm_spill_close(file);
        cr_assert_geq(size_of(path), noted.bytes);
    }
    cr_assert_gt(noted.n_records, 60u);
}
