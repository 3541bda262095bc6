/* word_diff.h -- the words that two texts have in common, in one order, and those that each has alone.
 *
 * A word is a run of bytes that are no ASCII white space, together with the white space before it; two words are
 * equal where their bytes are, whatever white space stands before them. */
#ifndef BM_PAGE_WORD_DIFF_H
#define BM_PAGE_WORD_DIFF_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_diff_word {
    size_t begin; /* of the white space before it */
    size_t word;  /* of the word itself; white space at the end of a text is a word without bytes */
    size_t end;
    uint64_t hash;
    bool common;
} bm_diff_word;

typedef struct bm_diff_text {
    bm_str text; /* borrowed */
    bm_diff_word *words;
    size_t n, cap;
} bm_diff_text; /* {0} but for `text` */

/* Cut both texts and mark what they have in common: as many `common` words in the one as in the other, the i-th of
 * them equal. The longest such sequence, but where the texts differ so much that looking for it would take long: then a
 * long one. BM_ERR_NOMEM. */
bm_status bm_word_diff(bm_diff_text *a, bm_diff_text *b, bm_error *err);
void bm_diff_text_reset(bm_diff_text *text);

#endif
