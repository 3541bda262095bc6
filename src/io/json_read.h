/* json_read.h -- reading JSON: simdjson's DOM behind a C header, and an exact parser of our own for
 * what it refuses.
 *
 * A bm_json_doc is a parsed document (manifest.json and the like); a bm_json_line is the parser of
 * records, one a thread. Both accept exactly RFC 8259; the last of equal keys counts, keys compare
 * unescaped. */
#ifndef BM_IO_JSON_READ_H
#define BM_IO_JSON_READ_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* --- small documents, by dotted path: "provenance.seed" --- */
typedef struct bm_json_doc bm_json_doc;
/* BM_ERR_FORMAT where the file is no JSON object. */
bm_status bm_json_doc_open(const char *path, bm_json_doc **out, bm_error *err);
void bm_json_doc_close(bm_json_doc *doc);
/* Missing or of another type: BM_ERR_FORMAT naming file and field. Strings are the document's own.
 */
bm_status bm_json_doc_string(const bm_json_doc *doc, const char *field, bm_str *out, bm_error *err);
bm_status bm_json_doc_uint(const bm_json_doc *doc, const char *field, uint64_t *out, bm_error *err);
bm_status bm_json_doc_double(const bm_json_doc *doc, const char *field, double *out, bm_error *err);
bool bm_json_doc_has(const bm_json_doc *doc, const char *field);

#if defined(__cplusplus)
}
#endif
#endif
