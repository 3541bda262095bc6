/* SPDX-License-Identifier: Apache-2.0 */
/* array_make.h -- makes schemas and arrays of the Arrow C data interface (bandmill/arrow.h), which
 * a consumer then owns. */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_ARRAY_BUFFERS  3u
#define BM_ARRAY_CHILDREN 4u

/* The parts of a schema. A schema describes one column, or a table. */
typedef struct bm_schema_parts {
    const char *format, *name; /* copied */
    size_t n_children;         /* at most BM_ARRAY_CHILDREN */
} bm_schema_parts;

/* Make the schema of data without nulls. At first its children are marked as released, and the
 * caller fills them. Releasing *out also releases the filled children. BM_ERR_NOMEM: *out is marked
 * as released. */
bm_status bm_schema_make(const bm_schema_parts *parts, struct ArrowSchema *out, bm_error *err);
/* Attach one metadata pair, `key` and `value`; at most once per schema. */
bm_status bm_schema_annotate(struct ArrowSchema *schema, bm_str key, bm_str value, bm_error *err);

typedef struct bm_array_parts {
    int64_t length;
    /* Buffers from bm_alloc, which bm_array_make takes over even if it fails. The first is the
     * validity bitmap, and is NULL. */
    void *buffers[BM_ARRAY_BUFFERS];
    size_t n_buffers, n_children;
} bm_array_parts;

/* Make an array without nulls. Children and failure are handled as in bm_schema_make. */
bm_status bm_array_make(const bm_array_parts *parts, struct ArrowArray *out, bm_error *err);
