/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_file_again.c -- files and arrays of a stopped job: truncated to the noted length,
 * continued, and in the end the same as if the job had never stopped. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "results/npy.h"
#include "tests/unit/results/left_work.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_npy.h"

static bm_out_file *file_again(bm_out_dir *dir, const char *name, uint64_t bytes)
{
    bm_out_file *file = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_out_dir_file_again(dir, name, bytes, &file, &err), BM_OK, "%s: %s", err.file,
                 err.message);
    cr_assert_eq(bm_out_file_bytes(file), bytes);
    return file;
}

Test(out_file_again, a_file_is_cut_and_gone_on_with_and_its_digest_is_of_the_whole)
{
    SCRATCH s = scratch_open();
    leave(&s, true);
    bm_out_dir *dir = again(&s, true);
    const char *keep[] = {"ids.txt", "kept/x/a.jsonl"}, *json = NULL;
    cr_assert_eq(bm_out_dir_clear(dir, keep, 2, NULL), BM_OK);
    scratch_put_text(&s, "out.partial/output/ids.txt", "abc and a torn ta");
    bm_out_file *file = file_again(dir, "ids.txt", 1);
    cr_assert_eq(bm_out_file_write(file, "b", 1, NULL), BM_OK);
    cr_assert_eq(bm_out_file_flush(file, NULL), BM_OK);
    cr_expect(scratch_holds(&s, "out.partial/output/ids.txt", "ab"), "flushed is with the system");
    cr_assert_eq(bm_out_file_write(file, "c", 1, NULL), BM_OK);
    cr_expect_eq(bm_out_file_bytes(file), 3u);
    cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
    file = file_again(dir, "kept/x/a.jsonl", 3); /* the file was complete */
    cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
    add_text(dir, "kept/y/new.jsonl", "");
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_digests(dir, &json, NULL), BM_OK);
    /* SHA-256 of "abc" (FIPS 180-4), of "{}\n" (sha256sum) and of empty input */
    cr_expect_str_eq(
        json, "{\"ids.txt\":\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\","
              "\"kept/x/a.jsonl\":"
              "\"ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356\","
              "\"kept/y/new.jsonl\":"
              "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"}");
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    cr_expect(scratch_holds(&s, "out/ids.txt", "abc"));
    cr_expect_eq(scratch_count(&s, "out"), 2u, "no state reaches the target");
    cr_expect_eq(scratch_count(&s, "."), 1u);
}

