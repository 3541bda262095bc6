/* SPDX-License-Identifier: Apache-2.0 */
/* remote_file.c -- repeats requests, compares answers, makes the copy, keeps the blocks, and loads
 * them ahead.
 *
 * Files are read in blocks, because readers request many small parts close to one another, and an
 * answer takes a while. All files share a cache of the blocks used last. One thread loads a block,
 * and other threads that need the block wait. The first bytes of a file are kept separately,
 * because opening a file needs only these.
 *
 * Loaders are threads that request the first bytes of files that will be opened. If blocks are read
 * in order, loaders also load the following blocks, even those in the next files. At first they
 * load one block ahead, and then twice as many each time. A loader tries once and reports no error.
 * If it fails, the reader requests the bytes itself, and so reports the error as if there were no
 * loaders.
 *
 * Tests: tests/unit/remote/test_remote_file.c, tests/unit/remote/test_remote_blocks.c,
 *        tests/race/race_remote.c, tests/cli/cases/addresses.sh */
#include "remote/remote_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/temp_file.h"
#include "base/threads.h"
#include "remote/remote_provider.h"

#define TRIES         4u
#define WAIT_MS       250u /* wait before the second try; doubled for each further try */
#define WAIT_STEP     50u
#define HEAD_BYTES    4096u
#define BLOCK_MOST    ((size_t)2 << 20)
#define BLOCK_STEP    ((size_t)64 << 10)
#define MEMORY_PART   8u /* all blocks together take 1/8 of the memory */
#define POOL_PART     8u /* each block takes 1/8 of the memory for blocks, but at most BLOCK_MOST */
#define BLOCKS_LEAST  4u
#define BLOCKS_USUAL  24u
#define BLOCKS_THREAD 4u /* blocks per reading thread */
/* at most 1/2 of the blocks are loaded ahead, because the rest may be needed */
#define AHEAD_PART  2u
#define PASSED_OVER 3u /* reading counts as in order if it skips at most this many blocks */
#define LOADERS     16u

typedef struct block {
    char *data;      /* NULL: the block was never used */
    bm_remote *file; /* NULL: the block is empty */
    uint64_t number;
    size_t len;
    uint64_t used;  /* time of the last use, on a clock that counts all uses of blocks */
    unsigned users; /* threads that copy from the block */
    bool is_loading;
    /* a loader is loading or has loaded the block, and no thread has used it since */
    bool is_ahead;
    /* if not BM_OK, loading failed with the error `why`, and no further request is made */
    bm_status failed;
    bm_error why;
} block;

struct bm_remotes {
    const bm_remote_provider *provider;
    void *connections;
    const bm_callbacks *callbacks;
    atomic_bool stop;
    bm_callbacks loading; /* for the requests that loaders make */

    pthread_mutex_t lock; /* guards the members below, except the bytes of blocks that have users */
    pthread_cond_t moved, work; /* moved: wakes waiting threads; work: wakes loaders */
    bm_remote *first, *last;    /* list of the files, in the order in which they are read */
    bm_remote *to_open;         /* the first announced file that is not open */
    bm_remote *to_request;      /* the first announced file that was not requested */
    size_t block_bytes, n_blocks;
    block *blocks;
    uint64_t uses;
    bm_remote *read; /* the file that was last read in order; NULL: none */
    size_t ahead;    /* how many blocks after the current one to load ahead */
    pthread_t loaders[LOADERS];
    size_t n_loaders, n_asleep;
};

struct bm_remote {
    bm_remotes *remotes;
    bm_remote *next;
    char *address, *name;
    bm_remote_told first; /* the first answer about the file */
    int copy;             /* descriptor of the copy; -1: there is no copy */
    char head[HEAD_BYTES];
    /* Guarded by remotes->lock: */
    enum { NOT_REQUESTED, BEING_REQUESTED, REQUESTED, OPEN } state;
    uint64_t from, to; /* the range of bytes that will be read */
    /* begun: the first block that was read in order; reached: the block after the last such
     * block */
    uint64_t begun, reached;
};

