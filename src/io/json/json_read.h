/* json_read.h -- reading JSON: simdjson's DOM behind a C header, and an exact parser of our own for
 * what it refuses.
 *
 * A bm_json_doc is a parsed document (manifest.json and the like); a bm_json_line is the parser of
 * records, one a thread. Both accept exactly RFC 8259; the last of equal keys counts, keys compare
 * unescaped. */
#ifndef BM_IO_JSON_JSON_READ_H
#define BM_IO_JSON_JSON_READ_H

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

/* --- records: some fields of one object a line --- */
typedef enum bm_json_kind {
    BM_JSON_MISSING,
    BM_JSON_NULL,
    BM_JSON_BOOL,
    BM_JSON_NUMBER,
    BM_JSON_STRING,
    BM_JSON_ARRAY,
    BM_JSON_OBJECT
} bm_json_kind;

typedef struct bm_json_field {
    bm_json_kind kind;
    bm_str value; /* string: unescaped, valid UTF-8; number: its source text where asked for */
    uint64_t len_bytes; /* of a string, unescaped, before repair (a lone surrogate counts 3) */
    uint64_t n_invalid; /* U+FFFD written for invalid subparts and lone surrogates */
} bm_json_field;

typedef struct bm_json_line bm_json_line;

/* `paths`: n dotted paths, copied. A dot always means nesting: a key that holds a dot cannot be
 * named. `number_path`: the path whose numbers are wanted as source text (SIZE_MAX: none). */
bm_status bm_json_line_open(const char *const *paths, size_t n, size_t number_path,
                            bm_json_line **out, bm_error *err);
void bm_json_line_close(bm_json_line *line); /* NULL is fine */
/* Parse all of `text`, behind which 64 bytes must be readable. Fills fields[n]; they are valid
 * until the next call. *broken is NULL, or says why the line is no JSON object (fields are then
 * undefined); it too is the parser's. Only BM_ERR_NOMEM fails. */
bm_status bm_json_line_run(bm_json_line *line, bm_str text, bm_json_field *fields,
                           const char **broken, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
