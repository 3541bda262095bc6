/* SPDX-License-Identifier: Apache-2.0 */
/* exporter.h -- writes signatures in the forms of other tools: provides the documents that a form
 * writes, and the table of forms.
 *
 * A form is a row of a table in export.c. The function of the row writes the files of the form to
 * the directory of the job, and may walk over the documents several times. Each walk compares the
 * bytes that it reads with the digests in the manifest. */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/exchange.h>
#include <bandmill/types.h>

#include "job/job_context.h"
#include "output/out_dir.h"
#include "results/sign_dir.h"

typedef struct bm_exporter {
    bm_job_context *context;
    bm_sign_dir *dir; /* has the signatures */
    bm_out_dir *out;  /* the directory that is written */
    const struct bm_export_form *form;
    uint32_t word_bytes; /* size of a word of a signature: 4 or 8 */
} bm_exporter;

/* A block of documents: first … first+n-1. */
typedef struct bm_export_block {
    uint64_t first;
    size_t n;
    const void *words;          /* n * perms words */
    const uint32_t *n_shingles; /* n numbers */
    const uint64_t *keys;       /* n * bands keys; NULL: keys are not exported */
    const char *ids;            /* n ids, one after another; NULL: ids were not requested */
    const size_t *ends;         /* offset at which each id ends */
} bm_export_block;

static inline bm_str bm_export_block_id(const bm_export_block *block, size_t i)
{
    const size_t begin = i == 0 ? 0 : block->ends[i - 1];
    return (bm_str){block->ids + begin, block->ends[i] - begin};
}

/* Reads blocks of documents, one after another, when they are requested. */
typedef struct bm_export_reader {
    bm_exporter *exporter;
    bool ids; /* ids are requested */
    uint64_t next;
    size_t most; /* most documents in a block */
    void *words;
    uint32_t *n_shingles;
    uint64_t *keys;
    size_t *ends;
    bm_buf text;
} bm_export_reader;

/* Called for each block. */
typedef bm_status (*bm_export_take)(void *ctx, const bm_export_block *block, bm_error *err);

/* Which data a form can store. Ids, numbers of shingles and provenance are written to other files
 * if the form cannot store them. */
enum {
    BM_FORM_HAS_IDS = 1u << 0,
    BM_FORM_HAS_SIZES = 1u << 1, /* numbers of shingles */
    BM_FORM_HAS_PROVENANCE = 1u << 2,
    BM_FORM_HAS_KEYS = 1u << 3,   /* band keys instead of signatures, if requested */
    BM_FORM_OF_BANDS = 1u << 4,   /* the form always has the words of bands, and needs a plan */
    BM_FORM_BY_DOCUMENT = 1u << 5 /* the form has its own list of documents */
};

typedef struct bm_export_form {
    bm_exchange to;
    unsigned has;         /* BM_FORM_* bits */
    uint32_t bands, rows; /* the default plan of the other tool; 0: none */
    /* Can the form store signatures of this scheme? NULL: it can store those of all schemes.
     * `taken`: for messages, the names of the schemes that it can store. */
    bool (*takes)(const char *scheme);
    const char *taken;
    bm_status (*write)(bm_exporter *exporter, bm_error *err);
} bm_export_form;

const bm_export_form *bm_export_form_of(bm_exchange to);
/* Check that the form can store signatures of the scheme. BM_ERR_USAGE: it cannot. */
bm_status bm_export_form_check(const bm_export_form *form, const bm_settings *settings,
                               bm_error *err);

/* Write ids.txt if the form cannot store ids, and n_shingles.npy if it cannot store numbers of
 * shingles. Does nothing for a form that has its own list of documents. */
bm_status bm_export_beside(bm_exporter *exporter, bm_error *err);

/* export_table -- forms that are tables: their columns, and a stream of their rows. */

/* The contents of a column. */
typedef enum bm_export_cells {
    BM_CELLS_ID,     /* utf8 */
    BM_CELLS_NUMBER, /* int64, the number of the row */
    BM_CELLS_SIZE,   /* uint32, number of shingles */
    BM_CELLS_WORDS,  /* a list of unsigned words */
    BM_CELLS_KEYS,   /* a list of uint64 */
    BM_CELLS_BANDS   /* a list of binaries, one for each band; a binary has the words of the band, 8
                      * bytes each, big-endian */
} bm_export_cells;

typedef struct bm_export_column {
    const char *name; /* name of the column; NULL ends the list */
    bm_export_cells cells;
} bm_export_column;

typedef struct bm_export_layout {
    const char *file;
    bm_export_column columns[4];
    bool parquet;
    bool fixed;     /* lists have a type with a fixed number of items */
    bool annotated; /* the metadata of the schema have the provenance of the signatures */
} bm_export_layout;

/* A stream of rows, which reads documents when rows are requested. `status` and `err` have its
 * first failure. */
typedef struct bm_export_stream {
    const bm_export_layout *layout;
    bm_export_reader reader;
    bm_buf provenance; /* as JSON */
    bm_status status;
    bm_error err;
} bm_export_stream;

/* trove_numbers -- numbers documents as datatrove does. A rank is an input; its documents have the
 * numbers 0, 1, 2 … in order. datatrove's readers skip documents with empty text, so such
 * documents have no number. */

#define BM_TROVE_NO_NUMBER UINT32_MAX

typedef struct bm_trove_numbers {
    bm_sign_dir *dir;
    uint64_t *documents; /* for each rank: number of its documents */
    size_t n_ranks;
    uint64_t most; /* number of documents of the largest rank */
    /* the rank that the walk has reached */
    size_t rank;
    uint64_t left;   /* number of the rank's documents that have not been visited yet */
    uint32_t next;   /* the next number of a document */
    uint64_t *bytes; /* for each document of the block: bytes of its text; NULL: not known */
    size_t cap_bytes;
} bm_trove_numbers;

/* exchange_settings -- converts the options of exports and imports to settings. */

/* Like bm_settings_of_sign, for an export. *taken becomes a copy of the options in the form of this
 * version. The copy has the path of the input, which the settings do not have. */
bm_status bm_settings_of_export(const bm_export_options *options, bm_settings *out,
                                bm_export_options *taken, bm_error *err);
/* If bands are exported, or the form consists of bands, choose the plan. Call this after the
 * settings were completed from the manifest, which describes how documents were signed.
 * BM_ERR_USAGE: bands or a threshold are given but not used, or the form cannot store keys. */
bm_status bm_export_resolve_plan(const bm_export_form *form, const bm_manifest *manifest,
                                 bm_settings *settings, bm_error *err);

/* lean_record -- the records of datasketch's LeanMinHash. Numbers are little-endian:
 *
 *     legacy             int64 seed, int32 k, k words of 4 bytes
 *     affine32, affine64 int64 seed, int32 -k, uint8 1 or 2, k words of 4 or 8 bytes */

#define BM_LEAN_HEAD_MOST 13u /* most bytes of a head, which is everything before the words */

typedef struct bm_lean_head {
    const char *scheme; /* NULL: the record's code is unknown */
    int64_t seed;
    int64_t perms;       /* number of words, as in the record; less than 1 if the record is
                          * damaged */
    uint32_t word_bytes; /* 0: the scheme is unknown */
} bm_lean_head;

/* Read the head of a record from its first `len` bytes. Returns the size of the head, or 0 if `len`
 * is too small. */
size_t bm_lean_head_read(const char *data, size_t len, bm_lean_head *out);
