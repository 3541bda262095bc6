/* remote_file.c -- the tries, the comparison of answers, the copy, and the blocks.
 *
 * A file is asked for in blocks, of which the last few are held: readers want many small parts that
 * lie near one another, and an answer takes its time. One thread loads a block, and who needs it too
 * waits. The first bytes are held apart, since whoever opens a file looks at them only.
 *
 * Tests: tests/unit/remote/test_remote_file.c, tests/cli/cases/addresses.sh */
#include "remote/remote_file.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "remote/remote_provider.h"

#define TRIES       4u
#define WAIT_MS     250u /* before the second try; each further time twice as long */
#define WAIT_STEP   50u
#define HEAD_BYTES  4096u
#define BLOCKS      (BM_REMOTE_HELD_BYTES / BLOCK_BYTES)
#define BLOCK_BYTES ((size_t)2 << 20)

struct bm_remotes {
    const bm_remote_provider *provider;
    void *connections;
    const bm_callbacks *callbacks;
};

typedef struct block {
    char *data; /* NULL: it was never used */
    uint64_t number;
    size_t len;     /* 0: nothing is in it */
    uint64_t used;  /* when, in loads */
    unsigned users; /* that copy from it */
    bool is_loading;
    bm_status failed; /* BM_OK: it did not; else nobody asks the server for it once more */
    bm_error why;
} block;

struct bm_remote {
    bm_remotes *remotes;
    char *address, *name;
    bm_remote_told first; /* answer */
    int copy;             /* -1: none */
    char head[HEAD_BYTES];
    pthread_mutex_t lock; /* of what follows, but for the bytes of a block that has users */
    pthread_cond_t moved;
    uint64_t loads;
    block blocks[BLOCKS];
};

bool bm_is_address(const char *path)
{
    const char *end = path;
    while (isalnum((unsigned char)*end) || (end > path && strchr("+-.", *end) != NULL && *end))
        end++;
    return end > path && isalpha((unsigned char)*path) && strncmp(end, "://", 3) == 0;
}

bm_status bm_address_name(const char *address, char **out, bm_error *err)
{
    const bool web = strncasecmp(address, "http", 4) == 0;
    const char *host = strstr(address, "://") + 3, *user = host;
    const size_t scheme = (size_t)(host - address), len = strcspn(host, web ? "?#" : "?"),
                 authority = strcspn(host, "/?#");
    for (size_t i = 0; web && i < authority; i++)
        if (host[i] == '@')
            user = host + i + 1;
    return bm_string_format(out, err, "%.*s%.*s", (int)scheme, address,
                            (int)(len - (size_t)(user - host)), user);
}

bm_status bm_remotes_open(const bm_callbacks *callbacks, bm_remotes **out, bm_error *err)
{
    const char *why = NULL;
    bm_remotes *remotes = NULL;
    BM_TRY(bm_new_zero(&remotes, 1, err));
    remotes->callbacks = callbacks;
    remotes->provider = bm_remote_provider_find(&why);
    bm_status status = BM_OK;
    if (remotes->provider == NULL)
        BM_TRY_OUT(bm_fail(err, BM_ERR_IO,
                           "addresses are read by libcurl, which cannot be opened: %.300s (Debian, "
                           "Ubuntu: apt-get install libcurl4)",
                           why));
    BM_TRY_OUT(remotes->provider->begin(&remotes->connections, err));
    *out = remotes;
    return BM_OK;
out:
    bm_free(remotes);
    return status;
}

void bm_remotes_close(bm_remotes *remotes)
{
    if (remotes == NULL)
        return;
    remotes->provider->end(remotes->connections);
    bm_free(remotes);
}

/* --- tries --- */

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

/* Is this answer of another file than the first one was? What is not told is not compared. */
static bool differs(const bm_remote_told *first, const bm_remote_told *told)
{
    return (first->size != BM_REMOTE_SIZE_UNKNOWN && told->size != BM_REMOTE_SIZE_UNKNOWN &&
            first->size != told->size) ||
           (first->version[0] != '\0' && told->version[0] != '\0' &&
            strcmp(first->version, told->version) != 0);
}

/* Ask until it is all there. `first` NULL: this is the first answer. */
static bm_status ask(const bm_remote *remote, bm_remote_request request,
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
        if (answer == BM_REMOTE_DONE && first != NULL && told->got > 0 && request.len > 0) {
            turn--; /* a server may send less than was asked for */
            continue;
        }
        if (answer == BM_REMOTE_DONE) {
            told->got = got;
            return BM_OK;
        }
        if (answer == BM_REMOTE_REFUSED || turn + 1 == TRIES)
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
    char *shown = bm_strdup(name);
    if (shown == NULL)
        return bm_fail_nomem(err, strlen(name));
    const bm_remote folder = {.remotes = remotes, .name = shown};
    const bm_remote_request request = {
        .address = address, .fd = -1, .page = page, .callbacks = remotes->callbacks};
    const bm_status status = ask(&folder, request, NULL, &told, err);
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
        return bm_fail_errno(err, errno, dir,
                             "cannot make a copy here of a file whose server gives no parts");
    bm_remote_request request = {
        .address = remote->address, .fd = remote->copy, .callbacks = remotes->callbacks};
    BM_TRY(ask(remote, request, NULL, &told, err));
    const off_t end = lseek(remote->copy, 0, SEEK_END);
    if (differs(&remote->first, &told))
        return changed(remote, err);
    remote->first.size = (uint64_t)end;
    return BM_OK;
}