static bool is_stopped(void *ctx)
{
    const bm_remotes *remotes = ctx;
    return atomic_load_explicit(&remotes->stop, memory_order_relaxed);
}

static void free_blocks(bm_remotes *remotes)
{
    for (size_t i = 0; i < remotes->n_blocks; i++)
        bm_free(remotes->blocks[i].data);
    bm_free(remotes->blocks);
}

bm_status bm_remotes_open(const bm_callbacks *callbacks, bm_remotes **out, bm_error *err)
{
    const char *why = NULL;
    bm_remotes *remotes = NULL;
    BM_TRY(bm_new_zero(&remotes, 1, err));
    remotes->callbacks = callbacks;
    remotes->loading = (bm_callbacks){.ctx = remotes, .cancelled = is_stopped};
    remotes->provider = bm_remote_provider_find(&why);
    remotes->block_bytes = BLOCK_MOST;
    remotes->n_blocks = BLOCKS_LEAST;
    bm_status status = BM_OK;
    if (remotes->provider == NULL)
        BM_TRY_OUT(bm_fail(err, BM_ERR_IO,
                           "addresses are read by libcurl, which cannot be opened: %.300s (Debian, "
                           "Ubuntu: apt-get install libcurl4)",
                           why));
    BM_TRY_OUT(bm_new_zero(&remotes->blocks, remotes->n_blocks, err));
    BM_TRY_OUT(remotes->provider->begin(&remotes->connections, err));
    pthread_mutex_init(&remotes->lock, NULL);
    pthread_cond_init(&remotes->moved, NULL);
    pthread_cond_init(&remotes->work, NULL);
    *out = remotes;
    return BM_OK;
out:
    bm_free(remotes->blocks);
    bm_free(remotes);
    return status;
}

static void free_file(bm_remote *remote)
{
    if (remote->copy >= 0)
        close(remote->copy);
    bm_free(remote->address);
    bm_free(remote->name);
    bm_free(remote);
}

void bm_remotes_close(bm_remotes *remotes)
{
    if (remotes == NULL)
        return;
    atomic_store(&remotes->stop, true);
    pthread_mutex_lock(&remotes->lock);
    pthread_cond_broadcast(&remotes->work);
    pthread_mutex_unlock(&remotes->lock);
    while (remotes->n_loaders > 0)
        (void)pthread_join(remotes->loaders[--remotes->n_loaders], NULL);
    for (bm_remote *file = remotes->first, *next; file != NULL; file = next) {
        next = file->next;
        free_file(file);
    }
    free_blocks(remotes);
    remotes->provider->end(remotes->connections);
    pthread_cond_destroy(&remotes->work);
    pthread_cond_destroy(&remotes->moved);
    pthread_mutex_destroy(&remotes->lock);
    bm_free(remotes);
}

/* --- requests and retries --- */

static void log_try(const bm_remote *remote, const char *words, unsigned wait_ms)
{
    const bm_callbacks *callbacks = remote->remotes->callbacks;
    char *line = NULL;
    if (callbacks == NULL || callbacks->log == NULL ||
        bm_string_format(&line, NULL, "%s: %s; trying again in %g s", remote->name, words,
                         wait_ms / 1000.0) != BM_OK)
        return;
    callbacks->log(callbacks->ctx, BM_LOG_WARNING, line);
    bm_free(line);
}

static bm_status pause_for(const bm_remote *remote, unsigned wait_ms, bm_error *err)
{
    for (unsigned past = 0; past < wait_ms; past += WAIT_STEP) {
        BM_TRY(bm_check_cancelled(remote->remotes->callbacks, err));
        nanosleep(&(struct timespec){.tv_nsec = WAIT_STEP * 1000000L}, NULL);
    }
    return BM_OK;
}

static bm_status changed(const bm_remote *remote, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, remote->name, 0, "the file changed while the job read it");
}

/* Is this answer from another version of the file than the first answer? Sizes, ETags and dates are
 * each compared only if both answers have them. If two ETags are equal and neither is weak, dates
 * are not compared. */
