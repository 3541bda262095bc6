/* record_rules.h -- how records are read: which of their fields are the text and the id, how rows are
 * written, and what makes a record bad. Made once of the options of the inputs, and borrowed by whoever
 * reads, cuts or parses: a new option of reading is a member here, set in bm_record_rules_init.
 *
 * For tsv and csv a field is a header's name or a number from 1. `--header` is `no` exactly when
 * all fields given are numbers. With a header, a name that stands in it goes before the number.
 * What a row needs is then a list of columns from 0: the id's first (BM_NO_COLUMN: it has none),
 * then one for each text field, then one for each field that `keep` looks at, which may be missing.
 * Those of `keep` do not count for the rule of the header. */
#ifndef BM_IO_FORMATS_RECORD_RULES_H
#define BM_IO_FORMATS_RECORD_RULES_H

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/parse_row.h"
#include "model/keep_rules.h"

#define BM_NO_COLUMN UINT32_MAX

typedef struct bm_record_rules {
    const char *const *text; /* n_text names; "text" where none was given */
    size_t n_text;
    const char *id;            /* NULL: always FILE:LINE */
    bool id_given;             /* by the user: it must then be there */
    bool header;               /* tsv, csv: the first row names the columns */
    bm_row_syntax syntax;      /* of their rows */
    uint64_t longest;          /* bytes of a document; UINT64_MAX: any number */
    const bm_keep_rules *keep; /* by whose fields records are ranked; borrowed; NULL: by none */
    bool repairs;              /* U+FFFD stands for invalid UTF-8, which else makes a bad record */
} bm_record_rules;

/* Fill `out` from the options. BM_ERR_USAGE: a name where there is no header, a number that cannot
 * be that of a column. */
bm_status bm_record_rules_init(const bm_input_options *options, bm_format format,
                               bm_record_rules *out, bm_error *err);
/* How rows of the format are written; of others than tsv and csv nothing. */
bm_row_syntax bm_row_syntax_of(const bm_input_options *options, bm_format format);
/* Records are ranked by the fields of `keep` too (borrowed). BM_ERR_USAGE: the format has no fields, or rows have no such
 * column. */
bm_status bm_record_rules_rank(bm_record_rules *rules, bm_format format, const bm_keep_rules *keep,
                               bm_error *err);
static inline size_t bm_rules_n_keep(const bm_record_rules *rules)
{
    return rules->keep != NULL ? rules->keep->n_fields : 0;
}
static inline size_t bm_columns_count(const bm_record_rules *rules)
{
    return 1 + rules->n_text + bm_rules_n_keep(rules);
}

/* The first row of a table's file. */
typedef struct bm_header_row {
    bm_str row; /* its line ending taken off */
    bm_row_syntax syntax;
    const char *file; /* its name, for messages */
} bm_header_row;

/* Fill bm_columns_count() columns: without a header; from a header. BM_ERR_INPUT names the file,
 * line 1 and the field that is missing or stands twice. */
void bm_columns_from_numbers(const bm_record_rules *rules, uint32_t *columns);
bm_status bm_columns_from_header(const bm_record_rules *rules, const bm_header_row *header,
                                 uint32_t *columns, bm_error *err);

#endif