Test(out_file_again, a_file_that_is_digested_early_is_digested_from_its_start)
{
    SCRATCH s = scratch_open();
    size_t size = (size_t)9 << 20, half = size / 2 + 4097;
    char *bytes = malloc(size);
    const char *json = NULL;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    leave(&s, true);
    bm_out_dir *dir = again(&s, true);
    cr_assert_eq(bm_out_dir_clear(dir, (const char *const[]){"kept.txt"}, 1, NULL), BM_OK);
    scratch_put(&s, "out.partial/output/signatures.npy", bytes, half + 5);
    bm_out_file *file = file_again(dir, "signatures.npy", half);
    bm_out_file_digest_early(file, 0);
    cr_assert_eq(bm_out_file_write(file, bytes + half, size - half, NULL), BM_OK);
    cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
    bm_out_file *other = NULL; /* a new file with the same bytes, digested at the end */
    cr_assert_eq(bm_out_dir_file(dir, "skipped.tsv", &other, NULL), BM_OK);
    cr_assert_eq(bm_out_file_write(other, bytes, size, NULL), BM_OK);
    cr_assert_eq(bm_out_file_close(other, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_digests(dir, &json, NULL), BM_OK);
    const char *first = strstr(json, "signatures.npy\":\""), *second = strstr(json, "skipped.tsv");
    cr_assert(first != NULL && second != NULL);
    cr_expect_eq(memcmp(first + 17, second + 14, 64), 0, "%s", json);
    bm_out_dir_close(dir);
    free(bytes);
}

Test(out_file_again, what_is_no_such_file_is_refused_and_left_alone)
{
    SCRATCH s = scratch_open();
    leave(&s, true);
    static const struct {
        const char *name;
        uint64_t bytes;
        bm_status status;
    } cases[] = {{"ids.txt", 7, BM_ERR_FORMAT},       {"ids.txt", UINT64_MAX, BM_ERR_FORMAT},
                 {"missing", 0, BM_ERR_FORMAT},       {"no/folder", 0, BM_ERR_FORMAT},
                 {"ids.txt/x", 0, BM_ERR_FORMAT},     {"kept", 0, BM_ERR_FORMAT},
                 {"pairs.tsv", 0, BM_ERR_FORMAT},     {"removed.tsv", 0, BM_ERR_FORMAT},
                 {"../precious", 0, BM_ERR_INTERNAL}, {".bandmill-journal", 0, BM_ERR_INTERNAL}};
    bm_out_dir *dir = again(&s, true);
    cr_assert_eq(symlink("ids.txt", scratch_at(&s, "out.partial/output/pairs.tsv")), 0);
    cr_assert_eq(mkfifo(scratch_at(&s, "out.partial/output/removed.tsv"), 0600), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bm_out_file *file = NULL;
        bm_error err = {0};
        cr_expect_eq(bm_out_dir_file_again(dir, cases[i].name, cases[i].bytes, &file, &err),
                     cases[i].status, "%s", cases[i].name);
        cr_expect_null(file);
        cr_expect(cases[i].status != BM_ERR_FORMAT || strstr(err.file, cases[i].name) != NULL);
    }
    cr_expect(scratch_holds(&s, "out.partial/output/ids.txt", "a\nb\nc\n"));
    cr_expect_not(scratch_has(&s, "out.partial/output/no"));
    bm_out_dir_close(dir);
}

Test(out_file_again, an_open_file_of_a_kept_directory_keeps_what_was_flushed)
{
    SCRATCH s = scratch_open();
    for (int keep = 0; keep < 2; keep++) {
        const uint32_t rows[2] = {1, 2};
        bm_out_file *file = NULL;
        bm_npy_writer writer = {0};
        bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
        cr_assert_eq(bm_out_dir_file(dir, "ids.txt", &file, NULL), BM_OK);
        cr_assert_eq(bm_out_file_write(file, "flushed", 7, NULL), BM_OK);
        cr_assert_eq(bm_out_file_flush(file, NULL), BM_OK);
        cr_assert_eq(bm_out_file_write(file, "buffered", 8, NULL), BM_OK);
        cr_assert_eq(
            bm_npy_writer_open(dir, &(bm_npy_array){"n_shingles.npy", "<u4", 0}, &writer, NULL),
            BM_OK);
        cr_assert_eq(bm_npy_writer_rows(&writer, rows, 2, 4, NULL), BM_OK);
        cr_assert_eq(bm_npy_writer_flush(&writer, NULL, NULL), BM_OK);
        bm_out_dir_preserve(dir, keep);
        bm_out_file_abort(file);
        bm_npy_writer_close(&writer, NULL);
        cr_expect_eq(bm_npy_writer_flush(&writer, NULL, NULL), BM_OK,
                     "without a file: nothing to do");
        cr_expect_eq(scratch_count(&s, "out.partial"), 2u, "the marker, the folder of outputs");
        cr_expect_eq(scratch_count(&s, "out.partial/output"), keep ? 2u : 1u,
                     "a closed array stays until the folder goes");
        bm_out_dir_close(dir);
        cr_expect_eq(scratch_count(&s, "."), keep ? 1u : 0u);
    }
    cr_expect(scratch_holds(&s, "out.partial/output/ids.txt", "flushed"));
    struct stat info;
    cr_assert_eq(stat(scratch_at(&s, "out.partial/output/n_shingles.npy"), &info), 0);
    cr_expect_eq(info.st_size, 128 + 8);
}

Test(out_file_again, what_is_compressed_cannot_be_flushed_or_gone_on_with)
{
    SCRATCH s = scratch_open();
    leave(&s, true);
    bm_out_dir *dir = again(&s, true);
    bm_out_file *file = file_again(dir, "ids.txt", 2);
    cr_expect_eq(bm_out_file_compress(file, 1, (bm_pack_lanes){.threads = 2}, NULL),
                 BM_ERR_INTERNAL);
    cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_file(dir, "kept.jsonl.gz", &file, NULL), BM_OK);
    cr_assert_eq(bm_out_file_compress(file, 1, (bm_pack_lanes){.threads = 2}, NULL), BM_OK);
    cr_expect_eq(bm_out_file_flush(file, NULL), BM_ERR_INTERNAL);
    bm_out_file_abort(file);
    bm_out_dir_close(dir);
}

