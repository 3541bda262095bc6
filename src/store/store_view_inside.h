/* store_view_inside.h -- the inside of a bm_store_view, for the files of this room. */
#ifndef BM_STORE_STORE_VIEW_INSIDE_H
#define BM_STORE_STORE_VIEW_INSIDE_H

#include "store/store_view.h"
#include "store/store_writer.h"

struct bm_store_view {
    bm_snapshot snapshot;
    const uint8_t **removed; /* bits of each range of numbers; NULL: none of it */
    size_t n_ranges;
    size_t n_removed_ranges; /* 0: no document was removed */
    uint8_t *bits;           /* those of a writer's that are not in the file */
    bm_writer_note *notes;   /* of a writer, copied */
    uint8_t *compared;       /* of each piece of postings BM_POSTING_COMPARED bytes */
    uint8_t *docs_compared;  /* of each document a bit */
    size_t n_notes;
};

/* Was this number removed, which is below next_number? */
bool bm_store_view_removed(const bm_store_view *view, uint32_t number);
/* Its document, whether or not. */
bm_status bm_store_view_any(const bm_store_view *view, uint32_t number, bm_store_doc *out,
                            bm_error *err);

#endif
