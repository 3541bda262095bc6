/* stop_table.h -- is a word one of the stop words? */
#ifndef BM_TEXT_STOP_TABLE_H
#define BM_TEXT_STOP_TABLE_H

#include <bandmill/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A word: its first eight bytes, NUL behind a shorter one, its length, and where it stands. */
typedef struct bm_stop_slot {
    uint64_t head;
    uint32_t len; /* 0: no word */
    uint32_t at;  /* in `words` */
} bm_stop_slot;

typedef struct bm_stop_table {
    bm_stop_slot *slots; /* owned */
    char *words;         /* owned */
    size_t mask;
    unsigned shift;
} bm_stop_table;

/* `words` as bm_stop_words_settle makes them: borrowed. The caller's, bm_stop_table_reset, also on
 * failure. */
bm_status bm_stop_table_init(const char *words, bm_stop_table *out, bm_error *err);
void bm_stop_table_reset(bm_stop_table *table);

static inline size_t bm_stop_slot_of(const bm_stop_table *table, uint64_t head, size_t len)
{
    return (size_t)((head + len) * UINT64_C(0x9E3779B97F4A7C15) >> table->shift);
}

/* Eight bytes from `word` on may be read, whatever its length is; len > 0. */
static inline bool bm_stop_table_has(const bm_stop_table *table, const char *word, size_t len)
{
    uint64_t head;
    memcpy(&head, word, sizeof head);
    head &= UINT64_MAX >> (len < 8 ? 64 - 8 * len : 0);
    size_t at = bm_stop_slot_of(table, head, len);
    for (;; at = (at + 1) & table->mask) {
        const bm_stop_slot *slot = &table->slots[at];
        if (slot->head == head && slot->len == len &&
            (len <= 8 || memcmp(table->words + slot->at, word, len) == 0))
            return true;
        if (slot->len == 0)
            return false;
    }
}

#endif
