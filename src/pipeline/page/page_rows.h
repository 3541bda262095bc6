/* page_rows.h -- pairs.tsv, where dedup --pairs left it. */
#ifndef BM_PAGE_PAGE_ROWS_H
#define BM_PAGE_PAGE_ROWS_H

#include "pipeline/context/settings.h"
#include "pipeline/page/page_content.h"
#include "pipeline/page/page_what_if.h"

/* A row of pairs.tsv; the ids are borrowed until the next. */
typedef struct bm_page_row {
    bm_str a, b;
    double jaccard; /* NAN: not known */
} bm_page_row;

typedef bm_status (*bm_page_row_fn)(void *ctx, const bm_page_row *row, bm_error *err);

/* Each row of the file, which must be the one that the report lists. */
bm_status bm_page_each_row(const bm_settings *settings, const bm_manifest *manifest,
                           bm_page_row_fn fn, void *ctx, bm_error *err);
/* Fill content->similarities, content->near and the thresholds of content->what_if; `weigh`, filled, is then ready
 * for stars. */
bm_status bm_page_read_rows(const bm_settings *settings, bm_page_content *content,
                            bm_page_weigh *weigh, bm_error *err);

#endif
