/* manifest_seal.h -- a report's word for itself: XXH3 128 of all that stands before it, as the last
 * member of "run", which is the last of the report.
 *
 *     …                                    these bytes, without the comma,
 *     "report_xxh3_128": "32 digits"       are what this is of
 *       }
 *     }
 *
 * A report without it is of an earlier version, or was edited by somebody who took it out. */
#ifndef BM_IO_MANIFEST_MANIFEST_SEAL_H
#define BM_IO_MANIFEST_MANIFEST_SEAL_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "json/json_write.h"

/* Write the member: all that follows is the end of the object, and of those around it. */
void bm_manifest_seal(bm_json *json);
/* Are the bytes of the report `path` those that it was written with? BM_ERR_FORMAT: no. */
bm_status bm_manifest_seal_check(const char *path, bm_str text, bm_error *err);

#endif
