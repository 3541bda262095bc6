/* SPDX-License-Identifier: Apache-2.0 */
/* limit_words.c -- where the words of a text begin.
 *
 * A text whose words are separated by single spaces, which is nearly every one, needs no copy: the
 * starts are the set bits of a mask that 64 bytes give at once. A text of any other form is first
 * rewritten to that one. */
#include "limit_words.h"

#include <stdbool.h>

#include "limit_vectors.h"

/* Bit i: a White_Space character outside ASCII begins at byte i. Nearly always called only for
 * quotation marks (E2 80 99), so it need not be fast. */
static uint64_t wide_spaces(const char *p)
{
    uint64_t c2 = bytes_equal(p, (char)0xC2), e1 = bytes_equal(p, (char)0xE1);
    uint64_t e2 = bytes_equal(p, (char)0xE2), e3 = bytes_equal(p, (char)0xE3);
    const char *q = p + 1, *r = p + 2;
    uint64_t second80 = bytes_equal(q, (char)0x80);
    uint64_t general = bytes_in(r, 0x80, 11) | bytes_in(r, 0xA8, 2) | bytes_equal(r, (char)0xAF);
    return (c2 & (bytes_equal(q, (char)0x85) | bytes_equal(q, (char)0xA0))) |
           (e1 & bytes_equal(q, (char)0x9A) & bytes_equal(r, (char)0x80)) |
           (e2 & second80 & general) |
           (e2 & bytes_equal(q, (char)0x81) & bytes_equal(r, (char)0x9F)) |
           (e3 & second80 & bytes_equal(r, (char)0x80));
}

/* Length of the White_Space character at p, 0 if there is none. */
static size_t space_at(const unsigned char *p, size_t left)
{
    if (p[0] == 0x20 || (p[0] >= 9 && p[0] <= 13))
        return 1;
    if (left >= 2 && p[0] == 0xC2 && (p[1] == 0x85 || p[1] == 0xA0))
        return 2;
    if (left >= 3 && p[0] >= 0xE1 && p[0] <= 0xE3 && (wide_spaces((const char *)p) & 1u) != 0)
        return 3;
    return 0;
}

/* The bytes kept of each 64 are a few runs; each run is copied by one store that may write past its
 * end. */
size_t limit_squeeze(const char *text, size_t len, char *out)
{
    size_t n = 0;
    uint64_t last = 1;
    for (size_t i = 0; i < len; i += 64) {
        uint64_t valid = len - i >= 64 ? UINT64_MAX : (UINT64_C(1) << (len - i)) - 1;
        uint64_t space = bytes_equal(text + i, ' ') | bytes_in(text + i, 9, 5);
        uint64_t keep = ~(space & (space << 1 | last)) & valid;
        last = space >> 63;
        while (keep != 0) {
            unsigned begin = (unsigned)_tzcnt_u64(keep);
            unsigned run = (unsigned)_tzcnt_u64(~(keep >> begin));
            copy_64(out + n, text + i + begin);
            n += run;
            keep = begin + run >= 64 ? 0 : keep & (UINT64_MAX << (begin + run));
        }
    }
    return n > 0 && out[n - 1] == ' ' ? n - 1 : n;
}

size_t limit_rewrite(const char *text, size_t len, char *out)
{
    size_t n = 0;
    bool in_word = false;
    for (size_t i = 0; i < len;) {
        size_t space = space_at((const unsigned char *)text + i, len - i);
        if (space != 0) {
            in_word = false;
            i += space;
            continue;
        }
        if (!in_word && n > 0)
            out[n++] = ' ';
        in_word = true;
        out[n++] = text[i++];
    }
    return n;
}

#if defined(__AVX512VBMI2__)
/* The positions of the set bits, sixteen at a time: bytes put side by side. */
static inline uint32_t *put_bits(uint64_t bits, uint32_t base, uint32_t *out)
{
    const __m512i order = _mm512_set_epi64(
        0x3F3E3D3C3B3A3938, 0x3736353433323130, 0x2F2E2D2C2B2A2928, 0x2726252423222120,
        0x1F1E1D1C1B1A1918, 0x1716151413121110, 0x0F0E0D0C0B0A0908, 0x0706050403020100);
    __m512i index = _mm512_maskz_compress_epi8(bits, order);
    uint32_t *end = out + __builtin_popcountll(bits);
    do {
        __m512i wide = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(index));
        _mm512_storeu_si512(out, _mm512_add_epi32(wide, _mm512_set1_epi32((int)base)));
        index = _mm512_shuffle_i64x2(index, index, 0x39); /* the next 16 bytes first */
        out += 16;
    } while (out < end);
    return end;
}
#else
/* The positions of the set bits, eight at a time so that the count is the only branch. */
static inline uint32_t *put_bits(uint64_t bits, uint32_t base, uint32_t *out)
{
    uint32_t *end = out + __builtin_popcountll(bits);
    do {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            out[i] = base + (uint32_t)_tzcnt_u64(bits);
            bits &= bits - 1;
        }
        out += 8;
    } while (bits != 0);
    return end;
}
#endif

size_t limit_word_starts(const char *text, size_t len, uint32_t *starts)
{
    if (len == 0)
        return 0;
    uint32_t *out = starts;
    /* last: as if a space came before, so position 0 is a start */
    uint64_t last = 1, wrong = 0, wide = 0;
    for (size_t i = 0; i < len; i += 64) {
        uint64_t valid = len - i >= 64 ? UINT64_MAX : (UINT64_C(1) << (len - i)) - 1;
        uint64_t space = bytes_equal(text + i, ' ') & valid;
        uint64_t other = bytes_in(text + i, 9, 5);
        uint64_t leads = bytes_in(text + i, 0xE1, 3) | bytes_equal(text + i, (char)0xC2);
        if (leads != 0)
            wide |= wide_spaces(text + i) & valid;
        uint64_t after_space = space << 1 | last;
        wrong |= (other & valid) | (space & after_space);
        last = space >> 63;
        out = put_bits(after_space & valid, (uint32_t)i, out);
    }
    if (wide != 0)
        return NEEDS_REWRITE;
    if (wrong != 0 || text[len - 1] == ' ')
        return NEEDS_SQUEEZE;
    *out = (uint32_t)len + 1;
    return (size_t)(out - starts);
}
