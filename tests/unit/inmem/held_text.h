/* SPDX-License-Identifier: Apache-2.0 */
/* held_text.h -- a text in memory that blocks the first thread that reads it until the test lets it
 * go on. So a test can be sure that a call is in the middle of its work and holds no lock. Header
 * only.
 *
 * The pages of the text are unreadable at first. The first thread that reads them gets SIGSEGV; the
 * handler waits for the test, then makes the pages readable. */
#pragma once

#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <bandmill/types.h>

typedef struct held_text {
    char *data;
    size_t size;
    sem_t reached, go_on;
} held_text;

enum { HELD_TEXTS = 2 };

static held_text held_texts[HELD_TEXTS]; /* data NULL: not in use */

static void held_text_reached(int number, siginfo_t *info, void *context)
{
    (void)context;
    const uintptr_t at = (uintptr_t)info->si_addr;
    for (size_t i = 0; i < HELD_TEXTS; i++) {
        held_text *held = &held_texts[i];
        if (held->data == NULL || at - (uintptr_t)held->data >= held->size)
            continue;
        sem_post(&held->reached);
        while (sem_wait(&held->go_on) != 0)
            ;
        mprotect(held->data, held->size, PROT_READ);
        return;
    }
    signal(number, SIG_DFL); /* a fault outside these texts */
}

/* Makes text number i: `like` repeated to `size` bytes (whole pages). */
static inline bm_str held_text_make(size_t i, const char *like, size_t size)
{
    const struct sigaction action = {.sa_sigaction = held_text_reached, .sa_flags = SA_SIGINFO};
    held_text *held = &held_texts[i];
    char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t k = 0; k < size; k++)
        data[k] = like[k % strlen(like)];
    mprotect(data, size, PROT_NONE);
    sem_init(&held->reached, 0, 0);
    sem_init(&held->go_on, 0, 0);
    held->size = size;
    held->data = data;
    sigaction(SIGSEGV, &action, NULL);
    return (bm_str){data, size};
}

/* Waits until a thread has begun to read the text. */
static inline void held_text_wait(size_t i)
{
    while (sem_wait(&held_texts[i].reached) != 0)
        ;
}

static inline void held_text_release(size_t i)
{
    sem_post(&held_texts[i].go_on);
}

static inline void held_text_drop(size_t i)
{
    munmap(held_texts[i].data, held_texts[i].size);
    held_texts[i].data = NULL;
}
