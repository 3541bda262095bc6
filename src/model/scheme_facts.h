/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_facts.h -- facts about schemes that other code needs (bandmill/schemes.h has the rest),
 * such as the hash functions of shingles that a scheme accepts (docs/schemes.md). A scheme of
 * another tool accepts only the hash functions with which the tool makes the same words. */
#pragma once

#include <bandmill/schemes.h>

#define BM_NEMO_RANGE    UINT64_C(0x7FFFFFFF) /* coefficients of nemo are less than this */
#define BM_SCHEME_HASHES 64u                  /* the most bytes that bm_scheme_hash_words needs */

/* How many uint32_t a signature of n words takes. All schemes store signatures in memory as rows of
 * uint32_t; a 64-bit word takes two uint32_t. */
static inline uint32_t bm_scheme_row_uints(bm_scheme scheme, uint32_t n)
{
    return n * (bm_scheme_value_bytes(scheme) / (uint32_t)sizeof(uint32_t));
}

/* The form of a signature's row. uints: its length in uint32_t; word_bytes: bytes of a word (4 or
 * 8). */
typedef struct bm_word_rows {
    uint32_t uints, word_bytes;
} bm_word_rows;
static inline bm_word_rows bm_scheme_rows(bm_scheme scheme, uint32_t perms)
{
    return (bm_word_rows){bm_scheme_row_uints(scheme, perms), bm_scheme_value_bytes(scheme)};
}

/* Set text->of_scheme, before a shingler is opened: to the seed of the hash for nemo, to the seed
 * and the byte that joins words for lance, and to 0 for other schemes. */
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

/* Does the scheme use all 64 bits of a hash? False: it uses only the low half. */
bool bm_scheme_whole_hashes(bm_scheme scheme);
/* The greatest word that a document with shingles can have. */
uint64_t bm_scheme_greatest_word(bm_scheme scheme);
bool bm_scheme_accepts_hash(bm_scheme scheme, bm_token_hash hash);
/* Write the names of the hash functions that the scheme accepts, for messages, such as "it goes
 * with xxh3, sha1". */
void bm_scheme_hash_words(bm_scheme scheme, char out[BM_SCHEME_HASHES]);
