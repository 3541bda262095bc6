/* limit.c -- the yardstick for text: from a TSV in memory to MinHash signatures, on one core, with
 * nothing of the library.
 *
 *   limit [--repeat N] [--distinct] FILE     rows "id TAB text"; prints one JSON object
 *   limit --arith               only the arithmetic of the signature loop: no memory traffic
 *
 * The job: words are runs of what is not White_Space, a shingle is 5 words joined by one space (or
 * all words of a shorter text), hashed with XXH3_64bits where it stands; 128 permutations of
 * affine32 with seed 1. With --distinct each hash of a text counts and is signed once, which gives
 * the same signatures and, beside them, the number of distinct shingles of each text, as any
 * program needs it that compares sets; without, that is left out. `checksum` is the sum of word[i]
 * * (2i + 1) mod 2^64 over all signature words, document after document, so that another program's
 * signatures can be compared.
 *
 * How: a text whose words are separated by single spaces, which is nearly every one, needs no copy.
 * A shingle is then the bytes between two word starts, and the starts are the set bits of a mask
 * that 64 bytes give at once. A text of any other form is first rewritten to that one. Shingles of
 * 17 to 64 bytes are hashed without a branch on their length (XXH3 has a class for each 32 bytes;
 * lengths of real shingles change class all the time, and a wrong guess costs more than a hash):
 * with AVX-512 the terms of both classes eight at a time and the further ones from a list, with
 * AVX2 all four terms, of which two are masked away. Hashes of a document go to a small buffer, are
 * premixed 16 at a time, and meet the 128 permutations in registers. The set is a table of
 * positions that a count of documents empties.
 *
 * Compiled for AVX-512 (BW, VL), the same with VBMI2 (limit_vbmi2), or AVX2 (limit_avx2). Any error
 * is one line on stderr and exit code 1. */
#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define PERMS        128u
#define SHINGLE      5u
#define SLACK        128u /* bytes before and after every text that may be read */
#define HASH_BLOCK   1024u
#define DISTINCT_MAX 0xFFFFu           /* shingles of a text, with --distinct */
#define TABLE_PLACES ((size_t)1 << 19) /* 8 x DISTINCT_MAX, in pages that are touched or not */
#define ARITH_ROUNDS UINT64_C(20000000)
#define REPEATS_MAX  1000

typedef struct coefficients {
    _Alignas(64) uint32_t a[PERMS], b[PERMS];
} coefficients;

typedef struct job {
    const char *data; /* the file, SLACK readable bytes on both sides */
    size_t len;
    uint32_t *starts; /* of the words of one text */
    char *rewritten;  /* one text with single spaces, SLACK on both sides */
    uint32_t *signatures;
    uint64_t *values; /* --distinct: those of one text */
    uint32_t *table;  /* --distinct: number of the text << 16 | position in `values` */
    uint32_t text_bits;
    bool distinct;
    size_t n_docs, n_rewritten;
    uint64_t n_shingles, n_distinct, text_bytes;
    coefficients coefficients;
} job;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void die(const char *what, const char *file)
{
    fprintf(stderr, "limit: %s: %s: %s\n", file, what, errno != 0 ? strerror(errno) : "failed");
    exit(1);
}

static void *must_alloc(size_t bytes)
{
    void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (block == NULL)
        die("out of memory", "limit");
    return block;
}

/* --- coefficients: NumPy's RandomState(seed), all a, then all b --- */

