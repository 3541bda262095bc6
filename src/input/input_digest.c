/* input_digest.c -- large reads into one block, XXH3 128 of them.
 *
 * Tests: tests/unit/input/test_input_digest.c */
#include "input/input_digest.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/wait_readable.h"
#include "base/open_file.h"

#define BLOCK_BYTES ((size_t)1 << 20)

typedef struct work {
    bm_piece_hash *hash;
    char block[BLOCK_BYTES];
} work;

static bm_status read_all(int fd, const bm_digest_of *of, const bm_callbacks *callbacks, work *w,
                          bm_error *err)
{
    for (uint64_t done = 0; done < of->bytes;) {
        BM_TRY(bm_check_cancelled(callbacks, err));
        const uint64_t left = of->bytes - done;
        ssize_t n = pread(fd, w->block, left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES,
                          (off_t)(of->from + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_fail_errno(err, errno, of->path, "cannot read");
        if (n == 0)
            return BM_OK;
        bm_piece_hash_add(w->hash, w->block, (size_t)n);
        done += (uint64_t)n;
    }
    return BM_OK;
}

bm_status bm_input_digest_file(const bm_digest_of *of, const bm_callbacks *callbacks,
                               bm_hash128 *out, bm_error *err)
{
    work *w = NULL;
    BM_TRY(bm_new(&w, 1, err));
    bm_status status = bm_piece_hash_open(of->piece_bytes, &w->hash, err);
    if (status != BM_OK) {
        bm_free(w);
        return status;
    }
    int fd;
    status = bm_open_regular(of->path, BM_ERR_INPUT, &fd, err);
    if (status == BM_OK)
        status = read_all(fd, of, callbacks, w, err);
    if (fd >= 0)
        close(fd);
    if (status == BM_OK)
        *out = bm_piece_hash_end(w->hash);
    bm_piece_hash_close(w->hash);
    bm_free(w);
    return status;
}
