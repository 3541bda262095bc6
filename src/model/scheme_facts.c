/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_facts.c -- has a row for each scheme, and the public functions bm_scheme_hash,
 * bm_scheme_seed and bm_scheme_value_bytes.
 *
 * Tests: tests/unit/model/test_scheme_facts.c */
#include "model/scheme_facts.h"

#include <bandmill/option_names.h>

#include <stdio.h>

#include "base/random.h"

#define LANCE_JOINT 0x1F /* the byte with which lance joins words */
#define ONLY(hash)  (1u << (hash))
#define ANY                                                                                        \
    (ONLY(BM_TOKEN_XXH3) | ONLY(BM_TOKEN_XXH64) | ONLY(BM_TOKEN_SHA1) | ONLY(BM_TOKEN_MURMUR3))

static const struct {
    unsigned hashes;
    bm_token_hash first;
    uint32_t seed, word_bytes;
    uint64_t greatest; /* greatest word of a document with shingles; 0: no bound */
} rows[] = {
    [BM_SCHEME_AFFINE32] = {ANY, BM_TOKEN_XXH3, 1, 4, 0},
    [BM_SCHEME_OPH] = {ONLY(BM_TOKEN_XXH3), BM_TOKEN_XXH3, 1, 4, UINT32_MAX - 1},
    [BM_SCHEME_CWS] = {ONLY(BM_TOKEN_XXH3), BM_TOKEN_XXH3, 1, 4, 0},
    [BM_SCHEME_LEGACY] = {ONLY(BM_TOKEN_SHA1), BM_TOKEN_SHA1, 1, 4, 0},
    [BM_SCHEME_TEXT_DEDUP] = {ONLY(BM_TOKEN_XXH3) | ONLY(BM_TOKEN_SHA1), BM_TOKEN_XXH3, 42, 4, 0},
    [BM_SCHEME_NEMO] = {ONLY(BM_TOKEN_MURMUR3), BM_TOKEN_MURMUR3, 42, 4, 0},
    [BM_SCHEME_LANCE] = {ONLY(BM_TOKEN_XXH64), BM_TOKEN_XXH64, 42, 4, UINT16_MAX},
    [BM_SCHEME_AFFINE64] = {ONLY(BM_TOKEN_SHA1), BM_TOKEN_SHA1, 1, 8, 0},
    [BM_SCHEME_DATATROVE] = {ONLY(BM_TOKEN_XXH64), BM_TOKEN_XXH64, 1, 8, (UINT64_C(1) << 61) - 2},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

bm_token_hash bm_scheme_hash(bm_scheme scheme)
{
    return (unsigned)scheme < N_ROWS ? rows[scheme].first : BM_TOKEN_XXH3;
}

uint32_t bm_scheme_seed(bm_scheme scheme)
{
    return (unsigned)scheme < N_ROWS ? rows[scheme].seed : 1;
}

uint32_t bm_scheme_value_bytes(bm_scheme scheme)
{
    return (unsigned)scheme < N_ROWS ? rows[scheme].word_bytes : sizeof(uint32_t);
}

uint64_t bm_scheme_greatest_word(bm_scheme scheme)
{
    return (unsigned)scheme < N_ROWS && rows[scheme].greatest != 0 ? rows[scheme].greatest
                                                                   : UINT64_MAX;
}

/* The seed of nemo's hash. This seed is the first multiplier of the scheme, drawn as in
 * sketch/scheme_nemo.c. */
static uint32_t nemo_hash_seed(uint32_t seed)
{
    bm_random random;
    bm_random_init(&random, seed);
    return (uint32_t)bm_random_range(&random, 1, BM_NEMO_RANGE);
}

void bm_scheme_set_hashing(const bm_sketch_options *sketch, bm_text_options *text)
{
    text->of_scheme = 0;
    if (sketch->scheme == BM_SCHEME_NEMO)
        text->of_scheme = nemo_hash_seed(sketch->seed);
    else if (sketch->scheme == BM_SCHEME_LANCE)
        text->of_scheme = sketch->seed | (uint64_t)LANCE_JOINT << 32;
}

bool bm_scheme_whole_hashes(bm_scheme scheme)
{
    return bm_scheme_value_bytes(scheme) == 8 || scheme == BM_SCHEME_LANCE ||
           scheme == BM_SCHEME_CWS;
}

bool bm_scheme_accepts_hash(bm_scheme scheme, bm_token_hash hash)
{
    return (unsigned)scheme < N_ROWS && (rows[scheme].hashes & ONLY(hash)) != 0;
}

void bm_scheme_hash_words(bm_scheme scheme, char out[BM_SCHEME_HASHES])
{
    size_t used = 0;
    const char *word;
    out[0] = '\0';
    for (unsigned hash = 0; (word = bm_option_name(BM_OPTION_HASH, hash)) != NULL; hash++)
        if (bm_scheme_accepts_hash(scheme, (bm_token_hash)hash))
            used += (size_t)snprintf(out + used, BM_SCHEME_HASHES - used, "%s%s",
                                     used == 0 ? "it goes with " : ", ", word);
}
