/* corpus_range.h -- the documents of a corpus a range at a time, each with its keys and its sorted set
 * at hand: for those who compare them with documents that the corpus does not hold.
 *
 * Before bm_corpus_end_adding. Copies and documents without shingles are left out. */
#ifndef BM_CORPUS_CORPUS_RANGE_H
#define BM_CORPUS_CORPUS_RANGE_H

#include "base/pool.h"
#include "corpus/corpus_sets.h"

/* Documents of the corpus looked at for one range, at most: so many, or more whose keys and words take a part of the memory. */
#define BM_RANGE_ROWS 8192u
#define BM_RANGE_PART 4u

/* {0} before the first; the same memory serves range after range. */
typedef struct bm_corpus_range {
    size_t next;           /* the document that the next range begins with */
    size_t n;              /* documents in this one */
    uint32_t *docs;        /* their numbers, ascending */
    uint32_t *sizes;       /* distinct shingles of each */
    uint64_t *keys;        /* n * bands */
    const uint64_t **sets; /* hashes of each, ascending; where the corpus holds hashes */
    uint32_t *words;       /* n * perms; where it holds words */
    size_t cap, cap_keys, cap_words, cap_arena;
    uint64_t *arena; /* of sets that were read back */
} bm_corpus_range;

/* The documents from range->next on, of as many that their sets take `most` bytes, one at least. BM_NOT_FOUND (and no
 * error): there is none left. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT. */
bm_status bm_corpus_range_next(bm_corpus *corpus, uint64_t most, bm_pool *pool,
                               bm_corpus_range *range, bm_error *err);
void bm_corpus_range_reset(bm_corpus_range *range);
/* The set of one representative: sizes[row] hashes, ascending, or perms words. */
bm_status bm_corpus_copy_set(bm_set_reader *reader, size_t row, void *to, bm_error *err);

#endif
