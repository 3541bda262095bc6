/* manifest_fields.h -- values of a manifest's JSON, and the strings that they became. */
#ifndef BM_IO_MANIFEST_MANIFEST_FIELDS_H
#define BM_IO_MANIFEST_MANIFEST_FIELDS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/manifest_text.h"

typedef struct bm_manifest_fields {
    char *path; /* of the manifest, for messages */
    char **strings;
    size_t n_strings, cap_strings;
    const char **text_fields; /* the list of that name, of strings above */
    bm_manifest_room room;    /* that all may take */
    uint64_t text_bytes;      /* of the manifest's text */
    uint64_t string_bytes;    /* of the strings, and of what names them */
} bm_manifest_fields;         /* reset frees all of it */

void bm_manifest_fields_reset(bm_manifest_fields *fields);
/* BM_ERR_FORMAT: a field is not what it should be. */
bm_status bm_manifest_field_bad(const bm_manifest_fields *fields, const char *field,
                                const char *expected, bm_error *err);
/* *out: what a JSON string says, as a C string that the fields own; with `escaped` it is unescaped as
 * in TSV, too. BM_ERR_FORMAT does not name the field. BM_ERR_NOMEM: past its room. */
bm_status bm_manifest_field_own(bm_manifest_fields *fields, bm_str value, bool escaped,
                                const char **out, bm_error *err);
/* Members of an object, which must be there. */
bm_status bm_manifest_field_string(bm_manifest_fields *fields, bm_str object, const char *key,
                                   const char **out, bm_error *err);
bm_status bm_manifest_field_uint(const bm_manifest_fields *fields, bm_str object, const char *key,
                                 uint64_t *out, bm_error *err);

#endif