static uint32_t mt_next(uint32_t state[624], uint32_t *at)
{
    if (*at == 624) {
        for (uint32_t i = 0; i < 624; i++) {
            uint32_t y = (state[i] & 0x80000000u) | (state[(i + 1) % 624] & 0x7FFFFFFFu);
            state[i] = state[(i + 397) % 624] ^ (y >> 1) ^ ((y & 1u) != 0 ? 0x9908B0DFu : 0);
        }
        *at = 0;
    }
    uint32_t y = state[(*at)++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680u;
    y ^= (y << 15) & 0xEFC60000u;
    return y ^ (y >> 18);
}

static void draw(uint32_t seed, coefficients *out)
{
    uint32_t state[624], at = 624;
    state[0] = seed;
    for (uint32_t i = 1; i < 624; i++)
        state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
    for (uint32_t i = 0; i < PERMS; i++)
        out->a[i] = 2 * (mt_next(state, &at) & 0x7FFFFFFFu) + 1;
    for (uint32_t i = 0; i < PERMS; i++)
        out->b[i] = mt_next(state, &at);
}

/* --- vectors: the same few operations at 512 or 256 bits --- */

#if defined(__AVX512BW__)
#if defined(__AVX512VBMI2__)
#define ISA "avx512 vbmi2"
#else
#define ISA "avx512"
#endif
#define LANES 16u
#define GROUP 8u /* registers of minima in one pass: all 128 permutations */
typedef __m512i vec;
#define v_load(p)     _mm512_loadu_si512(p)
#define v_store(p, x) _mm512_storeu_si512(p, x)
#define v_set1(x)     _mm512_set1_epi32((int)(x))
#define v_add(x, y)   _mm512_add_epi32(x, y)
#define v_mul(x, y)   _mm512_mullo_epi32(x, y)
#define v_min(x, y)   _mm512_min_epu32(x, y)
#define v_xor(x, y)   _mm512_xor_si512(x, y)
#define v_shr(x, n)   _mm512_srli_epi32(x, n)

/* 64 bytes with each control character among the white space turned into a space. */
static inline void copy_64(char *out, const char *p)
{
    __m512i x = _mm512_loadu_si512(p);
    __mmask64 control =
        _mm512_cmplt_epu8_mask(_mm512_sub_epi8(x, _mm512_set1_epi8(9)), _mm512_set1_epi8(5));
    _mm512_storeu_si512(out, _mm512_mask_mov_epi8(x, control, _mm512_set1_epi8(' ')));
}

/* Bit i: byte i of 64 is this one. */
static inline uint64_t bytes_equal(const char *p, char byte)
{
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p), _mm512_set1_epi8(byte));
}

/* Bit i: byte i is one of count values from `first` on. */
static inline uint64_t bytes_in(const char *p, unsigned char first, unsigned char count)
{
    __m512i x = _mm512_sub_epi8(_mm512_loadu_si512(p), _mm512_set1_epi8((char)first));
    return _mm512_cmplt_epu8_mask(x, _mm512_set1_epi8((char)count));
}
#else
#define ISA           "avx2"
#define LANES         8u
#define GROUP         4u
typedef __m256i vec;
#define v_load(p)     _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define v_store(p, x) _mm256_storeu_si256((__m256i *)(void *)(p), x)
#define v_set1(x)     _mm256_set1_epi32((int)(x))
#define v_add(x, y)   _mm256_add_epi32(x, y)
#define v_mul(x, y)   _mm256_mullo_epi32(x, y)
#define v_min(x, y)   _mm256_min_epu32(x, y)
#define v_xor(x, y)   _mm256_xor_si256(x, y)
#define v_shr(x, n)   _mm256_srli_epi32(x, n)

static inline void copy_64(char *out, const char *p)
{
    const __m256i nine = _mm256_set1_epi8(9), four = _mm256_set1_epi8(4);
    for (size_t i = 0; i < 64; i += 32) {
        __m256i x = v_load(p + i), y = _mm256_sub_epi8(x, nine);
        __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(y, four), y);
        v_store(out + i, _mm256_blendv_epi8(x, _mm256_set1_epi8(' '), control));
    }
}

