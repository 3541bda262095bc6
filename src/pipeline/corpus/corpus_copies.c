/* corpus_copies.c -- an open-addressing table of content hashes. It holds row numbers only, and compares
 * all 128 bits.
 *
 * Tests: tests/unit/output/test_corpus_spill.c, tests/unit/match/test_grouping.c */
#include "pipeline/corpus/corpus_copies.h"

#include "base/error.h"

#define ROWS_AHEAD 8u /* rows between two steps of fetching */

/* Where the content hash is in the table, or the free slot where it would go. */
static size_t slot_of(const bm_corpus_copies *copies, bm_hash128 content)
{
    size_t at = (size_t)content.lo & (copies->n_slots - 1);
    for (; copies->slots[at] != 0; at = (at + 1) & (copies->n_slots - 1)) {
        const bm_hash128 *other = &copies->content[copies->slots[at] - 1];
        if (other->lo == content.lo && other->hi == content.hi)
            break;
    }
    return at;
}

static bm_status double_table(bm_corpus_copies *copies, bm_error *err)
{
    size_t n_slots = copies->n_slots == 0 ? 4096 : copies->n_slots * 2;
    uint32_t *old = copies->slots;
    size_t n_old = copies->n_slots;
    copies->slots = bm_alloc_zero(n_slots, sizeof *copies->slots);
    if (copies->slots == NULL) {
        copies->slots = old;
        return bm_fail_nomem(err, n_slots * sizeof *copies->slots);
    }
    copies->n_slots = n_slots;
    for (size_t i = 0; i < n_old; i++)
        if (old[i] != 0)
            copies->slots[slot_of(copies, copies->content[old[i] - 1])] = old[i];
    bm_free(old);
    return BM_OK;
}

/* Set the representative of `row`, whose content hash is set. */
static bm_status find_rep(bm_corpus *corpus, uint32_t row, bm_error *err)
{
    bm_corpus_copies *copies = &corpus->copies;
    corpus->rep[row] = row;
    if (!corpus->cfg.find_identical || corpus->sizes[row] == 0)
        return BM_OK;
    if (((size_t)row + 1) * 4 > copies->n_slots * 3) {
        bm_status status = double_table(copies, err);
        if (status != BM_OK)
            return status;
    }
    size_t at = slot_of(copies, copies->content[row]);
    if (copies->slots[at] == 0) {
        copies->slots[at] = row + 1;
        return BM_OK;
    }
    corpus->rep[row] = copies->slots[at] - 1;
    corpus->n_identical++;
    return BM_OK;
}

/* The table is larger than any cache: fetch the slot of a row to come, and for a nearer one, whose
 * slot is there by now, the content hash that it points to. */
static void expect_rows(const bm_corpus_copies *copies, size_t row, size_t end)
{
    if (copies->n_slots == 0)
        return;
    size_t mask = copies->n_slots - 1;
    if (row + 2 * ROWS_AHEAD < end)
        __builtin_prefetch(&copies->slots[(size_t)copies->content[row + 2 * ROWS_AHEAD].lo & mask],
                           1);
    if (row + ROWS_AHEAD < end) {
        uint32_t slot = copies->slots[(size_t)copies->content[row + ROWS_AHEAD].lo & mask];
        if (slot != 0)
            __builtin_prefetch(&copies->content[slot - 1]);
    }
}

bm_status bm_corpus_find_copies(bm_corpus *corpus, size_t first, size_t n, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        uint32_t row = (uint32_t)(first + i);
        expect_rows(&corpus->copies, row, first + n);
        status = find_rep(corpus, row, err);
        corpus->skip[row] =
            (corpus->sizes[row] == 0 && !corpus->cfg.given_keys) || corpus->rep[row] != row;
    }
    return status;
}

void bm_corpus_copies_reset(bm_corpus_copies *copies)
{
    bm_free(copies->content);
    bm_free(copies->slots);
    *copies = (bm_corpus_copies){0};
}
