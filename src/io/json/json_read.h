/* json_read.h -- reading JSON: small documents, and records of an object a line.
 *
 * A bm_json_doc is one document (manifest.json and the like). A bm_json_line is a parser of
 * records, for one thread. Both accept exactly RFC 8259 (json_exact.h); of equal keys the last
 * counts, and keys compare unescaped. */
#ifndef BM_IO_JSON_JSON_READ_H
#define BM_IO_JSON_JSON_READ_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "io/json/json_field.h"

/* --- a document of ours, whose text is in memory, by dotted path: "provenance.seed" --- */
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

/* --- records: some fields of one object a line --- */
typedef struct bm_json_line bm_json_line;

/* `paths`: n dotted paths, copied. A dot always means nesting, and [] at the end of a part every
 * element of an array: a key that holds a dot, or ends so, cannot be named. */
bm_status bm_json_line_open(const char *const *paths, size_t n, bm_json_line **out, bm_error *err);
/* Free what the last line needed, where it is more than `keep` bytes; fields that it filled are gone
 * then. */
void bm_json_line_give_back(bm_json_line *line, size_t keep);
void bm_json_line_close(bm_json_line *line); /* NULL is fine */
/* Parse all of `text`. Fills fields[n]; they are valid until the next call, and views of `text`
 * where a string needs no rewriting. *broken is NULL, or says, until the next call, why
 * the line is no JSON object; the fields are undefined then. The only failure is BM_ERR_NOMEM. */
bm_status bm_json_line_run(bm_json_line *line, bm_str text, bm_json_field *fields,
                           const char **broken, bm_error *err);

#endif
