/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c -- threads that block the program's signals; a pool, a team and a queue, each with one
 * lock.
 *
 * Tests: tests/unit/base/test_pool.c, tests/unit/base/test_queue.c, tests/unit/base/test_team.c,
 *        tests/unit/base/test_thread.c */
#include "base/threads.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"

/* === thread ===
 *
 * A thread inherits the signal mask of its creator. So the creator blocks the signals while it
 * starts the thread. */

/* Signals that stay unblocked: those of faults, and that of a profiler. */
static const int unblocked[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP};

int bm_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof unblocked / sizeof unblocked[0]; i++)
        sigdelset(&others, unblocked[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    const int rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Is there memory for the stack of a thread? *bytes becomes the size of a stack; 0: unknown. */
static bool has_stack(size_t *bytes)
{
    pthread_attr_t attributes;
    *bytes = 0;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    (void)pthread_attr_getstacksize(&attributes, bytes);
    (void)pthread_attr_destroy(&attributes);
    void *stack = mmap(NULL, *bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return false;
    (void)munmap(stack, *bytes);
    return true;
}

bm_status bm_fail_thread(int errnum, bm_error *err)
{
    size_t bytes;
    if ((errnum == EAGAIN || errnum == ENOMEM) && !has_stack(&bytes))
        return bm_fail(err, BM_ERR_NOMEM,
                       "cannot start a thread: there is no memory for its stack of %zu KiB (fewer "
                       "`threads` need less)",
                       bytes >> 10);
    return bm_fail_errno(err, errnum, "", "cannot start a thread");
}

void bm_wait_shortly(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    const struct timespec soon = bm_clock_in(CLOCK_REALTIME, .1);
    (void)pthread_cond_timedwait(condition, lock, &soon);
}

/* === queue ===
 *
 * A short array, guarded by one mutex, with two conditions. Batches are large, so the lock is taken
 * rarely and held briefly. */

/* An item, and the number of the thread that may pop it. */
typedef struct queued {
    void *item;
    uint32_t whose;
} queued;

struct bm_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    /* capacity: the most items that any thread may pop; n_anybodys: the number of such items now */
    size_t capacity, n_anybodys;
    size_t count, room;
    bool closed, aborted;
    queued *items; /* the oldest first */
};

bm_status bm_queue_open(size_t capacity, bm_queue **out, bm_error *err)
{
    bm_queue *queue = NULL;
    if (capacity == 0)
        capacity = 1;
    BM_TRY(bm_new_zero(&queue, 1, err));
    bm_status status = bm_grow_array(&queue->items, &queue->room, capacity, err);
    if (status != BM_OK) {
        bm_free(queue);
        return status;
    }
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->not_full, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    queue->capacity = capacity;
    *out = queue;
    return BM_OK;
}

void bm_queue_free(bm_queue *queue)
{
    if (queue == NULL)
        return;
    pthread_cond_destroy(&queue->not_full);
    pthread_cond_destroy(&queue->not_empty);
    pthread_mutex_destroy(&queue->lock);
    bm_free(queue->items);
    bm_free(queue);
}

/* Append an item. False: the queue is closed or aborted, or there is no memory. The lock is
 * held. */
static bool add(bm_queue *queue, void *item, uint32_t whose)
{
    if (queue->closed || queue->aborted ||
        bm_grow_array(&queue->items, &queue->room, queue->count + 1, NULL) != BM_OK)
        return false;
    queue->items[queue->count++] = (queued){item, whose};
    queue->n_anybodys += whose == BM_QUEUE_ANYBODY;
    pthread_cond_broadcast(&queue->not_empty);
    return true;
}

static bool push(bm_queue *queue, void *item, bool wait)
{
    pthread_mutex_lock(&queue->lock);
    while (wait && queue->n_anybodys == queue->capacity && !queue->closed && !queue->aborted)
        pthread_cond_wait(&queue->not_full, &queue->lock);
    const bool ok = queue->n_anybodys < queue->capacity && add(queue, item, BM_QUEUE_ANYBODY);
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

bool bm_queue_push(bm_queue *queue, void *item)
{
    return push(queue, item, true);
}

bool bm_queue_try_push(bm_queue *queue, void *item)
{
    return push(queue, item, false);
}

bool bm_queue_push_for(bm_queue *queue, uint32_t whose, void *item)
{
    pthread_mutex_lock(&queue->lock);
    const bool ok = add(queue, item, whose);
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

static void *remove_at(bm_queue *queue, size_t at)
{
    const queued taken = queue->items[at];
    queue->n_anybodys -= taken.whose == BM_QUEUE_ANYBODY;
    memmove(queue->items + at, queue->items + at + 1, (--queue->count - at) * sizeof *queue->items);
    pthread_cond_signal(&queue->not_full);
    return taken.item;
}

/* The index of the first item that `who` may pop; queue->count if there is none. */
static size_t first_for(const bm_queue *queue, uint32_t who)
{
    size_t at = 0;
    while (at < queue->count && queue->items[at].whose != BM_QUEUE_ANYBODY &&
           queue->items[at].whose != who)
        at++;
    return at;
}

static bool pop(bm_queue *queue, uint32_t who, void **item, bool wait)
{
    pthread_mutex_lock(&queue->lock);
    size_t at = first_for(queue, who);
    while (wait && at == queue->count && !queue->closed && !queue->aborted) {
        pthread_cond_wait(&queue->not_empty, &queue->lock);
        at = first_for(queue, who);
    }
    const bool ok = at < queue->count && !queue->aborted;
    if (ok)
        *item = remove_at(queue, at);
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

bool bm_queue_pop(bm_queue *queue, uint32_t who, void **item)
{
    return pop(queue, who, item, true);
}

bool bm_queue_try_pop(bm_queue *queue, uint32_t who, void **item)
{
    return pop(queue, who, item, false);
}

bool bm_queue_drain(bm_queue *queue, void **item)
{
    pthread_mutex_lock(&queue->lock);
    bool ok = queue->count != 0;
    if (ok)
        *item = remove_at(queue, 0);
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

static void end(bm_queue *queue, bool abort)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    queue->aborted = queue->aborted || abort;
    pthread_cond_broadcast(&queue->not_full);
    pthread_cond_broadcast(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

void bm_queue_close(bm_queue *queue)
{
    end(queue, false);
}

void bm_queue_abort(bm_queue *queue)
{
    end(queue, true);
}

/* === pool ===
 *
 * Threads wait for the next round of work: they spin for a moment, then sleep on a condition.
 *
 * Rounds are numbered. A thread runs when it sees a new number, and decrements n_running at the end
 * of the round. If candidates are verified bucket by bucket, a round takes a tenth of a
 * millisecond, about as long as waking a thread. So a waiting thread polls the number of the round
 * for some 20 microseconds before it sleeps. It does not poll if there are more threads than
 * processors. Each thread has its own error, and the error of the lowest thread number is reported,
 * so that the result depends on timing as little as possible. */

#define LOOKS 1024u /* polls of the round's number before a thread sleeps */

typedef struct worker {
    bm_pool *pool;
    pthread_t thread;
    uint32_t index;
    bm_status status;
    bm_error error;
} worker;

struct bm_pool {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    /* changed under the lock, and read without it, like the next two members */
    atomic_ullong round;
    atomic_uint n_running;
    atomic_bool stop;
    uint32_t n_threads, spins;
    bm_pool_fn fn;
    void *ctx;
    worker workers[];
};

static void run_one(worker *w)
{
    w->status = w->pool->fn(w->pool->ctx, w->index, &w->error);
}

static void pause_a_moment(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Poll briefly, until the round is not `seen` or the pool has to stop. */
static void spin_for_round(const bm_pool *pool, uint64_t seen)
{
    for (uint32_t i = 0; i < pool->spins; i++) {
        if (atomic_load(&pool->round) != seen || atomic_load(&pool->stop))
            return;
        pause_a_moment();
    }
}

static void spin_for_end(const bm_pool *pool)
{
    for (uint32_t i = 0; i < pool->spins && atomic_load(&pool->n_running) != 0; i++)
        pause_a_moment();
}

static void *loop(void *arg)
{
    worker *w = arg;
    bm_pool *pool = w->pool;
    uint64_t seen = 0;
    for (;;) {
        spin_for_round(pool, seen);
        pthread_mutex_lock(&pool->lock);
        while (!atomic_load(&pool->stop) && atomic_load(&pool->round) == seen)
            pthread_cond_wait(&pool->start, &pool->lock);
        bool stop = atomic_load(&pool->stop);
        seen = atomic_load(&pool->round);
        pthread_mutex_unlock(&pool->lock);
        if (stop)
            return NULL;
        run_one(w);
        pthread_mutex_lock(&pool->lock);
        if (atomic_fetch_sub(&pool->n_running, 1) == 1)
            pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
}

bm_status bm_pool_open(uint32_t n_threads, bm_pool **out, bm_error *err)
{
    if (n_threads == 0)
        n_threads = 1;
    size_t bytes = sizeof(bm_pool) + n_threads * sizeof(worker);
    bm_pool *pool = bm_alloc_zero(1, bytes);
    if (pool == NULL)
        return bm_fail_nomem(err, bytes);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->start, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->n_threads = 1;
    pool->spins = n_threads == 1 || n_threads <= bm_cpu_count() ? LOOKS : 0;
    pool->workers[0].pool = pool;
    for (uint32_t i = 1; i < n_threads; i++) {
        worker *w = &pool->workers[i];
        w->pool = pool;
        w->index = i;
        int rc = bm_thread_start(&w->thread, loop, w);
        if (rc != 0) {
            bm_pool_close(pool);
            return bm_fail_thread(rc, err);
        }
        pool->n_threads++;
    }
    *out = pool;
    return BM_OK;
}

void bm_pool_close(bm_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 1; i < pool->n_threads; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->start);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    bm_free(pool);
}

void bm_pool_forget(bm_pool *pool)
{
    bm_free(pool);
}

uint32_t bm_pool_size(const bm_pool *pool)
{
    return pool->n_threads;
}

bm_status bm_pool_run(bm_pool *pool, bm_pool_fn fn, void *ctx, bm_error *err)
{
    pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->ctx = ctx;
    atomic_store(&pool->n_running, pool->n_threads - 1);
    atomic_fetch_add(&pool->round, 1);
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    run_one(&pool->workers[0]);
    spin_for_end(pool);
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->n_running) != 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->n_threads; i++) {
        if (pool->workers[i].status == BM_OK)
            continue;
        if (err != NULL)
            *err = pool->workers[i].error;
        return pool->workers[i].status;
    }
    return BM_OK;
}

typedef struct range_job {
    bm_pool_range_fn fn;
    void *ctx;
    size_t n, grain;
    atomic_size_t next;
    atomic_bool failed;
    pthread_mutex_t lock; /* guards the three members below */
    size_t failed_at;
    bm_status status;
    bm_error error;
} range_job;

static bm_status run_ranges(void *ctx, uint32_t thread, bm_error *err)
{
    (void)err;
    range_job *job = ctx;
    for (;;) {
        size_t begin = atomic_fetch_add(&job->next, job->grain);
        if (begin >= job->n || atomic_load(&job->failed))
            return BM_OK;
        size_t end = job->n - begin < job->grain ? job->n : begin + job->grain;
        bm_error error = {0};
        bm_status status = job->fn(job->ctx, thread, begin, end, &error);
        if (status == BM_OK)
            continue;
        pthread_mutex_lock(&job->lock);
        if (job->status == BM_OK || begin < job->failed_at) {
            job->status = status;
            job->error = error;
            job->failed_at = begin;
        }
        pthread_mutex_unlock(&job->lock);
        atomic_store(&job->failed, true);
    }
}

bm_status bm_pool_for(bm_pool *pool, bm_pool_split split, bm_pool_range_fn fn, void *ctx,
                      bm_error *err)
{
    range_job job = {.fn = fn,
                     .ctx = ctx,
                     .n = split.n,
                     .grain = split.grain == 0 ? 1 : split.grain,
                     .status = BM_OK};
    if (split.n == 0)
        return BM_OK;
    pthread_mutex_init(&job.lock, NULL);
    bm_pool_run(pool, run_ranges, &job, NULL);
    pthread_mutex_destroy(&job.lock);
    if (job.status != BM_OK && err != NULL)
        *err = job.error;
    return job.status;
}

/* === team ===
 *
 * Submitted works are in a ring, which the helpers traverse.
 *
 * A helper takes the lock once for each piece. A piece takes a hundred microseconds or more, except
 * the last pieces of a work. A work is removed from the ring when a helper finds no piece of it, or
 * when its caller ends it. */

struct bm_team {
    pthread_mutex_t lock; /* guards all members below except `n_works` */
    pthread_cond_t wake;
    /* the work in the ring that gets the next helper; NULL: the ring is empty */
    bm_team_work *next;
    atomic_uint n_works; /* number of works in the ring: changed under the lock, read without it */
    atomic_bool stop;
    uint32_t n_threads, n_asleep, spins;
    pthread_t threads[];
};

/* Add a work to the ring. The lock is held, here and in team_remove. */
static void team_add(bm_team *team, bm_team_work *work)
{
    if (team->next == NULL)
        team->next = work->next = work->previous = work;
    work->next = team->next;
    work->previous = team->next->previous;
    work->previous->next = work;
    work->next->previous = work;
    atomic_fetch_add(&team->n_works, 1u);
}

static void team_remove(bm_team *team, bm_team_work *work)
{
    if (work->next == NULL)
        return;
    if (team->next == work)
        team->next = work->next != work ? work->next : NULL;
    work->previous->next = work->next;
    work->next->previous = work->previous;
    work->next = work->previous = NULL;
    atomic_fetch_sub(&team->n_works, 1u);
}

static void help_once(bm_team *team)
{
    bm_team_work *work = team->next;
    team->next = work->next;
    work->n_inside++;
    pthread_mutex_unlock(&team->lock);
    const bool more = work->help(work->ctx);
    pthread_mutex_lock(&team->lock);
    if (!more)
        team_remove(team, work);
    if (--work->n_inside == 0)
        pthread_cond_signal(&work->left);
}

/* Wait until the ring has a work, or the team has to stop. The lock is held, but released while the
 * thread spins and sleeps. */
static void wait_for_work(bm_team *team)
{
    pthread_mutex_unlock(&team->lock);
    for (uint32_t i = 0; i < team->spins; i++) {
        if (atomic_load(&team->n_works) != 0 || atomic_load(&team->stop))
            break;
        pause_a_moment();
    }
    pthread_mutex_lock(&team->lock);
    while (team->next == NULL && !atomic_load(&team->stop)) {
        team->n_asleep++;
        pthread_cond_wait(&team->wake, &team->lock);
        team->n_asleep--;
    }
}

static void *help(void *arg)
{
    bm_team *team = arg;
    pthread_mutex_lock(&team->lock);
    while (!atomic_load(&team->stop)) {
        if (team->next != NULL)
            help_once(team);
        else
            wait_for_work(team);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

bm_status bm_team_open(uint32_t n_helpers, bm_team **out, bm_error *err)
{
    const size_t bytes = sizeof(bm_team) + n_helpers * sizeof(pthread_t);
    bm_team *team = bm_alloc_zero(1, bytes);
    if (team == NULL)
        return bm_fail_nomem(err, bytes);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    team->spins = n_helpers < bm_cpu_count() ? LOOKS : 0;
    for (uint32_t i = 0; i < n_helpers; i++) {
        const int rc = bm_thread_start(&team->threads[i], help, team);
        if (rc != 0) {
            bm_team_close(team);
            return bm_fail_thread(rc, err);
        }
        team->n_threads++;
    }
    *out = team;
    return BM_OK;
}

void bm_team_close(bm_team *team)
{
    if (team == NULL)
        return;
    pthread_mutex_lock(&team->lock);
    atomic_store(&team->stop, true);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
    for (uint32_t i = 0; i < team->n_threads; i++)
        pthread_join(team->threads[i], NULL);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->lock);
    bm_free(team);
}

void bm_team_forget(bm_team *team)
{
    bm_free(team);
}

void bm_team_begin(bm_team *team, bm_team_fn help_fn, void *ctx, uint64_t n_wanted,
                   bm_team_work *work)
{
    *work = (bm_team_work){.help = help_fn, .ctx = ctx};
    pthread_cond_init(&work->left, NULL);
    if (team->n_threads == 0)
        return;
    pthread_mutex_lock(&team->lock);
    team_add(team, work);
    const uint64_t n_woken = n_wanted < team->n_asleep ? n_wanted : team->n_asleep;
    for (uint64_t i = 0; i < n_woken; i++)
        pthread_cond_signal(&team->wake);
    pthread_mutex_unlock(&team->lock);
}

void bm_team_end(bm_team *team, bm_team_work *work)
{
    if (team->n_threads > 0) {
        pthread_mutex_lock(&team->lock);
        team_remove(team, work);
        while (work->n_inside > 0)
            pthread_cond_wait(&work->left, &team->lock);
        pthread_mutex_unlock(&team->lock);
    }
    pthread_cond_destroy(&work->left);
}
