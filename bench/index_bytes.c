/* SPDX-License-Identifier: Apache-2.0 */
/* index_bytes.c -- the cost of an index's byte formats against plain arrays: reading a set, against
 * memcpy of its hashes; finding a key, against a branchless binary search in an array of keys.
 *
 *     index_bytes        a row per size: nanoseconds per hash or key; the minimum of some rounds
 *
 * "in cache": 100 sets, one piece. "in memory": 100,000 sets, 300 pieces, each read once per round.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/piece.h"

#define ROUNDS     9
#define KEYS_AHEAD 8u
#define KEYS_A_TURN                                                                                \
    340u /* of a piece: a batch of some thousand documents and an index of a million */

static uint64_t sink; /* keeps the compiler from dropping the work */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* SplitMix64. */
static uint64_t number_of(uint64_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static int order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void *must(void *block)
{
    if (block == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return block;
}

/* --- sets --- */

typedef struct sets {
    size_t n, count, size; /* n: hashes per set; count: sets; size: bytes per set */
    uint8_t *codes;
    uint64_t *raw, *out;
} sets;

static double read_sets(const sets *s)
{
    const double begin = now_ns();
    for (size_t i = 0; i < s->count; i++) {
        const size_t at = i * 7919 % s->count;
        if (!bm_set_code_read(s->codes + at * s->size, s->size, s->n, s->out))
            exit(1);
        sink += s->out[s->n - 1];
    }
    return now_ns() - begin;
}

static double copy_sets(const sets *s)
{
    const double begin = now_ns();
    for (size_t i = 0; i < s->count; i++) {
        memcpy(s->out, s->raw + i * 7919 % s->count * s->n, s->n * 8);
        __asm__ volatile("" ::"r"(s->out) : "memory");
        sink += s->out[s->n - 1];
    }
    return now_ns() - begin;
}

static void bench_sets(size_t n, size_t count)
{
    sets s = {.n = n, .count = count, .size = bm_set_code_size(n)};
    double read = 1e18, copy = 1e18;
    s.codes = must(malloc(s.size * count));
    s.raw = must(malloc(8 * n * count));
    s.out = must(malloc(8 * n));
    for (size_t i = 0; i < count; i++) {
        uint64_t *hashes = s.raw + i * n;
        for (size_t j = 0; j < n; j++)
            hashes[j] = number_of(i * n + j);
        qsort(hashes, n, 8, order);
        bm_set_code_write(hashes, n, s.codes + i * s.size);
    }
    for (int r = 0; r < ROUNDS; r++) {
        const double a = read_sets(&s), b = copy_sets(&s);
        read = a < read ? a : read;
        copy = b < copy ? b : copy;
    }
    const double hashes = (double)n * (double)count;
    printf("sets of %7zu, %6zu of them: %.2f bytes, %.2f ns a hash; memcpy 8 bytes, %.2f ns\n", n,
           count, (double)s.size / (double)n, read / hashes, copy / hashes);
    free(s.codes), free(s.raw), free(s.out);
}

/* --- postings --- */

typedef struct pieces {
    /* n: entries per piece; count: pieces; n_asked: keys looked up per piece */
    size_t n, count, n_asked;
    uint8_t *bytes;
    bm_posting_piece *list;
    uint64_t *keys, *asked; /* over all pieces */
} pieces;

static double find_keys(const pieces *p)
{
    const double begin = now_ns();
    for (size_t i = 0; i < p->count; i++) {
        const uint64_t *asked = p->asked + i * p->n_asked;
        for (size_t j = 0; j < p->n_asked; j++) {
            if (j + KEYS_AHEAD < p->n_asked)
                bm_posting_piece_expect(&p->list[i], asked[j + KEYS_AHEAD]);
            const size_t at = bm_posting_piece_find(&p->list[i], asked[j]);
            if (at < p->n)
                sink += bm_posting_piece_at(&p->list[i], at).number;
        }
    }
    return now_ns() - begin;
}

static double search_keys(const pieces *p)
{
    const double begin = now_ns();
    for (size_t i = 0; i < p->count; i++) {
        const uint64_t *asked = p->asked + i * p->n_asked, *keys = p->keys + i * p->n;
        for (size_t j = 0; j < p->n_asked; j++) {
            size_t low = 0;
            for (size_t n = p->n; n > 1; n -= n / 2)
                low += keys[low + n / 2 - 1] < asked[j] ? n / 2 : 0;
            sink += low;
        }
    }
    return now_ns() - begin;
}

static void fill_piece(pieces *p, size_t i, bm_posting *entries, uint8_t *at)
{
    uint64_t *keys = p->keys + i * p->n, *asked = p->asked + i * p->n_asked;
    const size_t size = bm_posting_piece_size(p->n);
    for (size_t j = 0; j < p->n; j++)
        keys[j] = number_of(i * p->n + j);
    qsort(keys, p->n, 8, order);
    for (size_t j = 0; j < p->n; j++)
        entries[j] = (bm_posting){keys[j], (uint32_t)j};
    bm_posting_piece_write(entries, p->n, at);
    if (!bm_posting_piece_open(at, size, NULL, &p->list[i]))
        exit(1);
    for (size_t j = 0; j < p->n_asked; j++) /* half of them exist */
        asked[j] = j % 2 ? keys[number_of(j) % p->n] : number_of(i << 40 | j);
    qsort(asked, p->n_asked, 8, order);
}

static void bench_postings(size_t n, size_t count, size_t n_asked)
{
    pieces p = {.n = n, .count = count, .n_asked = n_asked};
    const size_t stride = (bm_posting_piece_size(n) + 16 + 4095) / 4096 * 4096;
    double find = 1e18, search = 1e18;
    p.bytes = must(aligned_alloc(4096, stride * count));
    p.list = must(calloc(count, sizeof *p.list));
    p.keys = must(malloc(8 * n * count));
    p.asked = must(malloc(8 * n_asked * count));
    bm_posting *entries = must(malloc(n * sizeof *entries));
    for (size_t i = 0; i < count; i++)
        fill_piece(&p, i, entries, p.bytes + i * stride + 16); /* aligned as in LMDB */
    for (int r = 0; r < ROUNDS; r++) {
        const double a = find_keys(&p), b = search_keys(&p);
        find = a < find ? a : find;
        search = b < search ? b : search;
    }
    const double keys = (double)count * (double)n_asked;
    printf("pieces of %5zu, %3zu of them: %.2f bytes an entry, %.1f ns a key; binary search 12 "
           "bytes, %.1f ns\n",
           n, count, (double)stride / (double)n, find / keys, search / keys);
    free(entries), free(p.bytes), free(p.list), free(p.keys), free(p.asked);
}

int main(void)
{
    static const size_t sizes[] = {20, 60, 170, 1000, 8000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bench_sets(sizes[i], 100);
        bench_sets(sizes[i], 17000000 / sizes[i]);
    }
    bench_postings(300, 1, 10000);
    bench_postings(BM_POSTING_PIECE, 1, 100000);
    bench_postings(BM_POSTING_PIECE, 300, KEYS_A_TURN);
    return sink == 42; /* never true */
}
