/* shingle_ops.h -- the inner loops of the shingler, one table of functions an instruction set.
 *
 * The way of a document:
 *
 *     text --join--> joined text --word_starts, char_starts--> starts --hash_slices--> hashes
 *                                 '----------------------hash_windows---------------'
 *
 * Joined text is what the shingles are slices of: words with one 0x20 between them (for char
 * shingles the "words" are what stands between White_Space; for byte shingles it is the normalised
 * text as it is). So each shingle is contiguous and is hashed where it lies.
 *
 * `join` takes the plain part of a text: ASCII, and under rules that allow it, other bytes that no
 * rule touches. Where it stops, join_exact.c takes over for a stretch. */
#ifndef BM_TEXT_SHINGLE_OPS_H
#define BM_TEXT_SHINGLE_OPS_H

#include <bandmill/types.h>

#include "base/cpu.h"
#include "model/shingle_batch.h"

typedef enum bm_join_rule {
    BM_JOIN_SPACE, /* parted at White_Space */
    BM_JOIN_ALNUM, /* parted at what is not L, M, N, and round characters of the split scripts */
    BM_JOIN_COPY   /* nothing is parted */
} bm_join_rule;

typedef struct bm_join_rules {
    bm_join_rule rule;
    uint32_t normalize; /* BM_NORM_* */
    bool lower, digits; /* of `normalize` */
    bool composes;      /* nfc, nfkc or strip-accents: a character depends on what follows it */
    bool high_is_plain; /* no normaliser and not alnum: a byte >= 0x80 is plain unless it may
                         * begin a White_Space */
} bm_join_rules;

/* Joined text, growing. BM_JOIN_MARGIN bytes before `data` may be read, as many behind its
 * capacity read and written: whole vectors are moved at both ends. */
#define BM_JOIN_MARGIN 64u
typedef struct bm_joined {
    char *block; /* owned; data - BM_JOIN_MARGIN */
    char *data;
    size_t len, cap;
    bool after_sep; /* a separator would add nothing: at the start, and after a 0x20 */
    bool split;     /* the last word is one character of a split script */
    bool ascii;     /* no byte >= 0x80 so far */
} bm_joined;

typedef struct bm_shingle_ops {
    bm_isa isa;
    /* Append the joined form of the plain bytes at `in`; returns how many of `len` were taken.
     * `out` has room for len + 1 bytes. Where rules->composes, the last character before one that
     * is not plain is left too. */
    size_t (*join)(const bm_join_rules *rules, const char *in, size_t len, bm_joined *out);
    /* Positions behind each 0x20 (of each first byte of a code point) in joined[begin … end-1],
     * rising; returns how many. `starts` has room for end - begin + 16. */
    size_t (*word_starts)(const char *joined, size_t begin, size_t end, size_t *starts);
    size_t (*char_starts)(const char *joined, size_t begin, size_t end, size_t *starts);
    /* XXH3_64bits of joined[starts[i] … starts[i+k]-gap-1] for i = 0 … n-1. */
    void (*hash_slices)(const char *joined, const size_t *starts, size_t n, size_t k, size_t gap,
                        uint64_t *hashes);
    /* XXH3_64bits of the n windows of k bytes that begin at p, p+1, … */
    void (*hash_windows)(const char *p, size_t n, size_t k, uint64_t *hashes);
    /* XXH3_128bits of n words. */
    bm_hash128 (*hash_run)(const uint64_t *run, size_t n);
} bm_shingle_ops;

extern const bm_shingle_ops bm_shingle_ops_scalar;
#if defined(__x86_64__)
extern const bm_shingle_ops bm_shingle_ops_avx2, bm_shingle_ops_avx512;
#elif defined(__aarch64__)
extern const bm_shingle_ops bm_shingle_ops_neon;
#endif

/* The table of an instruction set that this processor has. */
const bm_shingle_ops *bm_shingle_ops_of(bm_isa isa);

#endif
