/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h -- reads manifest.json and report.json, which a job writes beside its outputs.
 *
 * Each is one JSON object: "tool" is "bandmill", "kind" names the job ("signatures", "dedup", …),
 * then "provenance", "plan", "counts", "inputs", "outputs" (maps names, escaped as in TSV files, to
 * SHA-256) and "outputs_xxh3_128". "digests": 2 means that files are digested by pieces of
 * "outputs_piece_bytes"; without "digests", files are digested as wholes. "run" ends with a digest
 * of the report itself, which is checked when the report is read. Threads: several may read an open
 * manifest at once. */
#pragma once

#include <stdbool.h>

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "json/json_scan.h"
#include "model/field_rows.h"
#include "output/digest.h"

/* manifest_text -- the text of a manifest, and its permitted size. */

/* The memory that a manifest may take. Error messages give the least `memory` that would be
 * enough. */
typedef struct bm_manifest_budget {
    uint64_t memory; /* 0: no limit */
    unsigned share;  /* the manifest may take memory / share; 1: all */
} bm_manifest_budget;

/* manifest_provenance -- how the documents of a job were signed and read, from its manifest. */

/* The fields (model/field_rows.h) of the object "provenance" that describe signing or reading,
 * indexed by their rows. The manifest owns the strings. */
typedef struct bm_provenance {
    /* texts of words, names and lists; NULL: the field is null or missing */
    const char *texts[BM_N_ROWS];
    uint64_t numbers[BM_N_ROWS];
    const char *const *text_fields;
    size_t n_text_fields;
    const char *unicode, *utf8proc_unicode;
    const char *weights_digest; /* "": there are no weights */
    uint64_t weights_documents, format;
} bm_provenance;

/* One side of a comparison of signatures: a job, a directory or an index. `path`: its name in
 * messages; `normalize`: its list of normalisers. */
typedef struct bm_provenance_side {
    const char *path, *normalize;
} bm_provenance_side;

/* Fail with BM_ERR_FORMAT: `other` cannot be used with `first` because they differ in `key`. If the
 * normalisers differ, the message names a list that fits both. */
bm_status bm_provenance_differs(const char *key, bm_provenance_side first, bm_provenance_side other,
                                bm_error *err);
/* Check that the signatures of `first` and `other` can be used together; else BM_ERR_FORMAT. */
bm_status bm_provenance_check(const char *first_path, const bm_provenance *first, const char *path,
                              const bm_provenance *other, bm_error *err);
/* The first key that makes two jobs read their inputs differently; NULL: there is none. */
const char *bm_provenance_reads(const bm_provenance *a, const bm_provenance *b);

#define BM_MANIFEST_FORMAT 1u /* the only value of provenance.format that this reader knows */

/* The share of the inputs that the job read: its number (from 1), the number of shares, and the
 * XXH3 128 of all inputs together. */
typedef struct bm_manifest_shard {
    uint64_t index, of;
    const char *whole;
} bm_manifest_shard;

/* Names of report members that readers look up. */
#define BM_MANIFEST_SHARD          "shard"
#define BM_SHARD_INDEX             "index"
#define BM_SHARD_OF                "of"
#define BM_SHARD_WHOLE             "inputs_xxh3_128"
#define BM_INPUT_IDS               "ids"           /* of a table in memory: int64, uint64 or rows */
#define BM_INPUT_REMOVED_BYTES     "removed_bytes" /* bytes of text in the removed documents */
#define BM_INPUT_FROM              "from_byte"     /* of a partly read input: offset of the part */
#define BM_INPUT_FILE_BYTES        "file_bytes" /* of a partly read input: size of the whole file */
#define BM_INPUT_PARTS             "parts"      /* of an input read wholly, in parts: the parts */
#define BM_INPUT_OFFSETS           "offsets"    /* of an input that is an array of hashes */
#define BM_RUN_FOUND               "inputs_found"
#define BM_RUN_FROM_HERE           "inputs_from_here"
#define BM_FROM_HERE_NAMES         "names_begin"
#define BM_FROM_HERE_PATHS         "paths_begin"
#define BM_RUN_ASKED               "asked" /* the requested outputs */
#define BM_MANIFEST_ITEMS          "items" /* in a report of `overlap`: the items' manifest */
#define BM_MANIFEST_OUTPUTS        "outputs"
#define BM_MANIFEST_OUTPUTS_XXH3   "outputs_xxh3_128"
#define BM_MANIFEST_OUTPUTS_PIECES "outputs_pieces_xxh3_128"
#define BM_MANIFEST_PIECE_BYTES    "outputs_piece_bytes"
#define BM_MANIFEST_DIGESTS        "digests"