static inline uint64_t two_halves(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

static inline uint64_t bytes_equal(const char *p, char byte)
{
    const __m256i y = _mm256_set1_epi8(byte);
    return two_halves(_mm256_cmpeq_epi8(v_load(p), y), _mm256_cmpeq_epi8(v_load(p + 32), y));
}

static inline uint64_t bytes_in(const char *p, unsigned char first, unsigned char count)
{
    const __m256i f = _mm256_set1_epi8((char)first), last = _mm256_set1_epi8((char)(count - 1));
    __m256i x = _mm256_sub_epi8(v_load(p), f), y = _mm256_sub_epi8(v_load(p + 32), f);
    return two_halves(_mm256_cmpeq_epi8(_mm256_min_epu8(x, last), x),
                      _mm256_cmpeq_epi8(_mm256_min_epu8(y, last), y));
}
#endif

/* --- words --- */

/* Bit i: one of White_Space outside ASCII begins at byte i. Nearly always called for nothing but
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

/* One space between words and none at the ends, where white space is ASCII; the new length. What is
 * kept of each 64 bytes are a few runs; a run is copied by one store that writes too far. */
static size_t squeeze(const char *text, size_t len, char *out)
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

/* The same where there is any White_Space, byte by byte. */
static size_t rewrite(const char *text, size_t len, char *out)
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

/* What word_starts answers for a text that must be rewritten first. */
#define NEEDS_SQUEEZE (SIZE_MAX - 1)
#define NEEDS_REWRITE SIZE_MAX

/* Starts of the words of a text that has single spaces only, and its length + 1 as a last start:
 * their number without that one. */
static size_t word_starts(const char *text, size_t len, uint32_t *starts)
{
    if (len == 0)
        return 0;
    uint32_t *out = starts;
    uint64_t last = 1, wrong = 0, wide = 0; /* as if a space came before: position 0 is a start */
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

/* --- hashes --- */

static inline uint64_t fold(uint64_t x, uint64_t y)
{
    unsigned __int128 product = (unsigned __int128)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t read64(const void *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint64_t mix16(const char *p, size_t at)
{
    const uint8_t *secret = XXH3_kSecret + at;
    return fold(read64(p) ^ read64(secret), read64(p + 8) ^ read64(secret + 8));
}

/* XXH3_64bits. The class of 33 to 64 bytes is that of 17 to 32 with two more terms: both are
 * computed and masked away; reading 15 bytes before and 32 after the shingle is safe. */
static inline uint64_t finish(uint64_t acc)
{
    acc ^= acc >> 37;
    acc *= UINT64_C(0x165667919E3779F9);
    return acc ^ (acc >> 32);
}

static __attribute__((noinline)) uint64_t other_hash(const char *p, size_t len)
{
    return XXH3_64bits(p, len);
}

static inline uint64_t token_hash(const char *p, size_t len)
{
    if (len - 17 > 64 - 17)
        return other_hash(p, len);
    uint64_t more = (uint64_t)0 - (uint64_t)(len > 32);
    uint64_t acc = len * XXH_PRIME64_1 + mix16(p, 0) + mix16(p + len - 16, 16);
    return finish(acc + ((mix16(p + 16, 32) + mix16(p + len - 32, 48)) & more));
}

#if defined(__AVX512BW__)
/* mix16 of eight places, in the lanes 0 4 1 5 2 6 3 7: the product of 64 bits from four of 32. */
static inline __m512i mix16_8(const char *p, const uint32_t *at, size_t secret)
{
    const __m512i low = _mm512_set1_epi64(0xFFFFFFFF);
    __m512i key = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(XXH3_kSecret + secret)));
    __m512i half[2];
    for (size_t i = 0; i < 2; i++, at += 4) {
        __m256i x = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(p + at[0])));
        __m256i y = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(p + at[2])));
        x = _mm256_inserti128_si256(x, _mm_loadu_si128((const void *)(p + at[1])), 1);
        y = _mm256_inserti128_si256(y, _mm_loadu_si128((const void *)(p + at[3])), 1);
        half[i] = _mm512_xor_si512(_mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1), key);
    }
    __m512i a = _mm512_unpacklo_epi64(half[0], half[1]);
    __m512i b = _mm512_unpackhi_epi64(half[0], half[1]);
    __m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
    __m512i ll = _mm512_mul_epu32(a, b), hl = _mm512_mul_epu32(a_high, b);
    __m512i lh = _mm512_mul_epu32(a, b_high), hh = _mm512_mul_epu32(a_high, b_high);
    __m512i cross = _mm512_add_epi64(_mm512_srli_epi64(ll, 32), _mm512_and_si512(hl, low));
    cross = _mm512_add_epi64(cross, lh);
    hh = _mm512_add_epi64(hh, _mm512_srli_epi64(hl, 32));
    hh = _mm512_add_epi64(hh, _mm512_srli_epi64(cross, 32));
    return _mm512_xor_si512(hh, _mm512_mask_shuffle_epi32(ll, 0xAAAA, cross, _MM_PERM_CCAA));
}

