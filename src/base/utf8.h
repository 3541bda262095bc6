/* utf8.h -- is it UTF-8, and if not, its repair: each maximal invalid subpart (Unicode 3.9, table
 * 3-8) becomes one U+FFFD. */
#ifndef BM_BASE_UTF8_H
#define BM_BASE_UTF8_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

/* Bytes of the longest valid prefix (len: all of it is valid). Fast on ASCII. */
size_t bm_utf8_valid_prefix(const char *data, size_t len);
/* Append a valid copy to `out`; *n_replaced grows by the number of U+FFFD written. */
bm_status bm_utf8_repair(const char *data, size_t len, bm_buf *out, uint64_t *n_replaced,
                         bm_error *err);

/* Bytes of a byte order mark at data[0]: 0 or 3. */
static inline size_t bm_bom_bytes(const char *data, size_t len)
{
    return len >= 3 && (unsigned char)data[0] == 0xEF && (unsigned char)data[1] == 0xBB &&
                   (unsigned char)data[2] == 0xBF
               ? 3
               : 0;
}

#endif
