/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h -- reading manifest.json and report.json, which lie beside what a job wrote.
 *
 * Both are one JSON object: "tool" is "bandmill", "kind" is "signatures" or "dedup", then
 * "provenance", "plan", "counts", "inputs", "outputs" (from names, escaped as in TSV files, to
 * SHA-256), "outputs_xxh3_128", and how files are digested: "digests" 2 by pieces of
 * "outputs_piece_bytes"; without them as wholes. At the end of "run" is the report's own digest,
 * which is compared. Threads: an open manifest may be read by several at once. */
#pragma once

#include <stdbool.h>

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "json/json_scan.h"
#include "model/field_rows.h"
#include "output/digest.h"

/* manifest_text -- the text of a manifest, and how large it may be. */

/* The memory that a manifest may take. Messages name the least of the whole. */
typedef struct bm_manifest_budget {
    uint64_t memory; /* 0: no limit */
    unsigned share;  /* this part of it, 1: all */
} bm_manifest_budget;

/* manifest_provenance -- how the documents of a job were signed and read, from its manifest. */

/* The fields (model/field_rows.h) of an object "provenance" that are SIGNED or READ, by their rows.
 * Strings are the manifest's own. */
typedef struct bm_provenance {
    const char *texts[BM_N_ROWS]; /* words, names, lists as one text; NULL: null, or missing */
    uint64_t numbers[BM_N_ROWS];
    const char *const *text_fields;
    size_t n_text_fields;
    const char *unicode, *utf8proc_unicode;
    const char *weights_digest; /* "": not weighed */
    uint64_t weights_documents, format;
} bm_provenance;

/* A job, a directory or an index that gives its signatures. */
typedef struct bm_provenance_side {
    const char *path, *normalize; /* as messages name it; its list of normalisers */
} bm_provenance_side;

/* BM_ERR_FORMAT: `other` cannot be used with `first`, since their `key` differs. If normalisers
 * differ, the message names a list that fits both. */
bm_status bm_provenance_differs(const char *key, bm_provenance_side first, bm_provenance_side other,
                                bm_error *err);
/* BM_ERR_FORMAT unless the signatures of both can be used together. */
bm_status bm_provenance_check(const char *first_path, const bm_provenance *first, const char *path,
                              const bm_provenance *other, bm_error *err);
/* The first key in which two jobs read their inputs differently; NULL: none. */
const char *bm_provenance_reads(const bm_provenance *a, const bm_provenance *b);

#define BM_MANIFEST_FORMAT 1u /* the only value of provenance.format that this reader knows */

/* A share's number, how many there are, and XXH3 128 of what they are shares of. */
typedef struct bm_manifest_shard {
    uint64_t index, of;
    const char *whole;
} bm_manifest_shard;

/* Members of a report that its reader asks for. */
#define BM_MANIFEST_SHARD          "shard"
#define BM_SHARD_INDEX             "index"
#define BM_SHARD_OF                "of"
#define BM_SHARD_WHOLE             "inputs_xxh3_128"
#define BM_INPUT_IDS               "ids"           /* of a table in memory: int64, uint64 or rows */
#define BM_INPUT_REMOVED_BYTES     "removed_bytes" /* of text, of its documents that were removed */
#define BM_INPUT_FROM              "from_byte"     /* of an input that was read in part, */
#define BM_INPUT_FILE_BYTES        "file_bytes"    /* and the bytes of all of it; */
#define BM_INPUT_PARTS             "parts"         /* or of one that was read wholly, in parts */
#define BM_INPUT_OFFSETS           "offsets"       /* of an input that is an array of hashes */
#define BM_RUN_FOUND               "inputs_found"
#define BM_RUN_FROM_HERE           "inputs_from_here"
#define BM_FROM_HERE_NAMES         "names_begin"
#define BM_FROM_HERE_PATHS         "paths_begin"
#define BM_RUN_ASKED               "asked" /* the requested outputs */
#define BM_MANIFEST_ITEMS          "items" /* of `overlap`: a manifest of the items */
#define BM_MANIFEST_OUTPUTS        "outputs"
#define BM_MANIFEST_OUTPUTS_XXH3   "outputs_xxh3_128"
#define BM_MANIFEST_OUTPUTS_PIECES "outputs_pieces_xxh3_128"
#define BM_MANIFEST_PIECE_BYTES    "outputs_piece_bytes"
#define BM_MANIFEST_DIGESTS        "digests"

