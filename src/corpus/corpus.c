/* corpus.c -- adding documents: room for them, then their sizes, which are copies, their sets,
 * words and keys. A representative's set is copied once, by any thread, and never moved while pointers
 * to it exist.
 *
 * Tests: tests/unit/job/test_corpus_spill.c, tests/unit/match/test_grouping.c */
#include "corpus/corpus.h"

#include <string.h>

#include "base/error.h"
#include "corpus/corpus_copies.h"
#include "corpus/corpus_room.h"

void bm_corpus_init(bm_corpus *corpus, const bm_corpus_cfg *cfg)
{
    memset(corpus, 0, sizeof *corpus);
    corpus->cfg = *cfg;
}

void bm_corpus_reset(bm_corpus *corpus)
{
    bm_free(corpus->rep);
    bm_free(corpus->skip);
    bm_free(corpus->sizes);
    bm_corpus_copies_reset(&corpus->copies);
    bm_corpus_sets_reset(&corpus->sets);
    bm_corpus_keys_reset(corpus);
    memset(corpus, 0, sizeof *corpus);
}

/* --- adding --- */

/* Documents of a batch, which may be a sample's and have no rows. */
static size_t docs_of(const bm_ingest_batch *batch)
{
    return batch->as_text ? batch->n_docs : batch->shingles.n_docs;
}

static void set_sizes(bm_corpus *corpus, const bm_ingest_batch *batch, size_t first)
{
    const bm_hash128 *content = bm_ingest_content(batch);
    const uint64_t *offsets = batch->shingles.offsets;
    for (size_t i = 0; i < docs_of(batch); i++) {
        size_t row = first + i;
        corpus->sizes[row] = batch->as_text ? batch->docs[i].row.n_shingles
                                            : (uint32_t)(offsets[i + 1] - offsets[i]);
        if (corpus->cfg.find_identical)
            corpus->copies.content[row] = content[i];
    }
    bm_corpus_sets_clear(corpus, first, docs_of(batch));
}

/* What the batch adds, at most. */
static bm_corpus_more more_of(const bm_corpus *corpus, const bm_ingest_batch *batch)
{
    const uint64_t all = bm_shingle_batch_hashes(&batch->shingles), n_docs = docs_of(batch);
    uint64_t hashes = corpus->cfg.hashes ? all : 0;
    uint64_t words = n_docs * corpus->cfg.words.uints;
    uint64_t longest = 0;
    for (size_t i = 0; i < batch->n_docs; i++)
        if (batch->docs != NULL && batch->docs[i].row.text_bytes > longest)
            longest = batch->docs[i].row.text_bytes;
    return (bm_corpus_more){.docs = n_docs,
                            .set_bytes =
                                hashes * bm_corpus_element_bytes(corpus) + words * sizeof(uint32_t),
                            .batch_bytes = all * bm_corpus_element_bytes(corpus),
                            .longest = longest,
                            .input_bytes_read = batch->turn.bytes_read};
}

/* All but their sets. */
static bm_status add_rows(bm_corpus *corpus, const bm_ingest_batch *batch, size_t first_row,
                          bm_error *err)
{
    const bm_corpus_more more = more_of(corpus, batch);
    BM_TRY(bm_corpus_make_room(corpus, &more, err));
    set_sizes(corpus, batch, first_row);
    return bm_corpus_find_copies(corpus, first_row, more.docs, err);
}

bm_status bm_corpus_sink(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    bm_corpus *corpus = ctx;
    const size_t n = docs_of(batch);
    if (n == 0)
        return BM_OK;
    BM_TRY(add_rows(corpus, batch, first_row, err));
    BM_TRY(bm_corpus_place_sets(corpus, first_row, n, err));
    BM_TRY(bm_corpus_add_keys(corpus, batch->keys, n, err));
    corpus->n += n;
    return BM_OK;
}

bm_status bm_corpus_put(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    const bm_corpus *corpus = ctx;
    const bm_shingle_batch none = {.n_docs = docs_of(batch)};
    bm_corpus_put_keys(corpus, batch->keys, first_row, none.n_docs);
    return bm_corpus_put_sets(corpus, batch->as_text ? &none : &batch->shingles, batch->words,
                              first_row, err);
}

bool bm_corpus_moves(void *ctx, const bm_ingest_batch *batch)
{
    const bm_corpus_more more = more_of(ctx, batch);
    return bm_corpus_moves_for(ctx, &more);
}

bm_status bm_corpus_add(bm_corpus *corpus, const bm_ingest_batch *batch, size_t first_row,
                        bm_error *err)
{
    BM_TRY(bm_corpus_sink(corpus, batch, first_row, err));
    return bm_corpus_put(corpus, batch, first_row, err);
}

