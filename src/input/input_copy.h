/* input_copy.h -- tables on standard input or a pipe. Whoever reads a table goes to and fro in it, so all of
 * one is copied to a file without a name first: it is gone however the job ends. */
#ifndef BM_IO_INPUT_INPUT_COPY_H
#define BM_IO_INPUT_INPUT_COPY_H

#include "input/input_set.h"

/* Copy source `index`, unless it is a regular file or was copied: bm_source_place leads to the copy then, and
 * its digest and size are known. BM_ERR_IO names the directory that cannot hold it (bm_input_room.temp_dir);
 * BM_ERR_CANCELLED, BM_ERR_NOMEM. By whoever reads the set. */
bm_status bm_input_copy(bm_input_set *set, size_t index, bm_error *err);

#endif
