/* out_state.h -- the names in a work directory, TARGET.partial.
 *
 *     TARGET.partial/ .bandmill-work     the marker: whose it is, and a list of what is in it
 *                     .bandmill-…        what the job needs to be resumed
 *                     output/            what one rename makes the target
 *
 * The marker and the files of state lie beside the outputs and never among them, so that the marker
 * stays, locked, until the last rename is done. */
#ifndef BM_IO_OUTPUT_OUT_STATE_H
#define BM_IO_OUTPUT_OUT_STATE_H

#include <stdbool.h>
#include <string.h>

#define BM_OUT_STATE_PREFIX ".bandmill-"
/* What an interrupted job has done; without it the job cannot be resumed. */
#define BM_OUT_JOURNAL BM_OUT_STATE_PREFIX "journal"
/* Says that the directory is ours, and lists what is in it; locked while its job lives. */
#define BM_OUT_MARKER BM_OUT_STATE_PREFIX "work"
/* The folder of the outputs; during the last steps over an earlier output, that one. */
#define BM_OUT_NEW "output"

/* Is it a name of a file of state, the marker's included? */
static inline bool bm_out_is_state(const char *name)
{
    return strncmp(name, BM_OUT_STATE_PREFIX, sizeof BM_OUT_STATE_PREFIX - 1) == 0;
}

#endif
