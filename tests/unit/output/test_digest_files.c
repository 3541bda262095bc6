/* SPDX-License-Identifier: Apache-2.0 */
/* test_digest_files.c -- digests of files by pieces, on any number of threads, compared with
 * Python's hashlib. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdatomic.h>

#include "output/digest.h"
#include "tests/world/scratch.h"
#include "tests/unit/output/pieces.h"

typedef struct folder {
    scratch s;
    int fds[N_BY_PIECES];
    bm_digest_file files[N_BY_PIECES];
    bm_digest_piece pieces[N_BY_PIECES][4];
} folder;

static bm_status open_file(void *ctx, size_t file, int *fd, bool *owned, bm_error *err)
{
    const folder *f = ctx;
    (void)err;
    *fd = f->fds[file];
    *owned = false;
    return BM_OK;
}

static void begin(folder *f)
{
    char data[PIECES_MAX];
    fill_pieces(data, sizeof data);
    memset(f, 0, sizeof *f);
    f->s = scratch_open();
    for (size_t i = 0; i < N_BY_PIECES; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%zu", i);
        scratch_put(&f->s, name, data, by_pieces[i].len);
        f->fds[i] = open(scratch_at(&f->s, name), O_RDONLY | O_CLOEXEC);
        cr_assert_geq(f->fds[i], 0);
        f->files[i] = (bm_digest_file){"shown", by_pieces[i].len, f->pieces[i]};
    }
}

static void end(folder *f)
{
    for (size_t i = 0; i < N_BY_PIECES; i++)
        close(f->fds[i]);
    scratch_close(&f->s);
}

static bm_digest_work work_of(folder *f)
{
    return (bm_digest_work){.files = f->files,
                            .n = N_BY_PIECES,
                            .piece_bytes = PIECE,
                            .kinds = BM_DIGEST_BOTH,
                            .open = open_file,
                            .ctx = f};
}

Test(digest_files, files_have_the_digests_of_their_lists_of_pieces)
{
    folder f;
    begin(&f);
    const bm_digest_work work = work_of(&f);
    cr_assert_eq(bm_digest_files(&work, NULL), BM_OK);
    for (size_t i = 0; i < N_BY_PIECES; i++) {
        bm_digests is;
        const size_t n = bm_digest_count_pieces(by_pieces[i].len, PIECE);
        cr_expect_eq(n, by_pieces[i].len == 0 ? 1 : (by_pieces[i].len + 63) / 64);
        cr_assert_eq(bm_digests_join(f.pieces[i], n, BM_DIGEST_BOTH, &is, NULL), BM_OK);
        cr_expect_str_eq(is.sha256, by_pieces[i].sha256, "%zu bytes", by_pieces[i].len);
        cr_expect_str_eq(is.xxh3, by_pieces[i].xxh3, "%zu bytes", by_pieces[i].len);
    }
    end(&f);
}

Test(digest_files, pieces_that_are_known_are_left_alone)
{
    folder f;
    begin(&f);
    f.pieces[6][2] = (bm_digest_piece){.xxh3 = {1, 2}, .known = true};
    const bm_digest_work work = work_of(&f);
    cr_assert_eq(bm_digest_files(&work, NULL), BM_OK);
    cr_expect_eq(f.pieces[6][2].xxh3.lo, 1);
    cr_expect(f.pieces[6][3].known);
    end(&f);
}

Test(digest_files, a_file_that_is_shorter_is_an_error_that_names_it)
{
    folder f;
    bm_error err = {0};
    begin(&f);
    f.files[6].bytes = 201;
    const bm_digest_work work = work_of(&f);
    cr_expect_eq(bm_digest_files(&work, &err), BM_ERR_IO);
    cr_expect_str_eq(err.file, "shown");
    end(&f);
}

/* --- one file on two threads --- */

#define LARGE ((size_t)1 << 20)

typedef struct meeting {
    int fd;
    atomic_int here; /* pieces that have begun */
} meeting;

/* Waits until two pieces of the file have begun: a single thread would wait forever. */
static bm_status open_with_another(void *ctx, size_t file, int *fd, bool *owned, bm_error *err)
{
    meeting *m = ctx;
    (void)file;
    (void)err;
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < 2)
        usleep(1000);
    *fd = m->fd;
    *owned = false;
    return BM_OK;
}

Test(digest_files, no_file_is_bound_to_one_thread, .timeout = 300)
{
    char *data = calloc(LARGE, 4);
    SCRATCH s = scratch_open();
    meeting m = {0};
    bm_pool *pool = NULL;
    bm_digest_piece pieces[4] = {0};
    const bm_digest_file file = {"large", 4 * LARGE, pieces};
    cr_assert_not_null(data);
    for (size_t i = 0; i < 4; i++)
        memset(data + i * LARGE, 'a' + (int)i, LARGE);
    scratch_put(&s, "large", data, 4 * LARGE);
    m.fd = open(scratch_at(&s, "large"), O_RDONLY | O_CLOEXEC);
    cr_assert_eq(bm_pool_open(2, &pool, NULL), BM_OK);
    const bm_digest_work work = {.files = &file,
                                 .n = 1,
                                 .piece_bytes = LARGE,
                                 .kinds = BM_DIGEST_BOTH,
                                 .open = open_with_another,
                                 .ctx = &m,
                                 .pool = pool};
    cr_assert_eq(bm_digest_files(&work, NULL), BM_OK);
    for (size_t i = 0; i < 4; i++) {
        bm_digests alone, piece;
        cr_assert_eq(bm_digests_bytes(data + i * LARGE, LARGE, BM_DIGEST_BOTH, &alone, NULL),
                     BM_OK);
        cr_assert_eq(bm_digests_join(&pieces[i], 1, BM_DIGEST_BOTH, &piece, NULL), BM_OK);
        cr_expect_str_eq(alone.sha256, piece.sha256);
        cr_expect_str_eq(alone.xxh3, piece.xxh3);
    }
    bm_pool_close(pool);
    close(m.fd);
    free(data);
}
