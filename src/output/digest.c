/* digest.c -- SHA-256 by libcrypto and XXH3, of blocks of 256 KiB by pread.
 *
 * Files are read back and not hashed on their way out: what is read back is what a reader will get,
 * and any thread can do it. It still lies in the system's page cache then. Both digests are of one
 * block while it is in the processor's cache. */
#include "output/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
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

struct bm_digest {
    unsigned kinds;
    bm_stream_hash *xxh3; /* NULL: not asked for; so is the next */
    libcrypto lib;
    EVP_MD_CTX *sha256;
    char *block;                    /* NULL: nothing was read yet */
    uint64_t piece_bytes, in_piece; /* UINT64_MAX: one piece; bytes of the last one so far */
    bm_digest_piece *pieces;        /* that have ended */
    size_t n_pieces, cap_pieces;
};

static bm_status open_sha256(bm_digest *digest, bm_error *err)
{
    BM_TRY(bm_shared_library_open(BM_SONAME_CRYPTO, names, &digest->lib, err));
    if ((digest->sha256 = digest->lib.EVP_MD_CTX_new()) == NULL)
        return bm_fail_nomem(err, sizeof *digest);
    return BM_OK;
}

static bm_status begin_piece(bm_digest *digest, bm_error *err)
{
    digest->in_piece = 0;
    if (digest->xxh3 != NULL)
        bm_stream_hash_begin(digest->xxh3);
    if (digest->sha256 != NULL &&
        digest->lib.EVP_DigestInit_ex(digest->sha256, digest->lib.EVP_sha256(), NULL) != 1)
        return bm_fail(err, BM_ERR_INTERNAL, "SHA-256 is not available");
    return BM_OK;
}

bm_status bm_digest_open(unsigned kinds, uint64_t piece_bytes, bm_digest **out, bm_error *err)
{
    bm_digest *digest = NULL;
    BM_TRY(bm_new_zero(&digest, 1, err));
    digest->kinds = kinds;
    digest->piece_bytes = piece_bytes != 0 ? piece_bytes : UINT64_MAX;
    bm_status status = BM_OK;
    if ((kinds & BM_DIGEST_SHA256) != 0)
        BM_TRY_OUT(open_sha256(digest, err));
    if ((kinds & BM_DIGEST_XXH3) != 0)
        BM_TRY_OUT(bm_stream_hash_open(bm_isa_best(), &digest->xxh3, err));
    status = begin_piece(digest, err);
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
    bm_free(digest->pieces);
    bm_free(digest);
}

static bm_status add_to_piece(bm_digest *digest, const void *data, size_t len, bm_error *err)
{
    digest->in_piece += len;
    if (digest->xxh3 != NULL)
        bm_stream_hash_add(digest->xxh3, data, len);
    if (digest->sha256 != NULL && digest->lib.EVP_DigestUpdate(digest->sha256, data, len) != 1)
        return bm_fail(err, BM_ERR_INTERNAL, "SHA-256 failed");
    return BM_OK;
}

/* The digests of what was added to the piece. */
static bm_status read_piece(bm_digest *digest, bm_digest_piece *out, bm_error *err)
{
    unsigned len = 0;
    *out = (bm_digest_piece){.known = true};
    if (digest->xxh3 != NULL)
        out->xxh3 = bm_stream_hash_end(digest->xxh3);
    if (digest->sha256 != NULL &&
        (digest->lib.EVP_DigestFinal_ex(digest->sha256, out->sha256, &len) != 1 ||
         len != BM_SHA256_LEN))
        return bm_fail(err, BM_ERR_INTERNAL, "SHA-256 failed");
    return BM_OK;
}

bm_status bm_digest_end_piece(bm_digest *digest, bm_digest_piece *out, bm_error *err)
{
    BM_TRY(read_piece(digest, out, err));
    return begin_piece(digest, err);
}