static bool differs(const bm_remote_told *first, const bm_remote_told *told)
{
    const bool tagged = first->etag != 0 && told->etag != 0;
    if (first->size != BM_REMOTE_SIZE_UNKNOWN && told->size != BM_REMOTE_SIZE_UNKNOWN &&
        first->size != told->size)
        return true;
    if (tagged && (first->etag != told->etag || !(first->etag_is_weak || told->etag_is_weak)))
        return first->etag != told->etag;
    return first->date != 0 && told->date != 0 && first->date != told->date;
}

/* Repeat a request until all bytes have arrived, at most `tries` times. Answers are compared with
 * `first`, the first answer about this file; NULL: there is no first answer yet. */
static bm_status request_all(const bm_remote *remote, bm_remote_request request, unsigned tries,
                             const bm_remote_told *first, bm_remote_told *told, bm_error *err)
{
    const bm_remotes *remotes = remote->remotes;
    size_t got = 0;
    for (unsigned turn = 0;; turn++) {
        const unsigned wait_ms = WAIT_MS << turn;
        *told = (bm_remote_told){.size = BM_REMOTE_SIZE_UNKNOWN};
        const bm_remote_answer answer =
            remotes->provider->get(remotes->connections, &request, told);
        if (answer == BM_REMOTE_STOPPED)
            return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
        if (answer == BM_REMOTE_NO_MEMORY)
            return bm_fail_nomem(err, request.len);
        if ((answer == BM_REMOTE_DONE || answer == BM_REMOTE_BROKEN) && first != NULL &&
            differs(first, told))
            return changed(remote, err);
        if (told->got > 0 &&
            (answer == BM_REMOTE_DONE || (answer == BM_REMOTE_BROKEN && first != NULL))) {
            got += told->got;
            request.at += told->got;
            request.out += told->got;
            request.len -= told->got;
        }
        if (answer == BM_REMOTE_DONE) {
            told->got = got;
            return BM_OK;
        }
        if (answer == BM_REMOTE_REFUSED || turn + 1 == tries)
            return bm_fail_at(err, answer == BM_REMOTE_BROKEN ? BM_ERR_INPUT : BM_ERR_IO,
                              remote->name, 0, "cannot read: %s", told->words);
        log_try(remote, told->words, wait_ms);
        BM_TRY(pause_for(remote, wait_ms, err));
    }
}

bm_status bm_remotes_page(bm_remotes *remotes, const char *address, const char *name,
                          bm_remote_page *page, bm_error *err)
{
    bm_remote_told told;
    char *shown;
    BM_TRY(bm_copy_text(name, &shown, err));
    const bm_remote folder = {.remotes = remotes, .name = shown};
    const bm_remote_request request = {
        .address = address, .fd = -1, .page = page, .callbacks = remotes->callbacks};
    const bm_status status = request_all(&folder, request, TRIES, NULL, &told, err);
    bm_free(shown);
    return status;
}

/* --- the copy --- */

static bm_status copy_all(bm_remote *remote, const char *dir, bm_error *err)
{
    const bm_remotes *remotes = remote->remotes;
    struct bm_remote_told told;
    remote->copy = bm_open_nameless(dir);
    if (remote->copy < 0)
        return bm_fail_temp_file(err, errno, dir,
                                 "cannot make a copy here of a file whose server gives no parts");
    bm_remote_request request = {
        .address = remote->address, .fd = remote->copy, .callbacks = remotes->callbacks};
    BM_TRY(request_all(remote, request, TRIES, NULL, &told, err));
    const off_t end = lseek(remote->copy, 0, SEEK_END);
    if (differs(&remote->first, &told))
        return changed(remote, err);
    remote->first.size = (uint64_t)end;
    return BM_OK;
}

/* --- files --- */

/* Wait until another thread has changed something, or a short time has passed. The lock is held. */
static bm_status wait_moved(bm_remotes *remotes, bm_error *err)
{
    bm_wait_shortly(&remotes->moved, &remotes->lock);
    pthread_mutex_unlock(&remotes->lock);
    const bm_status status = bm_check_cancelled(remotes->callbacks, err);
    pthread_mutex_lock(&remotes->lock);
    return status;
}

/* If there is work for loaders, wake or start one. The lock is held. */
static void wake_loader(bm_remotes *remotes);

