/* SPDX-License-Identifier: Apache-2.0 */
/* input_source.h -- one file of the inputs, or standard input. */
#pragma once

#include <stdint.h>

#include <bandmill/types.h>

#include "input/compression_kinds.h"
#include "input/stored_file.h"
#include "model/batches.h" /* bm_hash128 */

/* How the first line begins. A byte order mark before it is ignored, and so is white space before
 * the bracket of an array. */
typedef enum bm_beginning {
    BM_BEGINS_OTHERWISE, /* none of the following, or not examined */
    BM_BEGINS_NOT,       /* there is only white space */
    BM_BEGINS_ARRAY,     /* the line begins with the bracket of a JSON array */
    BM_BEGINS_OBJECT,    /* the line is a JSON object */
    BM_BEGINS_WARC       /* the line begins a WARC record */
} bm_beginning;

/* The part of a plain or Parquet file that belongs to one share of the inputs (input_shard.h). It
 * consists of whole records. */
typedef struct bm_source_cut {
    /* from: offset of the first byte; to: offset after the last byte (0: the part is the whole
     * file) */
    uint64_t from, to;
    uint64_t lines;   /* lines of the file before the part */
    uint64_t records; /* records of the file before the part, bad ones too */
    uint64_t rows;    /* tables: how many rows the part has */
    /* The first row of TSV or CSV, if it is before the part; else NULL. Owned by the set. */
    char *first_row;
    size_t first_row_len;
} bm_source_cut;

typedef struct bm_source {
    /* the path to open; "-": standard input; for a file at an address: bm_address_name() of it */
    const char *path;
    char *address;     /* NULL: a local path. Owned by the set, like `path` */
    bm_remote *remote; /* the file at the address, owned by the set; NULL: not open */
    const char *name;  /* the path as given or found, for ids and messages */
    /* If bad records are skipped and the source could not be read when the inputs were opened: the
     * reason. Else NULL. Owned by the set. */
    char *unreadable;
    bool in_folder; /* the source was found in a given directory, so patterns apply to it */
    /* a table that could not be opened for reading, and counts as one bad record */
    bool lost;
    bm_compression compression;
    /* bytes of the decoder's window, as the file's first bytes state; 0: not stated */
    uint64_t window;
    bm_beginning beginning; /* set only if the name does not decide the format */
    bm_format table;        /* PARQUET or ARROW if the first bytes are of that format; else AUTO */
    uint64_t size;          /* size of the file in bytes; 0 for standard input and pipes */
    bm_source_cut cut;
    bm_hash128 digest;   /* XXH3 128 of the bytes as stored; zeros until all of them were read */
    uint64_t bytes_read; /* size of the bytes as stored, set together with `digest` */
    /* XXH3 128 of the file's header row; zeros until the row was read, or if there is none */
    bm_hash128 header;
    /* If the header lacks a field of `keep`: the columns of the header. Else NULL. Owned by the
     * set. */
    struct bm_name_list *columns;
    /* The path of the copy of a table that can be read only once (input_bytes.h); NULL: no copy.
     * Owned by the set. */
    char *copy;
} bm_source;

/* Free the members that the source owns. */
void bm_source_reset(bm_source *source);

/* Share number `index` (from 1) of `of`; `of` 0: the inputs are not divided. */
typedef struct bm_input_shard {
    uint32_t index, of;
    bm_hash128 whole; /* XXH3 128 of the names and sizes of all inputs, the same for all shares */
} bm_input_shard;

/* The path to open. For a table, call bm_input_copy first. */
static inline const char *bm_source_place(const bm_source *source)
{
    return source->copy != NULL ? source->copy : source->path;
}

/* Resources for decoding tables. */
typedef struct bm_input_resources {
    uint32_t threads; /* 0: all */
    uint64_t memory;  /* limit in bytes; 0: no limit */
    /* Directory for copies of tables that can be read only once; borrowed; NULL: /tmp. */
    const char *temp_dir;
} bm_input_resources;
