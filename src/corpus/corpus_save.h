/* corpus_save.h -- a corpus that one process leaves and another takes up.
 *
 * Sets lie in one file of records (corpus_sets.h), which bm_corpus_save_sets brings up to date. All
 * other columns are handed out and taken back by the caller (checkpoint_documents.h), a block of
 * documents at a time.
 *
 * A corpus that was restored has its sets in the file, whatever --memory would allow: no result
 * depends on that. Threads: one at a time, as for adding. */
#ifndef BM_CORPUS_CORPUS_SAVE_H
#define BM_CORPUS_CORPUS_SAVE_H

#include "corpus/corpus.h"

/* False once band keys that went to a file are matched, or are about to be: they become labels, and
 * cannot be told again. */
static inline bool bm_corpus_can_save(const bm_corpus *corpus)
{
    return corpus->keys.state <= BM_KEYS_GOING_TO_FILE;
}

/* The next n documents of a corpus that is restored. */
typedef struct bm_corpus_rows {
    size_t n;
    const bm_doc_row *docs;    /* for their sizes */
    const bm_hash128 *content; /* or, where nothing will be added any more, */
    const uint32_t *rep;       /* this; the other is NULL */
    const uint64_t *keys;      /* bands of each side by side; NULL without bands */
} bm_corpus_rows;

/* After bm_corpus_restore_sets. BM_ERR_FORMAT where they do not fit what came before. */
bm_status bm_corpus_restore_rows(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err);
/* All documents are there. BM_ERR_FORMAT: the file of sets is that of other documents. */
bm_status bm_corpus_restore_end(bm_corpus *corpus, bm_error *err);

#endif
