/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/column.h"

#define MOST ((size_t)6 << 20)

static const char *a_dir(void)
{
    const char *dir = getenv("TMPDIR");
    return dir != NULL ? dir : "/tmp";
}

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 7 + 1);
}

static size_t bytes_of(const bm_column *column)
{
    return atomic_load(&column->bytes);
}

/* Grows the column to `bytes` and writes all of them. Earlier bytes must be unchanged, and new ones
 * zero before the write. */
static void grow_and_write(bm_column *column, size_t bytes, const char *dir, size_t *written)
{
    const void *had = column->data;
    cr_assert_eq(bm_column_grow(column, bytes, dir, NULL), BM_OK);
    cr_assert_geq(bytes_of(column), bytes);
    cr_assert(had == NULL || had == column->data, "the column moved");
    bm_column_leave(column);
    unsigned char *data = column->data;
    for (size_t i = 0; i < *written; i++)
        cr_assert_eq(data[i], byte_at(i));
    for (size_t i = *written; i < bytes_of(column); i++)
        cr_assert_eq(data[i], 0);
    for (; *written < bytes; ++*written)
        data[*written] = byte_at(*written);
}

Test(column, growth_keeps_the_contents_where_they_are)
{
    bm_column column = {0};
    size_t written = 0;
    for (size_t bytes = 1; bytes < MOST; bytes = bytes * 3 + 17)
        grow_and_write(&column, bytes, NULL, &written);
    bm_column_trim(&column, 5000);
    cr_assert_lt(bytes_of(&column), MOST / 10);
    for (size_t i = 0; i < 5000; i++)
        cr_assert_eq(((unsigned char *)column.data)[i], byte_at(i));
    written = bytes_of(&column); /* then it grows again */
    cr_assert_eq(bm_column_grow(&column, MOST, NULL, NULL), BM_OK);
    for (size_t i = written; i < MOST; i++)
        cr_assert_eq(((unsigned char *)column.data)[i], 0);
    bm_column_reset(&column);
    cr_assert_null(column.data);
    cr_assert_eq(bytes_of(&column), 0);
}

Test(column, many_columns_grow_beside_one_another)
{
    enum { N = 900 }; /* more than PLACES of column.c */
    static bm_column columns[N];
    size_t written[N] = {0};
    for (size_t bytes = 100; bytes < 80000; bytes *= 700)
        for (size_t i = 0; i < N; i++)
            grow_and_write(&columns[i], bytes + i, NULL, &written[i]);
    for (size_t i = 0; i < N; i++)
        bm_column_reset(&columns[i]);
}

Test(column, what_there_is_no_memory_for_changes_nothing)
{
    bm_column column = {0};
    bm_error err = {0};
    cr_assert_eq(bm_column_grow(&column, SIZE_MAX / 8, NULL, &err), BM_ERR_NOMEM);
    cr_assert_null(column.data);
    cr_assert_eq(bm_column_grow(&column, 100, NULL, NULL), BM_OK);
    memset(column.data, 9, 100);
    const void *data = column.data;
    const size_t bytes = bytes_of(&column);
    cr_assert_eq(bm_column_grow(&column, SIZE_MAX - 100, NULL, &err), BM_ERR_NOMEM);
    cr_assert_eq(bm_column_grow(&column, SIZE_MAX / 8, NULL, &err), BM_ERR_NOMEM);
    cr_assert_eq(column.data, data);
    cr_assert_eq(bytes_of(&column), bytes);
    cr_assert_eq(((unsigned char *)column.data)[99], 9);
    bm_column_trim(&column, 0);
    cr_assert_null(column.data);
    bm_column_trim(&column, 0);
    bm_column_reset(&column);
}

