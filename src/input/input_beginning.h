/* input_beginning.h -- how a source begins, where its name does not settle its format. */
#ifndef BM_IO_INPUT_INPUT_BEGINNING_H
#define BM_IO_INPUT_INPUT_BEGINNING_H

#include <bandmill/status.h>

#include "input/input_set_state.h"

/* `head`: its first bytes as stored. Of a compressed one that is a regular file as much is unpacked as is
 * needed to see its text begin; damage is left to the reader. Fails for want of memory only. */
bm_status bm_input_beginning(const bm_source *source, const bm_head *head, bm_beginning *out,
                             bm_error *err);

#endif
