/* name_ending.h -- how the name of a file ends: what tells its format and its compression. */
#ifndef BM_IO_BYTES_NAME_ENDING_H
#define BM_IO_BYTES_NAME_ENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Do the first `len` bytes of `name` end in `ending`? */
static inline bool bm_name_ends(const char *name, size_t len, const char *ending)
{
    size_t n = strlen(ending);
    return len >= n && memcmp(name + len - n, ending, n) == 0;
}

#endif
