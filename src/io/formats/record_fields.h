/* record_fields.h -- which fields of a record are the text and the id.
 *
 * For tsv and csv a field is a header's name or a number from 1. `--header` is `no` exactly when
 * all fields given are numbers. With a header, a name that stands in it goes before the number.
 * What a row needs is then a list of columns from 0: the id's first (BM_NO_COLUMN: it has none),
 * then one for each text field. */
#ifndef BM_IO_FORMATS_RECORD_FIELDS_H
#define BM_IO_FORMATS_RECORD_FIELDS_H

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "io/formats/parse_row.h"

#define BM_NO_COLUMN UINT32_MAX

typedef struct bm_fields {
    const char *const *text; /* n_text names; "text" where none was given */
    size_t n_text;
    const char *id;       /* NULL: always FILE:LINE */
    bool id_given;        /* by the user: it must then be there */
    bool header;          /* tsv, csv: the first row names the columns */
    bm_row_syntax syntax; /* of their rows */
} bm_fields;

/* Fill `out` from the options. BM_ERR_USAGE: a name where there is no header, a number that cannot
 * be that of a column. */
bm_status bm_fields_init(const bm_input_options *options, bm_format format, bm_fields *out,
                         bm_error *err);
static inline size_t bm_fields_columns(const bm_fields *fields)
{
    return 1 + fields->n_text;
}

/* The first row of a table's file. */
typedef struct bm_header_row {
    bm_str row; /* its line ending taken off */
    bm_row_syntax syntax;
    const char *file; /* its name, for messages */
} bm_header_row;

/* Fill bm_fields_columns() columns: without a header; from a header. BM_ERR_INPUT names the file,
 * line 1 and the field that is missing or stands twice. */
void bm_fields_from_numbers(const bm_fields *fields, uint32_t *columns);
bm_status bm_fields_from_header(const bm_fields *fields, const bm_header_row *header,
                                uint32_t *columns, bm_error *err);

#endif
