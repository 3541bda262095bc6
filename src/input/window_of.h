/* window_of.h -- what a decoder will hold of what it has given, told from the first bytes of a file. */
#ifndef BM_IO_BYTES_WINDOW_OF_H
#define BM_IO_BYTES_WINDOW_OF_H

#include <bandmill/types.h>

#include "input/compression_kinds.h"

/* Bytes of the window of the first frame of Zstandard, or of the dictionary of the first block of xz;
 * 0: the bytes do not say it, or the compression has a small window whatever it holds. */
uint64_t bm_window_of(bm_compression kind, const char *head, size_t len);
/* Does the compression have windows that files choose? */
bool bm_has_windows(bm_compression kind);

#define BM_WINDOW_MAX (UINT64_C(1) << 27) /* a larger one is refused */
/* A sixteenth of so many MiB of memory has room for the largest that is read. */
#define BM_WINDOW_MEMORY_MIB 2048u

#endif
