/* out_file_place.h -- a single file gets its name, and loses it again where something else that
 * belongs to it fails. */
#ifndef BM_IO_OUTPUT_OUT_FILE_PLACE_H
#define BM_IO_OUTPUT_OUT_FILE_PLACE_H

#include <bandmill/status.h>

#include "output/out_file_inside.h"

/* Its bytes are complete: sync and close it, so that all that is left is the name. */
bm_status bm_out_single_sync(struct bm_out_file *file, bm_error *err);
/* Give it its name, and sync the folder. What had the name before, if that may be replaced, is kept
 * until settle. On failure take_back is to follow. */
bm_status bm_out_single_place(struct bm_out_file *file, bm_error *err);
/* What had the name before goes. */
void bm_out_single_settle(struct bm_out_file *file);
/* Everything is as before place; nothing where that was not called. */
void bm_out_single_take_back(struct bm_out_file *file);

#endif
