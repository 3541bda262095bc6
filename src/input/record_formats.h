/* record_formats.h -- the table of the formats of records. To add one: a split_*.c or parse_*.c
 * file with its functions (record_format.h), and a row. */
#ifndef BM_IO_FORMATS_RECORD_FORMATS_H
#define BM_IO_FORMATS_RECORD_FORMATS_H

#include "input/record_format.h"

/* The row of a format; NULL where it has none: AUTO, and formats that hold no records. */
const bm_record_format *bm_record_format_of(bm_format format);
/* The format that a name means, an ending for its compression already taken off (len): FILES where
 * nothing fits. */
bm_format bm_format_of_name(const char *name, size_t len);
const char *bm_format_name(bm_format format);

#endif