/* Hashes of n <= HASH_BLOCK shingles of `span` words. */
static void hash_block(const char *text, const uint32_t *starts, uint32_t span, size_t n,
                       uint64_t *out)
{
    const __m512i lanes = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
    const __m512i unlanes = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    uint32_t more[HASH_BLOCK + 8], other[HASH_BLOCK + 8];
    size_t n_more = 0, n_other = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint32_t *end = starts + i + span;
        __m256i len = _mm256_sub_epi32(_mm256_loadu_si256((const void *)end),
                                       _mm256_loadu_si256((const void *)(starts + i)));
        __m256i over = _mm256_sub_epi32(len, _mm256_set1_epi32(18)); /* of lengths from 17 */
        __mmask8 is_other = _mm256_cmpgt_epu32_mask(over, _mm256_set1_epi32(64 - 17));
        __mmask8 is_more =
            _mm256_cmpgt_epu32_mask(over, _mm256_set1_epi32(32 - 17)) & (__mmask8)~is_other;
        __m256i at =
            _mm256_add_epi32(_mm256_set1_epi32((int)i), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
        _mm256_storeu_si256((void *)(more + n_more), _mm256_maskz_compress_epi32(is_more, at));
        _mm256_storeu_si256((void *)(other + n_other), _mm256_maskz_compress_epi32(is_other, at));
        n_more += (size_t)__builtin_popcount(is_more);
        n_other += (size_t)__builtin_popcount(is_other);
        __m512i wide = _mm512_sub_epi64(_mm512_cvtepu32_epi64(len), _mm512_set1_epi64(1));
        __m512i acc = _mm512_mullo_epi64(_mm512_permutexvar_epi64(lanes, wide),
                                         _mm512_set1_epi64((int64_t)XXH_PRIME64_1));
        acc = _mm512_add_epi64(acc, mix16_8(text, starts + i, 0));
        acc = _mm512_add_epi64(acc, mix16_8(text - 17, end, 16));
        _mm512_storeu_si512(out + i, _mm512_permutexvar_epi64(unlanes, acc));
    }
    for (size_t m = 0; m < n_more; m++)
        out[more[m]] +=
            mix16(text + starts[more[m]] + 16, 32) + mix16(text + starts[more[m] + span] - 33, 48);
    const size_t whole = i;
    for (i = 0; i < whole; i++)
        out[i] = finish(out[i]);
    for (size_t o = 0; o < n_other; o++)
        out[other[o]] =
            other_hash(text + starts[other[o]], starts[other[o] + span] - starts[other[o]] - 1);
    for (; i < n; i++)
        out[i] = token_hash(text + starts[i], starts[i + span] - starts[i] - 1);
}
#else
static void hash_block(const char *text, const uint32_t *starts, uint32_t span, size_t n,
                       uint64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = token_hash(text + starts[i], starts[i + span] - starts[i] - 1);
}
#endif

/* --- distinct hashes --- */

/* Those of one text, in `values`, whose number it returns. The text has its own number in the upper
 * half of each place of the table; a place with another one is empty. */
static size_t keep_distinct(job *j, const uint64_t *hashes, size_t n, size_t n_values,
                            unsigned shift)
{
    const size_t mask = SIZE_MAX >> shift;
    const uint32_t mine = j->text_bits;
    uint64_t *values = j->values;
    for (size_t i = 0; i < n; i++) {
        size_t place = (size_t)(hashes[i] >> shift);
        uint32_t at;
        while ((at = j->table[place] ^ mine) <= 0xFFFF && values[at] != hashes[i])
            place = (place + 1) & mask;
        if (at > 0xFFFF) {
            j->table[place] = mine | (uint32_t)n_values;
            values[n_values++] = hashes[i];
        }
    }
    return n_values;
}

/* A new text of n shingles; the shift that gives a place of its part of the table. */
static unsigned begin_distinct(job *j, size_t n)
{
    unsigned bits = 12;
    while ((size_t)1 << bits < 8 * n)
        bits++;
    j->text_bits += 0x10000;
    if (j->text_bits == 0) {
        memset(j->table, 0, TABLE_PLACES * sizeof *j->table);
        j->text_bits = 0x10000;
    }
    return 64 - bits;
}

/* --- signatures --- */

static inline void premix(uint32_t *h, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) { /* whole registers: the buffer has room */
        vec x = v_load(h + i);
        x = v_mul(v_xor(x, v_shr(x, 16)), v_set1(0x85EBCA6Bu));
        x = v_mul(v_xor(x, v_shr(x, 13)), v_set1(0xC2B2AE35u));
        v_store(h + i, v_xor(x, v_shr(x, 16)));
    }
}

/* `h` premixed; `words` holds minima so far. */
static void sign(const coefficients *c, const uint32_t *h, size_t n, uint32_t *words)
{
    for (uint32_t at = 0; at < PERMS; at += GROUP * LANES) {
        vec a[GROUP], b[GROUP], m[GROUP];
#pragma GCC unroll 8
        for (uint32_t i = 0; i < GROUP; i++) {
            a[i] = v_load(c->a + at + i * LANES);
            b[i] = v_load(c->b + at + i * LANES);
            m[i] = v_load(words + at + i * LANES);
        }
        for (size_t s = 0; s < n; s++) {
            vec x = v_set1(h[s]);
#pragma GCC unroll 8
            for (uint32_t i = 0; i < GROUP; i++)
                m[i] = v_min(m[i], v_add(v_mul(a[i], x), b[i]));
        }
#pragma GCC unroll 8
        for (uint32_t i = 0; i < GROUP; i++)
            v_store(words + at + i * LANES, m[i]);
    }
}

