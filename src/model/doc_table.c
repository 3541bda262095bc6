/* doc_table.c -- rows and the set of ids. The set holds row numbers, so an id is stored once; a
 * 32-bit tag spares most looks at the ids themselves. Three quarters full at most. */
#include "model/doc_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

#define CHECK_ROWS 1024u /* rows between two looks at the bound */

void bm_doc_table_reset(bm_doc_table *table)
{
    for (size_t i = 0; i < table->n_skipped; i++)
        bm_free(table->skipped[i].reason);
    bm_free(table->skipped);
    bm_free(table->rows);
    bm_free(table->slots);
    bm_buf_reset(&table->ids);
    memset(table, 0, sizeof *table);
}

uint64_t bm_doc_table_bytes(const bm_doc_table *table)
{
    return table->n * sizeof *table->rows + table->ids.len + table->n_slots * sizeof *table->slots +
           table->n_skipped * sizeof *table->skipped;
}

void bm_doc_table_end_adding(bm_doc_table *table)
{
    bm_free(table->slots);
    table->slots = NULL;
    table->n_slots = 0;
}

bm_str bm_doc_table_id(const bm_doc_table *table, size_t row)
{
    uint64_t begin = row == 0 ? 0 : table->rows[row - 1].id_end;
    return (bm_str){table->ids.data + begin, (size_t)(table->rows[row].id_end - begin)};
}

static bm_status too_large(const bm_doc_table *table, bm_error *err)
{
    return bm_fail(err, BM_ERR_NOMEM,
                   "the rows and ids of %zu documents need more than --memory allows", table->n);
}

static bm_status rehash(bm_doc_table *table, bm_error *err)
{
    size_t n_slots = table->n_slots == 0 ? 1024 : table->n_slots * 2;
    uint64_t needed = bm_doc_table_bytes(table) + n_slots * sizeof *table->slots;
    if (table->memory != 0 && needed > table->memory)
        return too_large(table, err);
    uint64_t *slots = bm_alloc_zero(n_slots, sizeof *slots);
    if (slots == NULL)
        return bm_fail_nomem(err, n_slots * sizeof *slots);
    for (size_t i = 0; i < table->n; i++) {
        bm_str id = bm_doc_table_id(table, i);
        uint64_t hash = XXH3_64bits(id.data, id.len);
        size_t at = (size_t)hash & (n_slots - 1);
        while (slots[at] != 0)
            at = (at + 1) & (n_slots - 1);
        slots[at] = (hash & UINT64_C(0xFFFFFFFF00000000)) | (uint64_t)(i + 1);
    }
    bm_free(table->slots);
    table->slots = slots;
    table->n_slots = n_slots;
    return BM_OK;
}

/* The slot of an id, or the free one where it belongs. */
static size_t find(const bm_doc_table *table, bm_str id, uint64_t hash)
{
    size_t at = (size_t)hash & (table->n_slots - 1);
    for (; table->slots[at] != 0; at = (at + 1) & (table->n_slots - 1)) {
        if ((table->slots[at] ^ hash) >> 32 != 0)
            continue;
        bm_str other = bm_doc_table_id(table, (size_t)(uint32_t)table->slots[at] - 1);
        if (other.len == id.len && memcmp(other.data, id.data, id.len) == 0)
            break;
    }
    return at;
}

/* Write the next free id#N to `out`, return its slot. */
static bm_status next_free(bm_doc_table *table, bm_str id, bm_buf *out, uint64_t *hash,
                           size_t *slot, bm_error *err)
{
    for (uint64_t n = 2;; n++) {
        out->len = 0;
        bm_status status = bm_buf_add(out, id.data, id.len, err);
        if (status == BM_OK)
            status = bm_buf_add_format(out, err, "#%" PRIu64, n);
        if (status != BM_OK)
            return status;
        *hash = XXH3_64bits(out->data, out->len);
        *slot = find(table, (bm_str){out->data, out->len}, *hash);
        if (table->slots[*slot] == 0)
            return BM_OK;
    }
}

static bm_status append(bm_doc_table *table, const bm_doc_row *row, bm_str id, uint64_t hash,
                        size_t slot, bm_error *err)
{
    void *rows = table->rows;
    if (table->memory != 0 && table->n % CHECK_ROWS == 0 &&
        bm_doc_table_bytes(table) > table->memory)
        return too_large(table, err);
    bm_status status = bm_grow(&rows, &table->cap, table->n + 1, sizeof *table->rows, err);
    table->rows = rows;
    if (status == BM_OK)
        status = bm_buf_add(&table->ids, id.data, id.len, err);
    if (status != BM_OK)
        return status;
    table->rows[table->n] = *row;
    table->rows[table->n].id_end = table->ids.len;
    table->n++;
    table->slots[slot] = (hash & UINT64_C(0xFFFFFFFF00000000)) | (uint64_t)table->n;
    return BM_OK;
}

bm_status bm_doc_table_add(bm_doc_table *table, const bm_doc_row *row, bm_str id, uint64_t id_hash,
                           const char *file_name, bm_error *err)
{
    if (table->n >= BM_DOCS_MAX)
        return bm_fail_at(err, BM_ERR_INPUT, file_name, row->line,
                          "more than %u documents in one run", (unsigned)BM_DOCS_MAX);
    if (table->n * 4 >= table->n_slots * 3) {
        bm_status status = rehash(table, err);
        if (status != BM_OK)
            return status;
    }
    size_t slot = find(table, id, id_hash);
    if (table->slots[slot] == 0)
        return append(table, row, id, id_hash, slot, err);
    if (!table->number_duplicates)
        return bm_fail_at(
            err, BM_ERR_INPUT, file_name, row->line,
            "the id '%.*s' was seen before (ids must differ; --duplicate-ids number makes them so)",
            (int)(id.len > 200 ? 200 : id.len), id.data);
    bm_buf numbered = {0};
    bm_status status = next_free(table, id, &numbered, &id_hash, &slot, err);
    if (status == BM_OK)
        status = append(table, row, (bm_str){numbered.data, numbered.len}, id_hash, slot, err);
    bm_buf_reset(&numbered);
    return status;
}

void bm_doc_table_expect(const bm_doc_table *table, uint64_t id_hash)
{
    if (table->n_slots > 0)
        __builtin_prefetch(&table->slots[(size_t)id_hash & (table->n_slots - 1)], 1);
}

bm_status bm_doc_table_skip(bm_doc_table *table, const bm_skipped *skipped, bm_error *err)
{
    void *all = table->skipped;
    bm_status status =
        bm_grow(&all, &table->cap_skipped, table->n_skipped + 1, sizeof *table->skipped, err);
    table->skipped = all;
    if (status == BM_OK)
        table->skipped[table->n_skipped++] = *skipped;
    return status;
}