static bm_status end_own_piece(bm_digest *digest, bm_error *err)
{
    BM_TRY(bm_grow_array(&digest->pieces, &digest->cap_pieces, digest->n_pieces + 1, err));
    return bm_digest_end_piece(digest, &digest->pieces[digest->n_pieces++], err);
}

bm_status bm_digest_add(bm_digest *digest, const void *data, size_t len, bm_error *err)
{
    const char *at = data;
    while (len > 0) {
        if (digest->in_piece == digest->piece_bytes)
            BM_TRY(end_own_piece(digest, err));
        const uint64_t left = digest->piece_bytes - digest->in_piece;
        const size_t n = len < left ? len : (size_t)left;
        BM_TRY(add_to_piece(digest, at, n, err));
        at += n;
        len -= n;
    }
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
    BM_TRY(end_own_piece(digest, err));
    return bm_digests_join(digest->pieces, digest->n_pieces, digest->kinds, out, err);
}

const bm_digest_piece *bm_digest_pieces(const bm_digest *digest, size_t *n)
{
    *n = digest->n_pieces;
    return digest->pieces;
}

/* --- pieces --- */

size_t bm_digest_count_pieces(uint64_t bytes, uint64_t piece_bytes)
{
    return piece_bytes == 0 || bytes <= piece_bytes ? 1 : (size_t)((bytes - 1) / piece_bytes + 1);
}

static void write_digests(const bm_digest_piece *of, unsigned kinds, bm_digests *out)
{
    static const char digits[] = "0123456789abcdef";
    *out = (bm_digests){0};
    if ((kinds & BM_DIGEST_XXH3) != 0)
        bm_hash128_hex(of->xxh3, out->xxh3);
    for (unsigned i = 0; (kinds & BM_DIGEST_SHA256) != 0 && i < BM_SHA256_LEN; i++) {
        out->sha256[2 * i] = digits[of->sha256[i] >> 4];
        out->sha256[2 * i + 1] = digits[of->sha256[i] & 15];
    }
}

/* Of the list of one kind of digest of the pieces. */
static bm_status digest_list(const bm_digest_piece *pieces, size_t n, unsigned kind,
                             bm_digest_piece *out, bm_error *err)
{
    bm_digest *list = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_digest_open(kind, 0, &list, err));
    for (size_t i = 0; i < n; i++) {
        unsigned char xxh3[BM_HASH128_LEN];
        bm_hash128_bytes(pieces[i].xxh3, xxh3);
        BM_TRY_OUT(kind == BM_DIGEST_SHA256
                       ? bm_digest_add(list, pieces[i].sha256, BM_SHA256_LEN, err)
                       : bm_digest_add(list, xxh3, sizeof xxh3, err));
    }
    status = bm_digest_end_piece(list, out, err);
out:
    bm_digest_close(list);
    return status;
}

bm_status bm_digests_join(const bm_digest_piece *pieces, size_t n, unsigned kinds, bm_digests *out,
                          bm_error *err)
{
    bm_digest_piece whole = pieces[0], list;
    if (n > 1 && (kinds & BM_DIGEST_SHA256) != 0) {
        BM_TRY(digest_list(pieces, n, BM_DIGEST_SHA256, &list, err));
        memcpy(whole.sha256, list.sha256, sizeof whole.sha256);
    }
    if (n > 1 && (kinds & BM_DIGEST_XXH3) != 0) {
        BM_TRY(digest_list(pieces, n, BM_DIGEST_XXH3, &list, err));
        whole.xxh3 = list.xxh3;
    }
    write_digests(&whole, kinds, out);
    return BM_OK;
}

bm_status bm_digests_bytes(const void *data, size_t len, unsigned kinds, bm_digests *out,
                           bm_error *err)
{
    bm_digest *digest = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_digest_open(kinds, 0, &digest, err));
    BM_TRY_OUT(bm_digest_add(digest, data, len, err));
    status = bm_digest_end(digest, out, err);
out:
    bm_digest_close(digest);
    return status;
}
