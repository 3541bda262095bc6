/* digest_follow.c -- threads that hash the pieces of a file behind its writer.
 *
 *     written      |=======|=======|=======|====...
 *     thread 1      ######   it is slow, or the system gave it no processor:
 *     thread 2              ##     the second is started when piece 2 is whole and nobody has it
 *
 * A thread takes the first piece that nobody has, follows the writer through it, and takes the next.
 * It sleeps until the writer is WAKE_BYTES ahead: waking it for each block would cost more than
 * hashing one. A failure is told at the end.
 *
 * Tests: tests/unit/output/test_digest_follow.c */
#include "output/digest_follow.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#define WAKE_BYTES  ((uint64_t)1 << 20)
#define THREADS_MAX 16u

struct bm_digest_follow {
    bm_digest_followed file;
    pthread_mutex_t lock;
    pthread_cond_t more;
    uint64_t told;         /* the writer's: what threads were last woken for */
    uint32_t n_threads;    /* the writer's, */
    uint32_t threads_most; /* like this */
    pthread_t threads[THREADS_MAX];
    /* from here on under the lock */
    uint64_t reached; /* bytes that will not change */
    bool end;         /* no more will come */
    bool stop;        /* and no result is wanted */
    size_t next;      /* the first piece that nobody has */
    bm_digest_piece *pieces;
    size_t n, cap; /* of them; those before `n` have been taken or left out */
    bm_status status;
    bm_error error;
};

/* Wait until bytes at … least-1 are there, or the end. Returns up to where; *last: no more will come. */
static uint64_t wait_for(bm_digest_follow *follow, uint64_t at, uint64_t least, bool *last)
{
    pthread_mutex_lock(&follow->lock);
    while (!follow->end && follow->status == BM_OK && follow->reached < least)
        pthread_cond_wait(&follow->more, &follow->lock);
    *last = follow->end || follow->status != BM_OK;
    const uint64_t reached = follow->stop || follow->status != BM_OK ? at : follow->reached;
    pthread_mutex_unlock(&follow->lock);
    return reached;
}

/* Take the first piece that nobody has, once bytes of it are there: false at the end. */
static bool take_piece(bm_digest_follow *follow, size_t *out)
{
    const uint64_t size = follow->file.piece_bytes;
    pthread_mutex_lock(&follow->lock);
    while (!follow->end && follow->status == BM_OK && follow->reached <= follow->next * size)
        pthread_cond_wait(&follow->more, &follow->lock);
    bool taken = !follow->end && follow->status == BM_OK;
    if (taken) {
        *out = follow->next++;
        follow->status = bm_grow_array(&follow->pieces, &follow->cap, *out + 1, &follow->error);
        taken = follow->status == BM_OK;
        for (; taken && follow->n <= *out; follow->n++)
            follow->pieces[follow->n] = (bm_digest_piece){0};
    }
    pthread_mutex_unlock(&follow->lock);
    return taken;
}

/* Hash a piece as far as it comes. */
static bm_status hash_piece(bm_digest_follow *follow, size_t index, bm_digest *digest,
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
    return bm_digest_end_piece(digest, out, err);
}

static void *loop(void *arg)
{
    bm_digest_follow *follow = arg;
    bm_digest *digest = NULL;
    bm_error error = {0};
    size_t index;
    bm_status status =
        bm_digest_open(BM_DIGEST_BOTH, 0, &digest, &error); /* .6 ms the first time */
    while (status == BM_OK && take_piece(follow, &index)) {
        bm_digest_piece piece = {0};
        status = hash_piece(follow, index, digest, &piece, &error);
        pthread_mutex_lock(&follow->lock);
        follow->pieces[index] = piece;
        pthread_mutex_unlock(&follow->lock);
    }
    if (status != BM_OK) {
        pthread_mutex_lock(&follow->lock);
        follow->status = status; /* of several failures one is told */
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
    bm_free(follow->pieces);
    bm_free(follow);
}

bm_status bm_digest_follow_open(const bm_digest_followed *file, bm_digest_follow **out,
                                bm_error *err)
{
    bm_digest_follow *follow = NULL;
    BM_TRY(bm_new_zero(&follow, 1, err));
    const uint32_t cpus = bm_cpu_count();
    follow->file = *file;
    follow->next =
        file->unsettled == 0 ? 0 : bm_digest_count_pieces(file->unsettled, file->piece_bytes);
    follow->threads_most = cpus < THREADS_MAX ? cpus : THREADS_MAX;
    pthread_mutex_init(&follow->lock, NULL);
    pthread_cond_init(&follow->more, NULL);
    const int rc = start_thread(follow);
    if (rc != 0) {
        destroy(follow);
        return bm_fail_errno(err, rc, NULL, "cannot start a thread");
    }
    *out = follow;
    return BM_OK;
}

void bm_digest_follow_reach(bm_digest_follow *follow, uint64_t n)
{
    if (n - follow->told < WAKE_BYTES) /* only the writer changes `told` */
        return;
    pthread_mutex_lock(&follow->lock);
    follow->reached = follow->told = n;
    const bool behind = n >= (follow->next + 1) * follow->file.piece_bytes;
    pthread_cond_broadcast(&follow->more);
    pthread_mutex_unlock(&follow->lock);
    if (behind && follow->n_threads < follow->threads_most)
        (void)start_thread(follow); /* else what is left is hashed at the end */
}

/* All `n` bytes are there, or with `stop` nobody wants the result: wait for the threads to end. */
static void join(bm_digest_follow *follow, bool stop, uint64_t n)
{
    pthread_mutex_lock(&follow->lock);
    follow->reached = n;
    follow->end = true;
    follow->stop = stop;
    pthread_cond_broadcast(&follow->more);
    pthread_mutex_unlock(&follow->lock);
    for (uint32_t i = 0; i < follow->n_threads; i++)
        pthread_join(follow->threads[i], NULL);
}

/* Room for all pieces of the file. */
static bm_status complete(bm_digest_follow *follow, uint64_t n, bm_error *err)
{
    const size_t n_pieces = bm_digest_count_pieces(n, follow->file.piece_bytes);
    BM_TRY(bm_grow_array(&follow->pieces, &follow->cap, n_pieces, err));
    for (; follow->n < n_pieces; follow->n++)
        follow->pieces[follow->n] = (bm_digest_piece){0};
    return BM_OK;
}

bm_status bm_digest_follow_end(bm_digest_follow *follow, uint64_t n, const char *shown,
                               bm_digest_piece **pieces, bm_error *err)
{
    join(follow, false, n);
    bm_status status = follow->status;
    if (status == BM_ERR_IO)
        BM_TRY_OUT(bm_fail_errno(err, (int)follow->error.code, shown, "cannot read"));
    if (status != BM_OK)
        BM_TRY_OUT(bm_fail_at(err, status, shown, 0, "%s", follow->error.message));
    BM_TRY_OUT(complete(follow, n, err));
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
    join(follow, true, 0);
    destroy(follow);
}
