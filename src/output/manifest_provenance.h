/* manifest_provenance.h -- how the documents of a job were signed and read, as its manifest says. */
#ifndef BM_IO_MANIFEST_MANIFEST_PROVENANCE_H
#define BM_IO_MANIFEST_MANIFEST_PROVENANCE_H

#include "output/manifest_fields.h"
#include "model/field_rows.h"

/* What an object "provenance" says of the fields (model/field_rows.h) that are SIGNED or READ, by their
 * rows. Strings are the manifest's own. */
typedef struct bm_provenance {
    const char *texts[BM_N_ROWS]; /* words, names, lists as one text; NULL: null, or missing */
    uint64_t numbers[BM_N_ROWS];
    const char *const *text_fields;
    size_t n_text_fields;
    const char *unicode, *utf8proc_unicode;
    const char *weights_digest; /* "": not weighed */
    uint64_t weights_documents, format;
} bm_provenance;

/* From the object "provenance". BM_ERR_FORMAT where a field is missing or of another type. */
bm_status bm_provenance_read(bm_manifest_fields *fields, bm_str object, bm_provenance *p,
                             bm_error *err);
/* May the signatures of both be used together? False: *key names what differs. */
bool bm_provenance_same(const bm_provenance *a, const bm_provenance *b, const char **key);
/* The first key in which two jobs read their inputs differently; NULL: none. */
const char *bm_provenance_reads(const bm_provenance *a, const bm_provenance *b);

#endif
