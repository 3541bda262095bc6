/* SPDX-License-Identifier: Apache-2.0 */
/* array_make.c -- makes schemas and arrays of tables. Each schema and each array has a block of
 * memory of its own, because a consumer may move a child out of its parent. The child in the parent
 * is then marked as released, so the release of the parent skips it.
 *
 * Tests: tests/unit/input/test_array_make.c */
#include "input/array_make.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* --- schemas --- */

typedef struct schema_own {
    struct ArrowSchema children[BM_ARRAY_CHILDREN];
    struct ArrowSchema *pointers[BM_ARRAY_CHILDREN];
    char *format, *name, *metadata;
} schema_own;

static void free_schema(schema_own *own)
{
    for (size_t i = 0; i < BM_ARRAY_CHILDREN; i++)
        if (own->children[i].release != NULL)
            own->children[i].release(&own->children[i]);
    bm_free_all(own->format, own->name, own->metadata, own);
}

static void release_schema(struct ArrowSchema *schema)
{
    free_schema(schema->private_data);
    schema->release = NULL;
}

bm_status bm_schema_make(const bm_schema_parts *parts, struct ArrowSchema *out, bm_error *err)
{
    *out = (struct ArrowSchema){0};
    schema_own *own = NULL;
    BM_TRY(bm_new_zero(&own, 1, err));
    own->format = bm_strdup(parts->format);
    own->name = bm_strdup(parts->name);
    if (own->format == NULL || own->name == NULL) {
        free_schema(own);
        return bm_fail_nomem(err, strlen(parts->name) + 1);
    }
    for (size_t i = 0; i < BM_ARRAY_CHILDREN; i++)
        own->pointers[i] = &own->children[i];
    *out = (struct ArrowSchema){.format = own->format,
                                .name = own->name,
                                .n_children = (int64_t)parts->n_children,
                                .children = parts->n_children > 0 ? own->pointers : NULL,
                                .release = release_schema,
                                .private_data = own};
    return BM_OK;
}

/* Write the length of `text` and its bytes at `at`; returns the position after them. */
static char *put(char *at, bm_str text)
{
    const int32_t len = (int32_t)text.len;
    memcpy(at, &len, sizeof len);
    memcpy(at + sizeof len, text.data, text.len);
    return at + sizeof len + text.len;
}

bm_status bm_schema_annotate(struct ArrowSchema *schema, bm_str key, bm_str value, bm_error *err)
{
    schema_own *own = schema->private_data;
    const int32_t pairs = 1;
    const size_t bytes = 3 * sizeof(int32_t) + key.len + value.len;
    if (bytes > INT32_MAX || (own->metadata = bm_alloc(bytes, 1)) == NULL)
        return bm_fail_nomem(err, bytes);
    memcpy(own->metadata, &pairs, sizeof pairs);
    (void)put(put(own->metadata + sizeof pairs, key), value);
    schema->metadata = own->metadata;
    return BM_OK;
}

/* --- arrays --- */

typedef struct array_own {
    struct ArrowArray children[BM_ARRAY_CHILDREN];
    struct ArrowArray *pointers[BM_ARRAY_CHILDREN];
    const void *buffers[BM_ARRAY_BUFFERS];
} array_own;

static void release_array(struct ArrowArray *array)
{
    array_own *own = array->private_data;
    for (size_t i = 0; i < BM_ARRAY_CHILDREN; i++)
        if (own->children[i].release != NULL)
            own->children[i].release(&own->children[i]);
    for (size_t i = 0; i < BM_ARRAY_BUFFERS; i++)
        bm_free((void *)own->buffers[i]);
    bm_free(own);
    array->release = NULL;
}

bm_status bm_array_make(const bm_array_parts *parts, struct ArrowArray *out, bm_error *err)
{
    *out = (struct ArrowArray){0};
    array_own *own = bm_alloc_zero(1, sizeof *own);
    if (own == NULL) {
        for (size_t i = 0; i < BM_ARRAY_BUFFERS; i++)
            bm_free(parts->buffers[i]);
        return bm_fail_nomem(err, sizeof *own);
    }
    for (size_t i = 0; i < BM_ARRAY_CHILDREN; i++)
        own->pointers[i] = &own->children[i];
    for (size_t i = 0; i < BM_ARRAY_BUFFERS; i++)
        own->buffers[i] = parts->buffers[i];
    *out = (struct ArrowArray){.length = parts->length,
                               .n_buffers = (int64_t)parts->n_buffers,
                               .n_children = (int64_t)parts->n_children,
                               .buffers = own->buffers,
                               .children = parts->n_children > 0 ? own->pointers : NULL,
                               .release = release_array,
                               .private_data = own};
    return BM_OK;
}