/* Columns map only what they use, so three of them can share a limit in any proportion. */
Test(column, a_limit_of_address_space_is_used_up)
{
#if defined(BM_SANITIZED)
    cr_skip_test("sanitizers map more than any limit leaves");
#endif
    bm_column columns[3] = {{0}};
    bm_error err = {0};
    cr_assert_eq(setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)1 << 30, (rlim_t)1 << 30}), 0);
    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(bm_column_grow(&columns[i], MOST, NULL, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_column_grow(&columns[1], (size_t)700 << 20, NULL, &err), BM_OK, "%s",
                 err.message);
    cr_assert_eq(bm_column_grow(&columns[2], (size_t)700 << 20, NULL, &err), BM_ERR_NOMEM);
    for (size_t i = 0; i < 3; i++)
        bm_column_reset(&columns[i]);
}

/* Another mapping begins where the column would grow to. */
Test(column, what_is_in_the_way_stays)
{
    bm_column column = {0};
    bm_error err = {0};
    cr_assert_eq(bm_column_grow(&column, 100, NULL, NULL), BM_OK);
    if (column.space != 0)
        cr_skip_test("the system grants no places of one's own");
    char *behind = (char *)column.data + bytes_of(&column);
    char *other = mmap(behind, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_eq(other, behind);
    other[0] = 5;
    cr_assert_eq(bm_column_grow(&column, 1 << 20, NULL, &err), BM_ERR_NOMEM);
    cr_expect_eq(other[0], 5);
    munmap(other, 1 << 20);
    cr_assert_eq(bm_column_grow(&column, 1 << 20, NULL, &err), BM_OK);
    bm_column_reset(&column);
}

Test(column, a_file_takes_what_comes_from_some_place_on)
{
    for (size_t in_memory = 0; in_memory < 4000000; in_memory = in_memory * 100 + 3000) {
        bm_column column = {0};
        size_t written = 0;
        if (in_memory > 0)
            grow_and_write(&column, in_memory, NULL, &written);
        const size_t from = bytes_of(&column);
        for (size_t bytes = from + 1; bytes < MOST; bytes = bytes * 3 + 17)
            grow_and_write(&column, bytes, a_dir(), &written);
        cr_assert_eq(column.in_memory, from);
        unsigned char some[100];
        cr_assert(bm_column_read(&column, some, sizeof some, from + 10000));
        for (size_t i = 0; i < sizeof some; i++)
            cr_assert_eq(some[i], byte_at(from + 10000 + i));
        cr_assert(from == 0 || !bm_column_read(&column, some, sizeof some, from - 10));
        bm_column_sums sums = {0};
        bm_column_sum(&column, MOST, &sums);
        cr_expect_eq(sums.in_memory, from);
        cr_expect_eq(sums.in_file, MOST - from);
        const int fd = atomic_load(&column.file) - 1;
        cr_assert_eq(bm_column_to_memory(&column, written, NULL), BM_OK);
        cr_assert_eq(close(fd), -1, "the file was left open");
        grow_and_write(&column, written + 1, NULL, &written);
        grow_and_write(&column, written + MOST, NULL, &written);
        bm_column_reset(&column);
    }
}

/* Only bytes in memory were used: the file is dropped, and the column grows on in memory. */
Test(column, back_in_memory_without_what_the_file_held)
{
    bm_column column = {0};
    size_t written = 0;
    grow_and_write(&column, 1000, NULL, &written);
    const size_t from = bytes_of(&column);
    cr_assert_eq(bm_column_grow(&column, MOST, a_dir(), NULL), BM_OK);
    memset((char *)column.data + from, 3, MOST - from);
    cr_assert_eq(bm_column_to_memory(&column, written, NULL), BM_OK);
    cr_assert_eq(bytes_of(&column), from);
    grow_and_write(&column, MOST, NULL, &written);
    bm_column_reset(&column);
}

Test(column, a_full_disk_is_noticed_when_the_file_grows)
{
    bm_error err = {0};
    bm_column column = {0};
    cr_assert_eq(bm_column_grow(&column, 1000, a_dir(), NULL), BM_OK);
    memset(column.data, 9, 1000);
    const size_t bytes = bytes_of(&column);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000}), 0);
    cr_assert_eq(bm_column_grow(&column, 1000000, NULL, &err), BM_ERR_IO);
    cr_assert_str_eq(err.file, a_dir());
    cr_assert_eq(bytes_of(&column), bytes);
    cr_assert_eq(((unsigned char *)column.data)[999], 9);
    bm_column_reset(&column);
}