static bm_status request_first(bm_remote *remote, unsigned tries, const bm_callbacks *callbacks,
                               bm_error *err)
{
    const bm_remote_request request = {.address = remote->address,
                                       .len = sizeof remote->head,
                                       .out = remote->head,
                                       .fd = -1,
                                       .callbacks = callbacks};
    return request_all(remote, request, tries, NULL, &remote->first, err);
}

/* Add a file after all files that were added before. */
static bm_status add_file(bm_remotes *remotes, const char *address, bm_remote **out, bm_error *err)
{
    bm_remote *file = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new_zero(&file, 1, err));
    file->remotes = remotes;
    file->copy = -1;
    file->to = UINT64_MAX;
    BM_TRY_OUT(bm_address_name(address, &file->name, err));
    BM_TRY_OUT(bm_copy_text(address, &file->address, err));
    pthread_mutex_lock(&remotes->lock);
    *(remotes->last != NULL ? &remotes->last->next : &remotes->first) = file;
    remotes->last = file;
    pthread_mutex_unlock(&remotes->lock);
    *out = file;
    return BM_OK;
out:
    free_file(file);
    return status;
}

bm_status bm_remotes_expect(bm_remotes *remotes, const char *address, bm_error *err)
{
    bm_remote *file = NULL;
    BM_TRY(add_file(remotes, address, &file, err));
    pthread_mutex_lock(&remotes->lock);
    remotes->to_open = remotes->to_open != NULL ? remotes->to_open : file;
    remotes->to_request = remotes->to_request != NULL ? remotes->to_request : file;
    pthread_mutex_unlock(&remotes->lock);
    return BM_OK;
}

/* Take the next announced file, if it has this address. NULL: it has another address, or there is
 * none. */
static bm_remote *find_expected(bm_remotes *remotes, const char *address)
{
    pthread_mutex_lock(&remotes->lock);
    bm_remote *file = remotes->to_open;
    if (file != NULL && strcmp(file->address, address) == 0)
        remotes->to_open = file->next;
    else
        file = NULL;
    pthread_mutex_unlock(&remotes->lock);
    return file;
}

/* Request the first bytes of the file. If a loader is requesting them, wait for the loader; if the
 * loader has them, request nothing. */
static bm_status get_first(bm_remote *remote, bm_error *err)
{
    bm_remotes *remotes = remote->remotes;
    bm_status status = BM_OK;
    pthread_mutex_lock(&remotes->lock);
    while (status == BM_OK && remote->state == BEING_REQUESTED)
        status = wait_moved(remotes, err);
    const bool is_there = status == BM_OK && remote->state == REQUESTED;
    remote->state = is_there ? REQUESTED : BEING_REQUESTED;
    if (remotes->to_request == remote)
        remotes->to_request = remote->next;
    wake_loader(remotes);
    pthread_mutex_unlock(&remotes->lock);
    return status == BM_OK && !is_there ? request_first(remote, TRIES, remotes->callbacks, err)
                                        : status;
}

bm_status bm_remote_open(bm_remotes *remotes, const char *address, const char *copy_dir,
                         bm_remote **out, bm_error *err)
{
    bm_remote *remote = find_expected(remotes, address);
    if (remote == NULL)
        BM_TRY(add_file(remotes, address, &remote, err));
    BM_TRY(get_first(remote, err));
    if (remote->first.whole && remote->first.got == sizeof remote->head)
        BM_TRY(copy_all(remote, copy_dir, err));
    else if (remote->first.whole)
        remote->first.size = remote->first.got;
    pthread_mutex_lock(&remotes->lock);
    remote->state = OPEN;
    pthread_mutex_unlock(&remotes->lock);
    *out = remote;
    return BM_OK;
}

uint64_t bm_remote_size(const bm_remote *remote)
{
    return remote->first.size;
}

/* The number of the first block that will be read of the file. */
static uint64_t start_of(const bm_remote *file)
{
    return file->from / file->remotes->block_bytes;
}

