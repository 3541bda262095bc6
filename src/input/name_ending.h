/* name_ending.h -- how the name of a file ends: what tells its format and its compression. */
#ifndef BM_IO_BYTES_NAME_ENDING_H
#define BM_IO_BYTES_NAME_ENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

#endif
