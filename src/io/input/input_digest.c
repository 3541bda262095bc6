/* input_digest.c -- large reads into one block, XXH3 128 of them.
 *
 * Tests: tests/unit/io_input/test_input_digest.c */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/input/input_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

#define BLOCK_BYTES ((size_t)1 << 20)

typedef struct work {
    XXH3_state_t hash; /* first: it needs 64-byte alignment */
    char block[BLOCK_BYTES];
} work;

void bm_input_digest_hex(bm_hash128 digest, char hex[BM_INPUT_DIGEST_HEX])
{
    snprintf(hex, BM_INPUT_DIGEST_HEX, "%016" PRIx64 "%016" PRIx64, digest.hi, digest.lo);
}

static bm_status read_all(int fd, const char *path, const bm_callbacks *callbacks, work *w,
                          bm_error *err)
{
    for (;;) {
        if (callbacks != NULL && callbacks->cancelled != NULL &&
            callbacks->cancelled(callbacks->ctx))
            return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
        ssize_t n = read(fd, w->block, BLOCK_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_fail_errno(err, errno, path, "cannot read");
        if (n == 0)
            return BM_OK;
        XXH3_128bits_update(&w->hash, w->block, (size_t)n);
    }
}

bm_status bm_input_digest_file(const char *path, const bm_callbacks *callbacks, bm_hash128 *out,
                               bm_error *err)
{
    work *w = bm_alloc_aligned(1, sizeof *w);
    if (w == NULL)
        return bm_fail_nomem(err, sizeof *w);
    XXH3_128bits_reset(&w->hash);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bm_status status = fd < 0 ? bm_fail_errno(err, errno, path, "cannot open")
                              : read_all(fd, path, callbacks, w, err);
    if (fd >= 0)
        close(fd);
    if (status == BM_OK) {
        const XXH128_hash_t sum = XXH3_128bits_digest(&w->hash);
        *out = (bm_hash128){.lo = sum.low64, .hi = sum.high64};
    }
    bm_free(w);
    return status;
}
