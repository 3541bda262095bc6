/* SPDX-License-Identifier: Apache-2.0 */
/* Every set of loops that this processor can run, against kernels/affine64.h one value at a time.
 * Hashes at the ends of their range would show lost carries and signs. */
#include <criterion/criterion.h>

#include <string.h>

#include "cpu/sign_loops.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "kernels/affine64.h"

static const bm_isa all_isas[] = {BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON};
enum { N_ISAS = sizeof all_isas / sizeof all_isas[0], HASHES = 37, PERMS = 1024 };

static const uint64_t extreme[] = {0,
                                   1,
                                   UINT64_MAX,
                                   UINT32_MAX,
                                   UINT64_C(1) << 32,
                                   BM_MERSENNE_61,
                                   BM_MERSENNE_61 - 1,
                                   BM_MERSENNE_61 + 1,
                                   UINT64_C(1) << 63};
enum { N_EXTREME = sizeof extreme / sizeof extreme[0] };

typedef struct numbers {
    uint64_t *a, *b, hashes[HASHES], narrow[HASHES];
} numbers;

static numbers make_numbers(void)
{
    numbers n = {.a = bm_alloc_aligned(PERMS, 8), .b = bm_alloc_aligned(PERMS, 8)};
    bm_random random;
    bm_random_init(&random, 8);
    for (size_t i = 0; i < PERMS; i++) {
        n.a[i] = i % 7 == 0 ? extreme[i / 7 % N_EXTREME] : bm_random_u64(&random);
        n.b[i] = i % 5 == 0 ? extreme[i / 5 % N_EXTREME] : bm_random_u64(&random);
    }
    for (size_t i = 0; i < HASHES; i++) {
        n.hashes[i] = i < N_EXTREME ? extreme[i] : bm_random_u64(&random);
        n.narrow[i] = (uint32_t)n.hashes[i];
    }
    return n;
}

/* The least value of permutation i, by a plain loop. */
static uint64_t least_of(const numbers *n, uint32_t i, char kind, size_t n_hashes)
{
    uint64_t least = UINT64_MAX;
    for (size_t s = 0; s < n_hashes; s++) {
        const uint64_t h = kind == 'l' ? n->narrow[s] : n->hashes[s];
        uint64_t value = n->a[i] * h + n->b[i];
        if (kind != 'a')
            value %= BM_MERSENNE_61;
        if (kind == 'l')
            value &= UINT32_MAX;
        least = value < least ? value : least;
    }
    return least;
}

static void compare(const bm_sign_loops *loops, const numbers *n, uint32_t perms, size_t n_hashes)
{
    const struct {
        char kind;
        bm_wide_minima_fn *minima;
    } kinds[] = {{'a', loops->wide->affine}, {'p', loops->wide->prime}, {'l', loops->wide->low}};
    const bm_scheme_params params = {.perms = perms, .a64 = n->a, .b64 = n->b};
    uint64_t *words = bm_alloc_aligned(PERMS, sizeof *words);
    for (size_t k = 0; k < 3; k++) {
        const uint64_t *hashes = kinds[k].kind == 'l' ? n->narrow : n->hashes;
        const size_t half = n_hashes / 2; /* two blocks: minima must carry over */
        memset(words, 0xA5, PERMS * sizeof *words);
        if (half > 0)
            kinds[k].minima(&params, hashes, half, false, words);
        kinds[k].minima(&params, hashes + half, n_hashes - half, half > 0, words);
        for (uint32_t i = 0; i < perms; i++) {
            const uint64_t word = kinds[k].kind == 'l' ? (uint32_t)words[i] : words[i];
            cr_assert_eq(word, least_of(n, i, kinds[k].kind, n_hashes),
                         "%s, %c, %u of %u, %zu hashes", bm_isa_name(loops->isa), kinds[k].kind, i,
                         perms, n_hashes);
        }
    }
    bm_free(words);
}

Test(wide_loops, minima_equal_the_plain_arithmetic_for_every_number_of_permutations)
{
    numbers n = make_numbers();
    for (size_t set = 0; set < N_ISAS; set++) {
        if (!bm_isa_available(all_isas[set]))
            continue;
        const bm_sign_loops *loops = bm_sign_loops_find(all_isas[set]);
        for (uint32_t perms = 1; perms <= PERMS; perms += perms < 140 ? 1 : 61)
            compare(loops, &n, perms, 1 + perms % HASHES);
        compare(loops, &n, PERMS, HASHES);
        compare(loops, &n, PERMS, 1);
    }
    bm_free(n.a);
    bm_free(n.b);
}

Test(wide_loops, fmix64_is_that_of_one_hash_for_every_length)
{
    numbers n = make_numbers();
    for (size_t set = 0; set < N_ISAS; set++) {
        if (!bm_isa_available(all_isas[set]))
            continue;
        uint64_t *block = bm_alloc_aligned(HASHES + 1, sizeof *block);
        for (size_t len = 0; len < HASHES; len++) {
            memset(block, 0xA5, (HASHES + 1) * sizeof *block);
            bm_sign_loops_find(all_isas[set])->wide->fmix64(n.hashes + 1, len, block);
            for (size_t i = 0; i < len; i++)
                cr_assert_eq(block[i], bm_fmix64(n.hashes[1 + i]), "%s",
                             bm_isa_name(all_isas[set]));
            cr_assert_eq(block[len], UINT64_C(0xA5A5A5A5A5A5A5A5));
        }
        bm_free(block);
    }
    bm_free(n.a);
    bm_free(n.b);
}
