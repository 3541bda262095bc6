/* out_state.h -- the names of what a job keeps beside its outputs while they are being written.
 *
 * Files of state lie at the top of a work directory (TARGET.partial) and never reach the target. */
#ifndef BM_IO_OUTPUT_OUT_STATE_H
#define BM_IO_OUTPUT_OUT_STATE_H

#include <stdbool.h>
#include <string.h>

#define BM_OUT_STATE_PREFIX ".bandmill-"
/* What an interrupted job has done; without it the job cannot be resumed. */
#define BM_OUT_JOURNAL BM_OUT_STATE_PREFIX "journal"
/* Says that the directory is ours; locked while its job lives. */
#define BM_OUT_MARKER BM_OUT_STATE_PREFIX "work"

/* Is it a name of a file of state, the marker's included? */
static inline bool bm_out_is_state(const char *name)
{
    return strncmp(name, BM_OUT_STATE_PREFIX, sizeof BM_OUT_STATE_PREFIX - 1) == 0;
}

#endif
