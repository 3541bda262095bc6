/* corpus_copies.h -- identical documents: those whose content hashes are equal (model/content_sums.h). */
#ifndef BM_CORPUS_CORPUS_COPIES_H
#define BM_CORPUS_CORPUS_COPIES_H

#include "corpus/corpus_parts.h"

/* Fill rep and skip of n documents from `first`, whose sizes and content hashes are set, and count the
 * copies among them. */
bm_status bm_corpus_find_copies(bm_corpus *corpus, size_t first, size_t n, bm_error *err);
void bm_corpus_copies_reset(bm_corpus_copies *copies);

#endif
