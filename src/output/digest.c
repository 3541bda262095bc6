/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c -- SHA-256 (libcrypto) and XXH3 of files, read by pread in blocks of 256 KiB.
 *
 * The bytes of a file are read back and hashed, instead of being hashed when the writer passes them
 * to the file. The bytes read back are those that readers will get, and any thread can hash them.
 * They are usually still in the page cache. Both digests of a block are computed while the block is
 * in the processor's cache.
 *
 * Tests: tests/unit/output/test_digest.c, tests/unit/output/test_digest_files.c,
 *        tests/unit/output/test_digest_follow.c */
#include "output/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"

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
    bm_stream_hash *xxh3; /* NULL: not requested */
    libcrypto lib;
    EVP_MD_CTX *sha256; /* NULL: not requested */
    char *block;        /* NULL: no file was read yet */
    /* piece_bytes: size of a piece (UINT64_MAX: there is only one piece); in_piece: bytes added to
     * the current piece */
    uint64_t piece_bytes, in_piece;
    bm_digest_piece *pieces; /* complete pieces */
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
    bm_free_all(digest->block, digest->pieces, digest);
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

/* Set *out to the digests of the current piece, which is complete. */
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

/* End a piece: compute, as one piece, the digests of the bytes added since the digest was opened or
 * since the last call of this function. More bytes may follow. Used instead of bm_digest_end. */
static bm_status end_piece(bm_digest *digest, bm_digest_piece *out, bm_error *err)
{
    BM_TRY(read_piece(digest, out, err));
    return begin_piece(digest, err);
}

static bm_status end_own_piece(bm_digest *digest, bm_error *err)
{
    BM_TRY(bm_grow_array(&digest->pieces, &digest->cap_pieces, digest->n_pieces + 1, err));
    return end_piece(digest, &digest->pieces[digest->n_pieces++], err);
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

/* Compute one kind of digest of a list: the binary digests of all pieces, in order. */
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
    status = end_piece(list, out, err);
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

/* === digest files ===
 *
 * The pieces of all files are numbered consecutively, and each thread takes the next piece that no
 * thread has taken. So a few large files keep all threads as busy as many small files do.
 *
 * Each thread has its own digest object, created for the thread's first piece. If there are few
 * bytes, the caller's thread hashes them alone: waking other threads would take longer. */

/* if there are fewer bytes than this, the caller's thread hashes them alone */
#define SHARED_BYTES ((uint64_t)1 << 20)

typedef struct hashing {
    const bm_digest_work *work;
    /* the number of the first piece of each file; at the end, the number of all pieces */
    size_t *first;
    bm_digest **digests; /* one per thread; NULL: not created yet */
    atomic_uint_fast64_t n_begun;
} hashing;

/* The file that a piece belongs to. */
static size_t file_of(const hashing *h, size_t piece)
{
    bm_bisect b = {1, h->work->n};
    while (b.low < b.high)
        bm_bisect_go(&b, h->first[bm_middle(&b)] <= piece);
    return b.low - 1;
}

static bm_status hash_piece(hashing *h, uint32_t thread, size_t number, bm_error *err)
{
    const bm_digest_work *work = h->work;
    const size_t at = file_of(h, number);
    const bm_digest_file *file = &work->files[at];
    const uint64_t from = (number - h->first[at]) * work->piece_bytes;
    const bool last = number + 1 == h->first[at + 1];
    bm_digest_piece *piece = &file->pieces[number - h->first[at]];
    bm_digest **digest = &h->digests[thread];
    bool owned = false;
    int fd = -1;
    bm_status status = BM_OK;
    if (from == 0 && work->meter != NULL)
        bm_meter_progress(work->meter, atomic_fetch_add(&h->n_begun, 1) + 1, work->meter_total, 0);
    if (piece->known)
        return BM_OK;
    BM_TRY_OUT(work->open(work->ctx, at, &fd, &owned, err));
    if (*digest == NULL)
        BM_TRY_OUT(bm_digest_open(work->kinds, 0, digest, err));
    const bm_file_range range = {fd, file->shown, from,
                                 last ? file->bytes : from + work->piece_bytes};
    BM_TRY_OUT(bm_digest_add_file(*digest, &range, err));
    status = end_piece(*digest, piece, err);
out:
    if (owned)
        close(fd);
    return status;
}

static bm_status hash_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    for (size_t i = begin; i < end; i++)
        BM_TRY(hash_piece(ctx, thread, i, err));
    return BM_OK;
}

