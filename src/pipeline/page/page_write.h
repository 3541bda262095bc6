/* page_write.h -- the two writers of a page's content. */
#ifndef BM_PAGE_PAGE_WRITE_H
#define BM_PAGE_PAGE_WRITE_H

#include "pipeline/output/rows.h"
#include "pipeline/page/page_content.h"

/* One JSON object; *n_bytes that were written. */
bm_status bm_page_write_json(const bm_page_content *content, bm_rows *rows, uint64_t *n_bytes,
                             bm_error *err);
/* One HTML document. */
bm_status bm_page_write_html(const bm_page_content *content, bm_rows *rows, uint64_t *n_bytes,
                             bm_error *err);

#endif
