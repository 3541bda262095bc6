/* SPDX-License-Identifier: Apache-2.0 */
/* test_digest.c -- SHA-256 of whole files and of their parts, compared with the examples of NIST
 * (FIPS 180-4, and the CSRC's example values). */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "output/digest.h"
#include "tests/world/file_digests.h"
#include "tests/world/scratch.h"
#include "tests/unit/output/pieces.h"
#include "tests/world/world_calls.h"

#define OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OF_ABC     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define OF_MILLION "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

#define MILLION 1000000u

static int open_file(scratch *s, const char *name)
{
    const int fd = open(scratch_at(s, name), O_RDONLY);
    cr_assert_geq(fd, 0);
    return fd;
}

Test(digest, files_have_the_digests_of_the_standard)
{
    static const struct {
        const char *text, *hex;
    } known[] = {
        {"", OF_NOTHING},
        {"abc", OF_ABC},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    SCRATCH s = scratch_open();
    bm_digests is;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        scratch_put_text(&s, "f", known[i].text);
        cr_assert_eq(file_digests(scratch_at(&s, "f"), 0, &is), BM_OK);
        cr_expect_str_eq(is.sha256, known[i].hex);
    }
}

/* One million times "a": four reads, the last of them short. */
static void put_million(scratch *s)
{
    char *text = malloc(MILLION);
    cr_assert_not_null(text);
    memset(text, 'a', MILLION);
    scratch_put(s, "m", text, MILLION);
    free(text);
}

Test(digest, the_position_of_a_file_stays)
{
    SCRATCH s = scratch_open();
    bm_digests is;
    put_million(&s);
    const int fd = open_file(&s, "m");
    const bm_file_range whole = {.fd = fd, .shown = "m", .from = 0, .to = UINT64_MAX};
    cr_assert_eq(lseek(fd, 12345, SEEK_SET), 12345);
    bm_digest *sha = world_open(bm_digest, BM_DIGEST_SHA256, 0);
    cr_assert_eq(bm_digest_add_file(sha, &whole, NULL), BM_OK);
    cr_assert_eq(bm_digest_end(sha, &is, NULL), BM_OK);
    cr_expect_str_eq(is.sha256, OF_MILLION);
    cr_expect_str_eq(is.xxh3, "", "it was not asked for");
    cr_expect_eq(lseek(fd, 0, SEEK_CUR), 12345);
    bm_digest_close(sha);
    close(fd);
}

Test(digest, a_file_longer_than_a_piece_has_the_digest_of_its_pieces_digests)
{
    static const size_t steps[] = {1, 63, 64, 65, 200};
    char data[PIECES_MAX];
    fill_pieces(data, sizeof data);
    for (size_t i = 0; i < N_BY_PIECES; i++)
        for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
            const size_t len = by_pieces[i].len, step = steps[k];
            bm_digests is;
            size_t n;
            bm_digest *digest = world_open(bm_digest, BM_DIGEST_BOTH, PIECE);
            for (size_t at = 0; at < len; at += step)
                cr_assert_eq(
                    bm_digest_add(digest, data + at, len - at < step ? len - at : step, NULL),
                    BM_OK);
            cr_assert_eq(bm_digest_end(digest, &is, NULL), BM_OK);
            cr_expect_str_eq(is.sha256, by_pieces[i].sha256, "%zu bytes by %zu", len, step);
            cr_expect_str_eq(is.xxh3, by_pieces[i].xxh3, "%zu bytes by %zu", len, step);
            cr_expect_not_null(bm_digest_pieces(digest, &n));
            cr_expect_eq(n, len == 0 ? 1 : (len + PIECE - 1) / PIECE);
            bm_digest_close(digest);
        }
}

Test(digest, the_parts_of_a_file_make_up_the_whole)
{
    static const uint64_t cuts[] = {0,      0,      1,      64,      262143,
                                    262144, 262145, 524288, MILLION, UINT64_MAX};
    SCRATCH s = scratch_open();
    bm_digests is;
    put_million(&s);
    const int fd = open_file(&s, "m");
    bm_digest *sha = world_open(bm_digest, BM_DIGEST_BOTH, 0);
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof cuts[0]; i++) {
        const bm_file_range part = {.fd = fd, .shown = "m", .from = cuts[i], .to = cuts[i + 1]};
        cr_assert_eq(bm_digest_add_file(sha, &part, NULL), BM_OK);
    }
    cr_assert_eq(bm_digest_end(sha, &is, NULL), BM_OK);
    cr_expect_str_eq(is.sha256, OF_MILLION);
    bm_digest_close(sha);
    close(fd);
}

Test(digest, a_part_holds_its_own_bytes_only)
{
    SCRATCH s = scratch_open();
    bm_digests is;
    scratch_put_text(&s, "f", "..abc..");
    const int fd = open_file(&s, "f");
    bm_digest *sha = world_open(bm_digest, BM_DIGEST_BOTH, 0);
    cr_assert_eq(bm_digest_add_file(sha, &(bm_file_range){fd, "f", 2, 5}, NULL), BM_OK);
    cr_assert_eq(bm_digest_end(sha, &is, NULL), BM_OK);
    cr_expect_str_eq(is.sha256, OF_ABC);
    bm_digest_close(sha);
    close(fd);
}

Test(digest, a_file_that_is_shorter_than_its_part_is_an_error_that_names_it)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_put_text(&s, "f", "abc");
    const int fd = open_file(&s, "f");
    bm_digest *sha = world_open(bm_digest, BM_DIGEST_BOTH, 0);
    cr_expect_eq(bm_digest_add_file(sha, &(bm_file_range){fd, "shown", 0, 4}, &err), BM_ERR_IO);
    cr_expect_eq(err.code, EIO);
    cr_expect_str_eq(err.file, "shown");
    bm_digest_close(sha);
    bm_digest_close(NULL);
    close(fd);
}
