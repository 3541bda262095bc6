/* refused_formats.h -- formats and encodings that are not read, by a file's first bytes. */
#ifndef BM_IO_BYTES_REFUSED_FORMATS_H
#define BM_IO_BYTES_REFUSED_FORMATS_H

#include <stddef.h>

#define BM_HEAD_BYTES 4096u /* as many first bytes as are looked at, where there are so many */

typedef struct bm_refused_format {
    const char *what; /* "a zip archive"; NULL: none of these */
    const char *hint; /* how to get at what it holds */
} bm_refused_format;

/* The first bytes of a file, all of it where it has fewer than BM_HEAD_BYTES. */
bm_refused_format bm_refused_format_of(const char *head, size_t len);

#endif
