/* SPDX-License-Identifier: Apache-2.0 */
/* test_set_code.c -- every set is decoded as it was, and bytes that are not a code are refused. */
#include "store/piece.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store/numbers.h"

/* The same code by its definition, one bit at a time. */
static size_t by_definition(const uint64_t *hashes, size_t n, uint8_t *out)
{
    size_t best = n * 8, low = 8;
    for (size_t l = 7; l >= 4; l--) {
        const size_t size = n * l + (n + ((size_t)1 << (64 - 8 * l)) - 1 + 7) / 8;
        if (size < best) {
            best = size;
            low = l;
        }
    }
    if (out == NULL)
        return best;
    memset(out, 0, best);
    for (size_t i = 0; i < n; i++)
        for (size_t byte = 0; byte < low; byte++)
            out[i * low + byte] = (uint8_t)(hashes[i] >> (8 * byte));
    for (size_t i = 0; low < 8 && i < n; i++) {
        const size_t bit = (size_t)(hashes[i] >> (8 * low)) + i;
        uint8_t *at = &out[n * low + bit / 8];
        *at = (uint8_t)(*at | 1u << (bit % 8));
    }
    return best;
}

static void assert_whole(const uint64_t *hashes, size_t n)
{
    const size_t size = bm_set_code_size(n);
    cr_assert_eq(size, by_definition(hashes, n, NULL));
    uint8_t *code = malloc(size + 1), *defined = malloc(size + 1);
    uint64_t *back = malloc((n + 1) * sizeof *back);
    code[size] = 0x5A;
    back[n] = 77;
    bm_set_code_write(hashes, n, code);
    by_definition(hashes, n, defined);
    cr_assert_eq(code[size], 0x5A);
    cr_assert(memcmp(code, defined, size) == 0);
    cr_assert(bm_set_code_read(code, size, n, back));
    cr_assert_eq(back[n], 77);
    cr_assert(n == 0 || memcmp(back, hashes, n * sizeof *back) == 0);
    free(code), free(defined), free(back);
}

Test(set_code, sets_of_every_size_come_back)
{
    for (size_t n = 0; n < 600; n++) {
        uint64_t *hashes = numbers_sorted(n, UINT64_MAX, 1000 * n);
        assert_whole(hashes, n);
        free(hashes);
    }
    static const size_t large[] = {1000, 8159, 8160, 8161, 8162, 8200, 65536, 100001, 2100000};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        uint64_t *hashes = numbers_sorted(large[i], UINT64_MAX, i << 32);
        assert_whole(hashes, large[i]);
        free(hashes);
    }
}

Test(set_code, hashes_that_lie_close_come_back)
{
    static const size_t sizes[] = {1, 2, 37, 38, 64, 170, 1000, 9000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t n = sizes[i];
        uint64_t *hashes = malloc(n * sizeof *hashes);
        for (int at = 0; at < 3; at++) { /* smallest, middle and largest hash */
            const uint64_t first = at == 0 ? 0 : at == 1 ? UINT64_C(1) << 63 : UINT64_MAX - (n - 1);
            for (size_t j = 0; j < n; j++)
                hashes[j] = first - (at == 1 ? n / 2 : 0) + j;
            assert_whole(hashes, n);
        }
        free(hashes);
    }
    const uint64_t ends[] = {0, UINT64_MAX};
    assert_whole(ends, 2);
}

Test(set_code, takes_as_many_bytes_as_its_head_says)
{
    cr_assert_eq(bm_set_code_size(0), 0);
    cr_assert_eq(bm_set_code_size(37), 37 * 8);
    cr_assert_eq(bm_set_code_size(38), 38 * 7 + (38 + 255 + 7) / 8);
    cr_assert_eq(bm_set_code_size(8160), 8160 * 7 + (8160 + 255 + 7) / 8);
    cr_assert_eq(bm_set_code_size(8161), 8161 * 6 + (8161 + 65535 + 7) / 8);
    cr_assert_eq(bm_set_code_size(170), 1244);
    for (size_t n = 1; n < 100000; n++)
        cr_assert_leq(bm_set_code_size(n), 8 * n);
}

/* A code is refused if the size or n is wrong. */
Test(set_code, other_sizes_are_refused)
{
    uint64_t *hashes = numbers_sorted(200, UINT64_MAX, 5), back[300];
    uint8_t code[2000] = {0};
    bm_set_code_write(hashes, 200, code);
    const size_t size = bm_set_code_size(200);
    for (size_t other = 0; other < sizeof code; other++)
        cr_assert_eq(bm_set_code_read(code, other, 200, back), other == size);
    for (size_t n = 0; n < 300; n++)
        cr_assert(n == 200 || !bm_set_code_read(code, size, n, back), "n %zu", n);
    cr_assert_not(bm_set_code_read(code, size, (size_t)1 << 33, back));
    free(hashes);
}

/* Changed bytes are refused, or are the code of exactly the set that they decode to. */
Test(set_code, every_changed_byte_gives_another_set_or_none)
{
    static const size_t sizes[] = {1, 20, 60, 170};
    for (size_t s = 0; s < 4; s++) {
        const size_t n = sizes[s], size = bm_set_code_size(n);
        uint64_t *hashes = numbers_sorted(n, UINT64_MAX, 9 + s);
        /* exact sizes, so that ASan catches reads past the end */
        uint8_t *code = malloc(size), *again = malloc(size);
        uint64_t *back = malloc(n * sizeof *back);
        bm_set_code_write(hashes, n, code);
        size_t refused = 0;
        for (size_t i = 0; i < size; i++)
            for (unsigned mask = 1; mask < 256; mask++) {
                code[i] = (uint8_t)(code[i] ^ mask);
                if (bm_set_code_read(code, size, n, back)) {
                    for (size_t j = 1; j < n; j++)
                        cr_assert_lt(back[j - 1], back[j]);
                    cr_assert_neq(memcmp(back, hashes, n * sizeof *back), 0);
                    bm_set_code_write(back, n, again);
                    cr_assert_eq(memcmp(code, again, size), 0);
                } else {
                    refused++;
                }
                code[i] = (uint8_t)(code[i] ^ mask);
            }
        cr_assert(refused > 0 || n == 1);
        free(hashes), free(code), free(again), free(back);
    }
}

Test(set_code, any_bytes_are_read_within_their_size)
{
    for (uint64_t round = 0; round < 20000; round++) {
        const size_t n = 1 + world_random_at(round) % 300, size = bm_set_code_size(n);
        uint8_t *code = malloc(size);
        uint64_t *back = malloc(n * sizeof *back);
        const uint64_t kind = world_random_at(round * 3 + 1) % 4;
        for (size_t i = 0; i < size; i++) {
            const uint8_t byte = (uint8_t)world_random_at(round << 20 | i);
            code[i] = kind == 0 ? byte : kind == 1 ? 0 : kind == 2 ? 0xFF : byte & 0x11;
        }
        (void)bm_set_code_read(code, size, n, back);
        free(code), free(back);
    }
}