/* A part of a file that was read in separate shares (input/input_shard.h). */
typedef struct bm_manifest_part {
    uint64_t from, bytes;
    const char *xxh3_128; /* digest of the part; 32 hex digits */
} bm_manifest_part;

typedef struct bm_manifest_input {
    const char *file; /* as given, unescaped */
    uint64_t bytes;
    /* size of the pieces by which the input is digested; 0: it was digested as a whole */
    uint64_t piece_bytes;
    const char *xxh3_128;          /* 32 hex digits; empty: the input was read in parts */
    const bm_manifest_part *parts; /* in order; NULL: the input was read as a whole */
    size_t n_parts;
    bm_id_kind ids; /* kind of ids of a table in memory, INT64, UINT64 or ROWS; else UNTYPED */
    /* the path at which the file was read, if it differs from `file`; else NULL */
    const char *found;
    const char *here; /* path of the file relative to the manifest's directory; NULL: not known */
} bm_manifest_input;

typedef struct bm_manifest_output_row {
    const char *name;     /* unescaped */
    const char *sha256;   /* 64 hex digits */
    const char *xxh3_128; /* 32 hex digits; NULL: an earlier version wrote the manifest */
    /* JSON array of the XXH3 128 of the pieces; empty: there is one piece, or the pieces are not
     * listed */
    bm_str pieces;
} bm_manifest_output_row;

typedef struct bm_manifest bm_manifest;

/* Open a manifest. BM_ERR_FORMAT names the file and the field: the file is not JSON, is not a
 * manifest of bandmill, or is of a later version. `memory`: the most bytes that the manifest may
 * take (0: no limit); if it needs more, BM_ERR_NOMEM names the amount. */
bm_status bm_manifest_open(const char *path, uint64_t memory, bm_manifest **out, bm_error *err);
/* Open the manifest.json in a directory or, if there is none, the report.json. */
bm_status bm_manifest_open_dir(const char *folder, uint64_t memory, bm_manifest **out,
                               bm_error *err);
/* Like bm_manifest_open_dir, but the manifest may take only a share of the memory. */
bm_status bm_manifest_open_share(const char *folder, bm_manifest_budget budget, bm_manifest **out,
                                 bm_error *err);
/* Open a manifest if there is one at `path`. *out is NULL if there is no file, or if the file does
 * not begin like a manifest of bandmill. BM_ERR_FORMAT: the manifest is damaged or of a later
 * version; BM_ERR_IO: it cannot be read. */
bm_status bm_manifest_find(const char *path, uint64_t memory, bm_manifest **out, bm_error *err);
/* Open a manifest from `text`, which is a part of another file of bandmill. Messages name that
 * file, `path`. The text is copied. It is known to be JSON, and not checked. */
bm_status bm_manifest_of_text(const char *path, bm_str text, bm_manifest **out, bm_error *err);
/* Open the manifest of the items, which is a part of the report of `overlap`. BM_ERR_FORMAT: the
 * report has none. */
bm_status bm_manifest_open_items(const bm_manifest *report, bm_manifest **out, bm_error *err);
/* The bytes of memory that the text and the strings of the manifest take. */
uint64_t bm_manifest_bytes(const bm_manifest *manifest);
void bm_manifest_close(bm_manifest *manifest); /* NULL is fine */

const char *bm_manifest_path(const bm_manifest *manifest);
/* The text of the whole file, valid until close. */
bm_str bm_manifest_text(const bm_manifest *manifest);
/* *out becomes the path of the file `name` in the folder of the manifest; the caller frees it with
 * bm_free. */
bm_status bm_manifest_beside(const bm_manifest *manifest, const char *name, char **out,
                             bm_error *err);
const char *bm_manifest_kind(const bm_manifest *manifest);
const char *bm_manifest_version(const bm_manifest *manifest);
/* The provenance, valid until close. BM_ERR_FORMAT: a field is missing or of another type. */
bm_status bm_manifest_provenance(const bm_manifest *manifest, const bm_provenance **out,
                                 bm_error *err);
