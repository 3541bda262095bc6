/* report_counts.h -- the member "counts" of a report, written and read back. */
#ifndef BM_OUTPUT_REPORT_COUNTS_H
#define BM_OUTPUT_REPORT_COUNTS_H

#include <bandmill/job.h>

#include "io/json/json_write.h"
#include "io/manifest/manifest.h"

/* Which counts a job has: of documents alone, of pairs and groups too, these with those of known documents, or of an
 * index too. */
typedef enum bm_report_counts_of {
    BM_COUNTS_OF_ALL,
    BM_COUNTS_OF_GROUPS,
    BM_COUNTS_OF_AGAINST,
    BM_COUNTS_OF_INDEX,
    BM_COUNTS_OF_WEIGHTS /* where there are any */
} bm_report_counts_of;

void bm_report_counts(bm_json *json, const bm_counts *counts, bm_report_counts_of of);
/* What stands there; the others stay as they are. BM_ERR_FORMAT. */
bm_status bm_report_read_counts(const bm_manifest *report, bm_counts *out, bm_error *err);

#endif
