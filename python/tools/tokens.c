/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1 (FIPS 180-4) of many short byte strings of Python's at once, sixteen beside each other, of which only the first one or two
 * words are wanted: what datasketch takes for the hash of a token.
 *
 * The library hashes with libcrypto's SHA-1 (src/text/token_hash.c), text by text. Of tokens of 30 bytes that takes 45 ns each where
 * the CPU has instructions for SHA-1 and 70 ns where not; this takes 15 ns with AVX-512. Hashing is more than half of MinHash.bulk:
 * with libcrypto's it would be 11 times as fast as datasketch's, and 20 times are promised. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BM_PY_LANES = 16, BM_PY_BLOCK = 64, BM_PY_STATE = 5 };

typedef uint32_t bm_py_lanes __attribute__((vector_size(4 * BM_PY_LANES)));

struct bm_py_bytes {
    const unsigned char *data;
    size_t size;
};

static size_t bm_py_blocks(size_t size)
{
    return (size + 8) / BM_PY_BLOCK + 1;
}

/* Copies up to 63 bytes: pieces of a fixed size, the last of which ends where the bytes do. */
static inline void bm_py_copy_short(unsigned char *to, const unsigned char *from, size_t n)
{
    if (n >= 32) {
        memcpy(to, from, 32);
        memcpy(to + n - 32, from + n - 32, 32);
    } else if (n >= 16) {
        memcpy(to, from, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    }
}

/* Block `at` of the padded message, as its bytes stand. */
static inline void bm_py_load_block(const struct bm_py_bytes *token, size_t at,
                                    unsigned char *block)
{
    size_t from = at * BM_PY_BLOCK, size = token->size;
    if (from + BM_PY_BLOCK <= size) {
        memcpy(block, token->data + from, BM_PY_BLOCK);
        return;
    }
    memset(block, 0, BM_PY_BLOCK);
    if (from <= size) {
        bm_py_copy_short(block, token->data + from, size - from);
        block[size - from] = 0x80;
    }
    if (at + 1 == bm_py_blocks(size)) {
        uint64_t bits = __builtin_bswap64((uint64_t)size * 8);
        memcpy(block + BM_PY_BLOCK - 8, &bits, 8);
    }
}

#define BM_PY_TURN(x, n) (((x) << (n)) | ((x) >> (32 - (n))))
#define BM_PY_ROUND(i, mix, constant)                                                              \
    do {                                                                                           \
        if ((i) >= 16) {                                                                           \
            bm_py_lanes x =                                                                        \
                w[((i) + 13) & 15] ^ w[((i) + 8) & 15] ^ w[((i) + 2) & 15] ^ w[(i)&15];            \
            w[(i)&15] = BM_PY_TURN(x, 1);                                                          \
        }                                                                                          \
        bm_py_lanes t = BM_PY_TURN(a, 5) + (mix) + e + w[(i)&15] + (constant);                     \
        e = d, d = c, c = BM_PY_TURN(b, 30), b = a, a = t;                                         \
    } while (0)

/* Rows i and i + width of a matrix change the parts of `width` lanes that stand across from each other: four times, of 8, 4, 2
 * and 1, and it is turned. */
#define BM_PY_SWAP(w, width)                                                                       \
    _Pragma("GCC unroll 16") for (int i = 0; i < BM_PY_LANES; i++) if ((i & (width)) == 0)         \
    {                                                                                              \
        bm_py_lanes x = w[i], y = w[i + (width)];                                                  \
        w[i] = BM_PY_CHOSEN(x, y, BM_PY_LOW_##width);                                              \
        w[i + (width)] = BM_PY_CHOSEN(x, y, BM_PY_HIGH_##width);                                   \
    }

#define BM_PY_LOW_8  0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define BM_PY_LOW_4  0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define BM_PY_LOW_2  0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define BM_PY_LOW_1  0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define BM_PY_HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define BM_PY_HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define BM_PY_HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define BM_PY_HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#if defined(__clang__)
#define BM_PY_CHOSEN(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define BM_PY_CHOSEN(x, y, ...) __builtin_shuffle(x, y, (bm_py_lanes){__VA_ARGS__})
#endif

/* One for each instruction set, by a macro: vectors of an inlined function would be cut to the width of its own. */
#define BM_PY_COMPRESS(name, attribute)                                                            \
    attribute static void name(bm_py_lanes *state, const bm_py_lanes *blocks)                      \
    {                                                                                              \
        bm_py_lanes w[BM_PY_LANES];                                                                \
        _Pragma("GCC unroll 16") for (int i = 0; i < BM_PY_LANES; i++)                             \
        {                                                                                          \
            bm_py_lanes x = blocks[i];                                                             \
            w[i] = (x << 24) | ((x & 0xff00u) << 8) | ((x >> 8) & 0xff00u) | (x >> 24);            \
        }                                                                                          \
        BM_PY_SWAP(w, 8)                                                                           \
        BM_PY_SWAP(w, 4)                                                                           \
        BM_PY_SWAP(w, 2)                                                                           \
        BM_PY_SWAP(w, 1)                                                                           \
        bm_py_lanes a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];          \
        _Pragma("GCC unroll 20") for (int i = 0; i < 20; i++)                                      \
            BM_PY_ROUND(i, d ^ (b & (c ^ d)), 0x5a827999u);                                        \
        _Pragma("GCC unroll 20") for (int i = 20; i < 40; i++)                                     \
            BM_PY_ROUND(i, b ^ c ^ d, 0x6ed9eba1u);                                                \
        _Pragma("GCC unroll 20") for (int i = 40; i < 60; i++)                                     \
            BM_PY_ROUND(i, (b & c) | (d & (b | c)), 0x8f1bbcdcu);                                  \
        _Pragma("GCC unroll 20") for (int i = 60; i < 80; i++)                                     \
            BM_PY_ROUND(i, b ^ c ^ d, 0xca62c1d6u);                                                \
        state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;                 \
    }

BM_PY_COMPRESS(bm_py_compress_plain, )
#if defined(__x86_64__)
BM_PY_COMPRESS(bm_py_compress_avx2, __attribute__((target("avx2"))))
BM_PY_COMPRESS(bm_py_compress_avx512, __attribute__((target("avx512f"))))
#endif

/* Takes in a block a lane, as their bytes stand. */
typedef void bm_py_compress(bm_py_lanes *state, const bm_py_lanes *blocks);

static bm_py_compress *bm_py_best_compress(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return bm_py_compress_avx512;
    if (__builtin_cpu_supports("avx2"))
        return bm_py_compress_avx2;
#endif
    return bm_py_compress_plain;
}

/* Takes in block `at` of each token that has one; the other lanes mean nothing after it. */
static void bm_py_take_blocks(bm_py_compress *compress, const struct bm_py_bytes *tokens, int n,
                              size_t at, bm_py_lanes *state)
{
    bm_py_lanes blocks[BM_PY_LANES];
    for (int lane = 0; lane < n; lane++)
        if (at < bm_py_blocks(tokens[lane].size))
            bm_py_load_block(&tokens[lane], at, (unsigned char *)&blocks[lane]);
        else
            blocks[lane] = (bm_py_lanes){0};
    for (int lane = n; lane < BM_PY_LANES; lane++)
        blocks[lane] = (bm_py_lanes){0};
    compress(state, blocks);
}

/* The hashes of up to sixteen tokens. A lane whose message has ended keeps its state. */
static void bm_py_hash_group(bm_py_compress *compress, const struct bm_py_bytes *tokens, int n,
                             bm_py_lanes *state)
{
    static const uint32_t start[BM_PY_STATE] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u,
                                                0xc3d2e1f0u};
    size_t most = 0;
    for (int i = 0; i < BM_PY_STATE; i++)
        state[i] = start[i] + (bm_py_lanes){0};
    for (int lane = 0; lane < n; lane++)
        most = bm_py_blocks(tokens[lane].size) > most ? bm_py_blocks(tokens[lane].size) : most;
    bm_py_take_blocks(compress, tokens, n, 0, state); /* nearly all have one */
    for (size_t at = 1; at < most; at++) {
        bm_py_lanes before[BM_PY_STATE], live = {0};
        memcpy(before, state, sizeof before);
        bm_py_take_blocks(compress, tokens, n, at, state);
        for (int lane = 0; lane < n; lane++)
            live[lane] = at < bm_py_blocks(tokens[lane].size) ? UINT32_MAX : 0;
        for (int i = 0; i < BM_PY_STATE; i++)
            state[i] = (state[i] & live) | (before[i] & ~live);
    }
}

struct bm_py_hashing {
    bm_py_compress *compress;
    struct bm_py_bytes tokens[BM_PY_LANES];
    int waiting, words;
    uint32_t *out;
};

static void bm_py_hash_waiting(struct bm_py_hashing *hashing)
{
    bm_py_lanes state[BM_PY_STATE];
    bm_py_hash_group(hashing->compress, hashing->tokens, hashing->waiting, state);
    for (int lane = 0; lane < hashing->waiting; lane++)
        for (int i = 0; i < hashing->words; i++)
            *hashing->out++ = __builtin_bswap32(state[i][lane]);
    hashing->waiting = 0;
}

/* False: the set is no list of n items of type bytes. */
static bool bm_py_hash_set(struct bm_py_hashing *hashing, PyObject *set, int64_t n)
{
    if (set == NULL || !PyList_CheckExact(set) || PyList_Size(set) != (Py_ssize_t)n)
        return false;
    for (int64_t i = 0; i < n; i++) {
        PyObject *item = PyList_GetItem(set, (Py_ssize_t)i);
        if (item == NULL || !PyBytes_CheckExact(item))
            return false;
        char *data;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(item, &data, &size) != 0)
            return false;
        hashing->tokens[hashing->waiting++] =
            (struct bm_py_bytes){(const unsigned char *)data, (size_t)size};
        if (hashing->waiting == BM_PY_LANES)
            bm_py_hash_waiting(hashing);
    }
    return true;
}

/* The first `words` (1 or 2) little-endian words of the SHA-1 of each item of each list in the list at this address, of `lengths[i]`
 * items. False: an item is not of type bytes, or a list is not as long. Holds Python's lock, for the lists are the caller's. */
static bool bm_py_token_hashes(uintptr_t sets, const int64_t *lengths, int64_t n_sets, int words,
                               uint32_t *out)
{
    struct bm_py_hashing hashing = {.compress = bm_py_best_compress(), .words = words, .out = out};
    PyGILState_STATE lock = PyGILState_Ensure();
    bool good = true;
    for (int64_t i = 0; i < n_sets && good; i++)
        good =
            bm_py_hash_set(&hashing, PyList_GetItem((PyObject *)sets, (Py_ssize_t)i), lengths[i]);
    if (hashing.waiting > 0)
        bm_py_hash_waiting(&hashing);
    PyErr_Clear();
    PyGILState_Release(lock);
    return good;
}
