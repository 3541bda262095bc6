/* split_lines.c -- where a record ends if it is a line, or a whole file.
 *
 * Tests: tests/unit/input/test_reader.c */
#include <string.h>

#include "input/record_format.h"

size_t bm_line_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    (void)scan;
    if (from >= to)
        return BM_SCAN_MORE;
    const char *newline = memchr(data + from, '\n', to - from);
    return newline == NULL ? BM_SCAN_MORE : (size_t)(newline - data) + 1;
}

size_t bm_file_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    (void)scan;
    (void)data;
    (void)from;
    (void)to;
    return BM_SCAN_MORE;
}