static void sign_hashes(const coefficients *c, const uint64_t *hashes, size_t n, uint32_t *words)
{
    uint32_t h[HASH_BLOCK + LANES];
    for (size_t i = 0; i < n; i++)
        h[i] = (uint32_t)hashes[i];
    memset(h + n, 0, LANES * sizeof *h);
    premix(h, n);
    sign(c, h, n, words);
}

static void sign_text(job *j, const char *text, size_t len, uint32_t *words)
{
    memset(words, 0xFF, PERMS * sizeof *words);
    size_t n_words = word_starts(text, len, j->starts);
    if (n_words >= NEEDS_SQUEEZE) {
        j->n_rewritten++;
        len = n_words == NEEDS_SQUEEZE ? squeeze(text, len, j->rewritten)
                                       : rewrite(text, len, j->rewritten);
        text = j->rewritten;
        n_words = word_starts(text, len, j->starts);
    }
    if (n_words == 0)
        return;
    uint32_t span = n_words < SHINGLE ? (uint32_t)n_words : SHINGLE;
    size_t n = n_words - span + 1;
    j->n_shingles += n;
    if (j->distinct && n > DISTINCT_MAX)
        die("a text has too many shingles for --distinct", "limit");
    const unsigned shift = j->distinct ? begin_distinct(j, n) : 0;
    uint64_t hashes[HASH_BLOCK];
    size_t n_values = 0;
    for (size_t done = 0; done < n; done += HASH_BLOCK) {
        size_t size = n - done < HASH_BLOCK ? n - done : HASH_BLOCK;
        hash_block(text, j->starts + done, span, size, hashes);
        if (j->distinct)
            n_values = keep_distinct(j, hashes, size, n_values, shift);
        else
            sign_hashes(&j->coefficients, hashes, size, words);
    }
    for (size_t done = 0; done < n_values; done += HASH_BLOCK)
        sign_hashes(&j->coefficients, j->values + done,
                    n_values - done < HASH_BLOCK ? n_values - done : HASH_BLOCK, words);
    j->n_distinct += n_values;
}

/* Every row of the file. */
static void sign_all(job *j)
{
    j->n_shingles = j->n_distinct = j->text_bytes = 0;
    j->n_rewritten = 0;
    uint32_t *words = j->signatures;
    const char *end = j->data + j->len;
    for (const char *line = j->data; line < end; words += PERMS) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (stop == NULL)
            stop = end;
        const char *tab = memchr(line, '\t', (size_t)(stop - line));
        const char *text = tab == NULL ? stop : tab + 1;
        size_t len = (size_t)(stop - text);
        if (len > 0 && text[len - 1] == '\r')
            len--;
        j->text_bytes += len;
        sign_text(j, text, len, words);
        line = stop + 1;
    }
}

/* --- the program --- */

static void read_file(job *j, const char *path)
{
    errno = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        die("cannot be read as a regular file", path);
    j->len = (size_t)st.st_size;
    char *data = must_alloc(j->len + 2 * SLACK);
    memset(data, 0, SLACK);
    for (size_t done = 0; done < j->len;) {
        ssize_t n = read(fd, data + SLACK + done, j->len - done);
        if (n <= 0)
            die("read", path);
        done += (size_t)n;
    }
    close(fd);
    memset(data + SLACK + j->len, 0, SLACK);
    j->data = data + SLACK;
}

/* Number of rows and memory for the longest of them. */
static void prepare(job *j, const char *path)
{
    size_t longest = 0;
    for (size_t at = 0; at < j->len; j->n_docs++) {
        const char *stop = memchr(j->data + at, '\n', j->len - at);
        size_t len = (stop == NULL ? j->len : (size_t)(stop - j->data)) - at;
        longest = len > longest ? len : longest;
        at += len + 1;
    }
    errno = 0;
    if (longest > UINT32_MAX - 64)
        die("a row is too long (4 GiB)", path);
    j->starts = must_alloc((longest + 80) * sizeof *j->starts); /* put_bits writes ahead */
    j->rewritten = (char *)must_alloc(longest + 2 * SLACK) + SLACK;
    memset(j->rewritten - SLACK, 0, longest + 2 * SLACK);
    if (j->distinct) {
        j->values = must_alloc((DISTINCT_MAX + 1) * sizeof *j->values);
        j->table = must_alloc(TABLE_PLACES * sizeof *j->table);
        memset(j->table, 0, TABLE_PLACES * sizeof *j->table);
    }
    j->signatures = must_alloc(j->n_docs * PERMS * sizeof *j->signatures + 64);
    memset(j->signatures, 0, j->n_docs * PERMS * sizeof *j->signatures); /* its pages are there */
}