Test(out_file_again, an_array_is_gone_on_with_row_by_row)
{
    const uint32_t rows[4][2] = {{1, 2}, {3, 4}, {0xFFFFFFFF, 6}, {7, 8}};
    for (uint64_t n = 0; n <= 4; n++) { /* rows noted; all bytes after them are torn */
        for (size_t tail = 0; tail <= 9; tail++) {
            SCRATCH s = scratch_open();
            char torn[9];
            memset(torn, 'x', sizeof torn);
            bm_npy_writer writer = {0};
            bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
            add_state(dir, BM_OUT_JOURNAL, "noted");
            cr_assert_eq(
                bm_npy_writer_open(dir, &(bm_npy_array){"signatures.npy", "<u4", 2}, &writer, NULL),
                BM_OK);
            cr_assert_eq(bm_npy_writer_rows(&writer, rows, n, 8, NULL), BM_OK);
            cr_assert_eq(bm_npy_writer_flush(&writer, NULL, NULL), BM_OK);
            bm_out_dir_preserve(dir, true);
            bm_npy_writer_close(&writer, NULL);
            bm_out_dir_close(dir);
            FILE *file = fopen(scratch_at(&s, "out.partial/output/signatures.npy"), "ab");
            cr_assert_eq(fwrite(torn, 1, tail, file), tail);
            fclose(file);
            dir = again(&s, true);
            cr_assert_eq(bm_npy_writer_open_again(dir, &(bm_npy_array){"signatures.npy", "<u4", 2},
                                                  n, &writer, NULL),
                         BM_OK);
            cr_expect_eq(bm_npy_writer_rows(&writer, rows, 1, 4, NULL), BM_ERR_INTERNAL);
            cr_assert_eq(bm_npy_writer_rows(&writer, rows + n, 4 - n, 8, NULL), BM_OK);
            cr_assert_eq(bm_npy_writer_close(&writer, NULL), BM_OK);
            cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
            cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
            bm_out_dir_close(dir);
            char header[BM_NPY_HEADER_BYTES];
            size_t len;
            char *bytes = scratch_get(&s, "out/signatures.npy", &len);
            world_npy_header("<u4", 4, 2, header);
            cr_assert_eq(len, sizeof header + sizeof rows);
            cr_expect_eq(memcmp(bytes, header, sizeof header), 0);
            cr_expect_eq(memcmp(bytes + sizeof header, rows, sizeof rows), 0);
            free(bytes);
        }
    }
}

