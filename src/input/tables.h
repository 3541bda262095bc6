/* SPDX-License-Identifier: Apache-2.0 */
/* tables.h -- recognizes table files, and calls the library that reads them (table_module.h). */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/input_source.h"
#include "input/table_module.h"

/* The format according to a file's first bytes (`_of_bytes`) or to the ending of its name
 * (`_of_name`): PARQUET or ARROW. AUTO: neither. */
bm_format bm_table_format_of_bytes(const char *head, size_t len);
bm_format bm_table_format_of_name(const char *name, size_t len);
static inline bool bm_format_is_table(bm_format format)
{
    return format == BM_FORMAT_PARQUET || format == BM_FORMAT_ARROW;
}

/* The bytes of a source at an address; {0} for local files. */
bm_table_bytes bm_table_bytes_of(const bm_source *source);

/* Open a file with the module (table_library.h); messages call it `name`. BM_ERR_INPUT: there is no
 * module. */
bm_status bm_table_open(const char *name, const bm_table_wish *wish, struct ArrowArrayStream *out,
                        bm_error *err);
/* Write the kept rows. `names` has a name for each table, for messages: the first and those that
 * follow it (bm_table_kept.more). BM_ERR_PIPE: `write` failed, and the caller knows why.
 * BM_ERR_USAGE: a table's schema differs from the schema of the first. BM_ERR_INPUT: there is no
 * module. */
bm_status bm_table_keep(const char *const *names, const bm_table_kept *kept, bm_error *err);
/* Write a file that messages call `name`; the stream is released, whatever the status.
 * BM_ERR_INPUT: there is no module that writes tables. */
bm_status bm_table_write(const char *name, const bm_table_made *made, bm_error *err);
