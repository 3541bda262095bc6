/* input_set_paths.h -- paths to files: directories are walked, lists are read. Used by
 * input_set_open.c only. */
#ifndef BM_IO_INPUT_INPUT_SET_PATHS_H
#define BM_IO_INPUT_INPUT_SET_PATHS_H

#include <bandmill/status.h>

struct bm_input_set;

/* Expand options.paths and options.files_from of the set into its sources, appended. */
bm_status bm_input_set_expand(struct bm_input_set *set, bm_error *err);

#endif
