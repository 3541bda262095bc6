/* json_read.h -- reading small JSON documents of ours, manifest.json and the like, which are exactly RFC 8259 (json_exact.h); of
 * equal keys the last counts. */
#ifndef BM_IO_JSON_JSON_READ_H
#define BM_IO_JSON_JSON_READ_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

/* One whose text is in memory; fields are named by dotted path: "provenance.seed". */
typedef struct bm_json_doc {
    const char *path; /* of its file, for messages */
    bm_str text;
} bm_json_doc;
/* BM_ERR_FORMAT where the text is no JSON object: to be asked first. */
bm_status bm_json_doc_check(const bm_json_doc *doc, bm_error *err);
/* BM_ERR_FORMAT names the file and the field that is missing or of another type. A string is appended
 * to `out`, and a NUL put behind it. */
bm_status bm_json_doc_string(const bm_json_doc *doc, const char *field, bm_buf *out, bm_error *err);
bm_status bm_json_doc_uint(const bm_json_doc *doc, const char *field, uint64_t *out, bm_error *err);
bm_status bm_json_doc_double(const bm_json_doc *doc, const char *field, double *out, bm_error *err);

#endif
