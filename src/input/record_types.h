/* SPDX-License-Identifier: Apache-2.0 */
/* record_types.h -- counts the records of each type (WARC), and reports a file that has records but
 * no document. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_RECORD_TYPES_MOST 16u /* types counted separately; the standard has eight */
#define BM_RECORD_TYPE_BYTES 24u

typedef struct bm_record_type {
    char name[BM_RECORD_TYPE_BYTES]; /* NUL-terminated; a longer name is cut */
    uint64_t n;
} bm_record_type;

/* The types in one file; initialize to {0}. */
typedef struct bm_record_types {
    uint64_t n_documents; /* documents, and records so broken that they show no type */
    uint64_t n_other;
    bm_record_type other[BM_RECORD_TYPES_MOST];
    size_t n_types;
} bm_record_types;

/* The types of one file's records in a batch. */
typedef struct bm_file_types {
    uint32_t file;
    bm_record_types types;
} bm_file_types;

/* Count one record of a type that is no document. */
void bm_record_types_add(bm_record_types *types, bm_str type);
/* Add `part`, the counts of a part of the file. */
void bm_record_types_join(bm_record_types *types, const bm_record_types *part);
/* Call after all records of the file were counted. BM_ERR_INPUT, with a list of the types: the file
 * has records of other types, but no document. */
bm_status bm_record_types_check(const bm_record_types *types, const char *file, bm_error *err);
