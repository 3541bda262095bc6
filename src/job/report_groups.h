/* report_groups.h -- what a report says about groups and pairs: sizes, the largest, the chained,
 * how similar. The same for any device, threads, batch size and memory. */
#ifndef BM_OUTPUT_REPORT_GROUPS_H
#define BM_OUTPUT_REPORT_GROUPS_H

#include "json/json_write.h"
#include "model/doc_table.h"
#include "match/grouping.h"

#define BM_LARGEST_GROUPS 10u

/* Members of the report's object:
 *   group_sizes      [{"size":2,"groups":10}, ...], ascending
 *   largest_groups   [{"group":1,"kept":ID,"size":50,"chained":3}, ...], at most ten, the largest
 *                    first, of equal ones the first
 *   chained_share    of the removed documents; 0 where none was removed
 *   dominant_group   {"size":5000,"helps":["cluster star", ...]}, where the largest is one */
bm_status bm_report_groups(bm_json *json, const bm_grouping *grouping, const bm_doc_table *docs,
                           bm_error *err);
/* Is a group of this size so large, more than 1 % of the documents and more than 1,000, that a template or a chain of links has
 * rather made it than likeness? */
bool bm_group_is_dominant(uint64_t size, uint64_t n_docs);
/* similarities      [{"low":0.8,"high":0.85,"pairs":7}, ...], bins of BM_HISTOGRAM_BINS that are
 *                   not empty */
void bm_report_similarities(bm_json *json, const uint64_t *histogram);

#endif
