/* SPDX-License-Identifier: Apache-2.0 */
/* block.c -- writes and checks blocks. The whole block is checked before its contents are used,
 * since its source is not trusted.
 *
 * Tests: tests/unit/distributed/test_joiner.c, tests/unit/distributed/test_splitter.c */
#include "distributed/block.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "input/array_make.h"

#define MAGIC     "BMBK"
#define VERSION   1
#define SETTINGS  16
#define DIGEST    64
#define ENTRY     13u /* bytes of an entry */
#define TREE_LINK 16u /* bytes of a link in a forest */

size_t bm_block_bytes(const bm_block_head *head)
{
    const size_t each = head->kind == BM_BLOCK_ENTRIES ? ENTRY : TREE_LINK;
    return BM_BLOCK_HEAD + (size_t)head->n_ids * sizeof(uint64_t) + (size_t)head->n * each;
}

static uint64_t digest_of(const char *block, size_t bytes)
{
    const uint64_t head = XXH3_64bits(block, DIGEST);
    return XXH3_64bits_withSeed(block + BM_BLOCK_HEAD, bytes - BM_BLOCK_HEAD, head);
}

void bm_block_seal(const bm_block_head *head, char *block)
{
    const char start[8] = {'B', 'M', 'B', 'K', VERSION, (char)head->kind, 0, 0};
    const uint32_t sizes[] = {head->n, head->n_ids};
    const bm_joiner_counts *c = &head->counts;
    const uint64_t words[] = {head->settings, c->documents, c->empty,
                              c->unreadable,  c->skipped,   c->shingles};
    memcpy(block, start, sizeof start);
    memcpy(block + sizeof start, sizes, sizeof sizes);
    memcpy(block + SETTINGS, words, sizeof words);
    const uint64_t digest = digest_of(block, bm_block_bytes(head));
    memcpy(block + DIGEST, &digest, sizeof digest);
}

bm_status bm_block_read(const char *data, size_t size, bm_block_head *out, bm_error *err)
{
    uint32_t sizes[2];
    uint64_t words[6], digest;
    if (size < BM_BLOCK_HEAD || memcmp(data, MAGIC, 4) != 0)
        return bm_fail(err, BM_ERR_FORMAT, "%zu bytes that begin no block of bandmill's", size);
    if (data[4] != VERSION)
        return bm_fail(err, BM_ERR_FORMAT, "a block of version %d (this library reads version %d)",
                       (unsigned char)data[4], VERSION);
    memcpy(sizes, data + 8, sizeof sizes);
    memcpy(words, data + SETTINGS, sizeof words);
    memcpy(&digest, data + DIGEST, sizeof digest);
    const bm_block_head head = {.kind = data[5] == 0 ? BM_BLOCK_ENTRIES : BM_BLOCK_FOREST,
                                .n = sizes[0],
                                .n_ids = sizes[1],
                                .settings = words[0],
                                .counts = {words[1], words[2], words[3], words[4], words[5]}};
    const size_t bytes = bm_block_bytes(&head);
    if (bytes > size)
        return bm_fail(err, BM_ERR_FORMAT, "a block of %zu bytes, of which there are %zu", bytes,
                       size);
    if (data[5] < 0 || data[5] > BM_BLOCK_FOREST || digest_of(data, bytes) != digest)
        return bm_fail(err, BM_ERR_FORMAT, "a damaged block of %zu bytes", bytes);
    *out = head;
    return BM_OK;
}

/* --- columns --- */

static bm_status column_of(const bm_made_column *column, size_t n_rows, struct ArrowSchema *schema,
                           struct ArrowArray *array, bm_error *err)
{
    bm_array_parts parts = {.length = (int64_t)n_rows, .n_buffers = column->n_buffers + 1};
    memcpy(parts.buffers + 1, column->buffers, sizeof column->buffers);
    BM_TRY(bm_array_make(&parts, array, err));
    return bm_schema_make(&(bm_schema_parts){column->format, column->name, 0}, schema, err);
}

bm_status bm_columns_take(const bm_made_column *columns, size_t n_columns, size_t n_rows,
                          struct ArrowSchema *schema, struct ArrowArray *array, bm_error *err)
{
    const bm_array_parts table = {
        .length = (int64_t)n_rows, .n_buffers = 1, .n_children = n_columns};
    bm_status status = BM_OK;
    size_t n_made = 0;
    *schema = (struct ArrowSchema){0};
    *array = (struct ArrowArray){0};
    BM_TRY_OUT(bm_schema_make(&(bm_schema_parts){"+s", "", n_columns}, schema, err));
    BM_TRY_OUT(bm_array_make(&table, array, err));
    while (n_made < n_columns) {
        const size_t i = n_made++;
        BM_TRY_OUT(column_of(&columns[i], n_rows, schema->children[i], array->children[i], err));
    }
    return BM_OK;
out:
    for (size_t i = n_made; i < n_columns; i++)
        bm_free_all(columns[i].buffers[0], columns[i].buffers[1]);
    if (schema->release != NULL)
        schema->release(schema);
    if (array->release != NULL)
        array->release(array);
    return status;
}

/* --- rows --- */

bm_status bm_block_rows_add(bm_block_rows *rows, size_t part, size_t bytes, char **block,
                            bm_error *err)
{
    BM_TRY(bm_grow_array(&rows->offsets, &rows->cap_offsets, rows->n + 2, err));
    BM_TRY(bm_grow_array(&rows->data, &rows->cap_data, rows->len + bytes, err));
    if (rows->with_parts) {
        BM_TRY(bm_grow_array(&rows->parts, &rows->cap, rows->n + 1, err));
        rows->parts[rows->n] = (int32_t)part;
    }
    rows->offsets[rows->n++] = (int64_t)rows->len;
    *block = rows->data + rows->len;
    rows->len += bytes;
    return BM_OK;
}

bm_status bm_block_rows_take(bm_block_rows *rows, struct ArrowSchema *schema,
                             struct ArrowArray *array, bm_error *err)
{
    bm_status status = bm_grow_array(&rows->offsets, &rows->cap_offsets, rows->n + 1, err);
    if (status != BM_OK) {
        bm_block_rows_reset(rows);
        return status;
    }
    rows->offsets[rows->n] = (int64_t)rows->len;
    const bm_made_column columns[] = {
        {"i", "part", {rows->parts, NULL}, 1},
        {"Z", "block", {rows->offsets, rows->data}, 2},
    };
    const size_t n = rows->n, first = rows->with_parts ? 0 : 1;
    rows->parts = NULL, rows->offsets = NULL, rows->data = NULL;
    bm_block_rows_reset(rows);
    return bm_columns_take(columns + first, 2 - first, n, schema, array, err);
}

void bm_block_rows_reset(bm_block_rows *rows)
{
    bm_free_all(rows->parts, rows->offsets, rows->data);
    *rows = (bm_block_rows){.with_parts = rows->with_parts};
}
