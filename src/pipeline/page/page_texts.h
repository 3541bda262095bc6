/* page_texts.h -- texts and shingles of a few documents, out of the inputs that a report names. */
#ifndef BM_PAGE_PAGE_TEXTS_H
#define BM_PAGE_PAGE_TEXTS_H

#include "pipeline/context/recipe.h"
#include "pipeline/page/page_content.h"

#define BM_PAGE_NO_LENGTH UINT64_MAX

/* Documents that are wanted, and where they go: a place a number of `ids`. */
typedef struct bm_page_wanted {
    const bm_id_set *ids;
    bm_page_doc *docs; /* NULL: only lengths are wanted */
    uint64_t *lengths; /* bytes of each text as read, BM_PAGE_NO_LENGTH before */
    size_t text_held;  /* bytes of each text; 0: none */
    bool shingles;
    size_t n_found;
} bm_page_wanted;

/* Which inputs are what they were: content->sources[i].gone of the others says why they are not, and
 * content->n_gone counts them. `settings` are settled as the report says (recipe.h). */
bm_status bm_page_check_inputs(const bm_settings *settings, bm_page_content *content,
                               bm_error *err);
/* Read the inputs that are there until all documents are found. What is not found stays as it was. */
bm_status bm_page_read_texts(const bm_settings *settings, const bm_page_content *content,
                             bm_page_wanted *wanted, size_t n_wanted, bm_error *err);

#endif
