/* SPDX-License-Identifier: Apache-2.0 */
/* array_make.h -- schemas and arrays of the Arrow C data interface (bandmill/arrow.h), made by us
 * for whoever takes them. */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_ARRAY_BUFFERS  3u
#define BM_ARRAY_CHILDREN 4u

/* The schema to make of a column, or of a table. */
typedef struct bm_schema_parts {
    const char *format, *name; /* copied */
    size_t n_children;         /* at most BM_ARRAY_CHILDREN */
} bm_schema_parts;

/* *out: without nulls. Its children are released ones, to be filled by the caller; release of *out
 * releases those that were. BM_ERR_NOMEM: *out is released. */
bm_status bm_schema_make(const bm_schema_parts *parts, struct ArrowSchema *out, bm_error *err);
/* Give it the metadata `key`: `value`; one only. */
bm_status bm_schema_annotate(struct ArrowSchema *schema, bm_str key, bm_str value, bm_error *err);

typedef struct bm_array_parts {
    int64_t length;
    void *buffers
        [BM_ARRAY_BUFFERS]; /* bm_alloc'ed and taken, also on failure; validity (NULL) first */
    size_t n_buffers, n_children;
} bm_array_parts;

/* The same of an array without nulls. */
bm_status bm_array_make(const bm_array_parts *parts, struct ArrowArray *out, bm_error *err);
