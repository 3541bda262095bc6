/* SPDX-License-Identifier: Apache-2.0 */
/* stop_table.h -- the table in which stop words are looked up.
 *
 * Every word of a text is looked up, and the result is unpredictable, so the look-up has no branch.
 * A 64-bit key is made from the word, and compared with the keys of one bucket.
 *
 *     length 1 … 7     the key is the bytes of the word, and its length in the highest byte, so it
 *                      identifies the word
 *     longer           the key is a mix of the first and last eight bytes and the length, with 0xFF
 *                      in the highest byte; if the key is found, the whole word is compared
 *     bucket           the upper bits of key * factor */
#pragma once

#include <bandmill/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BM_STOP_BUCKET 2u /* keys in a bucket */

typedef struct bm_stop_table {
    uint64_t *keys;  /* owned: BM_STOP_BUCKET keys for each bucket; 0: no key */
    uint32_t *at;    /* owned: for each key, the offset of its word in `words` */
    char *words;     /* owned: the list */
    uint64_t factor; /* odd */
    size_t mask;     /* number of buckets - 1 */
    unsigned shift;
    bool overflows; /* words that did not fit into their own bucket are in a later one */
} bm_stop_table;

/* Make a table of `words`, a list from bm_stop_words_load. The list is copied. Call
 * bm_stop_table_reset even after a failure. */
bm_status bm_stop_table_init(const char *words, bm_stop_table *out, bm_error *err);
void bm_stop_table_reset(bm_stop_table *table);

static inline uint64_t bm_stop_load(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

/* The key of a word; len must not be 0. Whatever `len`, eight bytes from `word` on and eight bytes
 * before the word's end may be read. */
static inline uint64_t bm_stop_key(const char *word, size_t len)
{
    const uint64_t first = bm_stop_load(word), last = bm_stop_load(word + len - 8);
    const uint64_t mixed = (first ^ (last + len) * UINT64_C(0xFF51AFD7ED558CCD)) | UINT64_C(0xFF)
                                                                                       << 56;
    const uint64_t whole = (first & ((UINT64_C(1) << 8 * (len & 7)) - 1)) | (uint64_t)len << 56;
    return len < 8 ? whole : mixed;
}

static inline size_t bm_stop_bucket(const bm_stop_table *table, uint64_t key)
{
    return (size_t)(key * table->factor >> table->shift);
}

/* Search for a word. Called if a word of 8 bytes or more has its key in its own bucket, and for all
 * words if the table overflows. Out of line, because it is rare. */
bool bm_stop_table_search(const bm_stop_table *table, const char *word, size_t len, uint64_t key);

/* Is the word in the table? Like bm_stop_key, this may read bytes around the word. An empty word is
 * never in the table. */
static inline bool bm_stop_table_has(const bm_stop_table *table, const char *word, size_t len)
{
    const uint64_t key = bm_stop_key(word, len);
    const uint64_t *bucket = table->keys + BM_STOP_BUCKET * bm_stop_bucket(table, key);
    const bool found = ((bucket[0] == key) | (bucket[1] == key)) & (len > 0);
    if (__builtin_expect((found & (len > 7)) | table->overflows, 0))
        return bm_stop_table_search(table, word, len, key);
    return found;
}
