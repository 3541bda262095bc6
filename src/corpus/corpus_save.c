/* corpus_save.c -- rows of a corpus that was saved, taken back.
 *
 * Tests: tests/unit/job/test_checkpoint_documents.c */
#include "corpus/corpus_save.h"

#include "base/error.h"
#include "corpus/corpus_copies.h"
#include "corpus/corpus_room.h"

static bm_status restore_copies(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err)
{
    size_t first = corpus->n;
    if (rows->content != NULL && corpus->copies.content == NULL)
        return bm_fail(err, BM_ERR_FORMAT,
                       "documents are saved with content hashes, and this job has none");
    for (size_t i = 0; i < rows->n && rows->content != NULL; i++)
        corpus->copies.content[first + i] = rows->content[i];
    if (rows->rep == NULL)
        return bm_corpus_find_copies(corpus, first, rows->n, err);
    for (size_t i = 0; i < rows->n; i++) {
        size_t row = first + i;
        uint32_t rep = rows->rep[i];
        if (rep > row || (rep < row && corpus->rep[rep] != rep))
            return bm_fail(err, BM_ERR_FORMAT, "document %zu is saved as a copy of no original",
                           row);
        corpus->rep[row] = rep;
        corpus->skip[row] = corpus->sizes[row] == 0 || rep != row;
        corpus->n_identical += rep != row;
    }
    return BM_OK;
}

bm_status bm_corpus_restore_rows(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err)
{
    size_t first = corpus->n;
    BM_TRY(bm_corpus_make_room(corpus, &(bm_corpus_more){.docs = rows->n}, err));
    for (size_t i = 0; i < rows->n; i++)
        corpus->sizes[first + i] = rows->docs[i].n_shingles;
    bm_corpus_sets_clear(corpus, first, rows->n);
    BM_TRY(restore_copies(corpus, rows, err));
    bm_corpus_sets_place(corpus, first, rows->n);
    BM_TRY(bm_corpus_add_keys(corpus, rows->keys, rows->n, err));
    bm_corpus_put_keys(corpus, rows->keys, first, rows->n);
    corpus->n += rows->n;
    return BM_OK;
}

bm_status bm_corpus_restore_end(bm_corpus *corpus, bm_error *err)
{
    const bm_corpus_sets *sets = &corpus->sets;
    if (!bm_corpus_sets_in_file(corpus) || (sets->saved.bytes == bm_spill_bytes(sets->file) &&
                                            sets->saved.records == bm_spill_records(sets->file)))
        return BM_OK;
    return bm_fail(
        err, BM_ERR_FORMAT, "the saved sets are those of other documents (%llu bytes, not %llu)",
        (unsigned long long)bm_spill_bytes(sets->file), (unsigned long long)sets->saved.bytes);
}
