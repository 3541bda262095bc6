/* SPDX-License-Identifier: Apache-2.0 */
/* input_source.h -- one file of the inputs, or standard input. */
#pragma once

#include <stdint.h>

#include <bandmill/types.h>

#include "input/compression_kinds.h"
#include "input/stored_file.h"
#include "model/batches.h" /* bm_hash128 */

/* How the first line begins, after a byte order mark; white space may precede the bracket. */
typedef enum bm_beginning {
    BM_BEGINS_OTHERWISE, /* or it was not looked at */
    BM_BEGINS_NOT,       /* there is nothing but white space */
    BM_BEGINS_ARRAY,     /* the bracket of JSON's arrays */
    BM_BEGINS_OBJECT,    /* the line is an object of JSON */
    BM_BEGINS_WARC       /* a record of WARC */
} bm_beginning;

/* The part of a plain file or of Parquet that is read, where its records are shared out
 * (input_shard.h): whole records. */
typedef struct bm_source_cut {
    uint64_t from, to; /* bytes of the file; `to` 0: all of it */
    uint64_t lines;    /* of the file before them, */
    uint64_t records;  /* and its records, bad ones too */
    uint64_t rows;     /* of a table: how many follow that are read */
    /* The first row of a table, where that is before them; else NULL. Owned by the set. */
    char *first_row;
    size_t first_row_len;
} bm_source_cut;

typedef struct bm_source {
    const char *path;  /* to open; "-" for standard input; for an address, its shown name */
    char *address;     /* NULL: it is a path. Owned by the set, as is */
    bm_remote *remote; /* the file there, of the set's; NULL: it is not open */
    const char *name;  /* as given or found: what ids and messages show */
    /* Not NULL: it was found to be unreadable when the inputs were opened, and bad records are
     * skipped: why. Owned by the set. */
    char *unreadable;
    bool in_folder; /* found in a directory that was given, so patterns may leave it out */
    bool
        lost; /* of a table: it could not be opened when it was to be read, and is one bad record */
    bm_compression compression;
    uint64_t window;        /* of its decoder, as the first bytes say; 0: they do not */
    bm_beginning beginning; /* where the format is told by the name */
    bm_format table;        /* PARQUET or ARROW by its first bytes; else AUTO */
    uint64_t size;          /* of the file in bytes; 0 for standard input and pipes */
    bm_source_cut cut;
    bm_hash128 digest;   /* XXH3 128 of the bytes as stored; zeros until all of them were read */
    uint64_t bytes_read; /* as stored, likewise */
    bm_hash128
        header; /* XXH3 128 of its row of names; zeros until that was read, or where it has none */
    struct bm_name_list
        *columns; /* of the header, if it lacks a field of `keep`; NULL. Owned by the
                                   * set */
    /* The path of the copy of a table that can be read only once (input_bytes.h); NULL: none was
     * made. Owned by the set. */
    char *copy;
} bm_source;

/* Free the members that it owns. */
void bm_source_reset(bm_source *source);

/* Share `index` of `of`, from 1; `of` 0: the inputs are not shared out. */
typedef struct bm_input_shard {
    uint32_t index, of;
    bm_hash128
        whole; /* filled: XXH3 128 of the names and sizes of all inputs, which all shares have */
} bm_input_shard;

/* The path to open; of a table, once bm_input_copy was called. */
static inline const char *bm_source_place(const bm_source *source)
{
    return source->copy != NULL ? source->copy : source->path;
}

/* Files of tables are decoded with these. */
typedef struct bm_input_resources {
    uint32_t threads; /* 0: all */
    uint64_t memory;  /* in bytes; 0: any */
    /* Where tables that can be read only once are copied to; borrowed; NULL: /tmp. */
    const char *temp_dir;
} bm_input_resources;
