/* SPDX-License-Identifier: Apache-2.0 */
/* words.h -- the words of option values, as the command line, reports and journals have them.
 *
 * Each stands in one place of the library. Threads: any; nothing is kept. */
#ifndef BANDMILL_WORDS_H
#define BANDMILL_WORDS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum bm_option {
    BM_OPTION_FORMAT,
    BM_OPTION_HEADER, /* BY_FIELDS has no word */
    BM_OPTION_DUPLICATE_IDS,
    BM_OPTION_ON_ERROR,
    BM_OPTION_INVALID_UTF8,
    BM_OPTION_NORMALIZE, /* the value is the number of a bit */
    BM_OPTION_WORDS,
    BM_OPTION_SHINGLE, /* the kind */
    BM_OPTION_SHORT,
    BM_OPTION_SCHEME,
    BM_OPTION_CANDIDATES,
    BM_OPTION_VERIFY,
    BM_OPTION_IDENTICAL,
    BM_OPTION_CLUSTER,
    BM_OPTION_KEEP,
    BM_OPTION_KEPT,
    BM_OPTION_OFFLOAD,
    BM_OPTION_STORE,
    BM_OPTION_WEIGHTS,
    BM_OPTION_HASH,
    BM_OPTION_EXCHANGE,
    BM_OPTION_EXPORT_WHAT,
    BM_OPTION_MEASURE,
    BM_OPTION_REMOVED, /* a bm_kept */
    BM_N_OPTIONS
} bm_option;

/* "star" for (BM_OPTION_CLUSTER, BM_CLUSTER_STAR). NULL: the option has no such value. */
BM_API const char *bm_option_word(bm_option option, unsigned value);
/* The value of a word (`len` bytes). False: the option has no such word. */
BM_API bool bm_option_value(bm_option option, const char *word, size_t len, unsigned *value);

/* The hash of a shingle, and the seed, that a scheme goes by where nobody asks for others: of those
 * that are others' these are what their authors take; of ours XXH3 and 1. docs/schemes.md says
 * which hashes a scheme goes with. */
BM_API bm_token_hash bm_scheme_hash(bm_scheme scheme);
BM_API uint32_t bm_scheme_seed(bm_scheme scheme);
/* Bytes of a word of a signature: 4 or 8. */
BM_API uint32_t bm_scheme_word_bytes(bm_scheme scheme);

#if defined(__cplusplus)
}
#endif
#endif
