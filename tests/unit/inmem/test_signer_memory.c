/* SPDX-License-Identifier: Apache-2.0 */
/* A call like the one before it allocates nothing: calls of malloc and its relatives are counted.
 * Not under sanitizers, which replace malloc, and only with glibc. */
#include <criterion/criterion.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "tests/world/world_random.h"

#if defined(__GLIBC__) && !defined(BM_SANITIZED)
static atomic_size_t n_allocations;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_memalign(alignment, size);
}

enum { N = 1500, PERMS = 16 };

static char data[N * 700];
static bm_str texts[N];
static uint64_t offsets[N + 1], hashes[N * 30];
static uint32_t hashes32[N * 30];
static uint32_t words[N * PERMS], counts[N];

static void make(void)
{
    uint64_t state = 4;
    for (size_t i = 0; i < sizeof data; i++) {
        const uint32_t r = world_below(&state, 1 << 20);
        data[i] = r % 5 == 0 ? ' ' : r % 4001 == 0 ? (char)0xFF : (char)('a' + r % 26);
    }
    for (size_t i = 0; i < N; i++) {
        texts[i] = (bm_str){data + i * 700, i % 701};
        offsets[i + 1] = offsets[i] + i % 31 % 30;
    }
    for (size_t i = 0; i < N * 30; i++)
        hashes[i] = hashes32[i] = (uint32_t)(i * 2654435761u);
}

Test(signer_memory, a_call_like_the_one_before_allocates_nothing)
{
    make();
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.resources.threads = 1; /* with more, the split of documents varies */
    bm_signer *signer = NULL;
    cr_assert_eq(bm_signer_open(&options, &signer, NULL), BM_OK);
    bm_signer_out out = {.struct_size = sizeof out, .signatures = words, .n_shingles = counts};
    bm_documents docs[] = {bm_documents_of_texts(texts, N),
                           bm_documents_of_hashes(offsets, hashes, N),
                           bm_documents_of_hashes32(offsets, hashes32, N)};
    for (int round = 0; round < 3; round++) {
        const size_t before = atomic_load(&n_allocations);
        for (int i = 0; i < 3; i++) {
            uint64_t task;
            bm_status status = bm_signer_sign(signer, &docs[i], &out, NULL);
            if (status == BM_OK)
                status = bm_signer_submit(signer, &docs[i], &out, &task, NULL);
            if (status == BM_OK)
                status = bm_signer_wait(signer, task, NULL);
            cr_assert_eq(status, BM_OK);
        }
        cr_assert(round == 0 || atomic_load(&n_allocations) == before, "%zu allocations",
                  atomic_load(&n_allocations) - before);
        cr_assert(round != 0 || atomic_load(&n_allocations) > before, "they are counted");
    }
    bm_signer_close(signer);
}
#else
Test(signer_memory, allocations_cannot_be_counted_here)
{
}
#endif