/* The parsed members, valid until close. */
const bm_json_doc *bm_manifest_doc(const bm_manifest *manifest);
/* Set *out to the JSON text of a field ("counts", "plan.bands"), valid until close. Returns false
 * if there is no such field. */
bool bm_manifest_member(const bm_manifest *manifest, const char *name, bm_str *out);
bm_status bm_manifest_count(const bm_manifest *manifest, const char *name, uint64_t *out,
                            bm_error *err);
size_t bm_manifest_n_inputs(const bm_manifest *manifest);
/* The type of the ids if all inputs have the same one; else UNTYPED. */
bm_id_kind bm_manifest_ids(const bm_manifest *manifest);
/* For a manifest that names a table in memory: the value of bm_input_options.row_ids with which the
 * same table is read again. */
uint64_t bm_manifest_row_ids(const bm_manifest *manifest);
const bm_manifest_input *bm_manifest_input_at(const bm_manifest *manifest, size_t index);
/* The share of the inputs that the job read; NULL: the job read all of them. */
const bm_manifest_shard *bm_manifest_shard_of(const bm_manifest *manifest);
/* The file of offsets beside arrays of hashes; NULL: the manifest names none. */
const bm_manifest_input *bm_manifest_offsets(const bm_manifest *manifest);
size_t bm_manifest_n_outputs(const bm_manifest *manifest);
const bm_manifest_output_row *bm_manifest_output_at(const bm_manifest *manifest, size_t index);
/* Find an output by name; NULL: it is not listed. */
const bm_manifest_output_row *bm_manifest_output_find(const bm_manifest *manifest,
                                                      const char *name);
/* The SHA-256 of an output; NULL: it is not listed. */
const char *bm_manifest_output(const bm_manifest *manifest, const char *name);
/* Check that the manifest's count `name` is `n`, the number found in `file`; else BM_ERR_FORMAT. */
bm_status bm_manifest_compare_count(const bm_manifest *manifest, const char *name, uint64_t n,
                                    const char *file, bm_error *err);
/* An existing file, to be compared with its row in the manifest. */
typedef struct bm_manifest_found {
    const char *path;
    const bm_digests *digests;
    const bm_digest_piece *pieces;
    size_t n_pieces;
} bm_manifest_found;

/* Check every listed output in `folder`. If there is much to hash, all processors are used.
 * BM_ERR_FORMAT names the first output that is missing or differs. */
bm_status bm_manifest_check(const bm_manifest *manifest, const char *folder, bm_error *err);

/* listed -- checks, while a file is read, that it has the digest that a manifest lists. The reader
 * of the file adds the bytes as it reads them from front to back, so the file is read only once.
 *
 * XXH3 128 is compared. If an earlier version wrote the manifest without it, SHA-256 is compared.
 * If the reader stops before the end of the file, nothing is checked. */

typedef struct bm_listed bm_listed;

/* Begin to check a file. `name` is the name in the manifest, and `path` is the file's path for
 * messages. Both, and the manifest, are borrowed until close. BM_ERR_FORMAT: the manifest does not
 * list the file. */
bm_status bm_listed_open(const bm_manifest *manifest, const char *name, const char *path,
                         bm_listed **out, bm_error *err);
/* Add the next bytes of the file. Here and in bm_listed_end, `listed` may be NULL, for a file that
 * is not checked. */
bm_status bm_listed_add(bm_listed *listed, const void *data, size_t len, bm_error *err);
/* Call after the last byte. BM_ERR_FORMAT: the file differs; the error names it. Later calls return
 * BM_OK. */
bm_status bm_listed_end(bm_listed *listed, bm_error *err);
void bm_listed_close(bm_listed *listed);

/* Check a whole open file. This reads the file. */
bm_status bm_listed_check(const bm_manifest *manifest, const char *name, const bm_file_range *whole,
                          bm_error *err);

/* manifest_seal -- the seal of a report is the XXH3 128 of all bytes before the seal. It is the
 * last member of "run", and "run" is the last member of the report.
 *
 *     …                                    the bytes up to here, without the comma,
 *     "report_xxh3_128": "32 digits"       have this digest
 *       }
 *     }
 *
 * A report without a seal is of an earlier version, or somebody has edited it and removed the
 * seal. */

/* Write the seal. Only the closing brackets may follow. */
void bm_manifest_seal(bm_json *json);
