/* manifest_provenance.h -- how the documents of a job were signed and read, as its manifest says. */
#ifndef BM_IO_MANIFEST_MANIFEST_PROVENANCE_H
#define BM_IO_MANIFEST_MANIFEST_PROVENANCE_H

#include "io/manifest/manifest_fields.h"

/* How a job's documents were signed and read. Strings are the manifest's own. */
typedef struct bm_provenance {
    /* signed: what must be equal where signatures are compared */
    const char *scheme, *hash, *normalize, *words, *shingle;
    const char *unicode, *utf8proc_unicode;
    struct bm_element_rules {
        const char *short_rule;
        const char *stopwords; /* a settled list; NULL: none */
        bool bag;
        struct bm_provenance_weights {
            const char *word, *digest; /* "none", "" */
            uint64_t documents;
        } weights;
    } elements; /* what the elements of a document are */
    uint64_t seed, perms, format;
    /* read */
    const char *input_format, *duplicate_ids, *on_error, *invalid_utf8;
    const char *const *text_fields;
    size_t n_text_fields;
    const char *id_field; /* NULL: not given */
    struct bm_table_reading {
        int header;     /* is there one? 1 yes; 0 no; -1 as the fields say */
        char delimiter; /* 0: not given */
    } table;            /* of tsv and csv */
    uint64_t max_doc_bytes;
} bm_provenance;

/* From the object "provenance". BM_ERR_FORMAT where a field is missing or of another type. */
bm_status bm_provenance_read(bm_manifest_fields *fields, bm_str object, bm_provenance *p,
                             bm_error *err);

#endif
