/* set_code.c -- see set_code.h for the layout.
 *
 * What is read are words of 64 bits at any address. A low part is read as a whole word and cut: the bits of the
 * high parts stand behind it, at least 8 bytes of them wherever L is less than 8, so that such a word never
 * passes the end. */
#include "store/bytes/set_code.h"

#include <string.h>

#include "store/bytes/le_bytes.h"

/* L: how many bytes of each hash stand as they are. Of two of the same size the larger. */
static unsigned low_bytes(uint64_t n)
{
    unsigned low = 8;
    uint64_t best = n * 8;
    for (unsigned next = 7; next >= 4; next--) {
        const uint64_t bits = n + (UINT64_C(1) << (64 - 8 * next)) - 1;
        const uint64_t size = n * next + (bits + 7) / 8;
        if (size < best) {
            best = size;
            low = next;
        }
    }
    return low;
}

/* Bits of the high parts: n ones, and a zero from each value to the next. */
static size_t high_bits(size_t n, unsigned low)
{
    return low == 8 ? 0 : n + ((size_t)1 << (64 - 8 * low)) - 1;
}

static size_t code_size(size_t n, unsigned low)
{
    return n * low + (high_bits(n, low) + 7) / 8;
}

size_t bm_set_code_size(size_t n)
{
    return code_size(n, low_bytes(n));
}

void bm_set_code_write(const uint64_t *hashes, size_t n, uint8_t *out)
{
    const unsigned low = low_bytes(n);
    uint8_t *high = out + n * low;
    for (size_t i = 0; i < n; i++)
        bm_le64_put(out + i * low, hashes[i]); /* the next one writes over what is too much */
    if (low == 8)
        return;
    memset(high, 0, (high_bits(n, low) + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        const size_t at = (size_t)(hashes[i] >> (8 * low)) + i;
        high[at / 8] = (uint8_t)(high[at / 8] | 1u << (at % 8));
    }
}

/* The word of 64 bits that begins at byte `at` of `size`; what is behind the end is 0. */
static uint64_t word_at(const uint8_t *bytes, size_t at, size_t size)
{
    uint8_t tail[8] = {0};
    if (size - at >= 8)
        return bm_le64_get(bytes + at);
    memcpy(tail, bytes + at, size - at);
    return bm_le64_get(tail);
}

static bool read_plain(const uint8_t *code, size_t n, uint64_t *out)
{
    bool falling = false;
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = bm_le64_get(code + 8 * i);
        falling |= i > 0 && out[i] <= before;
        before = out[i];
    }
    return !falling;
}

static inline bool read_cut(const uint8_t *code, size_t n, unsigned low, uint64_t *out)
{
    const size_t bits = high_bits(n, low), size = (bits + 7) / 8;
    const uint64_t mask = (UINT64_C(1) << (8 * low)) - 1;
    const uint8_t *high = code + n * low;
    size_t i = 0;
    bool falling = false;
    uint64_t before = 0;
    if (bits % 8 != 0 && high[size - 1] >> (bits % 8) != 0)
        return false;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = word_at(high, at, size);
        if ((size_t)__builtin_popcountll(word) > n - i)
            return false;
        for (; word != 0; word &= word - 1, i++) {
            const uint64_t value = 8 * at + (unsigned)__builtin_ctzll(word) - i;
            const uint64_t hash = value << (8 * low) | (bm_le64_get(code + i * low) & mask);
            falling |= i > 0 && hash <= before;
            before = out[i] = hash;
        }
    }
    return i == n && !falling;
}

bool bm_set_code_read(const uint8_t *code, size_t size, size_t n, uint64_t *out)
{
    if (n >> 32 != 0)
        return false;
    const unsigned low = low_bytes(n);
    if (size != code_size(n, low))
        return false;
    return low == 8 ? read_plain(code, n, out) : read_cut(code, n, low, out);
}
