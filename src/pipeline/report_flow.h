/* report_flow.h -- where the time of the flow went, as a member of a report's "run". */
#ifndef BM_PIPELINE_REPORT_FLOW_H
#define BM_PIPELINE_REPORT_FLOW_H

#include "io/json_write.h"
#include "pipeline/flow.h"

/* "flow": {…}; nothing where no documents went through. */
void bm_report_flow(bm_json *json, const bm_flow_times *times);

#endif
