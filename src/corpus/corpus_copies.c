/* corpus_copies.c -- a table of content hashes (base/hash_table.h), by row, which compares all 128 bits.
 *
 * Tests: tests/unit/job/test_corpus_spill.c, tests/unit/match/test_grouping.c */
#include "corpus/corpus_copies.h"

#include "base/error.h"

#define ROWS_AHEAD 8u /* rows between fetching a slot and using it */

static uint64_t hash_of(bm_hash128 content, uint64_t seed)
{
    return seed == 0 ? content.lo : bm_hash_seeded(content.lo, content.hi, seed);
}

static uint64_t hash_again(const void *owner, uint32_t row, uint64_t seed)
{
    return hash_of(((const bm_corpus_copies *)owner)->content[row], seed);
}

static bool has_content(const void *owner, uint32_t row, const void *key)
{
    const bm_hash128 *other = &((const bm_corpus_copies *)owner)->content[row], *content = key;
    return other->lo == content->lo && other->hi == content->hi;
}

/* Set the representative of `row`, whose content hash is set. */
static bm_status find_rep(bm_corpus *corpus, uint32_t row, bm_error *err)
{
    bm_corpus_copies *copies = &corpus->copies;
    corpus->rep[row] = row;
    if (!corpus->cfg.find_identical || corpus->sizes[row] == 0)
        return BM_OK;
    BM_TRY(bm_hash_table_reserve(&copies->table, hash_again, copies, err));
    const uint64_t hash = hash_of(copies->content[row], copies->table.seed);
    const size_t at =
        bm_hash_table_find(&copies->table, hash, has_content, copies, &copies->content[row]);
    if (bm_hash_table_is_free(&copies->table, at)) {
        bm_hash_table_put(&copies->table, at, hash, row);
        return BM_OK;
    }
    corpus->rep[row] = bm_hash_table_number(&copies->table, at);
    corpus->n_identical++;
    return BM_OK;
}

bm_status bm_corpus_find_copies(bm_corpus *corpus, size_t first, size_t n, bm_error *err)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t row = (uint32_t)(first + i);
        if (corpus->copies.content != NULL && i + ROWS_AHEAD < n) /* beyond any cache */
            bm_hash_table_fetch(&corpus->copies.table, corpus->copies.content[row + ROWS_AHEAD].lo);
        BM_TRY(find_rep(corpus, row, err));
        corpus->skip[row] =
            (corpus->sizes[row] == 0 && !corpus->cfg.given_keys) || corpus->rep[row] != row;
    }
    return BM_OK;
}

void bm_corpus_copies_reset(bm_corpus_copies *copies)
{
    bm_free(copies->content);
    bm_hash_table_reset(&copies->table);
    *copies = (bm_corpus_copies){0};
}