Test(out_file_again, an_array_with_fewer_rows_than_were_noted_is_refused)
{
    SCRATCH s = scratch_open();
    const uint64_t row = 7;
    bm_npy_writer writer = {0};
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    add_state(dir, BM_OUT_JOURNAL, "noted");
    cr_assert_eq(bm_npy_writer_open(dir, &(bm_npy_array){"band_keys.npy", "<u8", 1}, &writer, NULL),
                 BM_OK);
    cr_assert_eq(bm_npy_writer_rows(&writer, &row, 1, 8, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_close(&writer, NULL), BM_OK);
    bm_out_dir_preserve(dir, true);
    bm_out_dir_close(dir);
    dir = again(&s, true);
    static const uint64_t n_rows[] = {2, UINT64_MAX, UINT64_MAX / 8, UINT64_MAX / 8 - 8};
    for (size_t i = 0; i < 4; i++) {
        bm_npy_writer untouched = {0};
        cr_expect_eq(bm_npy_writer_open_again(dir, &(bm_npy_array){"band_keys.npy", "<u8", 1},
                                              n_rows[i], &untouched, NULL),
                     BM_ERR_FORMAT);
        cr_expect_null(untouched.file);
    }
    struct stat info;
    cr_assert_eq(stat(scratch_at(&s, "out.partial/output/band_keys.npy"), &info), 0);
    cr_expect_eq(info.st_size, 128 + 8, "nothing was cut");
    bm_out_dir_close(dir);
}

Test(out_file_again, rows_are_those_whose_sum_was_noted_or_refused)
{
    static const uint32_t rows[] = {1, 2, 3, 4, 5, 6};
    static const bm_npy_array array = {"signatures.npy", "<u4", 2};
    SCRATCH s = scratch_open();
    bm_npy_writer writer = {0};
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    add_state(dir, BM_OUT_JOURNAL, "noted");
    cr_assert_eq(bm_npy_writer_open(dir, &array, &writer, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_keep_sum(&writer, NULL, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_rows(&writer, rows, 2, 8, NULL), BM_OK);
    bm_hash128 noted, all;
    cr_assert_eq(bm_npy_writer_flush(&writer, &noted, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_rows(&writer, rows + 4, 1, 8, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_flush(&writer, &all, NULL), BM_OK);
    bm_out_dir_preserve(dir, true);
    bm_npy_writer_close(&writer, NULL);
    bm_out_dir_close(dir);
    for (int damaged = 0; damaged < 2; damaged++) {
        bm_error err = {0};
        dir = again(&s, true);
        cr_assert_eq(bm_npy_writer_open_again(dir, &array, 2, &writer, NULL), BM_OK);
        cr_expect_eq(bm_npy_writer_keep_sum(&writer, &noted, &err),
                     damaged != 0 ? BM_ERR_FORMAT : BM_OK);
        if (damaged != 0)
            cr_expect_not_null(strstr(err.file, "signatures.npy"));
        cr_assert_eq(bm_npy_writer_rows(&writer, rows + 4, 1, 8, NULL), BM_OK);
        bm_hash128 again_all;
        cr_assert_eq(bm_npy_writer_flush(&writer, &again_all, NULL), BM_OK);
        cr_expect_eq(again_all.lo == all.lo && again_all.hi == all.hi, damaged == 0);
        bm_npy_writer_close(&writer, NULL);
        bm_out_dir_close(dir);
        size_t len;
        char *bytes = scratch_get(&s, "out.partial/output/signatures.npy", &len);
        bytes[BM_NPY_HEADER_BYTES + 9] ^= 16;
        scratch_put(&s, "out.partial/output/signatures.npy", bytes, len);
        free(bytes);
    }
}

/* A complete array, longer than one read of bm_out_dir_finish. */
Test(out_file_again, rows_are_compared_when_the_directory_is_finished)
{
    enum { ROWS = 40000 };
    static uint64_t rows[ROWS][2];
    static const bm_npy_array array = {"content_hash.npy", "<u8", 2};
    static const size_t places[] = {0, 300000, ROWS * 16 - 1, SIZE_MAX};
    SCRATCH s = scratch_open();
    bm_npy_writer writer = {0};
    for (size_t i = 0; i < ROWS; i++)
        rows[i][0] = i * 2654435761u;
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    add_state(dir, BM_OUT_JOURNAL, "noted");
    cr_assert_eq(bm_npy_writer_open(dir, &array, &writer, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_keep_sum(&writer, NULL, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_rows(&writer, rows, ROWS, 16, NULL), BM_OK);
    bm_hash128 noted;
    cr_assert_eq(bm_npy_writer_flush(&writer, &noted, NULL), BM_OK);
    bm_out_dir_preserve(dir, true);
    bm_npy_writer_close(&writer, NULL);
    bm_out_dir_close(dir);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        bm_error err = {0};
        size_t len;
        const bool damaged = places[i] != SIZE_MAX;
        char *bytes = scratch_get(&s, "out.partial/output/content_hash.npy", &len);
        bytes[BM_NPY_HEADER_BYTES + (damaged ? places[i] : 0)] ^= damaged ? 16 : 0;
        scratch_put(&s, "out.partial/output/content_hash.npy", bytes, len);
        dir = again(&s, true);
        cr_assert_eq(bm_npy_writer_open_again(dir, &array, ROWS, &writer, NULL), BM_OK);
        bm_npy_writer_compare_late(&writer, &noted);
        cr_expect_eq(bm_npy_writer_rows(&writer, rows, 1, 16, NULL), BM_ERR_INTERNAL);
        cr_assert_eq(bm_npy_writer_close(&writer, NULL), BM_OK);
        cr_expect_eq(bm_out_dir_finish(dir, &err), damaged ? BM_ERR_FORMAT : BM_OK);
        if (damaged)
            cr_expect_not_null(strstr(err.file, "content_hash.npy"));
        bm_out_dir_close(dir);
        if (damaged) {
            bytes[BM_NPY_HEADER_BYTES + places[i]] ^= 16;
            scratch_put(&s, "out.partial/output/content_hash.npy", bytes, len);
        }
        free(bytes);
    }
}

typedef struct note {
    uint64_t bytes, rows;
} note;

#define LINE "a line of the file of ids\n"

/* Writes lines and rows from `from` on, and reports the flushed lengths after each flush, until
 * killed. */
static void write_until_killed(const char *target, note from, int fd)
{
    bm_out_dir *dir = NULL;
    bm_out_file *ids = NULL;
    bm_npy_writer writer = {0};
    bool found;
    uint64_t row = from.rows;
    bm_status status = bm_out_dir_open_again(target, BM_OUT_REFUSE, &dir, &found, NULL);
    if (status == BM_OK)
        status = bm_out_dir_file_again(dir, "ids.txt", from.bytes, &ids, NULL);
    if (status == BM_OK)
        status = bm_npy_writer_open_again(dir, &(bm_npy_array){"band_keys.npy", "<u8", 1}, row,
                                          &writer, NULL);
    while (status == BM_OK) {
        for (int i = 0; i < 777 && status == BM_OK; i++, row++) {
            status = bm_npy_writer_rows(&writer, &row, 1, 8, NULL);
            if (status == BM_OK)
                status = bm_out_file_write(ids, LINE, strlen(LINE), NULL);
        }
        if (status == BM_OK)
            status = bm_out_file_flush(ids, NULL);
        if (status == BM_OK)
            status = bm_npy_writer_flush(&writer, NULL, NULL);
        note now = {bm_out_file_bytes(ids), row};
        if (status == BM_OK && write(fd, &now, sizeof now) != (ssize_t)sizeof now)
            break;
    }
    _exit(1);
}

Test(out_file_again, kill_9_while_writing_loses_nothing_that_was_noted)
{
    SCRATCH s = scratch_open();
    bm_npy_writer writer = {0};
    note noted = {0, 0};
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    add_state(dir, BM_OUT_JOURNAL, "noted");
    add_text(dir, "ids.txt", "");
    cr_assert_eq(bm_npy_writer_open(dir, &(bm_npy_array){"band_keys.npy", "<u8", 1}, &writer, NULL),
                 BM_OK);
    cr_assert_eq(bm_npy_writer_close(&writer, NULL), BM_OK);
    bm_out_dir_preserve(dir, true);
    bm_out_dir_close(dir);
    for (int round = 0; round < 20; round++) {
        int ends[2];
        cr_assert_eq(pipe(ends), 0);
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0)
            write_until_killed(scratch_at(&s, "out"), noted, ends[1]);
        close(ends[1]);
        cr_assert_eq(read(ends[0], &noted, sizeof noted), (ssize_t)sizeof noted);
        usleep((useconds_t)(round * 97 % 1000));
        cr_assert_eq(kill(child, SIGKILL), 0);
        cr_assert_eq(waitpid(child, NULL, 0), child);
        while (read(ends[0], &noted, sizeof noted) == (ssize_t)sizeof noted)
            ;
        close(ends[0]);
    }
    dir = again(&s, true);
    bm_out_file *ids = file_again(dir, "ids.txt", noted.bytes);
    cr_assert_eq(bm_out_file_close(ids, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_open_again(dir, &(bm_npy_array){"band_keys.npy", "<u8", 1},
                                          noted.rows, &writer, NULL),
                 BM_OK);
    cr_assert_eq(bm_npy_writer_close(&writer, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    size_t len;
    char *bytes = scratch_get(&s, "out/ids.txt", &len);
    cr_assert_eq(len, noted.rows * strlen(LINE));
    for (size_t i = 0; i < len; i++)
        cr_assert_eq(bytes[i], LINE[i % strlen(LINE)]);
    free(bytes);
    bytes = scratch_get(&s, "out/band_keys.npy", &len);
    cr_assert_eq(len, 128 + 8 * noted.rows);
    for (uint64_t i = 0; i < noted.rows; i++) {
        uint64_t key;
        memcpy(&key, bytes + 128 + 8 * i, 8);
        cr_assert_eq(key, i);
    }
    free(bytes);
    cr_assert_geq(noted.rows, 20u * 777u);
}
