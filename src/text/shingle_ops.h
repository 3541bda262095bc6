/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_ops.h -- the inner loops of the shingler: a table of functions for each instruction set.
 *
 * The path of a document:
 *
 *     text --join--> joined text --word_starts, char_starts--> starts --hash_slices--> hashes
 *                                 '----------------------hash_windows---------------'
 *
 * Joined text is the text whose slices are shingles: words separated by one 0x20; two adjacent 0x20
 * enclose an empty word. (For char shingles, the text between White_Space counts as a word. For
 * byte shingles, joined text is the normalised text unchanged.) So each shingle is contiguous and
 * is hashed in place.
 *
 * `join` takes the plain part of a text: ASCII and, if the rules allow this, other bytes that no
 * rule changes. Where `join` stops, join_exact.c processes a stretch. */
#pragma once

#include <bandmill/types.h>

#include "base/system.h"
#include "model/batches.h"

typedef enum bm_join_rule {
    BM_JOIN_SPACE, /* words end at White_Space */
    BM_JOIN_ALNUM, /* words end at anything but L, M or N, and around characters of split scripts */
    BM_JOIN_EACH,  /* words end at each character that is not L, N or `_`; some are empty */
    BM_JOIN_COPY   /* no words: the text unchanged */
} bm_join_rule;

typedef struct bm_join_rules {
    bm_join_rule rule;
    uint32_t normalize;                   /* BM_NORM_* */
    bool invisible, lower, digits, punct; /* from `normalize` */
    bool composes; /* nfc, nfkc or strip-accents: a character depends on what follows it */
    /* There is no normaliser, and beyond ASCII the rule treats only White_Space specially: a byte
     * >= 0x80 is plain unless it may begin White_Space. */
    bool high_is_plain;
} bm_join_rules;

/* A byte is ASCII of category P if the entries for its low and its high half have a bit in common.
 * Each bit stands for a high half: 2, 3, 4, 5, 7. */
#define BM_PUNCT_BY_LOW  4, 1, 1, 1, 0, 1, 1, 1, 1, 1, 3, 26, 9, 25, 1, 11
#define BM_PUNCT_BY_HIGH 0, 0, 1, 2, 4, 8, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0

/* Growing joined text. Whole vectors are moved at both ends, so BM_JOIN_MARGIN bytes before `data`
 * may be read, and as many after data + cap may be read and written. */
#define BM_JOIN_MARGIN 64u
typedef struct bm_joined {
    char *block; /* owned; data - BM_JOIN_MARGIN */
    char *data;
    size_t len, cap;
    bool after_sep;  /* at the start or after a 0x20, so that a separator would add nothing */
    bool split;      /* the last word is one character of a split script */
    bool ascii;      /* no byte >= 0x80 so far */
    bool odd;        /* the text may contain U+FFFD or a control (unreadable.h) */
    bool unreadable; /* the text is unreadable, so nothing was joined */
    bool after_base; /* for `invisible` (bm_char_is_kept), unless the rule itself determines it */
} bm_joined;

/* Count the words of joined text, for shingles of words; stops at `most`. */
static inline uint32_t bm_joined_words(const bm_joined *joined, uint32_t most)
{
    uint32_t n = joined->len > 0;
    for (size_t i = 0; i < joined->len && n < most; i++)
        n += joined->data[i] == ' ';
    return n;
}

/* Slices of joined text: slice i has the bytes from starts[i] up to starts[i+k] - gap. */
typedef struct bm_slices {
    const char *joined;
    const size_t *starts;
    size_t k, gap;
    uint64_t *hashes; /* output, one per slice */
} bm_slices;

typedef struct bm_shingle_ops {
    bm_isa isa;
    /* Append the joined form of the plain bytes at the beginning of `in`; returns how many of the
     * `len` bytes were taken. `out` has space for len + 1 more bytes. If rules->composes, the last
     * character before one that is not plain is not taken. */
    size_t (*join)(const bm_join_rules *rules, const char *in, size_t len, bm_joined *out);
    /* Fill `starts` with the index after each 0x20 in joined[begin … end-1], ascending; returns how
     * many. `starts` has space for end - begin + 16. */
    size_t (*word_starts)(const char *joined, size_t begin, size_t end, size_t *starts);
    /* Like word_starts, for the index of the first byte of each code point. */
    size_t (*char_starts)(const char *joined, size_t begin, size_t end, size_t *starts);
    /* XXH3_64bits of the first n slices. */
    void (*hash_slices)(const bm_slices *slices, size_t n);
    /* XXH3_64bits of the n windows of k bytes that begin at p, p+1, … */
    void (*hash_windows)(const char *p, size_t n, size_t k, uint64_t *hashes);
    bm_content_add_fn *add_content; /* model/stream_hash.h */
} bm_shingle_ops;

extern const bm_shingle_ops bm_shingle_ops_scalar;
#if defined(__x86_64__)
extern const bm_shingle_ops bm_shingle_ops_avx2, bm_shingle_ops_avx512;
#elif defined(__aarch64__)
extern const bm_shingle_ops bm_shingle_ops_neon;
#endif

/* shingle_choose -- the inner loops of one instruction set. */

/* The loops for `isa`, which this processor must have. */
const bm_shingle_ops *bm_shingle_ops_of(bm_isa isa);
