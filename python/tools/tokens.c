/* SHA-1 (FIPS 180-4) of many short byte strings of Python's at once, eight beside each other, of which only the first one or two
 * words are wanted: what datasketch takes for the hash of a token. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BM_PY_LANES = 8, BM_PY_BLOCK = 64, BM_PY_STATE = 5 };

typedef uint32_t bm_py_lanes __attribute__((vector_size(4 * BM_PY_LANES)));

struct bm_py_bytes {
    const unsigned char *data;
    size_t size;
};

static size_t bm_py_blocks(size_t size)
{
    return (size + 8) / BM_PY_BLOCK + 1;
}

/* Block `at` of the padded message, as sixteen numbers, into one lane. */
static inline void bm_py_load_block(const struct bm_py_bytes *token, size_t at, int lane, bm_py_lanes *w)
{
    unsigned char block[BM_PY_BLOCK] = {0};
    size_t from = at * BM_PY_BLOCK, size = token->size;
    if (from < size)
        memcpy(block, token->data + from, size - from < BM_PY_BLOCK ? size - from : BM_PY_BLOCK);
    if (size >= from && size < from + BM_PY_BLOCK)
        block[size - from] = 0x80;
    if (at + 1 == bm_py_blocks(size)) {
        uint64_t bits = __builtin_bswap64((uint64_t)size * 8);
        memcpy(block + BM_PY_BLOCK - 8, &bits, 8);
    }
    for (int i = 0; i < 16; i++) {
        uint32_t word;
        memcpy(&word, block + 4 * i, 4);
        w[i][lane] = __builtin_bswap32(word);
    }
}

#define BM_PY_TURN(x, n) (((x) << (n)) | ((x) >> (32 - (n))))
#define BM_PY_ROUND(i, mix, constant)                                                       \
    do {                                                                                    \
        if ((i) >= 16) {                                                                    \
            bm_py_lanes x = w[((i) + 13) & 15] ^ w[((i) + 8) & 15] ^ w[((i) + 2) & 15] ^ w[(i) & 15]; \
            w[(i) & 15] = BM_PY_TURN(x, 1);                                                 \
        }                                                                                   \
        bm_py_lanes t = BM_PY_TURN(a, 5) + (mix) + e + w[(i) & 15] + (constant);            \
        e = d, d = c, c = BM_PY_TURN(b, 30), b = a, a = t;                                  \
    } while (0)

static inline __attribute__((always_inline)) void bm_py_compress_body(bm_py_lanes *state, bm_py_lanes *w)
{
    bm_py_lanes a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
#pragma GCC unroll 20
    for (int i = 0; i < 20; i++)
        BM_PY_ROUND(i, d ^ (b & (c ^ d)), 0x5a827999u);
#pragma GCC unroll 20
    for (int i = 20; i < 40; i++)
        BM_PY_ROUND(i, b ^ c ^ d, 0x6ed9eba1u);
#pragma GCC unroll 20
    for (int i = 40; i < 60; i++)
        BM_PY_ROUND(i, (b & c) | (d & (b | c)), 0x8f1bbcdcu);
#pragma GCC unroll 20
    for (int i = 60; i < 80; i++)
        BM_PY_ROUND(i, b ^ c ^ d, 0xca62c1d6u);
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

static void bm_py_compress_plain(bm_py_lanes *state, bm_py_lanes *w)
{
    bm_py_compress_body(state, w);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void bm_py_compress_avx2(bm_py_lanes *state, bm_py_lanes *w)
{
    bm_py_compress_body(state, w);
}
#endif

typedef void bm_py_compress(bm_py_lanes *state, bm_py_lanes *w);

static bm_py_compress *bm_py_best_compress(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return bm_py_compress_avx2;
#endif
    return bm_py_compress_plain;
}

/* The hashes of up to eight tokens. A lane whose message has ended keeps its state. */
static void bm_py_hash_group(bm_py_compress *compress, const struct bm_py_bytes *tokens, int n, bm_py_lanes *state)
{
    static const uint32_t start[BM_PY_STATE] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    size_t most = 0;
    for (int i = 0; i < BM_PY_STATE; i++)
        state[i] = start[i] + (bm_py_lanes){0};
    for (int lane = 0; lane < n; lane++)
        most = bm_py_blocks(tokens[lane].size) > most ? bm_py_blocks(tokens[lane].size) : most;
    for (size_t at = 0; at < most; at++) {
        bm_py_lanes w[16] = {{0}}, before[BM_PY_STATE], live = {0};
        memcpy(before, state, sizeof before);
        for (int lane = 0; lane < n; lane++)
            if (at < bm_py_blocks(tokens[lane].size)) {
                live[lane] = UINT32_MAX;
                bm_py_load_block(&tokens[lane], at, lane, w);
            }
        compress(state, w);
        for (int i = 0; i < BM_PY_STATE; i++)
            state[i] = (state[i] & live) | (before[i] & ~live);
    }
}

/* Where the bytes of a list's items lie; false: one is not of type bytes. */
static bool bm_py_find_bytes(PyObject *list, int64_t from, int n, struct bm_py_bytes *tokens)
{
    for (int i = 0; i < n; i++) {
        PyObject *item = PyList_GetItem(list, (Py_ssize_t)(from + i));
        if (item == NULL || !PyBytes_CheckExact(item)) {
            PyErr_Clear();
            return false;
        }
        tokens[i] = (struct bm_py_bytes){(const unsigned char *)PyBytes_AsString(item), (size_t)PyBytes_Size(item)};
    }
    return true;
}

/* The first `words` (1 or 2) little-endian words of the SHA-1 of each item of the list at this address, which nobody changes
 * meanwhile; how many were done: n, or fewer where an item is not of type bytes. */
static int64_t bm_py_token_hashes(uintptr_t list, int64_t n, int words, uint32_t *out)
{
    enum { AT_ONCE = 512 };
    bm_py_compress *compress = bm_py_best_compress();
    for (int64_t from = 0; from < n; from += AT_ONCE) {
        struct bm_py_bytes tokens[AT_ONCE];
        int some = n - from < AT_ONCE ? (int)(n - from) : AT_ONCE;
        PyGILState_STATE lock = PyGILState_Ensure();
        bool found = bm_py_find_bytes((PyObject *)list, from, some, tokens);
        PyGILState_Release(lock);
        if (!found)
            return from;
        for (int at = 0; at < some; at += BM_PY_LANES) {
            bm_py_lanes state[BM_PY_STATE];
            int lanes = some - at < BM_PY_LANES ? some - at : BM_PY_LANES;
            bm_py_hash_group(compress, tokens + at, lanes, state);
            for (int lane = 0; lane < lanes; lane++)
                for (int i = 0; i < words; i++)
                    out[(from + at + lane) * words + i] = __builtin_bswap32(state[i][lane]);
        }
    }
    return n;
}