/* --- the file --- */

bm_status bm_remote_open(bm_remotes *remotes, const char *address, const char *copy_dir,
                         bm_remote **out, bm_error *err)
{
    bm_remote *remote = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new_zero(&remote, 1, err));
    remote->remotes = remotes;
    remote->copy = -1;
    pthread_mutex_init(&remote->lock, NULL);
    pthread_cond_init(&remote->moved, NULL);
    BM_TRY_OUT(bm_address_name(address, &remote->name, err));
    remote->address = bm_strdup(address);
    if (remote->address == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, strlen(address)));
    bm_remote_request request = {.address = address,
                                 .len = sizeof remote->head,
                                 .out = remote->head,
                                 .fd = -1,
                                 .callbacks = remotes->callbacks};
    BM_TRY_OUT(ask(remote, request, NULL, &remote->first, err));
    if (remote->first.whole && remote->first.got == sizeof remote->head)
        BM_TRY_OUT(copy_all(remote, copy_dir, err));
    else if (remote->first.whole)
        remote->first.size = remote->first.got;
    *out = remote;
    return BM_OK;
out:
    bm_remote_close(remote);
    return status;
}

void bm_remote_close(bm_remote *remote)
{
    if (remote == NULL)
        return;
    if (remote->copy >= 0)
        close(remote->copy);
    for (size_t i = 0; i < BLOCKS; i++)
        bm_free(remote->blocks[i].data);
    pthread_cond_destroy(&remote->moved);
    pthread_mutex_destroy(&remote->lock);
    bm_free(remote->address);
    bm_free(remote->name);
    bm_free(remote);
}

uint64_t bm_remote_size(const bm_remote *remote)
{
    return remote->first.size;
}

/* --- blocks --- */

static bm_status load(const bm_remote *remote, block *b, bm_error *err)
{
    const uint64_t at = b->number * BLOCK_BYTES, left = remote->first.size - at;
    const size_t len = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
    bm_remote_told told;
    if (b->data == NULL && (b->data = bm_alloc(BLOCK_BYTES, 1)) == NULL)
        return bm_fail_nomem(err, BLOCK_BYTES);
    const bm_remote_request request = {.address = remote->address,
                                       .at = at,
                                       .len = len,
                                       .out = b->data,
                                       .fd = -1,
                                       .callbacks = remote->remotes->callbacks};
    BM_TRY(ask(remote, request, &remote->first, &told, err));
    b->len = len;
    return told.got == len ? BM_OK : changed(remote, err);
}

/* The block of this number, or the one that it may take the place of; NULL: all others are in use.
 * The lock is held. */
static block *find_block(bm_remote *remote, uint64_t number)
{
    block *oldest = NULL;
    for (size_t i = 0; i < BLOCKS; i++) {
        block *b = &remote->blocks[i];
        if ((b->len > 0 || b->is_loading || b->failed != BM_OK) && b->number == number)
            return b;
        if (!b->is_loading && b->users == 0 && (oldest == NULL || b->used < oldest->used))
            oldest = b;
    }
    return oldest;
}

/* It has one user more. */
static bm_status acquire_block(bm_remote *remote, uint64_t number, block **out, bm_error *err)
{
    bm_status status = BM_OK;
    pthread_mutex_lock(&remote->lock);
    block *b = find_block(remote, number);
    while (b == NULL || b->is_loading) {
        pthread_cond_wait(&remote->moved, &remote->lock);
        b = find_block(remote, number);
    }
    b->used = ++remote->loads;
    if (b->number != number || (b->len == 0 && b->failed == BM_OK)) {
        b->number = number;
        b->len = 0;
        b->is_loading = true;
        b->failed = BM_OK;
        pthread_mutex_unlock(&remote->lock);
        status = load(remote, b, &b->why);
        pthread_mutex_lock(&remote->lock);
        b->is_loading = false;
        b->len = status == BM_OK ? b->len : 0;
        b->failed = status;
        pthread_cond_broadcast(&remote->moved);
    }
    status = b->failed;
    if (status != BM_OK && err != NULL)
        *err = b->why;
    b->users += status == BM_OK;
    pthread_mutex_unlock(&remote->lock);
    *out = b;
    return status;
}

static void release_block(bm_remote *remote, block *b)
{
    pthread_mutex_lock(&remote->lock);
    if (--b->users == 0)
        pthread_cond_broadcast(&remote->moved);
    pthread_mutex_unlock(&remote->lock);
}

void bm_remote_trim(bm_remote *remote)
{
    pthread_mutex_lock(&remote->lock);
    for (size_t i = 0; i < BLOCKS; i++) {
        block *b = &remote->blocks[i];
        if (b->users > 0 || b->is_loading || b->failed != BM_OK)
            continue;
        bm_free(b->data);
        *b = (block){0};
    }
    pthread_mutex_unlock(&remote->lock);
}

bm_status bm_remote_read(bm_remote *remote, void *out, size_t len, uint64_t at, size_t *got,
                         bm_error *err)
{
    const uint64_t size = remote->first.size;
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
        const size_t begin = (size_t)(place % BLOCK_BYTES);
        block *b = NULL;
        BM_TRY(acquire_block(remote, place / BLOCK_BYTES, &b, err));
        const size_t left = len - *got, n = b->len - begin < left ? b->len - begin : left;
        memcpy((char *)out + *got, b->data + begin, n);
        release_block(remote, b);
        *got += n;
    }
    return BM_OK;
}
