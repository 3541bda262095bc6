/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h -- exports signatures to other tools, and imports signatures of other tools.
 *
 * bm_job_export writes the signatures of a sign job's directory in the form of another tool
 * (docs/exchange.md), into a new directory. The report.json in this directory has the provenance of
 * the signatures. Separate files have the data that the form cannot store (ids.txt,
 * n_shingles.npy). bm_job_import reads exported files, or signatures of another tool, and writes a
 * directory like a sign job's. The written directory has no texts, so jobs can use it only with
 * `verify` signature or none.
 *
 * Options, summaries and errors are as in job.h. */
#ifndef BANDMILL_EXCHANGE_H
#define BANDMILL_EXCHANGE_H

#include <bandmill/job.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* A form, named after the tool that reads it. */
typedef enum bm_exchange {
    BM_EXCHANGE_LEANMINHASH, /* datasketch's LeanMinHash, record after record */
    BM_EXCHANGE_DATATROVE,   /* files of bands, for stages 2 to 4 of datatrove */
    BM_EXCHANGE_NEMO,        /* NeMo Curator */
    BM_EXCHANGE_TEXT_DEDUP,
    BM_EXCHANGE_MILVUS,
    BM_EXCHANGE_LANCE,
    BM_EXCHANGE_NPY,
    BM_EXCHANGE_TSV,
    BM_EXCHANGE_ARROW,
    BM_EXCHANGE_PARQUET
} bm_exchange;

typedef enum bm_export_what {
    BM_EXPORT_SIGNATURES,
    BM_EXPORT_BANDS /* band keys; only in npy, tsv, arrow and parquet */
} bm_export_what;

typedef struct bm_export_options {
    size_t struct_size;
    const char *path; /* a directory that a sign job wrote */
    bm_exchange to;
    bm_export_what what;
    /* The plan for band keys, and for forms that consist of bands. If bands and rows are 0, and
     * threshold or recall differs from its default, a plan is chosen for these. If both have their
     * defaults, the directory's plan is used. If the directory has no plan, the tool's own plan is
     * used, provided that the signatures have enough values for it; else a plan is chosen. */
    bm_band_options bands;
    bm_resource_options resources;
    bm_output_options output; /* `path`: a directory */
    bm_callbacks callbacks;
} bm_export_options;

typedef struct bm_import_options {
    size_t struct_size;
    /* Files of one form, or directories that an export job wrote; borrowed. LEANMINHASH, NEMO, NPY,
     * ARROW or PARQUET. */
    const char *const *paths;
    size_t n_paths;
    bm_exchange from;
    const char *ids;             /* file of ids, one a line, escaped as in ids.txt; NULL: none */
    const char *id_field;        /* column of the ids; "none": ids are FILE:ROW; NULL: the column
                                    that the form defines */
    const char *signature_field; /* column of the signatures; NULL: the column that the form
                                    defines */
    bm_duplicate_ids duplicate_ids;
    /* How the documents were cut and signed. If the files do not record scheme, seed and hash,
     * these three must be among `set_fields`, else the call is BM_ERR_USAGE. A field must not
     * contradict its value in the files. */
    bm_text_options text;
    bm_sketch_options sketch;
    bm_resource_options resources;
    bm_output_options output; /* `path`: a directory */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h) */
} bm_import_options;

BM_API void bm_export_options_init_sized(bm_export_options *options, size_t struct_size);
BM_API void bm_import_options_init_sized(bm_import_options *options, size_t struct_size);

static inline void bm_export_options_init(bm_export_options *options)
{
    bm_export_options_init_sized(options, sizeof *options);
}
static inline void bm_import_options_init(bm_import_options *options)
{
    bm_import_options_init_sized(options, sizeof *options);
}

/* Returns BM_OK and a summary, which the caller frees, or an error and nothing at the target. `log`
 * reports the data that the form cannot store. BM_ERR_FORMAT: the directory at `path` is
 * damaged. */
BM_API bm_status bm_job_export(const bm_export_options *options, bm_summary **out, bm_error *err);
/* BM_ERR_INPUT: the message names the file and the bad record. */
BM_API bm_status bm_job_import(const bm_import_options *options, bm_summary **out, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