/* Bytes of a file that was read in separate shares (input/input_shard.h). */
typedef struct bm_manifest_part {
    uint64_t from, bytes;
    const char *xxh3_128; /* of them; 32 hex digits */
} bm_manifest_part;

typedef struct bm_manifest_input {
    const char *file; /* as given, unescaped */
    uint64_t bytes;
    uint64_t piece_bytes;          /* by which it was digested; 0: as a whole */
    const char *xxh3_128;          /* 32 hex digits; empty: it was read in parts, */
    const bm_manifest_part *parts; /* these, one after the other; NULL: as a whole */
    size_t n_parts;
    bm_id_kind ids;    /* UNTYPED, and of tables in memory INT64, UINT64, ROWS */
    const char *found; /* where it was read, if that was elsewhere; NULL: there */
    const char *here;  /* its path from the manifest's directory; NULL: not known */
} bm_manifest_input;

typedef struct bm_manifest_output_row {
    const char *name;     /* unescaped */
    const char *sha256;   /* 64 hex digits */
    const char *xxh3_128; /* 32; NULL: an earlier version has not listed it */
    bm_str
        pieces; /* a JSON array of XXH3 128 of its pieces; empty: it has one, or none are listed */
} bm_manifest_output_row;

typedef struct bm_manifest bm_manifest;

/* BM_ERR_FORMAT names the file and the field: no JSON, not ours, or of a later version. `memory`:
 * bytes that it may take; past them BM_ERR_NOMEM names what would do; 0: no limit. */
bm_status bm_manifest_open(const char *path, uint64_t memory, bm_manifest **out, bm_error *err);
/* The manifest.json of a directory, or else its report.json. */
bm_status bm_manifest_open_dir(const char *folder, uint64_t memory, bm_manifest **out,
                               bm_error *err);
/* The same, of a part of the memory. */
bm_status bm_manifest_open_share(const char *folder, bm_manifest_budget budget, bm_manifest **out,
                                 bm_error *err);
/* Open the manifest at a place that may have one. *out NULL: nothing is at `path`, or a file that
 * does not begin like one of ours. BM_ERR_FORMAT: one of ours that is damaged, or of a later
 * version; BM_ERR_IO: the file cannot be read. */
bm_status bm_manifest_find(const char *path, uint64_t memory, bm_manifest **out, bm_error *err);
/* Open a manifest from its text in another of our files, which was written with it: it is not
 * checked as JSON. `path`: of that file, for messages. */
bm_status bm_manifest_of_text(const char *path, bm_str text, bm_manifest **out, bm_error *err);
/* Open the manifest of the items that the report of an `overlap` holds. BM_ERR_FORMAT: there is
 * none. */
bm_status bm_manifest_open_items(const bm_manifest *report, bm_manifest **out, bm_error *err);
/* Bytes that it takes. */
uint64_t bm_manifest_bytes(const bm_manifest *manifest);
void bm_manifest_close(bm_manifest *manifest); /* NULL is fine */

const char *bm_manifest_path(const bm_manifest *manifest);
/* The whole file, until close. */
bm_str bm_manifest_text(const bm_manifest *manifest);
/* *out: the path of a file in the same folder, the caller's to bm_free. */
bm_status bm_manifest_beside(const bm_manifest *manifest, const char *name, char **out,
                             bm_error *err);
const char *bm_manifest_kind(const bm_manifest *manifest);
const char *bm_manifest_version(const bm_manifest *manifest);
/* BM_ERR_FORMAT where a field is missing or of another type. */
bm_status bm_manifest_provenance(const bm_manifest *manifest, const bm_provenance **out,
                                 bm_error *err);
