/* SPDX-License-Identifier: Apache-2.0 */
/* cws on every instruction set of this CPU, word for word against the scalar reference. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "cpu/cpu_backend.h"
#include "base/system.h"
#include "base/memory.h"
#include "base/random.h"
#include "sketch/scheme.h"

static const char *const isas[] = {"scalar", "avx2", "avx512", "neon"};

/* One document of each size, of random hashes or consecutive numbers, with weights of one kind. */
static const size_t sizes[] = {1,  2,  3,  4,   5,   7,   8,   9,   15,   16, 17,
                               31, 33, 63, 118, 300, 511, 512, 513, 1025, 40, 0};
#define N_DOCS (sizeof sizes / sizeof sizes[0])

typedef enum weight_kind {
    EQUAL,
    SMALL_NUMBERS,
    ANY_SIZE,
    FALLING,
    RISING,
    TINY,
    HUGE,
    N_KINDS
} weight_kind;

static double weight_of(weight_kind kind, size_t i, bm_random *random)
{
    const uint32_t drawn = bm_random_u32(random);
    switch (kind) {
    case SMALL_NUMBERS:
        return 1 + drawn % 5;
    case ANY_SIZE:
        return ldexp(1 + (double)drawn, (int)(drawn % 2000) - 1032);
    case FALLING:
        return 1.0 / (double)(1 + i);
    case RISING:
        return (double)(1 + i);
    case TINY:
        return 0x1p-1074 * (1 + drawn % 100);
    case HUGE:
        return 0x1.fffffffffffffp1023 / (1 + drawn % 100);
    default:
        return 1;
    }
}

typedef struct batch {
    uint64_t offsets[N_DOCS + 1];
    uint64_t *hashes;
    double *weights;
} batch;

static batch make_batch(weight_kind kind, bool in_a_row)
{
    batch b = {.offsets = {0}};
    bm_random random;
    bm_random_init(&random, 31);
    for (size_t d = 0; d < N_DOCS; d++)
        b.offsets[d + 1] = b.offsets[d] + sizes[d];
    const size_t n = b.offsets[N_DOCS];
    b.hashes = bm_alloc(n, sizeof *b.hashes);
    b.weights = bm_alloc(n, sizeof *b.weights);
    for (size_t d = 0; d < N_DOCS; d++)
        for (size_t i = 0; i < sizes[d]; i++) {
            const uint64_t drawn = bm_random_u64(&random);
            b.hashes[b.offsets[d] + i] = in_a_row ? i : drawn;
            b.weights[b.offsets[d] + i] = weight_of(kind, i, &random);
        }
    return b;
}

static void sign_reference(const batch *b, const bm_sketch_options *sketch, uint32_t *words)
{
    bm_scheme_params params;
    cr_assert_eq(bm_scheme_draw(sketch, &params, NULL), BM_OK);
    for (size_t d = 0; d < N_DOCS; d++)
        bm_scheme_cws.sign_weighted(&params, b->hashes + b->offsets[d], b->weights + b->offsets[d],
                                    sizes[d], words + d * sketch->perms);
    bm_scheme_params_reset(&params);
}

static void expect_words(const batch *b, const bm_sketch_options *sketch, const char *isa,
                         const uint32_t *expected)
{
    static uint32_t words[N_DOCS * BM_PERMS_MAX];
    const bm_backend_cfg cfg = {.sketch = *sketch, .cpu = isa};
    bm_backend *backend = NULL;
    cr_assert_eq(bm_backend_cpu.open(&cfg, &backend, NULL), BM_OK);
    bm_sign_task task = {.offsets = b->offsets,
                         .hashes = b->hashes,
                         .weights = b->weights,
                         .n_docs = N_DOCS,
                         .words = words};
    cr_assert_eq(backend->ops->submit(backend, &task, NULL), BM_OK);
    for (size_t i = 0; i < N_DOCS * sketch->perms; i++)
        cr_assert_eq(words[i], expected[i], "%s: word %zu of %u, document of %zu elements", isa,
                     i % sketch->perms, sketch->perms, sizes[i / sketch->perms]);
    bm_backend_close(backend);
}

Test(native_cws, words_equal_the_reference_on_every_instruction_set)
{
    static const uint32_t perms[] = {128, 3, 16, 100, 1, 200, 1024};
    static uint32_t expected[N_DOCS * BM_PERMS_MAX];
    for (weight_kind kind = EQUAL; kind < N_KINDS; kind++)
        for (int in_a_row = 0; in_a_row <= 1; in_a_row++) {
            batch b = make_batch(kind, in_a_row);
            const bm_sketch_options sketch = {
                .perms = in_a_row ? 60 : perms[kind], .seed = 100 + kind, .scheme = BM_SCHEME_CWS};
            sign_reference(&b, &sketch, expected);
            for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
                bm_isa isa;
                if (bm_isa_choose(isas[i], &isa, NULL) == BM_OK)
                    expect_words(&b, &sketch, isas[i], expected);
            }
            bm_free(b.hashes);
            bm_free(b.weights);
        }
}

Test(native_cws, a_task_without_weights_is_refused)
{
    const bm_backend_cfg cfg = {.sketch = {.perms = 4, .scheme = BM_SCHEME_CWS}};
    const uint64_t offsets[] = {0, 1}, hash = 1;
    uint32_t words[4];
    bm_sign_task task = {.offsets = offsets, .hashes = &hash, .n_docs = 1, .words = words};
    bm_backend *backend = NULL;
    cr_assert_eq(bm_backend_cpu.open(&cfg, &backend, NULL), BM_OK);
    cr_expect_eq(backend->ops->submit(backend, &task, NULL), BM_ERR_INTERNAL);
    bm_backend_close(backend);
}
