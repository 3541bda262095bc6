/* corpus_sets.h -- the sets of a corpus: shingle hashes, or words, in memory or in a file.
 *
 * A file has the record of each representative in input order. It may have a name and outlive the
 * process, so that another one goes on from it.
 *
 *     state            save               move              restore
 *     IN_MEMORY        -> COPIED          -> IN_FILE        -> IN_NAMED_FILE (of an empty corpus)
 *     COPIED           copies what is new -> IN_NAMED_FILE
 *     IN_FILE          -> IN_NAMED_FILE
 *     IN_NAMED_FILE    counts what is new
 *
 * Which of them changes no result. Threads: one at a time, but for bm_corpus_put_sets
 * and readers. */
#ifndef BM_CORPUS_CORPUS_SETS_H
#define BM_CORPUS_CORPUS_SETS_H

#include "lsh/weighted_jaccard.h"
#include "corpus/corpus_parts.h"

/* Columns for `cap` documents. */
bm_status bm_corpus_sets_grow(bm_corpus *corpus, size_t cap, bm_error *err);
/* Rows first … first+n-1, whose sizes, rep and skip are set, have no sets yet. */
void bm_corpus_sets_clear(bm_corpus *corpus, size_t first, size_t n);
/* Places for the sets of n rows from `first`, in memory or in the file: bm_corpus_put_sets fills them. */
bm_status bm_corpus_place_sets(bm_corpus *corpus, size_t first, size_t n, bm_error *err);
/* Put the hashes of a batch, or its words (cfg.words.uints each), to the places of the rows from `first`. Any
 * thread; columns of the corpus do not move meanwhile. */
bm_status bm_corpus_put_sets(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             const uint32_t *words, size_t first, bm_error *err);
/* Move what is in memory to a file; `bytes` of sets, the next batch included, are foreseen. BM_OK
 * where it is in a file already. */
bm_status bm_corpus_move_sets(bm_corpus *corpus, uint64_t bytes, uint64_t input_bytes_read,
                              bm_error *err);
/* Adding has ended: write what is buffered. Again is fine. */
bm_status bm_corpus_sets_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_sets_reset(bm_corpus_sets *sets);

/* A weighted set as it is held: n hashes, and behind them their weights. */
static inline bm_weighted_set bm_corpus_weighted(const void *set, size_t n)
{
    const uint64_t *hashes = set;
    return (bm_weighted_set){hashes, n > 0 ? (const void *)(hashes + n) : NULL, n};
}

/* Bytes of the record that a document has in the file; 0: it has none (a copy, empty). */
size_t bm_corpus_set_len(const bm_corpus *corpus, size_t row);

/* Sets of representatives one after another, wherever they lie; one thread each. {.corpus = …} is
 * the beginning. */
typedef struct bm_set_reader {
    const bm_corpus *corpus; /* borrowed */
    bm_spill_get get;
    void *own; /* of a set that is read back */
    size_t cap_own;
} bm_set_reader;

void bm_set_reader_reset(bm_set_reader *reader);
/* The set of `row` as it is held; until the next call where it is in the file. */
bm_status bm_set_reader_get(bm_set_reader *reader, size_t row, const void **out, bm_error *err);
/* Copy it, `len` bytes, to `to`. */
bm_status bm_set_reader_copy(bm_set_reader *reader, size_t row, void *to, size_t len,
                             bm_error *err);

/* From now on the file that sets are saved to, or restored from, lies in this open folder
 * (bm_name_in), which is borrowed. */
void bm_corpus_sets_in_folder(bm_corpus *corpus, int folder);
/* Bring the sets of all documents into the file `path`, where they stay; sets.saved says how much
 * of it that is. The same path every time. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_corpus_save_sets(bm_corpus *corpus, const char *path, bm_error *err);
/* Bytes of sets that bm_corpus_save_sets would write now, about. */
uint64_t bm_corpus_unsaved_bytes(const bm_corpus *corpus);
/* An empty corpus takes over the file that was saved, of so many bytes and records. */
bm_status bm_corpus_restore_sets(bm_corpus *corpus, const char *path, uint64_t bytes,
                                 uint64_t records, bm_error *err);
/* Rows first … first+n-1 have their records behind those that were placed before. */
void bm_corpus_sets_place(bm_corpus *corpus, size_t first, size_t n);

#endif