bm_status bm_corpus_add_words(bm_corpus *corpus, const bm_signed_docs *docs, bm_error *err)
{
    size_t first = corpus->n, n = docs->n;
    uint64_t words = (uint64_t)n * corpus->cfg.words.uints;
    bm_corpus_more more = {.docs = n, .set_bytes = words * sizeof *docs->words};
    BM_TRY(bm_corpus_make_room(corpus, &more, err));
    corpus->copies.given = corpus->cfg.find_identical && docs->content != NULL;
    for (size_t i = 0; i < n; i++) {
        corpus->rep[first + i] = (uint32_t)(first + i);
        corpus->sizes[first + i] = docs->n_shingles[i];
        corpus->skip[first + i] = docs->n_shingles[i] == 0;
        if (corpus->copies.given)
            corpus->copies.content[first + i] = docs->content[i];
    }
    bm_corpus_sets_clear(corpus, first, n);
    if (corpus->copies.given)
        BM_TRY(bm_corpus_find_copies(corpus, first, n, err));
    if (corpus->cfg.words.uints > 0)
        BM_TRY(bm_corpus_place_sets(corpus, first, n, err));
    BM_TRY(bm_corpus_add_keys(corpus, docs->keys, n, err));
    corpus->n += n;
    bm_corpus_put_keys(corpus, docs->keys, first, n);
    return corpus->cfg.words.uints == 0
               ? BM_OK
               : bm_corpus_put_sets(corpus, &(bm_shingle_batch){.n_docs = n}, docs->words, first,
                                    err);
}

/* Is the text of row `row` the one that was signed, as far as is known? */
static bool as_signed(const bm_corpus *corpus, size_t row, const bm_shingle_batch *shingles,
                      size_t i)
{
    const bm_hash128 *content = &shingles->content[i], *given = &corpus->copies.content[row];
    return corpus->sizes[row] == shingles->offsets[i + 1] - shingles->offsets[i] &&
           (!corpus->copies.given || (content->lo == given->lo && content->hi == given->hi));
}

bm_status bm_corpus_fill_hashes(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                                bm_error *err)
{
    bm_corpus *corpus = ctx;
    const bm_shingle_batch *shingles = &batch->shingles;
    if (first_row + shingles->n_docs > corpus->n)
        return bm_fail(err, BM_ERR_FORMAT,
                       "the inputs hold more documents than were signed (%llu were)",
                       (unsigned long long)corpus->n);
    for (size_t i = 0; i < shingles->n_docs; i++)
        if (!as_signed(corpus, first_row + i, shingles, i))
            return bm_fail(err, BM_ERR_FORMAT,
                           "document %llu is not the one that was signed (its shingles differ)",
                           (unsigned long long)(first_row + i));
    bm_corpus_more more = more_of(corpus, batch);
    more.docs = 0; /* they are there */
    BM_TRY(bm_corpus_make_room(corpus, &more, err));
    if (!corpus->copies.given) {
        set_sizes(corpus, batch, first_row);
        BM_TRY(bm_corpus_find_copies(corpus, first_row, shingles->n_docs, err));
    }
    return bm_corpus_place_sets(corpus, first_row, shingles->n_docs, err);
}

bm_status bm_corpus_put_hashes(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                               bm_error *err)
{
    return bm_corpus_put_sets(ctx, &batch->shingles, NULL, first_row, err);
}

bool bm_corpus_hashes_move(void *ctx, const bm_ingest_batch *batch)
{
    bm_corpus_more more = more_of(ctx, batch);
    more.docs = 0;
    return bm_corpus_moves_for(ctx, &more);
}

bm_status bm_corpus_end_adding(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_copies_reset(&corpus->copies);
    bm_memory_trim();
    BM_TRY(bm_corpus_sets_end(corpus, err));
    return bm_corpus_keys_end(corpus, err);
}

bm_status bm_corpus_sets_to_file(bm_corpus *corpus, bm_error *err)
{
    if (bm_corpus_sets_in_file(corpus) || corpus->n == 0)
        return BM_OK;
    BM_TRY(bm_corpus_move_sets(corpus, corpus->sets.bytes, corpus->cfg.input_bytes, err));
    return bm_corpus_sets_end(corpus, err);
}

bm_corpus_spilled bm_corpus_spilled_bytes(const bm_corpus *corpus)
{
    return (bm_corpus_spilled){.set_bytes = corpus->sets.file_bytes,
                               .key_bytes = corpus->keys.file_bytes,
                               .bytes_back = corpus->sets.bytes_back};
}
