/* work_line.h -- the lines of the journal that say how far a job has come.
 *
 *     documents  rows  skipped  complete  bytes records of .bandmill-documents  bytes records of
 * sets matched    bytes records of .bandmill-matches
 *
 * Fields are parted by tabs; a later line stands for all it says again. */
#ifndef BM_PIPELINE_WORK_LINE_H
#define BM_PIPELINE_WORK_LINE_H

#include "pipeline/work.h"

#define BM_WORK_LINE_BYTES 256u /* with its NUL */

void bm_work_line_of_documents(const bm_work_sealed *sealed, char out[BM_WORK_LINE_BYTES]);
void bm_work_line_of_match(const bm_work_sealed *sealed, char out[BM_WORK_LINE_BYTES]);
/* Is it one of the two? Then `sealed` holds what it says, too. */
bool bm_work_line_read(const char *line, bm_work_sealed *sealed);

#endif