bm_status bm_digest_files(const bm_digest_work *work, bm_error *err)
{
    const uint32_t n_threads = work->pool != NULL ? bm_pool_size(work->pool) : 1;
    hashing h = {.work = work};
    uint64_t bytes = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&h.first, work->n + 1, err));
    BM_TRY_OUT(bm_new_zero(&h.digests, n_threads, err));
    for (size_t i = 0; i < work->n; i++) {
        bytes += work->files[i].bytes;
        h.first[i + 1] =
            h.first[i] + bm_digest_count_pieces(work->files[i].bytes, work->piece_bytes);
    }
    const size_t n_pieces = h.first[work->n];
    status = n_threads > 1 && bytes >= SHARED_BYTES
                 ? bm_pool_for(work->pool, (bm_pool_split){n_pieces, 1}, hash_range, &h, err)
                 : hash_range(&h, 0, 0, n_pieces, err);
out:
    for (uint32_t i = 0; h.digests != NULL && i < n_threads; i++)
        bm_digest_close(h.digests[i]);
    bm_free_all(h.digests, h.first);
    return status;
}

/* === digest follow ===
 *
 * Hashes the pieces of a file on threads of its own while the file is written.
 *
 *     written      |=======|=======|=======|====...
 *     thread 1      ######   slow, or without a processor for a while:
 *     thread 2              ##     started once piece 2 is complete and no thread has begun it
 *
 * A thread begins the first piece that no thread has begun, hashes its bytes as they are written,
 * and then begins the next such piece. It sleeps until the writer is WAKE_BYTES ahead, because
 * waking it for each block would cost more than hashing the block. bm_digest_follow_end reports
 * failures. */

#define WAKE_BYTES  ((uint64_t)1 << 20)
#define THREADS_MAX 16u

struct bm_digest_follow {
    bm_digest_followed file;
    pthread_mutex_t lock;
    pthread_cond_t more;
    /* used by the writer only: the value of `reached` when threads were last woken */
    uint64_t woken_at;
    uint32_t n_threads;    /* used by the writer only */
    uint32_t threads_most; /* used by the writer only */
    pthread_t threads[THREADS_MAX];
    /* everything below is protected by the lock */
    uint64_t reached; /* bytes that are final */
    bool complete;    /* the file is complete: it has `reached` bytes */
    bool end;         /* begin no more pieces */
    bool stop;        /* begin no more pieces, and discard the result */
    size_t next;      /* the next piece to begin, n_first or later */
    /* The first n_first pieces are hashed after all others. first: how many of these n_first pieces
     * were begun. */
    size_t first, n_first;
    bm_digest_piece *pieces;
    size_t n, cap; /* length and capacity of `pieces` */
    bm_status status;
    bm_error error;
};

/* Wait until the first `least` bytes are final, or no more bytes will come (*last). Returns the
 * number of final bytes, or `at` if hashing has to stop. */
static uint64_t wait_for(bm_digest_follow *follow, uint64_t at, uint64_t least, bool *last)
{
    pthread_mutex_lock(&follow->lock);
    while (!follow->complete && !follow->end && follow->status == BM_OK && follow->reached < least)
        pthread_cond_wait(&follow->more, &follow->lock);
    *last = follow->complete || follow->end || follow->status != BM_OK;
    const uint64_t reached = follow->stop || follow->status != BM_OK ? at : follow->reached;
    pthread_mutex_unlock(&follow->lock);
    return reached;
}

/* Begin a piece, and set *out to its index. This is piece `next`, once some of its bytes are final.
 * When the file is complete and no such piece is left, it is the next of the first n_first pieces.
 * Returns false if no piece is left, or hashing has to end. */
static bool claim_piece(bm_digest_follow *follow, size_t *out)
{
    const uint64_t size = follow->file.piece_bytes;
    pthread_mutex_lock(&follow->lock);
    while (!follow->complete && !follow->end && follow->status == BM_OK &&
           follow->reached <= follow->next * size)
        pthread_cond_wait(&follow->more, &follow->lock);
    const bool behind = follow->reached > follow->next * size;
    bool taken =
        !follow->end && follow->status == BM_OK && (behind || follow->first < follow->n_first);
    if (taken) {
        *out = behind ? follow->next++ : follow->first++;
        follow->status = bm_grow_array(&follow->pieces, &follow->cap, *out + 1, &follow->error);
        taken = follow->status == BM_OK;
        for (; taken && follow->n <= *out; follow->n++)
            follow->pieces[follow->n] = (bm_digest_piece){0};
    }
    pthread_mutex_unlock(&follow->lock);
    return taken;
}

/* Hash a piece as its bytes become final. */
static bm_status follow_hash_piece(bm_digest_follow *follow, size_t index, bm_digest *digest,
                                   bm_digest_piece *out, bm_error *err)
{
    uint64_t at = index * follow->file.piece_bytes;
    const uint64_t end = at + follow->file.piece_bytes;
    for (bool last = false; !last && at < end;) {
        uint64_t to = wait_for(follow, at, end - at < WAKE_BYTES ? end : at + WAKE_BYTES, &last);
        to = to < end ? to : end;
        BM_TRY(
            bm_digest_add_file(digest, &(bm_file_range){follow->file.fd, "output", at, to}, err));
        at = to;
    }
    return end_piece(digest, out, err);
}

