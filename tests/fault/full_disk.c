/* SPDX-License-Identifier: Apache-2.0 */
/* full_disk.c -- a disk that really fills up: a file system of 1 MiB in memory if the test may
 * mount one (in its own mount namespace), otherwise a limit on the size of files.
 *
 * Whatever is being written: the result is BM_ERR_IO, the message names the file, no file of ours
 * is left, and earlier files are untouched. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "results/npy.h"
#include "output/out_dir.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

#define DISK_BYTES (1u << 20)

/* True: a disk of 1 MiB is mounted at DISK. Otherwise no file may grow beyond 1 MiB. */
static bool small_disk(scratch *s)
{
    scratch_folder(s, "disk");
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("tmpfs", scratch_at(s, "disk"), "tmpfs", 0, "size=1m") == 0)
        return true;
    const struct rlimit limit = {DISK_BYTES, DISK_BYTES};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return false;
}

static void drop_disk(scratch *s, bool mounted)
{
    if (mounted)
        cr_expect_eq(umount(scratch_at(s, "disk")), 0);
    scratch_close(s);
}

static bm_status write_dir(const char *target, bool force, size_t len, int compression,
                           bm_error *err)
{
    unsigned char *data = world_filled(len, 3, NULL);
    bm_out_dir *dir = NULL;
    bm_out_file *file = NULL;
    bm_status status = bm_out_dir_open(target, bm_out_existing_of(force), &dir, err);
    if (status == BM_OK)
        status = bm_out_dir_file(dir, "kept.jsonl", &file, err);
    if (status == BM_OK)
        status = bm_out_file_compress(file, compression, (bm_pack_lanes){.threads = 2}, err);
    for (size_t at = 0; at < len && status == BM_OK; at += 100000)
        status = bm_out_file_write(file, data + at, len - at < 100000 ? len - at : 100000, err);
    if (file != NULL && status == BM_OK)
        status = bm_out_file_close(file, err);
    else
        bm_out_file_abort(file);
    file = NULL;
    if (status == BM_OK)
        status = bm_out_dir_finish(dir, err);
    if (status == BM_OK)
        status = bm_out_dir_file(dir, "report.json", &file, err);
    if (status == BM_OK) {
        const char *digests = "{}";
        char report[512];
        bm_out_dir_digests(dir, &digests, NULL);
        snprintf(report, sizeof report,
                 "{\"schema\":1,\"tool\":\"bandmill\",\"kind\":\"dedup\",\"version\":\"0\","
                 "\"outputs\":%s}",
                 digests);
        status = bm_out_file_write(file, report, strlen(report), err);
        if (status == BM_OK)
            status = bm_out_file_close(file, err);
        else
            bm_out_file_abort(file);
    }
    if (status == BM_OK)
        status = bm_out_dir_commit(dir, err);
    bm_out_dir_close(dir);
    free(data);
    return status;
}

Test(full_disk, a_directory_that_does_not_fit_leaves_nothing)
{
    for (int compression = 0; compression <= 2; compression++) {
        scratch s;
        bm_error err = {0};
        s = scratch_open();
        bool mounted = small_disk(&s);
        cr_expect_eq(
            write_dir(scratch_at(&s, "disk/out"), false, 3 * DISK_BYTES, compression, &err),
            BM_ERR_IO);
        cr_expect(err.code == ENOSPC || err.code == EFBIG, "%d", (int)err.code);
        cr_expect(strstr(err.file, "out.partial/output/kept.jsonl") != NULL, "%s", err.file);
        cr_expect_eq(scratch_count(&s, "disk"), 0u);
        drop_disk(&s, mounted);
    }
}

