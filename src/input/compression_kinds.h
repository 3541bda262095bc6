/* SPDX-License-Identifier: Apache-2.0 */
/* compression_kinds.h -- the kinds of compression that are taken off: how a name promises one, and
 * how the first bytes tell it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "model/file_names.h"

/* name_ending -- how the name of a file ends: what tells its format and its compression. */

/* Do the first `len` bytes of `name` end in `ending` (in small letters), in capitals or small
 * letters of ASCII? */
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

/* The kind of a file by its first bytes. A file of Zstandard or LZ4 may begin with skippable
 * frames, which the two share: then the bytes after them decide, if `head` has them, else the
 * name's promise. */
bm_compression bm_compression_of_bytes(const char *head, size_t len, bm_compression promised);
/* The kind that a name's ending promises, in either case. *len, the length of the name, is
 * shortened by that ending. */
bm_compression bm_compression_of_name(const char *name, size_t *len);
/* For people: "gzip", "Zstandard"; NULL for NONE. */
const char *bm_compression_name(bm_compression kind);
/* Names end in it: ".gz"; "" for NONE. */
const char *bm_compression_ending(bm_compression kind);

/* refused_formats -- formats and encodings that are not read, by a file's first bytes. */

#define BM_HEAD_BYTES 4096u /* as many first bytes as are looked at, where there are so many */

typedef struct bm_refused_format {
    const char *what; /* "a zip archive"; NULL: none of these */
    const char *hint; /* how to read its contents otherwise */
} bm_refused_format;

/* The first bytes of a file, all of it where it has fewer than BM_HEAD_BYTES. */
bm_refused_format bm_refused_format_of(const char *head, size_t len);
