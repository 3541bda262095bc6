/* provenance_same.h -- may two sets of signatures be used together? */
#ifndef BM_IO_ARRAYS_PROVENANCE_SAME_H
#define BM_IO_ARRAYS_PROVENANCE_SAME_H

#include "io/manifest/manifest_provenance.h"

/* Were they made alike, so that they may be compared? How the inputs were read does not matter.
 * False: *field names the first field that differs. */
bool bm_provenance_same(const bm_provenance *a, const bm_provenance *b, const char **field);

#endif
