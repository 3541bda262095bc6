/* SPDX-License-Identifier: Apache-2.0 */
/* compression_kinds.h -- the kinds of compression that are read, and their detection by a file's
 * name or first bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "model/file_names.h"

/* name_ending -- the ending of a file's name, which shows the file's format and compression. */

/* Do the first `len` bytes of `name` end in `ending` (in lower case), whatever their ASCII case? */
static inline bool bm_name_ends(const char *name, size_t len, const char *ending)
{
    size_t n = strlen(ending);
    if (len < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = name[len - n + i];
        if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != ending[i])
            return false;
    }
    return true;
}

/* The compression of a file by its first bytes. A Zstandard or LZ4 file may begin with skippable
 * frames, which both formats share. The bytes after the skippable frames then decide. If `head`
 * does not have these bytes, the kind is LZ4 if `promised` (from bm_compression_of_name) is LZ4,
 * else Zstandard. */
bm_compression bm_compression_of_bytes(const char *head, size_t len, bm_compression promised);
/* The kind of compression that the ending of a name promises, in upper or lower case. *len is the
 * length of the name, and is reduced by the length of that ending. */
bm_compression bm_compression_of_name(const char *name, size_t *len);
/* Display name: "gzip", "Zstandard"; NULL for NONE. */
const char *bm_compression_name(bm_compression kind);
/* The ending of file names: ".gz"; "" for NONE. */
const char *bm_compression_ending(bm_compression kind);

/* refused_formats -- formats and encodings that are not read, recognized by a file's first
 * bytes. */

#define BM_HEAD_BYTES 4096u /* how many first bytes are examined, if the file has as many */

typedef struct bm_refused_format {
    const char *what; /* "a zip archive"; NULL: the file has no refused format */
    const char *hint; /* advice: another way to read the contents */
} bm_refused_format;

/* The refused format of a file; `what` is NULL if there is none. `head` is the first BM_HEAD_BYTES
 * bytes of the file, or all of a shorter file. */
bm_refused_format bm_refused_format_of(const char *head, size_t len);
