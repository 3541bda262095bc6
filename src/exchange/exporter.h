/* SPDX-License-Identifier: Apache-2.0 */
/* exporter.h -- signatures on their way into the form of another tool: what each form is given, and
 * the table of forms.
 *
 * A form is a row in export.c and a function that writes its files into the directory of the
 * job. It walks over the documents as often as it needs; each walk compares the bytes that it reads
 * with the digests of the manifest. */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/exchange.h>
#include <bandmill/types.h>

#include "job/job_context.h"
#include "output/out_dir.h"
#include "results/sign_dir.h"

typedef struct bm_exporter {
    bm_job_context *context;
    bm_sign_dir *dir;
    bm_out_dir *out;
    const struct bm_export_form *form;
    uint32_t word_bytes;
} bm_exporter;

/* Documents first … first+n-1. */
typedef struct bm_export_block {
    uint64_t first;
    size_t n;
    const void *words;          /* n * perms */
    const uint32_t *n_shingles; /* n */
    const uint64_t *keys;       /* n * bands where keys are exported; else NULL */
    const char *ids;            /* one after another; NULL where nobody asked for them */
    const size_t *ends;         /* where each ends */
} bm_export_block;

static inline bm_str bm_export_block_id(const bm_export_block *block, size_t i)
{
    const size_t begin = i == 0 ? 0 : block->ends[i - 1];
    return (bm_str){block->ids + begin, block->ends[i] - begin};
}

/* Blocks of documents, one after the other, read as they are asked for. */
typedef struct bm_export_reader {
    bm_exporter *exporter;
    bool ids; /* wanted */
    uint64_t next;
    size_t most; /* documents of a block */
    void *words;
    uint32_t *n_shingles;
    uint64_t *keys;
    size_t *ends;
    bm_buf text;
} bm_export_reader;

/* Each block to `take`. */
typedef bm_status (*bm_export_take)(void *ctx, const bm_export_block *block, bm_error *err);

/* The parts of a document that a form can hold. The others lie beside its files. */
enum {
    BM_FORM_HAS_IDS = 1u << 0,
    BM_FORM_HAS_SIZES = 1u << 1, /* numbers of shingles */
    BM_FORM_HAS_PROVENANCE = 1u << 2,
    BM_FORM_HAS_KEYS = 1u << 3,   /* it can be made of keys of bands */
    BM_FORM_OF_BANDS = 1u << 4,   /* it is made of the words of bands, whatever is asked for */
    BM_FORM_BY_DOCUMENT = 1u << 5 /* it lists ids and sizes itself, beside its files */
};

typedef struct bm_export_form {
    bm_exchange to;
    unsigned has;         /* BM_FORM_* bits */
    uint32_t bands, rows; /* that the tool itself uses; 0: it has no plan */
    /* Can it hold signatures of this scheme? If not, the message about it. NULL: it can hold
     * any. */
    bool (*takes)(const char *scheme);
    const char *taken;
    bm_status (*write)(bm_exporter *exporter, bm_error *err);
} bm_export_form;

const bm_export_form *bm_export_form_of(bm_exchange to);
/* BM_ERR_USAGE: it has no place for signatures of the scheme. */
bm_status bm_export_form_check(const bm_export_form *form, const bm_settings *settings,
                               bm_error *err);

/* ids.txt and n_shingles.npy, where the form has no place for them. */
bm_status bm_export_beside(bm_exporter *exporter, bm_error *err);

/* export_table -- forms that are tables: their columns, and a stream of their rows. */

/* The contents of a column. */
typedef enum bm_export_cells {
    BM_CELLS_ID,     /* utf8 */
    BM_CELLS_NUMBER, /* int64, of the row */
    BM_CELLS_SIZE,   /* uint32, number of shingles */
    BM_CELLS_WORDS,  /* a list of unsigned words */
    BM_CELLS_KEYS,   /* a list of uint64 */
    BM_CELLS_BANDS   /* a list of binaries: the words of each band, 8 bytes each, high one first */
} bm_export_cells;

typedef struct bm_export_column {
    const char *name; /* NULL ends a list */
    bm_export_cells cells;
} bm_export_column;

typedef struct bm_export_layout {
    const char *file;
    bm_export_column columns[4];
    bool parquet;
    bool fixed;     /* lists are of a fixed size */
    bool annotated; /* the provenance is in the schema */
} bm_export_layout;

/* A stream that reads as it is asked. A failure of ours is kept for whoever made it. */
typedef struct bm_export_stream {
    const bm_export_layout *layout;
    bm_export_reader reader;
    bm_buf provenance; /* JSON */
    bm_status status;
    bm_error err;
} bm_export_stream;

/* trove_numbers -- the documents as datatrove counts them: a rank is an input, and its documents
 * have the numbers 0, 1, 2 … in their order. Its readers pass over documents with an empty text, so
 * these have no number. */

#define BM_TROVE_NO_NUMBER UINT32_MAX

typedef struct bm_trove_numbers {
    bm_sign_dir *dir;
    uint64_t *documents; /* of each rank */
    size_t n_ranks;
    uint64_t most; /* documents of the largest rank */
    /* where the walk is */
    size_t rank;
    uint64_t left; /* documents of the rank */
    uint32_t next;
    uint64_t *bytes; /* of the texts of a block */
    size_t cap_bytes;
} bm_trove_numbers;

/* exchange_settings -- the options of exports and imports as settings. */

/* As bm_settings_of_sign. `taken`: the options as this version has them, for their paths. */
bm_status bm_settings_of_export(const bm_export_options *options, bm_settings *out,
                                bm_export_options *taken, bm_error *err);
/* Once the manifest has settled how the documents were signed: bands for the form, if it needs any.
 */
bm_status bm_export_resolve_plan(const bm_export_form *form, const bm_manifest *manifest,
                                 bm_settings *settings, bm_error *err);

/* lean_record -- the records of datasketch's LeanMinHash, all little-endian:
 *
 *     legacy             int64 seed, int32 k, k words of 4 bytes
 *     affine32, affine64 int64 seed, int32 -k, uint8 1 or 2, k words of 4 or 8 bytes */

#define BM_LEAN_HEAD_MOST 13u /* bytes of a head */

typedef struct bm_lean_head {
    const char *scheme; /* its word; NULL: none that is known */
    int64_t seed;
    int64_t perms; /* 1 or more in a head that is good */
    uint32_t word_bytes;
} bm_lean_head;

/* Read the head of a record from its first `len` bytes. Returns the bytes of the head; 0: there are
 * too few. */
size_t bm_lean_head_read(const char *data, size_t len, bm_lean_head *out);
