/* SPDX-License-Identifier: Apache-2.0 */
/* special_check.h -- for the tests of stop word shingles and bags: makes a batch of one document by
 * each of several paths through the code. */
#pragma once

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "tests/unit/text/shingle_oracle.h"
#include "tests/world/world_random.h"
#include "text/shingler.h"

static const char *const isas[] = {"scalar", "avx2", "avx512", "neon"};
#define N_ISAS (sizeof isas / sizeof isas[0])

static inline bool available(const char *isa)
{
    bm_isa chosen;
    return bm_isa_choose(isa, &chosen, NULL) == BM_OK;
}

/* How to make a batch of one document: with which instruction set, by the exact path or not, with
 * counts or not. */
typedef struct special_path {
    const char *isa;
    bool exact, counted;
} special_path;

static inline bm_shingle_batch shingle(const bm_text_options *options, special_path path,
                                       bm_str text)
{
    bm_error err = {0};
    bm_shingler *shingler = NULL;
    bm_shingle_batch batch = {.counted = path.counted};
    char *block = malloc(text.len == 0 ? 1 : text.len);
    memcpy(block, text.data, text.len);
    cr_assert_eq(bm_shingler_open(options, path.isa, &shingler, &err), BM_OK, "%s", err.message);
    const bm_str own = {block, text.len};
    bm_status status = path.exact ? shingle_exactly(options, own, &batch, &err)
                                  : bm_shingler_add(shingler, own, &batch, &err);
    cr_assert_eq(status, BM_OK, "%s", err.message);
    bm_shingler_close(shingler);
    free(block);
    return batch;
}

static inline bool same_batch(const bm_shingle_batch *a, const bm_shingle_batch *b)
{
    const size_t n = (size_t)a->offsets[1];
    return a->offsets[1] == b->offsets[1] && a->n_empty == b->n_empty && a->n_short == b->n_short &&
           (n == 0 || memcmp(a->hashes, b->hashes, n * sizeof *a->hashes) == 0) &&
           memcmp(a->content, b->content, sizeof *a->content) == 0 &&
           (n == 0 || !a->counted || memcmp(a->counts, b->counts, n * sizeof *a->counts) == 0);
}

/* Expects every path to give the exact path's result, with and without counts. */
static inline void compare_paths(const bm_text_options *options, bm_str text)
{
    for (int counted = 0; counted < 2; counted++) {
        bm_shingle_batch exact = shingle(options, (special_path){NULL, true, counted}, text);
        for (size_t i = 0; i < N_ISAS; i++) {
            if (!available(isas[i]))
                continue;
            bm_shingle_batch fast = shingle(options, (special_path){isas[i], false, counted}, text);
            cr_assert(same_batch(&exact, &fast),
                      "%s differs: normalize %x words %d kind %d k %u bag %d, %zu bytes: '%.*s'",
                      isas[i], options->normalize, options->words, options->shingle,
                      options->shingle_k, options->bag, text.len,
                      (int)(text.len < 200 ? text.len : 200), text.data);
            bm_shingle_batch_reset(&fast);
        }
        bm_shingle_batch_reset(&exact);
    }
}

/* Repeating words, some of them stop words, with separators between them; occasionally a NUL. */
static inline size_t random_words(uint64_t *state, char *out, size_t cap)
{
    static const char *const words[] = {
        "the", "of",  "A",     "and",        "yourselves", "yourselve", "themselvest", "cat", "Dog",
        "it",  "its", "is",    "throughout", "x",          "naïve",     "Ωμέγα",       "του", "και",
        "的",  "我",  "don't", "t",          "THE",        "thé",       "an\xCC\x81"};
    static const char *const between[] = {" ",  " ",  " ",  ", ",          "\n",
                                          "--", "  ", ". ", "\xE3\x80\x80"};
    size_t len = 0, n = world_random(state) % (world_random(state) % 8 == 0 ? 2500 : 60);
    for (size_t i = 0; i < n && len + 32 < cap; i++) {
        const char *word = words[world_random(state) % (sizeof words / sizeof words[0])];
        const char *gap = between[world_random(state) % (sizeof between / sizeof between[0])];
        memcpy(out + len, word, strlen(word));
        len += strlen(word);
        if (world_random(state) % 40 == 0)
            out[len++] = '\0';
        memcpy(out + len, gap, strlen(gap));
        len += strlen(gap);
    }
    return len;
}
