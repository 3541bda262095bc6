/* SPDX-License-Identifier: Apache-2.0 */
/* stop_table.c -- a hash table whose buckets have two keys. Its factor is chosen so that each word
 * fits into its own bucket.
 *
 * The table has two to four buckets for each word; the table of the default list takes 8 KB.
 * Several factors are tried, then tables of twice and four times the size, until no bucket would
 * get a third word. With thousands of words, no such factor is found. A word that does not fit is
 * then stored in the next bucket that has space, and searched for there.
 *
 * The look-up of base/hash_table.h has branches. With it, `sign` with stop word shingles took 1.5
 * times the CPU time.
 *
 * If a list is constructed to need many steps, only the jobs that use it are slower.
 *
 * Tests: tests/unit/text/test_stop_words.c */
#include "text/stop_table.h"

#include "base/error.h"
#include "base/memory.h"

#define LEAST_BITS   4u
#define TRIES        64u
#define GROWTHS      2u
#define FIRST_FACTOR UINT64_C(0x9E3779B97F4A7C15)

static size_t count_words(const char *words)
{
    size_t n = 1;
    for (; *words != '\0'; words++)
        n += *words == ' ';
    return n;
}

/* The key of a word of the list. Unlike bm_stop_key, this does not read bytes around the word. */
static uint64_t key_of(const char *word, size_t len)
{
    char block[24] = {0};
    if (len >= 8)
        return bm_stop_key(word, len);
    memcpy(block + 8, word, len);
    return bm_stop_key(block + 8, len);
}

/* Put all words into the table. If a word does not fit into its own bucket, it is put into a later
 * bucket (if `any`), or false is returned. */
static bool fill(bm_stop_table *table, size_t len, bool any)
{
    memset(table->keys, 0, (table->mask + 1) * BM_STOP_BUCKET * sizeof *table->keys);
    for (size_t at = 0; at < len;) {
        const size_t n = strcspn(table->words + at, " ");
        const uint64_t key = key_of(table->words + at, n);
        size_t bucket = bm_stop_bucket(table, key), slot = 0;
        while (table->keys[BM_STOP_BUCKET * bucket + slot] != 0) {
            if (++slot < BM_STOP_BUCKET)
                continue;
            if (!any)
                return false;
            bucket = (bucket + 1) & table->mask;
            slot = 0;
        }
        table->keys[BM_STOP_BUCKET * bucket + slot] = key;
        table->at[BM_STOP_BUCKET * bucket + slot] = (uint32_t)at;
        at += n + (table->words[at + n] == ' ');
    }
    return true;
}

static bm_status reserve(bm_stop_table *table, unsigned bits, bm_error *err)
{
    const size_t slots = BM_STOP_BUCKET << bits;
    bm_free_all(table->keys, table->at);
    table->keys = bm_alloc_aligned(slots, sizeof *table->keys);
    table->at = bm_alloc(slots, sizeof *table->at);
    table->mask = ((size_t)1 << bits) - 1;
    table->shift = 64 - bits;
    return table->keys != NULL && table->at != NULL
               ? BM_OK
               : bm_fail_nomem(err, slots * (sizeof *table->keys + sizeof *table->at));
}

bm_status bm_stop_table_init(const char *words, bm_stop_table *out, bm_error *err)
{
    const size_t n = count_words(words), len = strlen(words);
    unsigned bits = LEAST_BITS;
    while ((size_t)1 << bits < 2 * n)
        bits++;
    *out = (bm_stop_table){.words = bm_strndup(words, len)};
    if (out->words == NULL)
        return bm_fail_nomem(err, len);
    for (unsigned growth = 0; growth <= GROWTHS; growth++) {
        BM_TRY(reserve(out, bits + growth, err));
        out->factor = FIRST_FACTOR;
        for (unsigned i = 0; i < TRIES; i++, out->factor *= FIRST_FACTOR)
            if (fill(out, len, false))
                return BM_OK;
    }
    out->overflows = true;
    fill(out, len, true);
    return BM_OK;
}

bool bm_stop_table_search(const bm_stop_table *table, const char *word, size_t len, uint64_t key)
{
    size_t bucket = bm_stop_bucket(table, key);
    for (;; bucket = (bucket + 1) & table->mask) {
        const size_t first = BM_STOP_BUCKET * bucket;
        for (size_t slot = first; slot < first + BM_STOP_BUCKET; slot++) {
            const char *known = table->words + table->at[slot];
            if (table->keys[slot] == 0)
                return false;
            if (table->keys[slot] == key &&
                (len < 8 ||
                 (strncmp(known, word, len) == 0 && (known[len] == ' ' || known[len] == '\0'))))
                return true;
        }
        if (!table->overflows)
            return false;
    }
}

void bm_stop_table_reset(bm_stop_table *table)
{
    bm_free_all(table->keys, table->at, table->words);
    *table = (bm_stop_table){0};
}
