/* digest.c -- SHA-256 by libcrypto, in blocks of 256 KiB by pread.
 *
 * Files are read back and not hashed on their way out: a .npy header is rewritten at the end, and
 * what is read back is what a reader will get. It still lies in the system's page cache then. */
#include "io/output/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"

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

struct bm_sha256 {
    libcrypto lib;
    EVP_MD_CTX *ctx;
    char block[BLOCK_BYTES];
};

bm_status bm_sha256_open(bm_sha256 **out, bm_error *err)
{
    bm_sha256 *sha = bm_alloc(1, sizeof *sha);
    if (sha == NULL)
        return bm_fail_nomem(err, sizeof *sha);
    sha->ctx = NULL;
    bm_status status = bm_shared_library_open(BM_SONAME_CRYPTO, names, &sha->lib, err);
    if (status == BM_OK && (sha->ctx = sha->lib.EVP_MD_CTX_new()) == NULL)
        status = bm_fail_nomem(err, sizeof *sha);
    if (status == BM_OK && sha->lib.EVP_DigestInit_ex(sha->ctx, sha->lib.EVP_sha256(), NULL) != 1)
        status = bm_fail(err, BM_ERR_INTERNAL, "SHA-256 is not available");
    if (status != BM_OK) {
        bm_sha256_close(sha);
        return status;
    }
    *out = sha;
    return BM_OK;
}

void bm_sha256_close(bm_sha256 *sha)
{
    if (sha == NULL)
        return;
    if (sha->ctx != NULL)
        sha->lib.EVP_MD_CTX_free(sha->ctx);
    bm_free(sha);
}

bm_status bm_sha256_add(bm_sha256 *sha, const bm_file_range *range, bm_error *err)
{
    const char *shown = range->shown;
    const uint64_t to = range->to;
    for (uint64_t from = range->from; from < to;) {
        size_t want = to - from < BLOCK_BYTES ? (size_t)(to - from) : BLOCK_BYTES;
        ssize_t n = pread(range->fd, sha->block, want, (off_t)from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_fail_errno(err, errno, shown, "cannot read");
        if (n == 0)
            return to == UINT64_MAX ? BM_OK : bm_fail_errno(err, EIO, shown, "cannot read");
        if (sha->lib.EVP_DigestUpdate(sha->ctx, sha->block, (size_t)n) != 1)
            return bm_fail_at(err, BM_ERR_INTERNAL, shown, 0, "SHA-256 failed");
        from += (uint64_t)n;
    }
    return BM_OK;
}

bm_status bm_sha256_hex(bm_sha256 *sha, const char *shown, char hex[BM_SHA256_HEX], bm_error *err)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (sha->lib.EVP_DigestFinal_ex(sha->ctx, digest, &len) != 1 || len != 32)
        return bm_fail_at(err, BM_ERR_INTERNAL, shown, 0, "SHA-256 failed");
    for (unsigned i = 0; i < 32; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[64] = '\0';
    return BM_OK;
}

bm_status bm_sha256_fd(int fd, const char *shown, char hex[BM_SHA256_HEX], bm_error *err)
{
    bm_sha256 *sha = NULL;
    bm_status status = bm_sha256_open(&sha, err);
    if (status == BM_OK)
        status = bm_sha256_add(sha, &(bm_file_range){fd, shown, 0, UINT64_MAX}, err);
    if (status == BM_OK)
        status = bm_sha256_hex(sha, shown, hex, err);
    bm_sha256_close(sha);
    return status;
}

bm_status bm_sha256_file(const char *path, char hex[BM_SHA256_HEX], bm_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return bm_fail_errno(err, errno, path, "cannot open");
    bm_status status = bm_sha256_fd(fd, path, hex, err);
    close(fd);
    return status;
}
