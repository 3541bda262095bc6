/* SPDX-License-Identifier: Apache-2.0 */
/* fake_provider.h -- a provider of made-up files, for programs that are linked with
 * --wrap=bm_remote_provider_find. An address is http://WAY/SIZE/SEED. WAY is how requests are
 * answered:
 *
 *     right     with the bytes
 *     refused   never: each request fails
 *     once      the first request for some bytes fails, later ones for the same bytes succeed
 *     hangs     the first block with its bytes; others end only when the caller asks to stop
 *
 * To test that requests run in parallel, let answers wait until enough requests are in flight:
 * otherwise a busy machine may run them one after another. */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "remote/remote_provider.h"
#include "tests/world/world_random.h"

#define FAKE_PLACES 4096u
#define FAKE_HEAD   4096u

static struct {
    pthread_mutex_t lock;
    unsigned delay_ms; /* of each answer, in milliseconds */
    /* each answer waits at most 200 ms until this many requests were in flight at once */
    unsigned together;
    unsigned questions;    /* all requests */
    unsigned repeated;     /* requests for bytes that were requested before */
    unsigned now, at_once; /* requests in flight, now and at most */
    /* end of the furthest bytes that were requested, without requests for first bytes */
    uint64_t end;
    uint64_t asked[FAKE_PLACES];
    size_t n_asked;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fake_reset(unsigned delay_ms)
{
    fake.delay_ms = delay_ms;
    fake.together = 0;
    fake.questions = fake.repeated = fake.at_once = 0;
    fake.end = 0;
    fake.n_asked = 0;
}

static inline char fake_byte(uint64_t seed, uint64_t at)
{
    return (char)world_random_at(at + seed);
}

static inline void fake_wait_for(unsigned together)
{
    pthread_mutex_lock(&fake.lock);
    fake.together = together;
    pthread_mutex_unlock(&fake.lock);
}

static bool fake_waits(void)
{
    pthread_mutex_lock(&fake.lock);
    const bool waits = fake.at_once < fake.together;
    pthread_mutex_unlock(&fake.lock);
    return waits;
}

/* Notes a request for these bytes. Were they requested before? */
static bool fake_note(uint64_t key)
{
    for (size_t i = 0; i < fake.n_asked; i++)
        if (fake.asked[i] == key)
            return true;
    if (fake.n_asked < FAKE_PLACES)
        fake.asked[fake.n_asked++] = key;
    return false;
}

static bool fake_stops(const bm_callbacks *callbacks)
{
    return callbacks != NULL && callbacks->cancelled != NULL &&
           callbacks->cancelled(callbacks->ctx);
}

static bm_remote_answer fake_get(void *connections, const bm_remote_request *request,
                                 bm_remote_told *told)
{
    const char *way = strstr(request->address, "://") + 3, *slash = strchr(way, '/');
    char *rest;
    const uint64_t size = strtoull(slash + 1, &rest, 10), seed = strtoull(rest + 1, NULL, 10);
    const bool first = request->at == 0 && request->len == FAKE_HEAD;
    bool stopped = false;
    (void)connections;
    pthread_mutex_lock(&fake.lock);
    fake.questions++;
    const bool repeated = fake_note(seed * 1000003 + request->at * 2 + (request->len == FAKE_HEAD));
    fake.repeated += repeated;
    if (++fake.now > fake.at_once)
        fake.at_once = fake.now;
    if (!first && request->at + request->len > fake.end)
        fake.end = request->at + request->len;
    pthread_mutex_unlock(&fake.lock);
    const bool hangs = strncmp(way, "hangs/", 6) == 0 && request->at > 0;
    for (unsigned ms = 0; !stopped && (hangs || ms < fake.delay_ms || (ms < 200 && fake_waits()));
         ms++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        stopped = fake_stops(request->callbacks);
    }
    pthread_mutex_lock(&fake.lock);
    fake.now--;
    pthread_mutex_unlock(&fake.lock);
    if (stopped)
        return BM_REMOTE_STOPPED;
    if (strncmp(way, "refused/", 8) == 0 || (strncmp(way, "once/", 5) == 0 && !repeated)) {
        snprintf(told->words, sizeof told->words, "no");
        return way[0] == 'r' ? BM_REMOTE_REFUSED : BM_REMOTE_FAILED;
    }
    told->size = size;
    told->got = request->len < size - request->at ? request->len : (size_t)(size - request->at);
    for (size_t i = 0; i < told->got; i++)
        request->out[i] = fake_byte(seed, request->at + i);
    return BM_REMOTE_DONE;
}

static bm_status fake_begin(void **connections, bm_error *err)
{
    (void)err;
    *connections = NULL;
    return BM_OK;
}

static void fake_end(void *connections)
{
    (void)connections;
}

const bm_remote_provider *__wrap_bm_remote_provider_find(const char **why);
const bm_remote_provider *__wrap_bm_remote_provider_find(const char **why)
{
    static const bm_remote_provider provider = {fake_begin, fake_end, fake_get};
    (void)why;
    return &provider;
}
