/* stop_table.c -- open addressing with linear probing over words of a list that does not change.
 *
 * A word is looked up by its first eight bytes and its length: nearly all stop words are known by
 * these. Between a quarter and a half of the slots hold a word; the table of the usual list is 8 KB.
 * Who wrote the list waits for the steps that its words take, and nobody else does.
 *
 * Tests: tests/unit/text/test_stop_words.c */
#include "text/stop_table.h"

#include "base/error.h"
#include "base/memory.h"

#define LEAST_BITS 4u

static size_t count_words(const char *words)
{
    size_t n = *words != '\0';
    for (; *words != '\0'; words++)
        n += *words == ' ';
    return n;
}

static void insert(bm_stop_table *table, size_t at, size_t len)
{
    uint64_t head = 0;
    memcpy(&head, table->words + at, len < 8 ? len : 8);
    size_t slot = bm_stop_slot_of(table, head, len);
    while (table->slots[slot].len != 0)
        slot = (slot + 1) & table->mask;
    table->slots[slot] = (bm_stop_slot){head, (uint32_t)len, (uint32_t)at};
}

bm_status bm_stop_table_init(const char *words, bm_stop_table *out, bm_error *err)
{
    const size_t n = count_words(words), len = strlen(words);
    unsigned bits = LEAST_BITS;
    while ((size_t)1 << bits < 2 * n)
        bits++;
    *out = (bm_stop_table){.mask = ((size_t)1 << bits) - 1, .shift = 64 - bits};
    if (len > UINT32_MAX)
        return bm_fail(err, BM_ERR_INPUT, "%zu bytes of stop words", len);
    out->slots = bm_alloc_zero((size_t)1 << bits, sizeof *out->slots);
    out->words = bm_strndup(words, len);
    if (out->slots == NULL || out->words == NULL)
        return bm_fail_nomem(err, (sizeof *out->slots << bits) + len);
    for (size_t at = 0; at < len;) {
        const size_t word = strcspn(words + at, " ");
        insert(out, at, word);
        at += word + (words[at + word] == ' ');
    }
    return BM_OK;
}

void bm_stop_table_reset(bm_stop_table *table)
{
    bm_free(table->slots);
    bm_free(table->words);
    *table = (bm_stop_table){0};
}
