/* page_tables.h -- removed.tsv and groups.jsonl. */
#ifndef BM_PAGE_PAGE_TABLES_H
#define BM_PAGE_PAGE_TABLES_H

#include "io/results/group_file.h"
#include "pipeline/context/settings.h"
#include "pipeline/page/page_content.h"

/* Fill content->groups and content->chained; without pairs.tsv also content->near and the similarities, of
 * removed documents with the kept ones. BM_ERR_FORMAT names file and line; BM_ERR_NOMEM. */
bm_status bm_page_read_tables(const bm_settings *settings, bm_page_content *content, bm_error *err);

/* The groups of the directory, one after another (group_file.h), whose file must be the one listed where it
 * is read to its end. */
typedef bm_status (*bm_page_group_fn)(void *ctx, bm_group_file *file, bool *stop, bm_error *err);
bm_status bm_page_each_group(const bm_settings *settings, const bm_manifest *manifest,
                             bm_page_group_fn fn, void *ctx, bm_error *err);

#endif
