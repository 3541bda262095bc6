/* page_block.h -- a block of pages of its own that grows where it is, or moves without being copied:
 * for arrays that are large and whose length nobody knows. Where it is large, the system is asked for
 * huge pages. Pages that were never written to take no memory. */
#ifndef BM_BASE_PAGE_BLOCK_H
#define BM_BASE_PAGE_BLOCK_H

#include <bandmill/status.h>

typedef struct bm_page_block {
    void *data; /* NULL: there is none yet */
    size_t bytes;
} bm_page_block; /* {0} is empty */

/* Room for so many bytes at least; what was written stays, the rest is zero. On failure nothing
 * changes. */
bm_status bm_page_block_grow(bm_page_block *block, size_t bytes, bm_error *err);
/* Give back what lies behind the first `bytes`. */
void bm_page_block_trim(bm_page_block *block, size_t bytes);
void bm_page_block_reset(bm_page_block *block);

#endif
