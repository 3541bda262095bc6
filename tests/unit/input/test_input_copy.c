/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on standard input are copied whole to a file without a name.
 * tests/reference/test_tables.py tests reading them. */
#include <fcntl.h>
#include <sys/wait.h>

#include "base/files.h"
#include "input/input_bytes.h"
#include "input/input_digest.h"
#include "read_records.h"
#include "tests/world/world_calls.h"

#define N_BYTES ((size_t)700001)

/* Bytes that begin like a Parquet file. */
static char *table_bytes(void)
{
    char *data = malloc(N_BYTES);
    cr_assert_not_null(data);
    for (size_t i = 0; i < N_BYTES; i++)
        data[i] = (char)(i * 2654435761u >> 11);
    memcpy(data, "PAR1", 4);
    return data;
}

static bm_input_set *open_stdin(const char *spool)
{
    static const char *const paths[] = {"-"};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_AUTO);
    bm_input_set *set = world_open(bm_input_set, &o, spool, 0, NULL);
    cr_assert_eq(bm_input_set_format(set), BM_FORMAT_PARQUET);
    return set;
}

/* Opens the copy twice, since readers of tables seek, and compares it with the data. */
static void assert_copied(const bm_source *source, const char *data)
{
    char *got = malloc(N_BYTES + 1);
    for (int time = 0; time < 2; time++) {
        int fd;
        cr_assert_eq(bm_open_regular(bm_source_place(source), BM_ERR_INPUT, &fd, NULL), BM_OK);
        cr_assert_eq(pread(fd, got, N_BYTES + 1, 0), (ssize_t)N_BYTES);
        cr_assert_eq(memcmp(got, data, N_BYTES), 0);
        close(fd);
    }
    free(got);
}

Test(input_copy, all_of_it_can_be_opened_again_and_its_digest_is_known)
{
    SCRATCH dir = scratch_open();
    char *data = table_bytes();
    for (int spool = 0; spool < 2; spool++) {
        pid_t child = test_feed_stdin(data, N_BYTES, 4093);
        bm_input_set *set = open_stdin(spool ? dir.root : NULL);
        bm_error err = {0};
        bm_hash128 digest;
        bm_input_set_assign(set, &(bm_input_resources){.temp_dir = dir.root});
        for (int time = 0; time < 2; time++)
            cr_assert_eq(bm_input_copy(set, 0, &err), BM_OK, "%s", err.message);
        const bm_source *source = bm_input_set_source(set, 0);
        assert_copied(source, data);
        cr_assert_eq(
            bm_input_digest_file(&BM_DIGEST_OF_FILE(bm_source_place(source)), NULL, &digest, &err),
            BM_OK);
        cr_assert(digest.lo == source->digest.lo && digest.hi == source->digest.hi);
        cr_assert_eq(source->bytes_read, N_BYTES);
        cr_assert_eq(bm_input_set_copied(set), N_BYTES);
        cr_assert_str_eq(source->name, "-");
        bm_input_set_close(set);
        waitpid(child, NULL, 0);
    }
    cr_assert_eq(scratch_count(&dir, "."), 0);
    free(data);
}

Test(input_copy, a_directory_that_cannot_hold_it_is_named)
{
    char *data = table_bytes();
    pid_t child = test_feed_stdin(data, N_BYTES, 4093);
    bm_input_set *set = open_stdin(NULL);
    bm_error err = {0};
    bm_input_set_assign(set, &(bm_input_resources){.temp_dir = "/nonexistent/dir"});
    cr_assert_eq(bm_input_copy(set, 0, &err), BM_ERR_IO);
    cr_assert_str_eq(err.file, "/nonexistent/dir");
    bm_input_set_close(set);
    close(STDIN_FILENO);
    waitpid(child, NULL, 0);
    free(data);
}

Test(input_copy, a_regular_file_is_read_where_it_is)
{
    SCRATCH dir = scratch_open();
    const char *path = scratch_put(&dir, "a.parquet", "PAR1", 4);
    const char *paths[] = {path};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_AUTO);
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    cr_assert_eq(bm_input_copy(set, 0, NULL), BM_OK);
    cr_assert_str_eq(bm_source_place(bm_input_set_source(set, 0)), path);
    cr_assert_eq(bm_input_set_copied(set), 0);
    bm_input_set_close(set);
}
