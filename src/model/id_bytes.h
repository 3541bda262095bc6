/* id_bytes.h -- how long an id may be: as long as every reader of our own files takes it.
 *
 * A row of pairs.tsv and of removed.tsv holds two ids, which escapes may double, and a path; readers
 * take rows of BM_TABLE_ROW_MAX (results/result_tables.h). Longer ids are bad records. */
#ifndef BM_MODEL_ID_BYTES_H
#define BM_MODEL_ID_BYTES_H

#include <stddef.h>

#define BM_ID_BYTES_MAX ((size_t)15 << 20)

#endif