void bm_remote_bound(bm_remote *remote, uint64_t from, uint64_t to)
{
    bm_remotes *remotes = remote->remotes;
    pthread_mutex_lock(&remotes->lock);
    remote->from = from;
    remote->to = to;
    remote->begun = remote->reached = start_of(remote);
    pthread_mutex_unlock(&remotes->lock);
}

/* --- blocks --- */

/* Is any block being loaded or copied from? */
static bool is_busy(const bm_remotes *remotes)
{
    for (size_t i = 0; i < remotes->n_blocks; i++)
        if (remotes->blocks[i].is_loading || remotes->blocks[i].users > 0)
            return true;
    return false;
}

bm_status bm_remotes_grant(bm_remotes *remotes, uint32_t threads, uint64_t memory, uint64_t *bytes,
                           bm_error *err)
{
    const uint64_t most = (BLOCKS_USUAL + BLOCKS_THREAD * (uint64_t)threads) * BLOCK_MOST,
                   share = memory / MEMORY_PART, all = memory == 0 || share > most ? most : share,
                   part = all / POOL_PART / BLOCK_STEP * BLOCK_STEP;
    const size_t one = part == 0           ? BLOCK_STEP
                       : part < BLOCK_MOST ? (size_t)part
                                           : BLOCK_MOST,
                 n = all / one > BLOCKS_LEAST ? (size_t)(all / one) : BLOCKS_LEAST;
    block *blocks = NULL;
    BM_TRY(bm_new_zero(&blocks, n, err));
    pthread_mutex_lock(&remotes->lock);
    remotes->read = NULL;
    bm_status status = BM_OK;
    while (status == BM_OK && is_busy(remotes))
        status = wait_moved(remotes, err);
    if (status != BM_OK) {
        pthread_mutex_unlock(&remotes->lock);
        bm_free(blocks);
        return status;
    }
    free_blocks(remotes);
    remotes->blocks = blocks;
    remotes->n_blocks = n;
    remotes->block_bytes = one;
    for (bm_remote *file = remotes->first; file != NULL; file = file->next)
        file->begun = file->reached = start_of(file);
    pthread_mutex_unlock(&remotes->lock);
    *bytes = n * (uint64_t)one;
    return BM_OK;
}

static bm_status load(const bm_remote *remote, block *b, unsigned tries,
                      const bm_callbacks *callbacks, bm_error *err)
{
    const size_t most = remote->remotes->block_bytes;
    const uint64_t at = b->number * most, left = remote->first.size - at;
    const size_t len = left < most ? (size_t)left : most;
    bm_remote_told told;
    if (b->data == NULL && (b->data = bm_alloc(most, 1)) == NULL)
        return bm_fail_nomem(err, most);
    const bm_remote_request request = {.address = remote->address,
                                       .at = at,
                                       .len = len,
                                       .out = b->data,
                                       .fd = -1,
                                       .callbacks = callbacks};
    BM_TRY(request_all(remote, request, tries, &remote->first, &told, err));
    b->len = len;
    return told.got == len ? BM_OK : changed(remote, err);
}

static bool holds(const block *b, const bm_remote *remote, uint64_t number)
{
    return b->file == remote && b->number == number;
}

/* Find the block with this number, which is loaded or being loaded. If there is none, returns a
 * block that may be replaced; NULL: all blocks are in use. The lock is held. */
static block *find_block(const bm_remote *remote, uint64_t number)
{
    block *oldest = NULL;
    for (size_t i = 0; i < remote->remotes->n_blocks; i++) {
        block *b = &remote->remotes->blocks[i];
        if (holds(b, remote, number))
            return b;
        if (!b->is_loading && b->users == 0 &&
            (oldest == NULL || (b->is_ahead ? oldest->is_ahead && b->used < oldest->used
                                            : oldest->is_ahead || b->used < oldest->used)))
            oldest = b;
    }
    return oldest;
}

/* Mark the block as being loaded by the caller. */
static void begin_loading(block *b, bm_remote *remote, uint64_t number, bool is_ahead)
{
    b->file = remote;
    b->number = number;
    b->len = 0;
    b->used = ++remote->remotes->uses;
    b->is_loading = true;
    b->is_ahead = is_ahead;
    b->failed = BM_OK;
}

