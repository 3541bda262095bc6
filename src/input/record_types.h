/* SPDX-License-Identifier: Apache-2.0 */
/* record_types.h -- the types of records (WARC): how many there are of each type, and whether a
 * file has none that can be a document. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_RECORD_TYPES_MOST 16u /* kept apart; the standard has eight */
#define BM_RECORD_TYPE_BYTES 24u

typedef struct bm_record_type {
    char name[BM_RECORD_TYPE_BYTES]; /* ended by NUL, cut where it is longer */
    uint64_t n;
} bm_record_type;

/* Of one file; {0} is of none. */
typedef struct bm_record_types {
    uint64_t n_documents; /* or records too broken to tell */
    uint64_t n_other;
    bm_record_type other[BM_RECORD_TYPES_MOST];
    size_t n_types;
} bm_record_types;

/* The records of a file in a batch. */
typedef struct bm_file_types {
    uint32_t file;
    bm_record_types types;
} bm_file_types;

/* One record of a type that is no document. */
void bm_record_types_add(bm_record_types *types, bm_str type);
/* The records of a part of the file. */
void bm_record_types_join(bm_record_types *types, const bm_record_types *part);
/* All records of the file were seen: BM_ERR_INPUT, with the types that it has, where none is a
 * document and there are others. */
bm_status bm_record_types_check(const bm_record_types *types, const char *file, bm_error *err);
