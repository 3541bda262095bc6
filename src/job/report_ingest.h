/* report_ingest.h -- where the time of the ingest went, as a member of a report's "run". */
#ifndef BM_OUTPUT_REPORT_INGEST_H
#define BM_OUTPUT_REPORT_INGEST_H

#include "json/json_write.h"
#include "sign/ingest.h"
#include "devices/text_offload.h"

/* "flow": {…}; nothing where no documents went through. */
void bm_report_ingest(bm_json *json, const bm_ingest_times *times);
/* "device_input": what devices were given, and the rule or the rates that decided it; nothing where
 * there was no choice. */
void bm_report_text_offload(bm_json *json, const bm_text_offload *path);

#endif