/* Call when a block is needed. The following blocks are loaded ahead if the file is read in order,
 * if the block was read before, or if the file is read again from its start. Otherwise loading
 * ahead stops. The lock is held. */
static void follow(bm_remote *remote, uint64_t number)
{
    bm_remotes *remotes = remote->remotes;
    const bool was_read = number >= remote->begun && number < remote->reached;
    const block *b = find_block(remote, number);
    if (was_read && b != NULL && holds(b, remote, number))
        return;
    const bool starts = number == start_of(remote) && number < remote->reached,
               follows = number >= remote->reached && number - remote->reached <= PASSED_OVER;
    for (bm_remote *file = starts ? remote->next : NULL; file != NULL; file = file->next)
        file->begun = file->reached = start_of(file);
    if (!follows)
        remote->begun = number;
    remote->reached = number + 1;
    remotes->read = remote;
    remotes->ahead = 2 * remotes->ahead + (remotes->ahead == 0);
    if (remotes->ahead > remotes->n_blocks / AHEAD_PART)
        remotes->ahead = remotes->n_blocks / AHEAD_PART;
    if (!follows && !starts && !was_read) {
        remotes->ahead = 0;
        for (size_t i = 0; i < remotes->n_blocks; i++)
            remotes->blocks[i].is_ahead = false;
    }
    wake_loader(remotes);
}

/* Add a user to the block, and load the block if necessary. If loading fails, or has failed before,
 * no user is added. The lock is held, but released while loading. */
static bm_status use_block(bm_remote *remote, uint64_t number, block **out, bm_error *err)
{
    bm_remotes *remotes = remote->remotes;
    block *b = find_block(remote, number);
    while (b == NULL || b->is_loading) {
        BM_TRY(wait_moved(remotes, err));
        b = find_block(remote, number);
    }
    if (!holds(b, remote, number)) {
        begin_loading(b, remote, number, false);
        pthread_mutex_unlock(&remotes->lock);
        const bm_status loaded = load(remote, b, TRIES, remotes->callbacks, &b->why);
        pthread_mutex_lock(&remotes->lock);
        b->is_loading = false;
        b->failed = loaded;
        pthread_cond_broadcast(&remotes->moved);
    }
    b->used = ++remotes->uses;
    b->is_ahead = false;
    b->users += b->failed == BM_OK;
    if (b->failed != BM_OK && err != NULL)
        *err = b->why;
    *out = b;
    return b->failed;
}

static bm_status acquire_block(bm_remote *remote, uint64_t number, block **out, bm_error *err)
{
    pthread_mutex_lock(&remote->remotes->lock);
    follow(remote, number);
    const bm_status status = use_block(remote, number, out, err);
    pthread_mutex_unlock(&remote->remotes->lock);
    return status;
}

static void release_block(bm_remotes *remotes, block *b)
{
    pthread_mutex_lock(&remotes->lock);
    if (--b->users == 0)
        pthread_cond_broadcast(&remotes->moved);
    pthread_mutex_unlock(&remotes->lock);
}

bm_status bm_remote_read(bm_remote *remote, void *out, size_t len, uint64_t at, size_t *got,
                         bm_error *err)
{
    const uint64_t size = remote->first.size;
    const size_t block_bytes = remote->remotes->block_bytes;
    *got = 0;
    if (at >= size)
        return BM_OK;
    if (len > size - at)
        len = (size_t)(size - at);
    if (remote->copy >= 0) {
        const int code = bm_pread_all(remote->copy, out, len, at, got);
        return code == 0 ? BM_OK : bm_fail_errno(err, code, remote->name, "cannot read its copy");
    }
    if (at + len <= remote->first.got) {
        memcpy(out, remote->head + at, len);
        *got = len;
        return BM_OK;
    }
    while (*got < len) {
        const uint64_t place = at + *got;
        const size_t begin = (size_t)(place % block_bytes);
        block *b = NULL;
        BM_TRY(acquire_block(remote, place / block_bytes, &b, err));
        const size_t left = len - *got, n = b->len - begin < left ? b->len - begin : left;
        memcpy((char *)out + *got, b->data + begin, n);
        release_block(remote->remotes, b);
        *got += n;
    }
    return BM_OK;
}

