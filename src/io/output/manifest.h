/* manifest.h -- reading manifest.json and report.json, which lie beside what a job wrote.
 *
 * Both are one JSON object: "tool" is "bandmill", "kind" is "signatures" or "dedup", then
 * "provenance", "plan", "counts", "inputs" and "outputs" (names, escaped as in TSV files, to
 * SHA-256). Threads: read-only once open. */
#ifndef BM_IO_OUTPUT_MANIFEST_H
#define BM_IO_OUTPUT_MANIFEST_H

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_MANIFEST_FORMAT 1u /* of provenance.format, and what this reader knows */

/* How a job's documents were read and signed. Strings are the manifest's own. */
typedef struct bm_provenance {
    const char *scheme, *hash, *normalize, *words, *shingle, *short_rule;
    const char *unicode, *utf8proc_unicode;
    uint64_t seed, perms, format;
    /* reading */
    const char *input_format, *duplicate_ids, *on_error, *invalid_utf8;
    const char *const *text_fields;
    size_t n_text_fields;
    const char *id_field; /* NULL: not given */
    int header;           /* -1: by the fields; 0 no; 1 yes */
    uint64_t max_doc_bytes;
} bm_provenance;

typedef struct bm_manifest_input {
    const char *file; /* as given, unescaped */
    uint64_t bytes;
    const char *xxh3_128; /* 32 hex digits */
} bm_manifest_input;

typedef struct bm_manifest_output_row {
    const char *name;   /* unescaped */
    const char *sha256; /* 64 hex digits */
} bm_manifest_output_row;

typedef struct bm_manifest bm_manifest;

/* BM_ERR_FORMAT names file and field: no JSON, not ours, another format's version. */
bm_status bm_manifest_open(const char *path, bm_manifest **out, bm_error *err);
/* manifest.json of a directory, else its report.json. */
bm_status bm_manifest_open_dir(const char *folder, bm_manifest **out, bm_error *err);
void bm_manifest_close(bm_manifest *manifest); /* NULL is fine */

const char *bm_manifest_path(const bm_manifest *manifest);
const char *bm_manifest_kind(const bm_manifest *manifest);
const char *bm_manifest_version(const bm_manifest *manifest);
/* BM_ERR_FORMAT where a field is missing or of another type. */
bm_status bm_manifest_provenance(const bm_manifest *manifest, const bm_provenance **out,
                                 bm_error *err);
/* The text of a member of the whole object ("counts"), valid until close; false: none. */
bool bm_manifest_member(const bm_manifest *manifest, const char *name, bm_str *out);
bm_status bm_manifest_count(const bm_manifest *manifest, const char *name, uint64_t *out,
                            bm_error *err);
size_t bm_manifest_n_inputs(const bm_manifest *manifest);
const bm_manifest_input *bm_manifest_input_at(const bm_manifest *manifest, size_t index);
size_t bm_manifest_n_outputs(const bm_manifest *manifest);
const bm_manifest_output_row *bm_manifest_output_at(const bm_manifest *manifest, size_t index);
/* SHA-256 of an output, NULL if it is not listed. */
const char *bm_manifest_output(const bm_manifest *manifest, const char *name);
/* Read every listed output in `folder` again: BM_ERR_FORMAT names the first that differs. */
bm_status bm_manifest_check(const bm_manifest *manifest, const char *folder, bm_error *err);

/* Were two sets of signatures made alike, so that they may be compared? Scheme, hash, seed, perms,
 * text and Unicode, not how the inputs were read. False: *field names the first that differs. */
bool bm_provenance_same(const bm_provenance *a, const bm_provenance *b, const char **field);

#endif