/* M shingles a second of the signature loop alone. The shingle changes every round for all the
 * compiler knows, but costs nothing. */
static double arithmetic_limit(const coefficients *c)
{
    uint32_t words[PERMS], sum = 0;
    double begin = seconds();
    for (uint32_t at = 0; at < PERMS; at += GROUP * LANES) {
        vec a[GROUP], b[GROUP], m[GROUP], x = v_set1(0x12345678u);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < GROUP; i++) {
            a[i] = v_load(c->a + at + i * LANES);
            b[i] = v_load(c->b + at + i * LANES);
            m[i] = v_set1(UINT32_MAX);
        }
        for (uint64_t s = 0; s < ARITH_ROUNDS; s++) {
            __asm__ volatile("" : "+v"(x));
#pragma GCC unroll 8
            for (uint32_t i = 0; i < GROUP; i++)
                m[i] = v_min(m[i], v_add(v_mul(a[i], x), b[i]));
        }
#pragma GCC unroll 8
        for (uint32_t i = 0; i < GROUP; i++)
            v_store(words + at + i * LANES, m[i]);
    }
    double took = seconds() - begin;
    for (uint32_t i = 0; i < PERMS; i++)
        sum ^= words[i];
    __asm__ volatile("" : : "r"(sum));
    return (double)ARITH_ROUNDS / took * 1e-6;
}

static int compare_doubles(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void run_file(const char *path, int repeats, bool distinct)
{
    job j = {.distinct = distinct};
    draw(1, &j.coefficients);
    double begin = seconds();
    read_file(&j, path);
    double read_s = seconds() - begin;
    prepare(&j, path);
    double times[REPEATS_MAX];
    for (int i = 0; i < repeats; i++) {
        begin = seconds();
        sign_all(&j);
        times[i] = seconds() - begin;
    }
    qsort(times, (size_t)repeats, sizeof times[0], compare_doubles);
    double median = times[repeats / 2];
    uint64_t checksum = 0;
    for (size_t i = 0; i < j.n_docs * PERMS; i++)
        checksum += (uint64_t)j.signatures[i] * (2 * i + 1);
    printf("{\"isa\":\"%s\",\"bytes\":%zu,\"documents\":%zu,\"shingles\":%" PRIu64
           ",\"distinct\":%" PRIu64 ",\"text_bytes\":%" PRIu64
           ",\"rewritten\":%zu,\"repeats\":%d,\"read_s\":%.4f,\"sign_s\":%.4f,\"sign_min_s\":%.4f,"
           "\"total_s\":%.4f,\"mb_per_s\":%.1f,\"mshingles_per_s\":%.2f,\"checksum\":\"%016" PRIx64
           "\"}\n",
           ISA, j.len, j.n_docs, j.n_shingles, j.n_distinct, j.text_bytes, j.n_rewritten, repeats,
           read_s, median, times[0], read_s + median, (double)j.len / median * 1e-6,
           (double)j.n_shingles / median * 1e-6, checksum);
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int repeats = 5;
    bool arith = false, distinct = false, bad = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--arith") == 0)
            arith = true;
        else if (strcmp(argv[i], "--distinct") == 0)
            distinct = true;
        else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
            repeats = atoi(argv[++i]);
        else if (path == NULL && argv[i][0] != '-')
            path = argv[i];
        else
            bad = true;
    }
    if (bad || arith == (path != NULL) || repeats < 1 || repeats > REPEATS_MAX) {
        fprintf(stderr, "usage: limit [--repeat N] [--distinct] FILE | limit --arith\n");
        return 2;
    }
    if (!arith) {
        run_file(path, repeats, distinct);
        return 0;
    }
    coefficients c;
    draw(1, &c);
    double best = 0;
    for (int i = 0; i < 3; i++) {
        double rate = arithmetic_limit(&c);
        best = rate > best ? rate : best;
    }
    printf("{\"isa\":\"%s\",\"permutations\":%u,\"arith_mshingles_per_s\":%.1f}\n", ISA, PERMS,
           best);
    return 0;
}
