/* test_digest_follow.c -- a digest that runs behind the writer, against NIST's vector and the
 * system's sha256sum. */
#include "io/manifest/digest_follow.h"

#include <fcntl.h>

#include "io/output/out_dir.h"
#include "tests/unit/base/scratch.h"

/* SHA-256 of a million times "a": NIST, FIPS 180-4 example values. */
#define MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static int open_new(scratch *s, const char *name)
{
    int fd = open(scratch_at(s, name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    return fd;
}

Test(digest_follow, equals_the_known_digest_for_any_steps)
{
    static const size_t steps[] = {1000000, 999999, 65536, 4097};
    static char bytes[1000000];
    scratch s;
    scratch_open(&s);
    memset(bytes, 'a', sizeof bytes);
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        char name[16];
        bm_digests is;
        snprintf(name, sizeof name, "file%zu", k);
        int fd = open_new(&s, name);
        bm_digest_follow *follow = NULL;
        cr_assert_eq(bm_digest_follow_open(fd, &follow, NULL), BM_OK);
        for (size_t at = 0; at < sizeof bytes;) {
            size_t n = sizeof bytes - at < steps[k] ? sizeof bytes - at : steps[k];
            cr_assert_eq(write(fd, bytes + at, n), (ssize_t)n);
            at += n;
            bm_digest_follow_reach(follow, at);
        }
        cr_assert_eq(bm_digest_follow_end(follow, sizeof bytes, name, &is, NULL), BM_OK);
        cr_assert_str_eq(is.sha256, MILLION_A);
        close(fd);
    }
    scratch_close(&s);
}

Test(digest_follow, bytes_that_are_not_there_are_an_io_error_that_names_the_file)
{
    scratch s;
    scratch_open(&s);
    int fd = open_new(&s, "short");
    bm_digest_follow *follow = NULL;
    bm_digests is;
    bm_error err = {0};
    cr_assert_eq(write(fd, "abc", 3), 3);
    cr_assert_eq(bm_digest_follow_open(fd, &follow, NULL), BM_OK);
    cr_assert_eq(bm_digest_follow_end(follow, 4, "kept.jsonl", &is, &err), BM_ERR_IO);
    cr_assert_not_null(strstr(err.message, "cannot read"), "%s", err.message);
    close(fd);
    scratch_close(&s);
}

Test(digest_follow, closing_early_waits_for_nothing)
{
    scratch s;
    scratch_open(&s);
    int fd = open_new(&s, "file");
    bm_digest_follow *follow = NULL;
    cr_assert_eq(bm_digest_follow_open(fd, &follow, NULL), BM_OK);
    bm_digest_follow_close(follow);
    bm_digest_follow_close(NULL);
    close(fd);
    scratch_close(&s);
}

static void write_large(bm_out_dir *dir, const char *name, bool early, bool rewrite)
{
    static char block[300000];
    bm_out_file *file = NULL;
    uint32_t state = 12345;
    cr_assert_eq(bm_out_dir_file(dir, name, &file, NULL), BM_OK);
    if (early)
        bm_out_file_digest_early(file);
    for (int round = 0; round < 40; round++) {
        for (size_t i = 0; i < sizeof block; i++) {
            state = state * 1664525u + 1013904223u;
            block[i] = (char)(state >> 24);
        }
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
    static const char *const names[] = {"early", "late", "rewritten"};
    scratch s;
    bm_out_dir *dir = NULL;
    const char *json;
    scratch_open(&s);
    cr_assert_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, NULL), BM_OK);
    write_large(dir, "early", true, false);
    write_large(dir, "late", false, false);
    write_large(dir, "rewritten", true, true);
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_digests(dir, &json, NULL), BM_OK);
    char hexes[3][BM_SHA256_HEX];
    for (int i = 0; i < 3; i++) {
        char wanted[256], path[64];
        snprintf(path, sizeof path, "out.partial/output/%s", names[i]);
        system_digest(scratch_at(&s, path), hexes[i]);
        snprintf(wanted, sizeof wanted, "\"%s\":\"%s\"", names[i], hexes[i]);
        cr_assert_not_null(strstr(json, wanted), "%s: %s", names[i], json);
    }
    cr_assert_str_eq(hexes[0], hexes[1]);
    cr_assert_str_neq(hexes[0], hexes[2]);
    bm_out_dir_close(dir);
    scratch_close(&s);
}