/* --- loaders; the lock is held, but released while a block is loaded --- */

/* The number after the last block of the file that may be loaded ahead. 0: none may be, because the
 * file is not open, was copied, or has no bytes beyond its first answer. */
static uint64_t end_of(const bm_remote *file)
{
    const uint64_t size = file->state == OPEN && file->copy < 0 ? file->first.size : 0,
                   end = size < file->to ? size : file->to;
    return end <= file->first.got
               ? 0
               : (end + file->remotes->block_bytes - 1) / file->remotes->block_bytes;
}

/* Find the first block to load ahead that is not in memory: its file and its number. Returns the
 * block in the cache that it may replace. NULL: no block is missing, or none may be replaced. */
static block *find_ahead(const bm_remotes *remotes, bm_remote **file, uint64_t *number)
{
    bm_remote *f = remotes->read;
    if (f == NULL || remotes->ahead == 0)
        return NULL;
    /* begin with the blocks that reading has skipped */
    const uint64_t past = f->reached - f->begun < PASSED_OVER ? f->reached - f->begun : PASSED_OVER;
    uint64_t at = f->reached - past, left = remotes->ahead + past;
    for (; f != NULL && left > 0; f = f->next, at = f != NULL ? f->reached : 0)
        for (const uint64_t end = end_of(f); at < end && left > 0; at++, left--) {
            block *b = find_block(f, at);
            if (b != NULL && holds(b, f, at))
                continue;
            *file = f;
            *number = at;
            return b != NULL && !b->is_ahead ? b : NULL;
        }
    return NULL;
}

static bool has_work(const bm_remotes *remotes)
{
    bm_remote *file;
    uint64_t number;
    return remotes->to_request != NULL || find_ahead(remotes, &file, &number) != NULL;
}

static bool load_first(bm_remotes *remotes)
{
    bm_remote *file = remotes->to_request;
    while (file != NULL && file->state != NOT_REQUESTED)
        file = file->next;
    remotes->to_request = file != NULL ? file->next : NULL;
    if (file == NULL)
        return false;
    file->state = BEING_REQUESTED;
    wake_loader(remotes);
    pthread_mutex_unlock(&remotes->lock);
    const bm_status status = request_first(file, 1, &remotes->loading, NULL);
    pthread_mutex_lock(&remotes->lock);
    file->state = status == BM_OK ? REQUESTED : NOT_REQUESTED;
    pthread_cond_broadcast(&remotes->moved);
    return true;
}

static bool load_ahead(bm_remotes *remotes)
{
    bm_remote *file;
    uint64_t number;
    block *b = find_ahead(remotes, &file, &number);
    if (b == NULL)
        return false;
    begin_loading(b, file, number, true);
    wake_loader(remotes);
    pthread_mutex_unlock(&remotes->lock);
    const bm_status status = load(file, b, 1, &remotes->loading, NULL);
    pthread_mutex_lock(&remotes->lock);
    b->is_loading = false;
    if (status != BM_OK) {
        b->file = NULL;
        remotes->ahead = 0;
    }
    pthread_cond_broadcast(&remotes->moved);
    return true;
}

static void *run_loader(void *ctx)
{
    bm_remotes *remotes = ctx;
    pthread_mutex_lock(&remotes->lock);
    while (!is_stopped(remotes)) {
        if (load_first(remotes) || load_ahead(remotes))
            continue;
        remotes->n_asleep++;
        pthread_cond_wait(&remotes->work, &remotes->lock);
        remotes->n_asleep--;
    }
    pthread_mutex_unlock(&remotes->lock);
    return NULL;
}

static void wake_loader(bm_remotes *remotes)
{
    if (!has_work(remotes))
        return;
    if (remotes->n_asleep > 0)
        pthread_cond_signal(&remotes->work);
    else if (remotes->n_loaders < LOADERS && !is_stopped(remotes) &&
             bm_thread_start(&remotes->loaders[remotes->n_loaders], run_loader, remotes) == 0)
        remotes->n_loaders++;
}