static void *loop(void *arg)
{
    bm_digest_follow *follow = arg;
    bm_digest *digest = NULL;
    bm_error error = {0};
    size_t index;
    /* the first such call in a process takes .6 ms */
    bm_status status = bm_digest_open(BM_DIGEST_BOTH, 0, &digest, &error);
    while (status == BM_OK && claim_piece(follow, &index)) {
        bm_digest_piece piece = {0};
        status = follow_hash_piece(follow, index, digest, &piece, &error);
        pthread_mutex_lock(&follow->lock);
        follow->pieces[index] = piece;
        pthread_mutex_unlock(&follow->lock);
    }
    if (status != BM_OK) {
        pthread_mutex_lock(&follow->lock);
        follow->status = status; /* if several threads fail, only one failure is reported */
        follow->error = error;
        pthread_cond_broadcast(&follow->more);
        pthread_mutex_unlock(&follow->lock);
    }
    bm_digest_close(digest);
    return NULL;
}

static int start_thread(bm_digest_follow *follow)
{
    const int rc = bm_thread_start(&follow->threads[follow->n_threads], loop, follow);
    follow->n_threads += rc == 0;
    return rc;
}

static void destroy(bm_digest_follow *follow)
{
    pthread_cond_destroy(&follow->more);
    pthread_mutex_destroy(&follow->lock);
    bm_free_all(follow->pieces, follow);
}

bm_status bm_digest_follow_open(const bm_digest_followed *file, bm_digest_follow **out,
                                bm_error *err)
{
    bm_digest_follow *follow = NULL;
    BM_TRY(bm_new_zero(&follow, 1, err));
    const uint32_t cpus = bm_cpu_count();
    follow->file = *file;
    follow->n_first = follow->next =
        file->rewritable == 0 ? 0 : bm_digest_count_pieces(file->rewritable, file->piece_bytes);
    follow->threads_most = cpus < THREADS_MAX ? cpus : THREADS_MAX;
    pthread_mutex_init(&follow->lock, NULL);
    pthread_cond_init(&follow->more, NULL);
    const int rc = start_thread(follow);
    if (rc != 0) {
        destroy(follow);
        return bm_fail_thread(rc, err);
    }
    *out = follow;
    return BM_OK;
}

void bm_digest_follow_reach(bm_digest_follow *follow, uint64_t n)
{
    if (n - follow->woken_at < WAKE_BYTES) /* `woken_at` needs no lock: only this thread uses it */
        return;
    pthread_mutex_lock(&follow->lock);
    follow->reached = follow->woken_at = n;
    const bool behind = n >= (follow->next + 1) * follow->file.piece_bytes;
    pthread_cond_broadcast(&follow->more);
    pthread_mutex_unlock(&follow->lock);
    if (behind && follow->n_threads < follow->threads_most)
        /* if this fails, bm_out_dir_finish hashes the pieces that are left */
        (void)start_thread(follow);
}

void bm_digest_follow_complete(bm_digest_follow *follow, uint64_t n)
{
    pthread_mutex_lock(&follow->lock);
    follow->reached = n;
    follow->complete = true;
    pthread_cond_broadcast(&follow->more);
    pthread_mutex_unlock(&follow->lock);
}

/* Wait until the threads end. Set `stop` if the result is not needed. */
static void join(bm_digest_follow *follow, bool stop)
{
    pthread_mutex_lock(&follow->lock);
    follow->end = true;
    follow->stop = stop;
    pthread_cond_broadcast(&follow->more);
    pthread_mutex_unlock(&follow->lock);
    for (uint32_t i = 0; i < follow->n_threads; i++)
        pthread_join(follow->threads[i], NULL);
}

bm_status bm_digest_follow_end(bm_digest_follow *follow, const char *shown,
                               bm_digest_piece **pieces, bm_error *err)
{
    join(follow, false);
    bm_status status = follow->status;
    if (status == BM_ERR_IO && follow->error.code != 0) /* reading the file failed */
        BM_TRY_OUT(bm_fail_errno(err, (int)follow->error.code, shown, "cannot read"));
    if (status != BM_OK)
        BM_TRY_OUT(bm_fail_at(err, status, shown, 0, "%s", follow->error.message));
    /* add the pieces that no thread began */
    const size_t n_pieces = bm_digest_count_pieces(follow->reached, follow->file.piece_bytes);
    BM_TRY_OUT(bm_grow_array(&follow->pieces, &follow->cap, n_pieces, err));
    for (; follow->n < n_pieces; follow->n++)
        follow->pieces[follow->n] = (bm_digest_piece){0};
    *pieces = follow->pieces;
    follow->pieces = NULL;
out:
    destroy(follow);
    return status;
}

void bm_digest_follow_close(bm_digest_follow *follow)
{
    if (follow == NULL)
        return;
    join(follow, true);
    destroy(follow);
}