Test(column, a_folder_where_no_file_can_be_made_is_named)
{
    bm_error err = {0};
    bm_column column = {0};
    cr_assert_eq(bm_column_grow(&column, 100, "/dev/null", &err), BM_ERR_IO);
    cr_assert_str_eq(err.file, "/dev/null");
    cr_assert_null(column.data);
    cr_assert_eq(bm_column_grow(&column, 100, "/nowhere", &err), BM_OK); /* missing: in memory */
    cr_expect_eq(atomic_load(&column.file), 0);
    bm_column_reset(&column);
}

#define N_WORDS ((size_t)1 << 20)

typedef struct growing {
    bm_column column;
    atomic_size_t n; /* words written so far */
    atomic_bool ended;
} growing;

/* Reads the words written so far, again and again, and after each round lets the pages of the
 * column leave memory. */
static void *read_all(void *ctx)
{
    growing *g = ctx;
    size_t wrong = 0;
    for (bool ended = false; !ended;) {
        ended = atomic_load(&g->ended);
        const size_t n = atomic_load(&g->n);
        const uint64_t *words = g->column.data;
        for (size_t i = 0; i < n; i += 97)
            wrong += words[i] != i * 3;
        bm_column_leave(&g->column);
    }
    return (void *)wrong; /* NOLINT(performance-no-int-to-ptr) */
}

Test(column, others_read_while_it_grows)
{
    growing g = {0};
    pthread_t reader;
    void *wrong;
    cr_assert_eq(bm_column_grow(&g.column, 8, NULL, NULL), BM_OK);
    cr_assert_eq(pthread_create(&reader, NULL, read_all, &g), 0);
    for (size_t n = 0; n < N_WORDS; n += 4096) {
        const size_t bytes = (n + 4096) * sizeof(uint64_t);
        cr_assert_eq(bm_column_grow(&g.column, bytes, n > N_WORDS / 2 ? a_dir() : NULL, NULL),
                     BM_OK);
        for (size_t i = n; i < n + 4096; i++)
            ((uint64_t *)g.column.data)[i] = i * 3;
        atomic_store(&g.n, n + 4096);
    }
    atomic_store(&g.ended, true);
    pthread_join(reader, &wrong);
    cr_expect_null(wrong);
    bm_column_reset(&g.column);
}

Test(column, one_that_lies_in_a_file_as_a_whole_is_read_there_or_an_error)
{
    bm_column column = {0};
    bm_error err = {0};
    unsigned char some[100];
    cr_assert_eq(bm_column_open_file(&column, 10000, a_dir(), &err), BM_OK, "%s", err.message);
    cr_expect_eq(column.in_memory, 0);
    for (size_t i = 0; i < 10000; i++)
        ((unsigned char *)column.data)[i] = byte_at(i);
    bm_column_leave(&column);
    cr_assert_eq(bm_column_read_file(&column, some, sizeof some, 9000, &err), BM_OK);
    for (size_t i = 0; i < sizeof some; i++)
        cr_assert_eq(some[i], byte_at(9000 + i));
    cr_assert_eq(ftruncate(atomic_load(&column.file) - 1, 9050), 0);
    cr_expect_eq(bm_column_read_file(&column, some, sizeof some, 9000, &err), BM_ERR_IO);
    cr_expect_neq(err.message[0], '\0');
    bm_column_reset(&column);
    err = (bm_error){0};
    cr_expect_eq(bm_column_open_file(&column, 10000, "/nowhere/at/all", &err), BM_ERR_IO);
    cr_expect_neq(err.message[0], '\0');
    cr_expect_eq(column.data, NULL);
    bm_column_reset(&column);
}
