/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_ops_check.c -- the tables of shingle_ops.h against the scalar one, function by function,
 * as a plain program: no Criterion, no utf8proc, so that it can be built for another architecture
 * and run under an emulator.
 *
 *     aarch64-linux-gnu-gcc -std=c11 -O3 -static -isystem DIR_OF_XXHASH_H -Iinclude -Isrc -I. \
 *         tests/unit/text/shingle_ops_check.c src/text/shingle_scalar.c src/text/shingle_neon.c \
 *         src/text/shingle_choose.c src/model/content_sums.c -o check &&
 *         qemu-aarch64-static ./check
 *
 * Prints how many comparisons were made and exits 0, or names the first difference and exits 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/shingle_ops.h"

#include "tests/world/world_random.h"

#define SIZE 700u

static unsigned long n_checks;

static void check(bool same, const bm_shingle_ops *ops, const char *what)
{
    n_checks++;
    if (same)
        return;
    printf("instruction set %d differs from scalar: %s\n", (int)ops->isa, what);
    exit(1);
}

static size_t random_bytes(char *out)
{
    static const char common[] = "aZ09 \t\n .,_z{@[`/:";
    const size_t len = world_draw() % SIZE;
    const unsigned kind = world_draw() % 4;
    for (size_t i = 0; i < len; i++) {
        uint64_t r = world_draw();
        out[i] = kind == 0 || (kind == 1 && r % 64 == 0) ? (char)(r >> 8)
                 : kind == 2                             ? (char)(r >> 8 & 0x7F)
                                                         : common[(r >> 8) % (sizeof common - 1)];
    }
    return len;
}

static void check_join(const bm_shingle_ops *ops, const char *text, size_t len)
{
    static char blocks[2][SIZE + 2 * BM_JOIN_MARGIN + 8];
    const uint64_t r = world_draw();
    bm_join_rules rules = {.rule = (bm_join_rule)(r % 3),
                           .lower = r >> 8 & 1,
                           .digits = r >> 9 & 1,
                           .punct = r >> 14 & 1,
                           .composes = r >> 10 & 1,
                           .high_is_plain = r >> 11 & 1};
    bm_joined out[2];
    size_t taken[2];
    for (int i = 0; i < 2; i++) {
        out[i] = (bm_joined){
            .block = blocks[i], .data = blocks[i] + BM_JOIN_MARGIN, .cap = SIZE + 8, .ascii = true};
        out[i].split = r >> 12 & 1;
        out[i].after_sep = !out[i].split && (r >> 13 & 1);
        taken[i] = (i == 0 ? &bm_shingle_ops_scalar : ops)->join(&rules, text, len, &out[i]);
    }
    check(taken[0] == taken[1] && out[0].len == out[1].len &&
              out[0].after_sep == out[1].after_sep && out[0].split == out[1].split &&
              out[0].ascii == out[1].ascii && memcmp(out[0].data, out[1].data, out[0].len) == 0,
          ops, "join");
}

static void check_starts(const bm_shingle_ops *ops, const char *text, size_t len)
{
    static size_t starts[2][SIZE + 16];
    const bm_shingle_ops *scalar = &bm_shingle_ops_scalar;
    const size_t begin = len == 0 ? 0 : world_draw() % len;
    size_t n = scalar->char_starts(text, begin, len, starts[0]);
    check(n == ops->char_starts(text, begin, len, starts[1]) &&
              memcmp(starts[0], starts[1], n * sizeof starts[0][0]) == 0,
          ops, "char_starts");
    n = scalar->word_starts(text, begin, len, starts[0]);
    check(n == ops->word_starts(text, begin, len, starts[1]) &&
              memcmp(starts[0], starts[1], n * sizeof starts[0][0]) == 0,
          ops, "word_starts");
}

/* Checks slices of mixed lengths, most of them close to 16, 32 or 64 bytes. */
static void check_slices(const bm_shingle_ops *ops, const char *text, size_t len)
{
    static uint64_t hashes[2][SIZE];
    static size_t starts[SIZE + 1];
    const size_t k = 1 + world_draw() % 6, gap = world_draw() % 2;
    const size_t longest = 2 + world_draw() % 30;
    size_t n = 0;
    for (size_t at = 0; at <= len; at += 2 + world_draw() % longest)
        starts[n++] = at;
    if (n <= k)
        return;
    n -= k;
    bm_shingle_ops_scalar.hash_slices(&(bm_slices){text, starts, k, gap, hashes[0]}, n);
    ops->hash_slices(&(bm_slices){text, starts, k, gap, hashes[1]}, n);
    check(memcmp(hashes[0], hashes[1], n * sizeof hashes[0][0]) == 0, ops, "hash_slices, mixed");
}

static void check_hashes(const bm_shingle_ops *ops, const char *text, size_t len)
{
    static uint64_t hashes[2][SIZE];
    static size_t starts[SIZE + 1];
    const bm_shingle_ops *scalar = &bm_shingle_ops_scalar;
    const size_t k = 1 + world_draw() % 40;
    for (size_t i = 0; i <= len; i++)
        starts[i] = i;
    if (len < k)
        return;
    const size_t n = len - k + 1;
    scalar->hash_windows(text, n, k, hashes[0]);
    ops->hash_windows(text, n, k, hashes[1]);
    check(memcmp(hashes[0], hashes[1], n * sizeof hashes[0][0]) == 0, ops, "hash_windows");
    ops->hash_slices(&(bm_slices){text, starts, k, 0, hashes[1]}, n);
    check(memcmp(hashes[0], hashes[1], n * sizeof hashes[0][0]) == 0, ops, "hash_slices");
    check_slices(ops, text, len);
    bm_content_sums a = {1, 2}, b = a;
    const uint64_t at = (world_draw() % 1000) * BM_CONTENT_PART;
    scalar->add_content(hashes[0], n, at, &a);
    ops->add_content(hashes[0], n, at, &b);
    check(a.c == b.c && a.d == b.d, ops, "add_content");
}

static bool usable(bm_isa isa)
{
#if defined(__x86_64__)
    return isa == BM_ISA_AVX2     ? __builtin_cpu_supports("avx2")
           : isa == BM_ISA_AVX512 ? __builtin_cpu_supports("avx512bw")
                                  : false;
#elif defined(__aarch64__)
    return isa == BM_ISA_NEON;
#else
    return isa != isa;
#endif
}

int main(void)
{
    static const bm_isa all[] = {BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON};
    static char block[SIZE + 2 * BM_JOIN_MARGIN];
    for (int round = 0; round < 20000; round++) {
        const size_t len = random_bytes(block + BM_JOIN_MARGIN);
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            if (!usable(all[i]))
                continue;
            const bm_shingle_ops *ops = bm_shingle_ops_of(all[i]);
            check_join(ops, block + BM_JOIN_MARGIN, len);
            check_starts(ops, block + BM_JOIN_MARGIN, len);
            check_hashes(ops, block + BM_JOIN_MARGIN, len);
        }
    }
    printf("%lu comparisons with scalar\n", n_checks);
    return n_checks == 0;
}
