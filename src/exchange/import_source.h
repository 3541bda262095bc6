/* SPDX-License-Identifier: Apache-2.0 */
/* import_source.h -- signatures that other tools have made, file by file and block by block.
 *
 * An input is a file of a form, or a directory that an export job wrote: that has a report beside
 * the file, with the settings of the signatures, and the lists that the form has no place for. */
#pragma once

#include <bandmill/exchange.h>

#include "base/memory.h"
#include "job/settings.h"
#include "output/manifest.h"
#include "results/line_file.h"

/* The head of a file: how its signatures were made. */
typedef struct bm_import_head {
    const bm_manifest *manifest; /* NULL: it has no provenance of ours */
    const char *scheme;          /* NULL: it does not say */
    int64_t seed;                /* where there is a scheme */
    uint32_t perms;              /* 0: it has no rows, and does not say */
    uint32_t word_bytes;         /* 0: the same */
} bm_import_head;

/* Rows first … first+n-1 of the file; the source's own, until the next one. */
typedef struct bm_import_block {
    uint64_t first;
    size_t n;
    const void *words;          /* n * perms */
    const uint32_t *n_shingles; /* NULL: not known */
    const char *ids;            /* one after another; NULL: there are none */
    const size_t *ends;         /* where each ends */
} bm_import_block;

#define BM_IMPORT_BLOCK_ROWS 1024u

/* How to read. */
typedef struct bm_import_request {
    bm_exchange from;
    const char *id_field, *signature_field; /* NULL: as the form has it */
    uint32_t threads;
    uint64_t memory;
} bm_import_request;

/* Where the parts of an input are. */
typedef struct bm_import_place {
    char *file;
    char *ids, *sizes;     /* beside it; NULL: there are none */
    bm_manifest *manifest; /* of an export; NULL: it is a single file */
} bm_import_place;

/* BM_ERR_FORMAT: the directory is no export in this form, or one of its files does not match the
 * report. */
bm_status bm_import_place_find(const char *path, const bm_import_request *asked,
                               bm_import_place *out, bm_error *err);
void bm_import_place_reset(bm_import_place *place);

typedef struct bm_import_source bm_import_source;

typedef struct bm_import_ops {
    /* Fill the block but for what lies beside the file; n 0: that was all. */
    bm_status (*next)(bm_import_source *source, bm_import_block *block, bm_error *err);
    void (*close)(bm_import_source *source);
} bm_import_ops;

struct bm_import_source {
    const bm_import_ops *ops;
    const char *path; /* of the file, borrowed */
    bm_import_head head;
    uint64_t next; /* row */
};

/* The three kinds. BM_ERR_INPUT names the error. */
bm_status bm_import_npy_open(const char *path, bm_import_source **out, bm_error *err);
bm_status bm_import_lean_open(const char *path, bm_import_source **out, bm_error *err);
bm_status bm_import_table_open(const char *path, const bm_import_request *asked,
                               bm_import_source **out, bm_error *err);

/* import_lists -- what lies beside the signatures of an import: ids, a line each, and numbers of
 * shingles. Read in step with the rows. */

typedef struct bm_import_ids {
    bm_line_file lines; /* fd -1: there is none */
    bm_buf text;        /* of a block of ids, unescaped */
    size_t ends[BM_IMPORT_BLOCK_ROWS];
} bm_import_ids;

/* `path` is borrowed. Good for close whatever the status. */
bm_status bm_import_ids_open(const char *path, bm_import_ids *out, bm_error *err);
/* The next n ids, at most BM_IMPORT_BLOCK_ROWS, into text and ends. BM_ERR_INPUT: there are fewer,
 * or one has a broken escape. */
bm_status bm_import_ids_next(bm_import_ids *ids, size_t n, bm_error *err);
/* BM_ERR_INPUT: there are more. */
bm_status bm_import_ids_end(bm_import_ids *ids, bm_error *err);
void bm_import_ids_close(bm_import_ids *ids);

typedef struct bm_import_sizes {
    int fd; /* -1: there is none */
    const char *path;
    uint64_t n, offset;
    uint32_t block[BM_IMPORT_BLOCK_ROWS];
} bm_import_sizes;

bm_status bm_import_sizes_open(const char *path, bm_import_sizes *out, bm_error *err);
/* Rows first … first+n-1 into the block. */
bm_status bm_import_sizes_read(bm_import_sizes *sizes, uint64_t first, size_t n, bm_error *err);
void bm_import_sizes_close(bm_import_sizes *sizes);

/* import_settle -- how imported signatures were made, from their file and the options.
 * */

/* As bm_settings_of_export. */
bm_status bm_settings_of_import(const bm_import_options *options, bm_settings *out,
                                bm_import_options *taken, bm_error *err);
/* Put it into the settings, which borrow from the head's manifest. BM_ERR_USAGE names an option
 * that contradicts the file, or that is missing. */
bm_status bm_import_resolve(const bm_import_source *first, bm_settings *settings, bm_error *err);
/* Was another file made in the same way? BM_ERR_FORMAT: no. */
bm_status bm_import_check_same(const bm_import_source *first, const bm_import_source *other,
                               bm_error *err);
