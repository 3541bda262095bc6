/* SPDX-License-Identifier: Apache-2.0 */
/* test_journal.c -- lines are read back; a torn tail is cut off; any other change is an error. */
#include "spill/journal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/world/scratch.h"

static const char *const texts[] = {"command\tdedup", "", "input\ta file\t12", "saved\t1",
                                    "saved\t2 \xF0\x9F\x98\x80"};
#define TEXTS (sizeof texts / sizeof texts[0])

static void write_journal(const char *path)
{
    bm_journal *journal = NULL;
    cr_assert_eq(bm_journal_create_in(AT_FDCWD, path, &journal, NULL), BM_OK);
    for (size_t i = 0; i < TEXTS; i++)
        cr_assert_eq(bm_journal_add(journal, texts[i], NULL), BM_OK);
    cr_assert_eq(bm_journal_count(journal), TEXTS);
    bm_journal_close(journal);
}

static size_t slurp(const char *path, char *out, size_t cap)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    size_t n = fread(out, 1, cap, file);
    fclose(file);
    return n;
}

static void spit(const char *path, const char *data, size_t len)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, len, file), len);
    fclose(file);
}

/* Expects the first n lines, and no more. */
static void expect(const char *path, size_t n)
{
    bm_journal *journal = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_journal_open_in(AT_FDCWD, path, &journal, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_journal_count(journal), n, "%zu lines", bm_journal_count(journal));
    for (size_t i = 0; i < n && i < TEXTS; i++)
        cr_assert_str_eq(bm_journal_line(journal, i), texts[i]);
    bm_journal_close(journal);
}

Test(journal, in_an_open_folder_is_there_whatever_has_come_to_its_path)
{
    SCRATCH s = scratch_open();
    bm_journal *journal = NULL;
    scratch_folder(&s, "work");
    const int folder = open(scratch_at(&s, "work"), O_RDONLY | O_DIRECTORY);
    cr_assert_geq(folder, 0);
    cr_assert_eq(rename(scratch_at(&s, "work"), scratch_at(&s, "moved")), 0);
    scratch_folder(&s, "work");
    scratch_put_text(&s, "work/journal", "another's");
    const char *path = scratch_at(&s, "work/journal");
    cr_assert_eq(bm_journal_create_in(folder, path, &journal, NULL), BM_OK);
    cr_assert_eq(bm_journal_add(journal, texts[0], NULL), BM_OK);
    bm_journal_close(journal);
    cr_assert(scratch_holds(&s, "work/journal", "another's"));
    expect(scratch_at(&s, "moved/journal"), 1);
    cr_assert_eq(bm_journal_open_in(folder, path, &journal, NULL), BM_OK);
    cr_assert_eq(bm_journal_count(journal), 1);
    bm_journal_close(journal);
    close(folder);
}

#define JOURNAL(s, path, bytes, len)                                                               \
    scratch s;                                                                                     \
    char path[512], bytes[1024];                                                                   \
    s = scratch_open();                                                                            \
    snprintf(path, sizeof path, "%s/journal", s.root);                                             \
    write_journal(path);                                                                           \
    size_t len = slurp(path, bytes, sizeof bytes)

Test(journal, lines_come_back_and_more_are_added_behind_them)
{
    JOURNAL(s, path, bytes, len);
    bm_journal *journal = NULL;
    cr_assert(len > 0 && bytes[len - 1] == '\n');
    expect(path, TEXTS);
    cr_assert_eq(bm_journal_open_in(AT_FDCWD, path, &journal, NULL), BM_OK);
    cr_assert_eq(bm_journal_add(journal, "saved\t3", NULL), BM_OK);
    bm_journal_close(journal);
    cr_assert_eq(bm_journal_open_in(AT_FDCWD, path, &journal, NULL), BM_OK);
    cr_assert_eq(bm_journal_count(journal), TEXTS + 1);
    cr_assert_str_eq(bm_journal_line(journal, TEXTS), "saved\t3");
    bm_journal_close(journal);
    scratch_close(&s);
}

/* A process that is killed while it writes leaves a torn last line. */
Test(journal, a_tail_of_any_length_is_cut_off_and_written_over)
{
    JOURNAL(s, path, bytes, len);
    size_t lines = 0, last_end = 0;
    for (size_t cut = 0; cut <= len; cut++) {
        if (cut > 0 && bytes[cut - 1] == '\n') {
            lines++;
            last_end = cut;
        }
        spit(path, bytes, cut);
        expect(path, lines);
        struct stat info;
        cr_assert_eq(stat(path, &info), 0);
        cr_assert_eq((size_t)info.st_size, last_end);
    }
    scratch_close(&s);
}

Test(journal, a_changed_byte_is_found)
{
    JOURNAL(s, path, bytes, len);
    for (size_t at = 0; at < len; at++) {
        bm_journal *journal = NULL;
        bm_error err = {0};
        bytes[at] ^= 0x20;
        spit(path, bytes, len);
        bm_status status = bm_journal_open_in(AT_FDCWD, path, &journal, &err);
        /* Without its LF the last line counts as torn. */
        if (at + 1 == len) {
            cr_assert_eq(status, BM_OK);
            cr_assert_eq(bm_journal_count(journal), TEXTS - 1);
        } else {
            cr_assert_eq(status, BM_ERR_FORMAT, "byte %zu", at);
            cr_assert(strstr(err.message, "damaged") != NULL);
        }
        bm_journal_close(journal);
        bytes[at] ^= 0x20;
    }
    scratch_close(&s);
}

Test(journal, lines_that_are_missing_or_out_of_order_are_found)
{
    JOURNAL(s, path, bytes, len);
    char other[1024];
    bm_journal *journal = NULL;
    size_t first = (size_t)((char *)memchr(bytes, '\n', len) - bytes) + 1;
    size_t second =
        first + (size_t)((char *)memchr(bytes + first, '\n', len - first) - (bytes + first)) + 1;
    spit(path, bytes + first, len - first); /* without the first */
    cr_assert_eq(bm_journal_open_in(AT_FDCWD, path, &journal, NULL), BM_ERR_FORMAT);
    memcpy(other, bytes, first);
    memcpy(other + first, bytes + second, len - second); /* without the second */
    spit(path, other, len - (second - first));
    cr_assert_eq(bm_journal_open_in(AT_FDCWD, path, &journal, NULL), BM_ERR_FORMAT);
    memcpy(other, bytes + first, second - first); /* the second before the first */
    memcpy(other + (second - first), bytes, first);
    memcpy(other + second, bytes + second, len - second);
    spit(path, other, len);
    cr_assert_eq(bm_journal_open_in(AT_FDCWD, path, &journal, NULL), BM_ERR_FORMAT);
    scratch_close(&s);
}

Test(journal, creating_replaces_and_follows_no_link)
{
    JOURNAL(s, path, bytes, len);
    char target[512];
    bm_journal *journal = NULL;
    snprintf(target, sizeof target, "%s/precious", s.root);
    cr_assert_eq(rename(path, target), 0);
    cr_assert_eq(symlink(target, path), 0);
    cr_assert_eq(bm_journal_open_in(AT_FDCWD, path, &journal, NULL), BM_ERR_IO);
    cr_assert_eq(bm_journal_create_in(AT_FDCWD, path, &journal, NULL), BM_OK);
    cr_assert_eq(bm_journal_add(journal, "x", NULL), BM_OK);
    bm_journal_close(journal);
    char again[1024];
    cr_assert_eq(slurp(target, again, sizeof again), len);
    cr_assert_arr_eq(again, bytes, len);
    scratch_close(&s);
}
