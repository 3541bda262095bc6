/* plain_text.h -- texts of strangers (ids, paths, what a driver says) in what people read.
 * bm_text_next (bandmill/status.h) says which characters are not shown as they are. */
#ifndef BM_BASE_PLAIN_TEXT_H
#define BM_BASE_PLAIN_TEXT_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

/* Append the text, each byte of a hidden character as \xHH. On failure `out` is as before. */
bm_status bm_buf_add_plain(bm_buf *out, bm_str text, bm_error *err);

#endif
