/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_ops.h -- the inner loops of the shingler: a table of functions for each instruction set.
 *
 * The path of a document:
 *
 *     text --join--> joined text --word_starts, char_starts--> starts --hash_slices--> hashes
 *                                 '----------------------hash_windows---------------'
 *
 * The slices of joined text are the shingles. It consists of words separated by one 0x20; two
 * adjacent 0x20 enclose an empty word. (For char shingles, the text between White_Space counts as a
 * word. For byte shingles, joined text is the normalised text.) So each shingle is contiguous and
 * can be hashed in place.
 *
 * `join` processes plain text: ASCII and, if the rules allow this, other bytes that no rule
 * changes. Where it stops, join_exact.c processes a stretch. */
#pragma once

#include <bandmill/types.h>

#include "base/system.h"
#include "model/batches.h"

typedef enum bm_join_rule {
    BM_JOIN_SPACE, /* words end at White_Space */
    BM_JOIN_ALNUM, /* words end at characters that are not L, M or N, and around characters of split
                    * scripts */
    BM_JOIN_EACH,  /* each character that is not L, N or `_` ends a word; words may be empty */
    BM_JOIN_COPY   /* the text is unchanged and has no words */
} bm_join_rule;

typedef struct bm_join_rules {
    bm_join_rule rule;
    uint32_t normalize;                   /* BM_NORM_* */
    bool invisible, lower, digits, punct; /* whether `normalize` includes this normaliser */
    bool composes; /* nfc, nfkc or strip-accents is used, so a character depends on the characters
                    * after it */
    /* No normaliser is used, and beyond ASCII the rule changes only White_Space. So a byte >= 0x80
     * is plain unless it may begin a White_Space. */
    bool high_is_plain;
} bm_join_rules;

/* A byte is ASCII of category P if the entries for its low and its high four bits have a common
 * bit. Each bit of an entry represents one value of the high four bits: 2, 3, 4, 5 or 7. */
#define BM_PUNCT_BY_LOW  4, 1, 1, 1, 0, 1, 1, 1, 1, 1, 3, 26, 9, 25, 1, 11
#define BM_PUNCT_BY_HIGH 0, 0, 1, 2, 4, 8, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0

/* A growing buffer of joined text. Vectors are loaded and stored whole, even at both ends of the
 * text. So BM_JOIN_MARGIN bytes before `data` may be read, and as many after data + cap may be read
 * and written. */
#define BM_JOIN_MARGIN 64u
typedef struct bm_joined {
    char *block; /* owned: the whole buffer, which begins at data - BM_JOIN_MARGIN */
    char *data;
    size_t len, cap;
    bool after_sep;  /* the text is empty or ends with 0x20, so another separator would add
                      * nothing */
    bool split;      /* the last word is one character of a split script */
    bool ascii;      /* no byte >= 0x80 so far */
    bool odd;        /* the text may contain U+FFFD or a control character (unreadable.h) */
    bool unreadable; /* the text is unreadable, so nothing was joined */
    bool after_base; /* a state for `invisible` (bm_char_is_kept); not used where after_sep suffices
                      * (join_exact.c) */
} bm_joined;

/* Count the words of joined text, which must be for word shingles. Counting stops at `most`. */
static inline uint32_t bm_joined_words(const bm_joined *joined, uint32_t most)
{
    uint32_t n = joined->len > 0;
    for (size_t i = 0; i < joined->len && n < most; i++)
        n += joined->data[i] == ' ';
    return n;
}

/* Slices of joined text. Slice i begins at starts[i] and ends before starts[i+k] - gap. */
typedef struct bm_slices {
    const char *joined;
    const size_t *starts;
    size_t k, gap;
    uint64_t *hashes; /* output, one for each slice */
} bm_slices;

typedef struct bm_shingle_ops {
    bm_isa isa;
    /* Append the joined form of the plain bytes at the beginning of `in`, which has `len` bytes.
     * Returns how many bytes were taken. `out` has space for len + 1 more bytes. If
     * rules->composes, the last character before one that is not plain is not taken. */
    size_t (*join)(const bm_join_rules *rules, const char *in, size_t len, bm_joined *out);
    /* For each 0x20 in joined[begin … end-1], store the index after it in `starts`, ascending.
     * Returns the number of indexes. `starts` has space for end - begin + 16. */
    size_t (*word_starts)(const char *joined, size_t begin, size_t end, size_t *starts);
    /* Like word_starts, but stores the index of the first byte of each code point. */
    size_t (*char_starts)(const char *joined, size_t begin, size_t end, size_t *starts);
    /* Compute XXH3_64bits of the first n slices. */
    void (*hash_slices)(const bm_slices *slices, size_t n);
    /* Compute XXH3_64bits of n windows of k bytes, which begin at p, p+1, … */
    void (*hash_windows)(const char *p, size_t n, size_t k, uint64_t *hashes);
    bm_content_add_fn *add_content; /* model/stream_hash.h */
} bm_shingle_ops;

extern const bm_shingle_ops bm_shingle_ops_scalar;
#if defined(__x86_64__)
extern const bm_shingle_ops bm_shingle_ops_avx2, bm_shingle_ops_avx512;
#elif defined(__aarch64__)
extern const bm_shingle_ops bm_shingle_ops_neon;
#endif

/* shingle_choose -- finds the inner loops of an instruction set. */

/* The loops for `isa`, which this processor must have. If there are no loops for it, the scalar
 * ones. */
const bm_shingle_ops *bm_shingle_ops_of(bm_isa isa);
