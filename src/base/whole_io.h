/* whole_io.h -- reading and writing all of a block at a place of a file: what a call leaves goes into the
 * next, and one that a signal breaks off is done again. The file's own position stays as it is. */
#ifndef BM_BASE_WHOLE_IO_H
#define BM_BASE_WHOLE_IO_H

#include <stddef.h>
#include <stdint.h>

/* 0, or an errno; ENOSPC where nothing more is taken. */
int bm_pwrite_all(int fd, const void *data, size_t len, uint64_t place);
/* 0, or an errno. *got: bytes that were read, less than `len` where the file ends before. */
int bm_pread_all(int fd, void *data, size_t len, uint64_t place, size_t *got);

#endif
