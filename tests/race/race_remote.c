/* SPDX-License-Identifier: Apache-2.0 */
/* race_remote.c -- threads that read remote files in order, at random places, and together, while
 * loaders read ahead. */
#include <stdatomic.h>

#include "remote/remote_file.h"
#include "tests/unit/remote/fake_provider.h"
#include "tests/world/world_random.h"

#define N_FILES   12u
#define N_THREADS 4u
#define SIZE      3000000u
#define PART      70000u

static bm_remote *files[N_FILES];
static atomic_uint next;
static atomic_bool failed;

static void read_at(unsigned seed, uint64_t at, char *bytes)
{
    size_t got = 0;
    if (bm_remote_read(files[seed], bytes, PART, at, &got, NULL) != BM_OK ||
        got != (SIZE - at < PART ? SIZE - at : PART))
        atomic_store(&failed, true);
    for (size_t i = 0; i < got; i += 997)
        if (bytes[i] != fake_byte(seed, at + i))
            atomic_store(&failed, true);
}

/* Takes the next free part of all files in order, and with each reads one part of a random file. */
static void *read_all(void *ctx)
{
    const unsigned parts = (SIZE + PART - 1) / PART;
    char *bytes = malloc(PART);
    uint64_t state = (uint64_t)(uintptr_t)ctx;
    for (unsigned i = atomic_fetch_add(&next, 1); i < N_FILES * parts;
         i = atomic_fetch_add(&next, 1)) {
        read_at(i / parts, (uint64_t)(i % parts) * PART, bytes);
        const uint64_t random = world_random(&state);
        if (random >> 62 == 0)
            read_at((unsigned)(random >> 40) % N_FILES, (random >> 20) % SIZE, bytes);
    }
    free(bytes);
    return NULL;
}

int main(void)
{
    for (unsigned round = 0; round < 3; round++) {
        bm_remotes *remotes = NULL;
        uint64_t bytes = 0;
        pthread_t threads[N_THREADS];
        fake_reset(round);
        if (bm_remotes_open(NULL, &remotes, NULL) != BM_OK ||
            bm_remotes_grant(remotes, N_THREADS, (uint64_t)(24 << round) << 20, &bytes, NULL) !=
                BM_OK)
            return 1;
        for (unsigned i = 0; i < 2 * N_FILES; i++) {
            char address[64];
            snprintf(address, sizeof address, "http://%s/%u/%u", round == 1 ? "once" : "right",
                     SIZE, i % N_FILES);
            if ((i < N_FILES ? bm_remotes_expect(remotes, address, NULL)
                             : bm_remote_open(remotes, address, "/tmp", &files[i % N_FILES],
                                              NULL)) != BM_OK)
                return 1;
        }
        atomic_store(&next, 0);
        for (uintptr_t i = 0; i < N_THREADS; i++)
            if (pthread_create(&threads[i], NULL, read_all, (void *)(round * N_THREADS + i)) != 0)
                return 1;
        for (unsigned i = 0; i < N_THREADS; i++)
            pthread_join(threads[i], NULL);
        bm_remotes_close(remotes);
    }
    if (atomic_load(&failed))
        puts("bytes differ, or were not read");
    return atomic_load(&failed) ? 1 : 0;
}
