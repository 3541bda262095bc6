/* digest_files.c -- the pieces of all files are numbered one after another, and the threads share
 * them out one by one: a few large files keep all threads as busy as many small ones.
 *
 * Each thread has a digest of its own, made with its first piece. Where there is little to hash,
 * waking threads takes longer than the work. */
#include "output/digest_files.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

#define SHARED_BYTES ((uint64_t)1 << 20) /* less is done by the caller */

typedef struct hashing {
    const bm_digest_work *work;
    size_t *first;       /* the number of the first piece of each file, and behind the last */
    bm_digest **digests; /* a thread each; NULL: not yet */
    atomic_uint_fast64_t n_begun;
} hashing;

/* The file that a piece belongs to. */
static size_t file_of(const hashing *h, size_t piece)
{
    size_t low = 0, high = h->work->n;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (h->first[middle] <= piece)
            low = middle;
        else
            high = middle;
    }
    return low;
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
    status = bm_digest_end_piece(*digest, piece, err);
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
    bm_free(h.digests);
    bm_free(h.first);
    return status;
}