Test(full_disk, an_earlier_output_survives_a_replacement_that_does_not_fit)
{
    scratch s;
    bm_error err = {0};
    s = scratch_open();
    bool mounted = small_disk(&s);
    cr_assert_eq(write_dir(scratch_at(&s, "disk/out"), false, 1000, 0, &err), BM_OK, "%s",
                 err.message);
    cr_expect_eq(write_dir(scratch_at(&s, "disk/out"), true, 3 * DISK_BYTES, 0, &err), BM_ERR_IO);
    cr_expect_eq(scratch_count(&s, "disk"), 1u);
    cr_expect_eq(scratch_count(&s, "disk/out"), 2u);
    size_t len;
    unsigned char *data = world_filled(1000, 3, NULL);
    char *bytes = scratch_get(&s, "disk/out/kept.jsonl", &len);
    cr_expect(len == 1000 && memcmp(bytes, data, len) == 0);
    free(bytes);
    free(data);
    cr_expect_eq(write_dir(scratch_at(&s, "disk/out"), true, 2000, 0, &err), BM_OK,
                 "and one that fits goes well afterwards: %s", err.message);
    drop_disk(&s, mounted);
}

Test(full_disk, a_single_file_that_does_not_fit_leaves_nothing)
{
    scratch s;
    bm_error err = {0};
    s = scratch_open();
    bool mounted = small_disk(&s);
    unsigned char *data = world_filled(3 * DISK_BYTES, 3, NULL);
    scratch_put_text(&s, "disk/pairs.tsv", "id_a\tid_b\tjaccard\n");
    for (int compression = 0; compression <= 2; compression++) {
        bm_out_file *file =
            world_open(bm_out_file, scratch_at(&s, "disk/pairs.tsv"), BM_OUT_REPLACE);
        cr_assert_eq(bm_out_file_compress(file, compression, (bm_pack_lanes){.threads = 2}, NULL),
                     BM_OK);
        bm_status status = BM_OK; /* parts of 4 MiB are buffered before any is written */
        for (size_t n = 0; n < 32u << 20 && status == BM_OK; n += 3 * DISK_BYTES)
            status = bm_out_file_write(file, data, 3 * DISK_BYTES, &err);
        cr_expect_eq(status, BM_ERR_IO);
        cr_expect_neq(bm_out_file_write(file, "x", 1, NULL), BM_OK, "a failure sticks");
        cr_expect_neq(bm_out_file_close(file, &err), BM_OK, "to the end");
        cr_expect_not_null(strstr(err.file, "disk/pairs.tsv"));
        cr_expect_null(strstr(err.file, "partial"), "the user's name, not ours: %s", err.file);
    }
    free(data);
    cr_expect(scratch_holds(&s, "disk/pairs.tsv", "id_a\tid_b\tjaccard\n"));
    cr_expect_eq(scratch_count(&s, "disk"), 1u);
    drop_disk(&s, mounted);
}

Test(full_disk, an_array_that_does_not_fit_leaves_nothing)
{
    scratch s;
    bm_error err = {0};
    s = scratch_open();
    bool mounted = small_disk(&s);
    bm_out_dir *dir = NULL;
    bm_npy_writer writer = {0};
    unsigned char *rows = world_filled(64 * 512, 3, NULL);
    bm_status status = bm_out_dir_open(scratch_at(&s, "disk/out"), BM_OUT_REFUSE, &dir, &err);
    cr_assert_eq(status, BM_OK);
    cr_assert_eq(
        bm_npy_writer_open(dir, &(bm_npy_array){"signatures.npy", "<u4", 128}, &writer, &err),
        BM_OK);
    for (int i = 0; i < 1000 && status == BM_OK; i++)
        status = bm_npy_writer_rows(&writer, rows, 64, 512, &err);
    cr_expect_eq(status, BM_ERR_IO);
    cr_expect(strstr(err.file, "signatures.npy") != NULL);
    cr_expect_neq(bm_npy_writer_close(&writer, NULL), BM_OK);
    bm_out_dir_close(dir);
    free(rows);
    cr_expect_eq(scratch_count(&s, "disk"), 0u);
    drop_disk(&s, mounted);
}
