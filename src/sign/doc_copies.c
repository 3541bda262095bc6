/* SPDX-License-Identifier: Apache-2.0 */
/* doc_copies.c -- finds copies by hash tables from content hash to row (doc_copies.h).
 *
 * Tests: tests/unit/corpus/test_corpus_copies.c, tests/unit/job/test_corpus_spill.c,
 *        tests/unit/sign/test_ingest_order.c */
#include "sign/doc_copies.h"

#include "base/error.h"

#define ROWS_AHEAD 8u /* rows between prefetching a slot and using it */

static uint64_t hash_of(bm_hash128 content, uint64_t seed)
{
    return seed == 0 ? content.lo : bm_hash_seeded(content.lo, content.hi, seed);
}

static uint64_t hash_again(const void *owner, uint32_t row, uint64_t seed)
{
    return hash_of(((const bm_doc_copies *)owner)->content[row], seed);
}

/* By size and content hash, is the document of `row` a copy of the document of row *key? */
static bool is_copy(const void *owner, uint32_t row, const void *key)
{
    const bm_doc_copies *copies = owner;
    const uint32_t other = *(const uint32_t *)key;
    const bm_hash128 *x = &copies->content[row], *y = &copies->content[other];
    return x->lo == y->lo && x->hi == y->hi && copies->sizes[row] == copies->sizes[other];
}

static bm_hash_table *shard_of(bm_doc_copies *copies, size_t row)
{
    return &copies->shards[bm_doc_shard(copies->content[row].lo)];
}

/* Prefetch the slot for the content hash of `row`, which will soon be looked up. Slots are rarely
 * in a cache. */
static void expect(bm_doc_copies *copies, size_t row)
{
    bm_hash_table_fetch(shard_of(copies, row), copies->content[row].lo);
}

/* If the document of `row` is a copy of an earlier document, mark it as a copy. *found: is it a
 * copy? */
static bm_status find_one(bm_doc_copies *copies, uint32_t row, bool *found, bm_error *err)
{
    bm_hash_table *shard = shard_of(copies, row);
    BM_TRY(bm_hash_table_reserve(shard, hash_again, copies, err));
    const uint64_t hash = hash_of(copies->content[row], shard->seed);
    const size_t at = bm_hash_table_find(shard, hash, is_copy, copies, &row);
    *found = !bm_hash_table_is_free(shard, at);
    if (*found) {
        copies->rep[row] = bm_hash_table_number(shard, at);
        copies->skip[row] = 1;
    } else {
        bm_hash_table_put(shard, at, hash, row);
    }
    return BM_OK;
}

void bm_doc_copies_begin(const bm_doc_copies *copies, size_t first, size_t n)
{
    for (size_t row = first; row < first + n; row++) {
        copies->rep[row] = (uint32_t)row;
        copies->skip[row] = copies->sizes[row] == 0 && !copies->given_keys;
    }
}

void bm_doc_copies_note(const bm_doc_copies *copies, const bm_ingest_batch *batch, size_t first,
                        size_t n)
{
    const bm_hash128 *content = bm_ingest_content(batch);
    const uint64_t *offsets = batch->shingles.offsets;
    for (size_t i = 0; i < n; i++) {
        const size_t row = first + i;
        copies->sizes[row] = batch->as_text ? batch->docs[i].row.n_shingles
                                            : (uint32_t)(offsets[i + 1] - offsets[i]);
        if (copies->wanted)
            copies->content[row] = content[i];
    }
    bm_doc_copies_begin(copies, first, n);
}

void bm_doc_copies_fill(const bm_doc_copies *copies, bm_ingest_batch *batch)
{
    const size_t first = batch->turn.first_row, n = batch->n_docs;
    bm_ingest_copies *sums = &batch->copies;
    bm_doc_copies_note(copies, batch, first, n);
    sums->n_filled = sums->n_shingles = 0;
    atomic_store(&sums->n, 0);
    atomic_store(&sums->n_copied, 0);
    for (size_t row = first; row < first + n; row++) {
        sums->n_filled += copies->sizes[row] > 0;
        sums->n_shingles += copies->sizes[row];
    }
    if (copies->wanted)
        bm_doc_shard_list_fill(n > 0 ? &copies->content[first].lo : NULL, sizeof *copies->content,
                               n, &sums->contents);
}

/* Counts among some documents with shingles. */
typedef struct copies_found {
    uint64_t n, n_shingles; /* the copies, and their shingles */
    uint64_t n_others;      /* documents that are no copies */
} copies_found;

/* Find the copies among n documents: row first + docs[i], or first + i if docs is NULL. Documents
 * without shingles are passed over. */
static bm_status find_all(bm_doc_copies *copies, size_t first, const uint32_t *docs, size_t n,
                          copies_found *found, bm_error *err)
{
    *found = (copies_found){0};
    for (size_t i = 0; i < n; i++) {
        const size_t row = first + (docs != NULL ? docs[i] : i), ahead = i + ROWS_AHEAD;
        bool is_one;
        if (ahead < n)
            expect(copies, first + (docs != NULL ? docs[ahead] : ahead));
        if (copies->sizes[row] == 0)
            continue;
        BM_TRY(find_one(copies, (uint32_t)row, &is_one, err));
        found->n += is_one;
        found->n_others += !is_one;
        found->n_shingles += is_one ? copies->sizes[row] : 0;
    }
    return BM_OK;
}

bm_status bm_doc_copies_enter(bm_doc_copies *copies, bm_ingest_batch *batch, uint32_t shard,
                              bm_error *err)
{
    bm_ingest_copies *sums = &batch->copies;
    const uint32_t *begin = sums->contents.begin + shard;
    copies_found found;
    if (!copies->wanted || begin[0] == begin[1])
        return BM_OK;
    BM_TRY(find_all(copies, batch->turn.first_row, sums->contents.docs + begin[0],
                    begin[1] - begin[0], &found, err));
    atomic_fetch_add(&sums->n, found.n);
    atomic_fetch_add(&sums->n_copied, found.n_shingles);
    return BM_OK;
}

bm_status bm_doc_copies_find(bm_doc_copies *copies, size_t first, size_t n, uint64_t *out,
                             bm_error *err)
{
    copies_found found;
    *out = 0;
    if (!copies->wanted)
        return BM_OK;
    BM_TRY(find_all(copies, first, NULL, n, &found, err));
    copies->n += found.n_others;
    *out = found.n;
    return BM_OK;
}

void bm_doc_copies_drop_tables(bm_doc_copies *copies)
{
    for (size_t s = 0; s < BM_DOC_SHARDS; s++)
        bm_hash_table_reset(&copies->shards[s]);
    copies->n = 0;
}

void bm_doc_copies_reset(bm_doc_copies *copies)
{
    bm_column_reset(&copies->content_column);
    bm_doc_copies_drop_tables(copies);
    *copies = (bm_doc_copies){0};
}
