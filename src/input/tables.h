/* SPDX-License-Identifier: Apache-2.0 */
/* tables.h -- files of tables: which they are, and the library that reads them (table_module.h). */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/input_source.h"
#include "input/table_module.h"

/* Told by its first bytes, or by the end of its name: PARQUET or ARROW; AUTO: neither. */
bm_format bm_table_format_of_bytes(const char *head, size_t len);
bm_format bm_table_format_of_name(const char *name, size_t len);
static inline bool bm_format_is_table(bm_format format)
{
    return format == BM_FORMAT_PARQUET || format == BM_FORMAT_ARROW;
}

/* Open, by who reads tables (table_library.h), a file that messages call `name`. BM_ERR_INPUT
 * where nobody does. */
/* The file of a source, where it has an address. */
bm_table_bytes bm_table_bytes_of(const bm_source *source);

bm_status bm_table_open(const char *name, const bm_table_wish *wish, struct ArrowArrayStream *out,
                        bm_error *err);
/* Write the kept rows. BM_ERR_PIPE: `write` failed, and the caller knows why. `names`: of the first
 * table, and of each that follows it. BM_ERR_USAGE: the schema of one differs from the first. */
bm_status bm_table_keep(const char *const *names, const bm_table_kept *kept, bm_error *err);
/* Its write, of a file that messages call `name`; the stream is released, whatever the status. */
bm_status bm_table_write(const char *name, const bm_table_made *made, bm_error *err);
