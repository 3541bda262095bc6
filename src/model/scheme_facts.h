/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_facts.h -- facts of a scheme that other code than its row needs (bandmill/schemes.h has
 * the rest): the hashes of shingles that it accepts (docs/schemes.md). Schemes of other tools
 * accept only hashes with which a tool makes the same words. */
#pragma once

#include <bandmill/schemes.h>

#define BM_NEMO_RANGE    UINT64_C(0x7FFFFFFF) /* of the coefficients of nemo: below it */
#define BM_SCHEME_HASHES 64u                  /* bytes that bm_scheme_hash_words needs at most */

/* Signatures lie in memory as rows of uint32_t, whatever the scheme: a word of 64 bits takes two.
 * How many a row of n words takes. */
static inline uint32_t bm_scheme_row_uints(bm_scheme scheme, uint32_t n)
{
    return n * (bm_scheme_value_bytes(scheme) / (uint32_t)sizeof(uint32_t));
}

/* The form of such a row: how many uint32_t it takes, and how many bytes a word has (4 or 8). */
typedef struct bm_word_rows {
    uint32_t uints, word_bytes;
} bm_word_rows;
static inline bm_word_rows bm_scheme_rows(bm_scheme scheme, uint32_t perms)
{
    return (bm_word_rows){bm_scheme_row_uints(scheme, perms), bm_scheme_value_bytes(scheme)};
}

/* How a scheme has shingles hashed, into text->of_scheme, for whoever opens a shingler: nemo and
 * lance begin their hash with a seed, lance joins words by another byte. Else 0. */
void bm_scheme_set_hashing(const bm_sketch_options *sketch, bm_text_options *text);
static inline uint32_t bm_hashing_seed(const bm_text_options *text)
{
    return (uint32_t)text->of_scheme;
}
/* The byte between words; ' ' by default. */
static inline char bm_hashing_joint(const bm_text_options *text)
{
    return text->of_scheme >> 32 != 0 ? (char)(text->of_scheme >> 32) : ' ';
}

/* Does it take all 64 bits of a hash, or only the low half? */
bool bm_scheme_whole_hashes(bm_scheme scheme);
/* The greatest word that a document with shingles can have. */
uint64_t bm_scheme_greatest_word(bm_scheme scheme);
bool bm_scheme_accepts_hash(bm_scheme scheme, bm_token_hash hash);
/* "xxh3, sha1", for messages; filled. */
void bm_scheme_hash_words(bm_scheme scheme, char out[BM_SCHEME_HASHES]);
