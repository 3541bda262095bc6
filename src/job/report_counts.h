/* report_counts.h -- the member "counts" of a report, written and read back. */
#ifndef BM_OUTPUT_REPORT_COUNTS_H
#define BM_OUTPUT_REPORT_COUNTS_H

#include <bandmill/job.h>

#include "json/json_write.h"
#include "output/manifest.h"
#include "model/counts.h"

void bm_report_counts(bm_json *json, const bm_counts *counts, bm_report_counts_of of);
/* What stands there; the others stay as they are. BM_ERR_FORMAT. */
bm_status bm_report_read_counts(const bm_manifest *report, bm_counts *out, bm_error *err);

#endif
