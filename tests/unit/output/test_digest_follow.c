/* SPDX-License-Identifier: Apache-2.0 */
/* test_digest_follow.c -- a digest that follows the writer, compared with NIST's vector and the
 * system's sha256sum. */
#include "output/digest.h"

#include <fcntl.h>

#include "output/out_dir.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

/* SHA-256 of a million times "a": NIST, FIPS 180-4 example values. */
#define MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static int open_new(scratch *s, const char *name)
{
    int fd = open(scratch_at(s, name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    return fd;
}

static bm_status open_same(void *ctx, size_t file, int *fd, bool *owned, bm_error *err)
{
    (void)file, (void)err;
    *fd = *(int *)ctx;
    *owned = false;
    return BM_OK;
}

/* Hashes the pieces that the threads did not reach, as bm_out_dir_finish does. */
static void hash_rest(int fd, uint64_t piece_bytes, uint64_t n, bm_digest_piece *pieces)
{
    const bm_digest_file file = {"rest", n, pieces};
    const bm_digest_work work = {.files = &file,
                                 .n = 1,
                                 .piece_bytes = piece_bytes,
                                 .kinds = BM_DIGEST_BOTH,
                                 .open = open_same,
                                 .ctx = &fd};
    cr_assert_eq(bm_digest_files(&work, NULL), BM_OK);
}

#define MILLION 1000000u

/* Writes one million times "a" in these steps with a follower, and makes the digests by pieces of
 * `piece_bytes`. */
static void follow_million(scratch *s, size_t step, const bm_digest_followed *how, bm_digests *is)
{
    static char bytes[MILLION];
    char name[64];
    bm_digest_piece *pieces = NULL;
    bm_digest_followed file = *how;
    memset(bytes, 'a', sizeof bytes);
    snprintf(name, sizeof name, "file-%zu-%llu-%llu", step, (unsigned long long)how->piece_bytes,
             (unsigned long long)how->rewritable);
    file.fd = open_new(s, name);
    bm_digest_follow *follow = world_open(bm_digest_follow, &file);
    for (size_t at = 0; at < sizeof bytes;) {
        const size_t n = sizeof bytes - at < step ? sizeof bytes - at : step;
        cr_assert_eq(write(file.fd, bytes + at, n), (ssize_t)n);
        if (at < how->rewritable)
            cr_assert_eq(pwrite(file.fd, "not yet", 7, 0), 7);
        at += n;
        bm_digest_follow_reach(follow, at);
    }
    if (how->rewritable > 0) { /* every other piece is known by now, or never will be */
        usleep(20000);
        cr_assert_eq(pwrite(file.fd, bytes, how->rewritable, 0), (ssize_t)how->rewritable);
    }
    bm_digest_follow_complete(follow, sizeof bytes);
    if (how->rewritable > 0)
        usleep(20000);
    cr_assert_eq(bm_digest_follow_end(follow, name, &pieces, NULL), BM_OK);
    hash_rest(file.fd, how->piece_bytes, sizeof bytes, pieces);
    cr_assert_eq(bm_digests_join(pieces, bm_digest_count_pieces(sizeof bytes, how->piece_bytes),
                                 BM_DIGEST_BOTH, is, NULL),
                 BM_OK);
    free(pieces);
    close(file.fd);
}

/* The digest by pieces of 300,000 bytes, from Python's hashlib. */
#define MILLION_A_BY_PIECES "d3937851b9d1b1157c05072c258bbce504621d7b94f86341018b430618b16ad4"

Test(digest_follow, equals_the_known_digest_for_any_steps)
{
    static const size_t steps[] = {1000000, 999999, 65536, 4097};
    SCRATCH s = scratch_open();
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        bm_digests is;
        follow_million(&s, steps[k], &(bm_digest_followed){.piece_bytes = MILLION}, &is);
        cr_assert_str_eq(is.sha256, MILLION_A);
        follow_million(&s, steps[k], &(bm_digest_followed){.piece_bytes = 300000}, &is);
        cr_assert_str_eq(is.sha256, MILLION_A_BY_PIECES);
        follow_million(&s, steps[k],
                       &(bm_digest_followed){.piece_bytes = 300000, .rewritable = 300001}, &is);
        cr_assert_str_eq(is.sha256, MILLION_A_BY_PIECES);
    }
}

Test(digest_follow, bytes_that_are_not_there_are_an_io_error_that_names_the_file)
{
    SCRATCH s = scratch_open();
    bm_digest_followed file = {.fd = open_new(&s, "short"), .piece_bytes = (uint64_t)64 << 20};
    bm_digest_piece *pieces = NULL;
    bm_error err = {0};
    cr_assert_eq(write(file.fd, "abc", 3), 3);
    bm_digest_follow *follow = world_open(bm_digest_follow, &file);
    bm_digest_follow_reach(follow, (uint64_t)4 << 20);
    /* long enough for a thread to take the piece; if none did, nothing was read and the test
     * still passes */
    usleep(200000);
    bm_digest_follow_complete(follow, (uint64_t)4 << 20);
    const bm_status status = bm_digest_follow_end(follow, "kept.jsonl", &pieces, &err);
    if (status == BM_OK)
        cr_expect_not(pieces[0].known);
    else
        cr_expect_not_null(strstr(err.message, "cannot read"), "%s", err.message);
    free(pieces);
    close(file.fd);
}

Test(digest_follow, closing_early_waits_for_nothing)
{
    SCRATCH s = scratch_open();
    const bm_digest_followed file = {.fd = open_new(&s, "file"), .piece_bytes = 100};
    bm_digest_follow *follow = world_open(bm_digest_follow, &file);
    bm_digest_follow_close(follow);
    bm_digest_follow_close(NULL);
    close(file.fd);
}

static void write_large(bm_out_dir *dir, const char *name, bool early, uint64_t rewritable,
                        bool rewrite)
{
    static char block[300000];
    bm_out_file *file = NULL;
    cr_assert_eq(bm_out_dir_file(dir, name, &file, NULL), BM_OK);
    if (early)
        bm_out_file_digest_early(file, rewritable);
    for (int round = 0; round < 40; round++) {
        world_fill(block, sizeof block, (uint64_t)round, NULL);
        cr_assert_eq(bm_out_file_write(file, block, sizeof block, NULL), BM_OK);
    }
    if (rewrite)
        cr_assert_eq(bm_out_file_rewrite(file, 5, "anew", 4, NULL), BM_OK);
    cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
}

static void system_digest(const char *path, char hex[BM_SHA256_HEX])
{
    char command[700];
    snprintf(command, sizeof command, "sha256sum '%s'", path);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    cr_assert_eq(fread(hex, 1, 64, pipe), 64);
    hex[64] = '\0';
    cr_assert_eq(pclose(pipe), 0);
}

Test(digest_follow, a_large_file_digested_early_has_the_digest_of_its_bytes)
{
    static const char *const names[] = {"early", "late", "rewritten", "front"};
    SCRATCH s = scratch_open();
    const char *json;
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    write_large(dir, "early", true, 0, false);
    write_large(dir, "late", false, 0, false);
    write_large(dir, "rewritten", true, 0, true);
    write_large(dir, "front", true, 100, true);
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_digests(dir, &json, NULL), BM_OK);
    char hexes[4][BM_SHA256_HEX];
    for (int i = 0; i < 4; i++) {
        char wanted[400], path[64];
        snprintf(path, sizeof path, "out.partial/output/%s", names[i]);
        system_digest(scratch_at(&s, path), hexes[i]);
        snprintf(wanted, sizeof wanted, "\"%s\":\"%s\"", names[i], hexes[i]);
        cr_assert_not_null(strstr(json, wanted), "%s: %s", names[i], json);
    }
    cr_assert_str_eq(hexes[0], hexes[1]);
    cr_assert_str_neq(hexes[0], hexes[2]);
    cr_assert_str_eq(hexes[2], hexes[3]);
    bm_out_dir_close(dir);
}