/* Its members, valid until close. */
const bm_json_doc *bm_manifest_doc(const bm_manifest *manifest);
/* *out: the JSON text of a field ("counts", "plan.bands"), valid until close; false: there is
 * none. */
bool bm_manifest_member(const bm_manifest *manifest, const char *name, bm_str *out);
bm_status bm_manifest_count(const bm_manifest *manifest, const char *name, uint64_t *out,
                            bm_error *err);
size_t bm_manifest_n_inputs(const bm_manifest *manifest);
/* The type of the ids, of all inputs; UNTYPED: they are not of one. */
bm_id_kind bm_manifest_ids(const bm_manifest *manifest);
/* bm_input_options.row_ids of who reads again the table in memory that the manifest is of. */
uint64_t bm_manifest_row_ids(const bm_manifest *manifest);
const bm_manifest_input *bm_manifest_input_at(const bm_manifest *manifest, size_t index);
/* NULL: it is of no share. */
const bm_manifest_shard *bm_manifest_shard_of(const bm_manifest *manifest);
/* The file of offsets beside arrays of hashes; NULL: the manifest names none. */
const bm_manifest_input *bm_manifest_offsets(const bm_manifest *manifest);
size_t bm_manifest_n_outputs(const bm_manifest *manifest);
const bm_manifest_output_row *bm_manifest_output_at(const bm_manifest *manifest, size_t index);
/* An output, NULL if it is not listed. */
const bm_manifest_output_row *bm_manifest_output_find(const bm_manifest *manifest,
                                                      const char *name);
/* Its SHA-256. */
const char *bm_manifest_output(const bm_manifest *manifest, const char *name);
/* Is it `n` that the manifest counts of something? BM_ERR_FORMAT, where `file` has `n`: no. */
bm_status bm_manifest_compare_count(const bm_manifest *manifest, const char *name, uint64_t n,
                                    const char *file, bm_error *err);
/* A file as it is. */
typedef struct bm_manifest_found {
    const char *path;
    const bm_digests *digests;
    const bm_digest_piece *pieces;
    size_t n_pieces;
} bm_manifest_found;

/* Read every listed output in `folder`, on all processors where that is much: BM_ERR_FORMAT names
 * the first that is missing or differs. */
bm_status bm_manifest_check(const bm_manifest *manifest, const char *folder, bm_error *err);

/* listed -- is a file the one that its manifest lists? Asked while it is read, from front to back,
 * by whoever reads it anyway.
 *
 * Compared is XXH3 128; where the manifest has none (of an earlier version), SHA-256. A reader that
 * stops before the end has compared nothing. */

typedef struct bm_listed bm_listed;

/* `name`: as the manifest lists it; `path`: where it is, for messages. Both and the manifest are
 * borrowed until close. BM_ERR_FORMAT: it is not listed. */
bm_status bm_listed_open(const bm_manifest *manifest, const char *name, const char *path,
                         bm_listed **out, bm_error *err);
/* The next bytes of the file. NULL is fine, here and below: a file that nobody has listed. */
bm_status bm_listed_add(bm_listed *listed, const void *data, size_t len, bm_error *err);
/* That was all: BM_ERR_FORMAT names the file where it is another. Once; later calls are BM_OK. */
bm_status bm_listed_end(bm_listed *listed, bm_error *err);
void bm_listed_close(bm_listed *listed);

/* The same of a whole file that is open, read for this alone. */
bm_status bm_listed_check(const bm_manifest *manifest, const char *name, const bm_file_range *whole,
                          bm_error *err);

/* manifest_seal -- a report's word for itself: XXH3 128 of all bytes before it, as the last member
 * of "run", which is the last member of the report.
 *
 *     …                                    these bytes, without the comma,
 *     "report_xxh3_128": "32 digits"       are what this is of
 *       }
 *     }
 *
 * A report without it is of an earlier version, or was edited by somebody who took it out. */

/* Write the member: only the ends of the object and of those around it follow. */
void bm_manifest_seal(bm_json *json);
