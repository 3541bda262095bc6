/* digest_follow.c -- a thread that hashes a file behind its writer.
 *
 * It sleeps until the writer is WAKE_BYTES ahead: waking it for each block would cost more than
 * hashing one. Its failure is told at the end.
 *
 * Tests: tests/unit/io_output/test_digest_follow.c */
#include "io/manifest/digest_follow.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#define WAKE_BYTES ((uint64_t)1 << 20)

struct bm_digest_follow {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    int fd;
    uint64_t reached;  /* bytes that will not change */
    uint64_t told;     /* the writer's: what the thread was last woken for */
    bool end;          /* no more will come */
    bool stop;         /* and no result is wanted */
    bm_digest *digest; /* the thread's, until it has ended */
    bm_status status;
    bm_error error;
};

/* Wait for bytes behind `at`, or the end. Returns up to where; *last: no more will come. */
static uint64_t wait_for(bm_digest_follow *follow, uint64_t at, bool *last)
{
    pthread_mutex_lock(&follow->lock);
    while (!follow->end && !follow->stop && follow->reached < at + WAKE_BYTES)
        pthread_cond_wait(&follow->more, &follow->lock);
    uint64_t reached = follow->stop ? at : follow->reached;
    *last = follow->end || follow->stop;
    pthread_mutex_unlock(&follow->lock);
    return reached;
}

static void *loop(void *arg)
{
    bm_digest_follow *follow = arg;
    uint64_t at = 0;
    bool last = false;
    follow->status =
        bm_digest_open(BM_DIGEST_BOTH, &follow->digest, &follow->error); /* .6 ms the first time */
    while (!last && follow->status == BM_OK) {
        uint64_t to = wait_for(follow, at, &last);
        const bm_file_range range = {follow->fd, "output", at, to};
        follow->status = bm_digest_add_file(follow->digest, &range, &follow->error);
        at = to;
    }
    return NULL;
}

bm_status bm_digest_follow_open(int fd, bm_digest_follow **out, bm_error *err)
{
    bm_digest_follow *follow = NULL;
    BM_TRY(bm_new_zero(&follow, 1, err));
    follow->fd = fd;
    pthread_mutex_init(&follow->lock, NULL);
    pthread_cond_init(&follow->more, NULL);
    int rc = bm_thread_start(&follow->thread, loop, follow);
    if (rc != 0) {
        pthread_cond_destroy(&follow->more);
        pthread_mutex_destroy(&follow->lock);
        bm_free(follow);
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
    pthread_cond_signal(&follow->more);
    pthread_mutex_unlock(&follow->lock);
}

/* All `n` bytes are there, or with `stop` nobody wants the result: wait for the thread to end. */
static void join(bm_digest_follow *follow, bool stop, uint64_t n)
{
    pthread_mutex_lock(&follow->lock);
    follow->reached = n;
    follow->end = true;
    follow->stop = stop;
    pthread_cond_signal(&follow->more);
    pthread_mutex_unlock(&follow->lock);
    pthread_join(follow->thread, NULL);
    pthread_cond_destroy(&follow->more);
    pthread_mutex_destroy(&follow->lock);
}

bm_status bm_digest_follow_end(bm_digest_follow *follow, uint64_t n, const char *shown,
                               bm_digests *out, bm_error *err)
{
    join(follow, false, n);
    bm_status status = follow->status;
    if (status == BM_OK)
        status = bm_digest_end(follow->digest, out, err);
    else if (status == BM_ERR_IO)
        status = bm_fail_errno(err, (int)follow->error.code, shown, "cannot read");
    else
        status = bm_fail_at(err, status, shown, 0, "%s", follow->error.message);
    bm_digest_close(follow->digest);
    bm_free(follow);
    return status;
}

void bm_digest_follow_close(bm_digest_follow *follow)
{
    if (follow == NULL)
        return;
    join(follow, true, 0);
    bm_digest_close(follow->digest);
    bm_free(follow);
}
