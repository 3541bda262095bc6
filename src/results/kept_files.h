/* kept_files.h -- the files that kept documents go to: one for each input, what it is called and how
 * it is compressed. */
#ifndef BM_IO_RESULTS_KEPT_FILES_H
#define BM_IO_RESULTS_KEPT_FILES_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/compression_kinds.h"
#include "results/kept_cfg.h"

typedef struct bm_kept_files {
    size_t n; /* inputs, once all are named */
    char **names;
    bm_compression *compressions;
} bm_kept_files; /* {0} is none */

/* One for each input of the set. BM_ERR_USAGE: two would have one name. Of a stream there is no name. Good for reset
 * whatever the status. */
bm_status bm_kept_files_name(bm_kept_files *files, const bm_kept_cfg *cfg, bm_error *err);
/* The file of input `index`, compressed as it is to be; or the stream of all of them. */
bm_status bm_kept_file_open(const bm_kept_files *files, const bm_kept_cfg *cfg, size_t index,
                            bm_out_file **out, bm_error *err);
void bm_kept_files_reset(bm_kept_files *files);

#endif
