/* page_facts.h -- what report.json and sources.tsv say. */
#ifndef BM_PAGE_PAGE_FACTS_H
#define BM_PAGE_PAGE_FACTS_H

#include "pipeline/page/page_content.h"

/* Fill content->facts and the numbers of content->sources from the report, which is open in
 * content->manifest and must be one of dedup. BM_ERR_FORMAT names what is not as it should be. */
bm_status bm_page_read_facts(bm_page_content *content, bm_error *err);

#endif
