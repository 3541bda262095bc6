/* set_code.c -- see set_code.h for the layout.
 *
 * What is read are words of 64 bits at any address. A low part is read as a whole word and cut: the bits of the
 * high parts stand behind it, at least 8 bytes of them wherever L is less than 8, so that such a word never
 * passes the end. */
#include "store/set_code.h"

#include <string.h>

#include "store/le_bytes.h"

#define PREFETCH 2048u /* bytes of a code that are asked for before they are read */

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
    if (n == 0)
        return;
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

unsigned bm_set_code_low(size_t n)
{
    return low_bytes(n);
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

/* Ask for the lines of bytes from … from+n-1 of a code, those that it has. A set is read where it lies in a file that is
 * mapped: what would be a wait for each line in turn is one for all. */
static inline void prefetch(const uint8_t *code, size_t size, size_t from, size_t n)
{
    for (size_t at = from; at < size && at < from + n; at += 64)
        __builtin_prefetch(code + at);
}

static bool read_plain(const uint8_t *code, size_t n, uint64_t *out)
{
    size_t rising = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = bm_le64_get(code + 8 * i);
        rising += out[i] > before;
        before = out[i];
    }
    return rising == n || (rising == n - 1 && out[0] == 0);
}

/* Is the rest of the last byte 0, as it was written? */
static bool rest_is_zero(const uint8_t *high, size_t bits)
{
    return bits % 8 == 0 || high[bits / 8] >> (bits % 8) == 0;
}

/* L = 7: high parts are bytes, and a byte of the code has those of up to 8 hashes, which a table gives at once. All of
 * them are unpacked first: as many as there can be bits, so that no byte of the code has to be asked. */
#define SEVEN_MAX  8160u
#define SEVEN_BITS (SEVEN_MAX + 255u)

#define ONES_BELOW(b, k) (unsigned)__builtin_popcount((b) & ((1u << (k)) - 1u))
#define ZEROS_AT(b, k)                                                                             \
    ((b) >> (k)&1u ? (uint64_t)((k)-ONES_BELOW(b, k)) << (8u * ONES_BELOW(b, k)) : 0u)
#define ZEROS(b)                                                                                   \
    ZEROS_AT(b, 0u) | ZEROS_AT(b, 1u) | ZEROS_AT(b, 2u) | ZEROS_AT(b, 3u) | ZEROS_AT(b, 4u) |      \
        ZEROS_AT(b, 5u) | ZEROS_AT(b, 6u) | ZEROS_AT(b, 7u)
#define ZEROS4(b)  ZEROS(b), ZEROS((b) + 1u), ZEROS((b) + 2u), ZEROS((b) + 3u)
#define ZEROS16(b) ZEROS4(b), ZEROS4((b) + 4u), ZEROS4((b) + 8u), ZEROS4((b) + 12u)
#define ZEROS64(b) ZEROS16(b), ZEROS16((b) + 16u), ZEROS16((b) + 32u), ZEROS16((b) + 48u)

/* For each byte, the number of zeros before each of its ones, a byte each. */
static const uint64_t zeros_of[256] = {ZEROS64(0u), ZEROS64(64u), ZEROS64(128u), ZEROS64(192u)};

#define ONES(b)   (uint8_t) __builtin_popcount(b)
#define ONES4(b)  ONES(b), ONES((b) + 1u), ONES((b) + 2u), ONES((b) + 3u)
#define ONES16(b) ONES4(b), ONES4((b) + 4u), ONES4((b) + 8u), ONES4((b) + 12u)
#define ONES64(b) ONES16(b), ONES16((b) + 16u), ONES16((b) + 32u), ONES16((b) + 48u)

static const uint8_t ones_of[256] = {ONES64(0u), ONES64(64u), ONES64(128u), ONES64(192u)};

static bool read_seven(const uint8_t *code, size_t n, uint64_t *out)
{
    const size_t bits = high_bits(n, 7), size = code_size(n, 7);
    const uint64_t each = UINT64_C(0x0101010101010101), mask = (UINT64_C(1) << 56) - 1;
    const uint8_t *high = code + n * 7;
    uint8_t highs[SEVEN_BITS + 8];
    size_t i = 0, rising = 0;
    uint64_t before = 0;
    for (size_t at = 0; at < (bits + 7) / 8; at++) {
        bm_le64_put(highs + i, zeros_of[high[at]] + (8 * at - i) * each);
        i += ones_of[high[at]];
    }
    if (i != n || !rest_is_zero(high, bits))
        return false;
    for (size_t begin = 0; begin < n; begin += 64) {
        const size_t end = begin + 64 < n ? begin + 64 : n;
        prefetch(code, size, 7 * begin + PREFETCH, 7 * 64);
        for (i = begin; i < end; i++) {
            const uint64_t hash = (uint64_t)highs[i] << 56 | (bm_le64_get(code + 7 * i) & mask);
            rising += hash > before;
            before = out[i] = hash;
        }
    }
    return rising == n || (rising == n - 1 && out[0] == 0);
}

/* L < 7: words of the high parts, one after the other. */
static inline bool read_cut(const uint8_t *code, size_t n, unsigned low, uint64_t *out)
{
    const size_t bits = high_bits(n, low), size = (bits + 7) / 8;
    const uint64_t mask = (UINT64_C(1) << (8 * low)) - 1;
    const uint8_t *high = code + n * low;
    size_t i = 0, rising = 0;
    uint64_t before = 0;
    if (!rest_is_zero(high, bits))
        return false;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = word_at(high, at, size);
        if ((size_t)__builtin_popcountll(word) > n - i)
            return false;
        for (; word != 0; word &= word - 1, i++) {
            const uint64_t value = 8 * at + (unsigned)__builtin_ctzll(word) - i;
            const uint64_t hash = value << (8 * low) | (bm_le64_get(code + i * low) & mask);
            rising += hash > before;
            before = out[i] = hash;
        }
    }
    return i == n && (rising == n || (rising == n - 1 && out[0] == 0));
}

bool bm_set_code_read(const uint8_t *code, size_t size, size_t n, uint64_t *out)
{
    if (n >> 32 != 0)
        return false;
    const unsigned low = low_bytes(n);
    if (size != code_size(n, low))
        return false;
    prefetch(code, size, 0, PREFETCH);
    if (low == 8)
        return read_plain(code, n, out);
    return low == 7 ? read_seven(code, n, out) : read_cut(code, n, low, out);
}
