/* SPDX-License-Identifier: Apache-2.0 */
/* import_source.h -- reads signatures made by other tools, file by file and block by block.
 *
 * An input is a single file, or a directory that an export job has written. Such a directory also
 * has a report of how the signatures were made, and files with the data that the form cannot
 * store. */
#pragma once

#include <bandmill/exchange.h>

#include "base/memory.h"
#include "job/settings.h"
#include "output/manifest.h"
#include "results/line_file.h"

/* The head of a file, which tells how its signatures were made. */
typedef struct bm_import_head {
    const bm_manifest *manifest; /* NULL: the file has no provenance from bandmill */
    const char *scheme;          /* NULL: the file does not state the scheme */
    int64_t seed;                /* valid if `scheme` is set */
    uint32_t perms;              /* 0: unknown, because the file has no rows and does not state the
                                  * number */
    uint32_t word_bytes;         /* size of a word; 0: unknown, for the same reason */
} bm_import_head;

/* A block of rows of the file: first … first+n-1. The source owns the data, which are valid until
 * the next call. */
typedef struct bm_import_block {
    uint64_t first;
    size_t n;
    const void *words;          /* n * perms words */
    const uint32_t *n_shingles; /* NULL: unknown */
    const char *ids;            /* n ids, one after another; NULL: the file has no ids */
    const size_t *ends;         /* offset at which each id ends */
} bm_import_block;

#define BM_IMPORT_BLOCK_ROWS 1024u

/* How to read an input. */
typedef struct bm_import_request {
    const bm_import_options *options; /* borrowed */
    uint32_t threads;
    uint64_t memory;
} bm_import_request;

/* The files of an input. */
typedef struct bm_import_place {
    char *file;            /* path of the file with the signatures */
    char *ids, *sizes;     /* paths of ids.txt and n_shingles.npy; NULL: there is no such file */
    bm_manifest *manifest; /* the report of the export; NULL: the input is a single file */
} bm_import_place;

/* Find the files of an input. BM_ERR_FORMAT: the directory is not an export in this form, or one of
 * its files does not match the report. */
bm_status bm_import_place_find(const char *path, const bm_import_request *asked,
                               bm_import_place *out, bm_error *err);
void bm_import_place_reset(bm_import_place *place);

typedef struct bm_import_source bm_import_source;

typedef struct bm_import_ops {
    /* Read the next block. If the file does not have the data of a member of *block, that member
     * becomes NULL. If no rows are left, n becomes 0. */
    bm_status (*next)(bm_import_source *source, bm_import_block *block, bm_error *err);
    void (*close)(bm_import_source *source);
} bm_import_ops;

struct bm_import_source {
    const bm_import_ops *ops;
    const char *path; /* borrowed: path of the file */
    bm_import_head head;
    uint64_t next; /* number of the next row */
};

/* Open a file of one of three kinds. BM_ERR_INPUT: the message names the defect. */
bm_status bm_import_npy_open(const char *path, bm_import_source **out, bm_error *err);
bm_status bm_import_lean_open(const char *path, bm_import_source **out, bm_error *err);
bm_status bm_import_table_open(const char *path, const bm_import_request *asked,
                               bm_import_source **out, bm_error *err);

/* import_lists -- the files beside imported signatures: ids, one on each line, and numbers of
 * shingles. For each block of n rows, n ids and n numbers are read. */

typedef struct bm_import_ids {
    bm_line_file lines; /* fd -1: there is no file */
    bm_buf text;        /* the ids of a block, unescaped */
    size_t ends[BM_IMPORT_BLOCK_ROWS];
} bm_import_ids;

/* Open a list of ids. `path` is borrowed; NULL: there is no list. Close *out even after a
 * failure. */
bm_status bm_import_ids_open(const char *path, bm_import_ids *out, bm_error *err);
/* Read the next n ids, at most BM_IMPORT_BLOCK_ROWS, into `text` and `ends`. BM_ERR_INPUT: fewer
 * are left, or the escapes of an id are damaged. */
bm_status bm_import_ids_next(bm_import_ids *ids, size_t n, bm_error *err);
/* If there is a list, check that all its ids were read. BM_ERR_INPUT: some are left. */
bm_status bm_import_ids_end(bm_import_ids *ids, bm_error *err);
void bm_import_ids_close(bm_import_ids *ids);

typedef struct bm_import_sizes {
    int fd; /* -1: there is no file */
    const char *path;
    uint64_t n, offset; /* n: how many numbers the file has; offset: file offset of the first
                         * number */
    uint32_t block[BM_IMPORT_BLOCK_ROWS];
} bm_import_sizes;

/* Open n_shingles.npy. `path` is borrowed; NULL: there is no such file. Close *out even after a
 * failure. */
bm_status bm_import_sizes_open(const char *path, bm_import_sizes *out, bm_error *err);
/* Read numbers first … first+n-1 into sizes->block. BM_ERR_INPUT: the file has fewer. */
bm_status bm_import_sizes_read(bm_import_sizes *sizes, uint64_t first, size_t n, bm_error *err);
void bm_import_sizes_close(bm_import_sizes *sizes);

/* import_settle -- determines how imported signatures were made, from their file and the
 * options. */

/* Like bm_settings_of_export, for an import. */
bm_status bm_settings_of_import(const bm_import_options *options, bm_settings *out,
                                bm_import_options *taken, bm_error *err);
/* Set in the settings how the signatures were made. The settings borrow from first->head.manifest.
 * BM_ERR_USAGE: an option is missing, or contradicts the file; the message names it. */
bm_status bm_import_resolve(const bm_import_source *first, bm_settings *settings, bm_error *err);
/* Check that the signatures of another file were made in the same way. BM_ERR_FORMAT: they were
 * not. */
bm_status bm_import_check_same(const bm_import_source *first, const bm_import_source *other,
                               bm_error *err);
