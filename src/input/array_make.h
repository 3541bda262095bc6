/* SPDX-License-Identifier: Apache-2.0 */
/* array_make.h -- makes schemas and arrays of the Arrow C data interface (bandmill/arrow.h) for
 * consumers to take over. */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_ARRAY_BUFFERS  3u
#define BM_ARRAY_CHILDREN 4u

/* The parts of a schema: of one column, or of a table. */
typedef struct bm_schema_parts {
    const char *format, *name; /* copied */
    size_t n_children;         /* at most BM_ARRAY_CHILDREN */
} bm_schema_parts;

/* Makes a schema without nulls. Its children start out released; the caller fills them, and
 * releasing *out releases those that were filled. BM_ERR_NOMEM: *out is released. */
bm_status bm_schema_make(const bm_schema_parts *parts, struct ArrowSchema *out, bm_error *err);
/* Attach the metadata pair `key`: `value`; once per schema. */
bm_status bm_schema_annotate(struct ArrowSchema *schema, bm_str key, bm_str value, bm_error *err);

typedef struct bm_array_parts {
    int64_t length;
    void *buffers
        [BM_ARRAY_BUFFERS]; /* from bm_alloc; taken, even on failure; validity (NULL) comes first */
    size_t n_buffers, n_children;
} bm_array_parts;

/* Makes an array without nulls; children and failure as in bm_schema_make. */
bm_status bm_array_make(const bm_array_parts *parts, struct ArrowArray *out, bm_error *err);
