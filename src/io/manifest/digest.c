/* digest.c -- SHA-256 by libcrypto and XXH3, of blocks of 256 KiB by pread.
 *
 * Files are read back and not hashed on their way out: a .npy header is rewritten at the end, and
 * what is read back is what a reader will get. It still lies in the system's page cache then. Both
 * digests are of one block while it is in the processor's cache. */
#include "io/manifest/digest.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "base/shared_library.h"
#include "model/stream_hash.h"

#define BLOCK_BYTES ((size_t)256 << 10)

#define FUNCTIONS(X)                                                                               \
    X(EVP_MD_CTX_new)                                                                              \
    X(EVP_MD_CTX_free)                                                                             \
    X(EVP_sha256)                                                                                  \
    X(EVP_DigestInit_ex)                                                                           \
    X(EVP_DigestUpdate)                                                                            \
    X(EVP_DigestFinal_ex)

typedef struct libcrypto {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} libcrypto;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

struct bm_digest {
    bm_stream_hash *xxh3; /* NULL: not asked for; so is the next */
    libcrypto lib;
    EVP_MD_CTX *sha256;
    char *block; /* NULL: nothing was read yet */
};

static bm_status open_sha256(bm_digest *digest, bm_error *err)
{
    BM_TRY(bm_shared_library_open(BM_SONAME_CRYPTO, names, &digest->lib, err));
    if ((digest->sha256 = digest->lib.EVP_MD_CTX_new()) == NULL)
        return bm_fail_nomem(err, sizeof *digest);
    if (digest->lib.EVP_DigestInit_ex(digest->sha256, digest->lib.EVP_sha256(), NULL) != 1)
        return bm_fail(err, BM_ERR_INTERNAL, "SHA-256 is not available");
    return BM_OK;
}

bm_status bm_digest_open(unsigned kinds, bm_digest **out, bm_error *err)
{
    bm_digest *digest = NULL;
    BM_TRY(bm_new_zero(&digest, 1, err));
    bm_status status = BM_OK;
    if ((kinds & BM_DIGEST_SHA256) != 0)
        BM_TRY_OUT(open_sha256(digest, err));
    if ((kinds & BM_DIGEST_XXH3) != 0) {
        BM_TRY_OUT(bm_stream_hash_open(bm_isa_best(), &digest->xxh3, err));
        bm_stream_hash_begin(digest->xxh3);
    }
out:
    if (status != BM_OK) {
        bm_digest_close(digest);
        return status;
    }
    *out = digest;
    return BM_OK;
}

void bm_digest_close(bm_digest *digest)
{
    if (digest == NULL)
        return;
    if (digest->sha256 != NULL)
        digest->lib.EVP_MD_CTX_free(digest->sha256);
    bm_stream_hash_close(digest->xxh3);
    bm_free(digest->block);
    bm_free(digest);
}

bm_status bm_digest_add(bm_digest *digest, const void *data, size_t len, bm_error *err)
{
    if (len == 0)
        return BM_OK;
    if (digest->xxh3 != NULL)
        bm_stream_hash_add(digest->xxh3, data, len);
    if (digest->sha256 != NULL && digest->lib.EVP_DigestUpdate(digest->sha256, data, len) != 1)
        return bm_fail(err, BM_ERR_INTERNAL, "SHA-256 failed");
    return BM_OK;
}

bm_status bm_digest_add_file(bm_digest *digest, const bm_file_range *range, bm_error *err)
{
    const char *shown = range->shown;
    const uint64_t to = range->to;
    if (digest->block == NULL && (digest->block = bm_alloc(BLOCK_BYTES, 1)) == NULL)
        return bm_fail_nomem(err, BLOCK_BYTES);
    for (uint64_t from = range->from; from < to;) {
        size_t want = to - from < BLOCK_BYTES ? (size_t)(to - from) : BLOCK_BYTES;
        ssize_t n = pread(range->fd, digest->block, want, (off_t)from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_fail_errno(err, errno, shown, "cannot read");
        if (n == 0)
            return to == UINT64_MAX ? BM_OK : bm_fail_errno(err, EIO, shown, "cannot read");
        BM_TRY(bm_digest_add(digest, digest->block, (size_t)n, err));
        from += (uint64_t)n;
    }
    return BM_OK;
}

bm_status bm_digest_end(bm_digest *digest, bm_digests *out, bm_error *err)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    *out = (bm_digests){0};
    if (digest->xxh3 != NULL) {
        const bm_hash128 xxh3 = bm_stream_hash_end(digest->xxh3);
        snprintf(out->xxh3, BM_XXH3_HEX, "%016" PRIx64 "%016" PRIx64, xxh3.hi, xxh3.lo);
    }
    if (digest->sha256 == NULL)
        return BM_OK;
    if (digest->lib.EVP_DigestFinal_ex(digest->sha256, sum, &len) != 1 || len != 32)
        return bm_fail(err, BM_ERR_INTERNAL, "SHA-256 failed");
    for (unsigned i = 0; i < 32; i++) {
        out->sha256[2 * i] = digits[sum[i] >> 4];
        out->sha256[2 * i + 1] = digits[sum[i] & 15];
    }
    return BM_OK;
}

bm_status bm_digests_bytes(const void *data, size_t len, unsigned kinds, bm_digests *out,
                           bm_error *err)
{
    bm_digest *digest = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_digest_open(kinds, &digest, err));
    BM_TRY_OUT(bm_digest_add(digest, data, len, err));
    status = bm_digest_end(digest, out, err);
out:
    bm_digest_close(digest);
    return status;
}

bm_status bm_digests_fd(int fd, const char *shown, unsigned kinds, bm_digests *out, bm_error *err)
{
    bm_digest *digest = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_digest_open(kinds, &digest, err));
    BM_TRY_OUT(bm_digest_add_file(digest, &(bm_file_range){fd, shown, 0, UINT64_MAX}, err));
    status = bm_digest_end(digest, out, err);
out:
    bm_digest_close(digest);
    return status;
}

bm_status bm_digests_file(const char *path, unsigned kinds, bm_digests *out, bm_error *err)
{
    int fd;
    BM_TRY(bm_open_regular(path, BM_ERR_FORMAT, &fd, err));
    bm_status status = bm_digests_fd(fd, path, kinds, out, err);
    close(fd);
    return status;
}
