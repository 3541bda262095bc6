/* numbered_id.h -- ids of the form that `duplicate_ids` number gives repeated ones: X#N, N from 2. */
#ifndef BM_MODEL_NUMBERED_ID_H
#define BM_MODEL_NUMBERED_ID_H

#include <bandmill/types.h>

/* Is it one? *base: X; *number: N. */
bool bm_numbered_id(bm_str id, bm_str *base, uint32_t *number);

#endif
