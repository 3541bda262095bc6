/* report_flow.h -- where the time of the flow went, as a member of a report's "run". */
#ifndef BM_PIPELINE_REPORT_FLOW_H
#define BM_PIPELINE_REPORT_FLOW_H

#include "io/json_write.h"
#include "pipeline/flow.h"
#include "pipeline/text_path.h"

/* "flow": {…}; nothing where no documents went through. */
void bm_report_flow(bm_json *json, const bm_flow_times *times);
/* "device_input": what devices were given, and the rule or the rates that decided it; nothing where
 * there was no choice. */
void bm_report_text_path(bm_json *json, const bm_text_path *path);

#endif
