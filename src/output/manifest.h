/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h -- reading manifest.json and report.json, which a job writes beside its outputs.
 *
 * Each is one JSON object: "tool" is "bandmill", "kind" names the job ("signatures", "dedup", …),
 * then "provenance", "plan", "counts", "inputs", "outputs" (maps names, escaped as in TSV files, to
 * SHA-256) and "outputs_xxh3_128". "digests": 2 means that files are digested by pieces of
 * "outputs_piece_bytes"; without "digests", files are digested as wholes. "run" ends with the
 * report's digest of itself, which is checked. Threads: several may read an open manifest at
 * once. */
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
    const char *texts[BM_N_ROWS]; /* texts of words, names and lists; NULL: null or missing */
    uint64_t numbers[BM_N_ROWS];
    const char *const *text_fields;
    size_t n_text_fields;
    const char *unicode, *utf8proc_unicode;
    const char *weights_digest; /* "": no weights */
    uint64_t weights_documents, format;
} bm_provenance;

/* A job, a directory or an index as a source of signatures: the name for messages, and the list of
 * normalisers. */
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
/* The first key in which two jobs read their inputs differently; NULL: none. */
const char *bm_provenance_reads(const bm_provenance *a, const bm_provenance *b);

#define BM_MANIFEST_FORMAT 1u /* the only value of provenance.format that this reader knows */

/* A job that read only one share of its inputs: the number of the share (from 1), the number of
 * shares, and the XXH3 128 of all inputs together. */
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
#define BM_INPUT_REMOVED_BYTES     "removed_bytes" /* bytes of text of removed documents */
#define BM_INPUT_FROM              "from_byte"     /* input read only in part: start of the part */
#define BM_INPUT_FILE_BYTES        "file_bytes"    /* input read only in part: its whole size */
#define BM_INPUT_PARTS             "parts"         /* the parts of an input read wholly, in parts */
#define BM_INPUT_OFFSETS           "offsets"       /* of an input that is an array of hashes */
#define BM_RUN_FOUND               "inputs_found"
#define BM_RUN_FROM_HERE           "inputs_from_here"
#define BM_FROM_HERE_NAMES         "names_begin"
#define BM_FROM_HERE_PATHS         "paths_begin"
#define BM_RUN_ASKED               "asked" /* the requested outputs */
#define BM_MANIFEST_ITEMS          "items" /* of `overlap`: the manifest of the items */
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
    uint64_t piece_bytes;          /* size of the pieces by which it is digested; 0: the digest is
                                    * of the whole file */
    const char *xxh3_128;          /* 32 hex digits; empty: it was read in parts */
    const bm_manifest_part *parts; /* in order; NULL: it was read as a whole */
    size_t n_parts;
    bm_id_kind ids;    /* kind of ids of a table in memory, INT64, UINT64 or ROWS; else UNTYPED */
    const char *found; /* the path at which it was read, if other than `file`; else NULL */
    const char *here;  /* its path relative to the manifest's directory; NULL: not known */
} bm_manifest_input;

typedef struct bm_manifest_output_row {
    const char *name;     /* unescaped */
    const char *sha256;   /* 64 hex digits */
    const char *xxh3_128; /* 32 hex digits; NULL: written by an earlier version */
    bm_str pieces;        /* JSON array of the pieces' XXH3 128; empty: one piece, or none listed */
} bm_manifest_output_row;

typedef struct bm_manifest bm_manifest;

/* Open a manifest. BM_ERR_FORMAT names the file and the field: the file is not JSON, not one of
 * ours, or of a later version. `memory`: the most bytes that the manifest may take (0: no limit);
 * if it needs more, BM_ERR_NOMEM names the amount. */
bm_status bm_manifest_open(const char *path, uint64_t memory, bm_manifest **out, bm_error *err);
/* Open the manifest.json in a directory or, if there is none, the report.json. */
bm_status bm_manifest_open_dir(const char *folder, uint64_t memory, bm_manifest **out,
                               bm_error *err);
/* Like bm_manifest_open_dir, but the manifest may take only a share of the memory. */
bm_status bm_manifest_open_share(const char *folder, bm_manifest_budget budget, bm_manifest **out,
                                 bm_error *err);
/* Open a manifest if there is one at `path`. *out NULL: there is no file, or it does not begin like
 * one of ours. BM_ERR_FORMAT: it is ours, but damaged or of a later version; BM_ERR_IO: it cannot
 * be read. */
bm_status bm_manifest_find(const char *path, uint64_t memory, bm_manifest **out, bm_error *err);
/* Open a manifest from its text, which is stored in another file of bandmill, `path` in messages.
 * The text is copied. It is known to be JSON, and not checked. */
bm_status bm_manifest_of_text(const char *path, bm_str text, bm_manifest **out, bm_error *err);
/* Open the items' manifest that the report of an `overlap` contains. BM_ERR_FORMAT: there is
 * none. */
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
/* The value of bm_input_options.row_ids with which to read again the table in memory that the
 * manifest names. */
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
/* An existing file, to compare with its row in the manifest. */
typedef struct bm_manifest_found {
    const char *path;
    const bm_digests *digests;
    const bm_digest_piece *pieces;
    size_t n_pieces;
} bm_manifest_found;

/* Check every listed output in `folder`, on all processors if there is much to hash. BM_ERR_FORMAT
 * names the first output that is missing or differs. */
bm_status bm_manifest_check(const bm_manifest *manifest, const char *folder, bm_error *err);

/* listed -- checks, while a file is read, that it has the digest that a manifest lists. The reader
 * of the file adds the bytes as it reads them from front to back, so the file is read only once.
 *
 * XXH3 128 is compared or, if the manifest is of an earlier version and lacks it, SHA-256. A reader
 * that stops before the end checks nothing. */

typedef struct bm_listed bm_listed;

/* Begin to check a file. `name`: as the manifest lists it; `path`: the file's path, for messages.
 * Both, and the manifest, are borrowed until close. BM_ERR_FORMAT: it is not listed. */
bm_status bm_listed_open(const bm_manifest *manifest, const char *name, const char *path,
                         bm_listed **out, bm_error *err);
/* Add the next bytes of the file. Here and below, `listed` may be NULL, for a file that is not
 * checked. */
bm_status bm_listed_add(bm_listed *listed, const void *data, size_t len, bm_error *err);
/* Call after the last byte. BM_ERR_FORMAT: the file differs; the error names it. Later calls return
 * BM_OK. */
bm_status bm_listed_end(bm_listed *listed, bm_error *err);
void bm_listed_close(bm_listed *listed);

/* Check a whole open file, by reading it. */
bm_status bm_listed_check(const bm_manifest *manifest, const char *name, const bm_file_range *whole,
                          bm_error *err);

/* manifest_seal -- a report's digest of itself: the XXH3 128 of all bytes before it. It is the last
 * member of "run", and "run" is the last member of the report.
 *
 *     …                                    the bytes up to here, without the comma,
 *     "report_xxh3_128": "32 digits"       have this digest
 *       }
 *     }
 *
 * A report without a seal is of an earlier version, or somebody removed the seal when editing
 * it. */

/* Write the seal. After it, only the closing brackets may follow. */
void bm_manifest_seal(bm_json *json);
