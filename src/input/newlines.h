/* newlines.h -- counting lines. */
#ifndef BM_IO_FORMATS_NEWLINES_H
#define BM_IO_FORMATS_NEWLINES_H

#include <stddef.h>
#include <stdint.h>

/* Newlines in a run of bytes, by 64 counters of a byte each, one for each place in a block of 64
 * bytes; they are summed before they can overflow. Compilers turn this into vector code. */
uint64_t bm_count_newlines(const char *data, size_t len);

#endif
