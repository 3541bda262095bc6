/* digest.c -- SHA-256 by libcrypto, in blocks of 256 KiB by pread.
 *
 * Files are read back rather than hashed while they are written: a .npy header is rewritten at the
 * end, and what is read back is what a reader will get. The pages are still in the cache then. */
#include "io/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

#define BLOCK_BYTES ((size_t)256 << 10)

static bm_status hash_blocks(int fd, const char *shown, EVP_MD_CTX *ctx, char *block, bm_error *err)
{
    off_t at = 0;
    for (;;) {
        ssize_t n = pread(fd, block, BLOCK_BYTES, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_fail_errno(err, errno, shown, "cannot read");
        if (n == 0)
            return BM_OK;
        if (EVP_DigestUpdate(ctx, block, (size_t)n) != 1)
            return bm_fail_at(err, BM_ERR_INTERNAL, shown, 0, "SHA-256 failed");
        at += n;
    }
}

bm_status bm_sha256_fd(int fd, const char *shown, char hex[BM_SHA256_HEX], bm_error *err)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    bm_status status = BM_OK;
    char *block = bm_alloc(BLOCK_BYTES, 1);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (block == NULL || ctx == NULL) {
        status = bm_fail_nomem(err, BLOCK_BYTES);
        goto out;
    }
    if (EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
        status = bm_fail_at(err, BM_ERR_INTERNAL, shown, 0, "SHA-256 is not available");
        goto out;
    }
    status = hash_blocks(fd, shown, ctx, block, err);
    if (status != BM_OK)
        goto out;
    if (EVP_DigestFinal_ex(ctx, digest, &len) != 1 || len != 32) {
        status = bm_fail_at(err, BM_ERR_INTERNAL, shown, 0, "SHA-256 failed");
        goto out;
    }
    for (unsigned i = 0; i < 32; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[64] = '\0';
out:
    EVP_MD_CTX_free(ctx);
    bm_free(block);
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
