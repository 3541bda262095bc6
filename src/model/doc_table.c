/* doc_table.c -- the rows, and the set of ids, which holds row numbers (base/hash_table.h), so that an
 * id is stored once. */
#include "model/doc_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

#define CHECK_ROWS 1024u /* between two looks at the memory */

void bm_doc_table_reset(bm_doc_table *table)
{
    for (size_t i = 0; i < table->n_skipped; i++)
        bm_free(table->skipped[i].reason);
    bm_free(table->skipped);
    bm_free(table->rows);
    bm_hash_table_reset(&table->set);
    bm_next_numbers_reset(&table->next);
    bm_buf_reset(&table->ids);
    memset(table, 0, sizeof *table);
}

uint64_t bm_doc_table_bytes(const bm_doc_table *table)
{
    return table->n * sizeof *table->rows + table->ids.len +
           table->set.n_slots * sizeof *table->set.slots +
           table->n_skipped * sizeof *table->skipped + table->reason_bytes +
           bm_next_numbers_bytes(&table->next);
}

void bm_doc_table_end_adding(bm_doc_table *table)
{
    bm_hash_table_reset(&table->set);
    bm_next_numbers_reset(&table->next);
}

bm_str bm_doc_table_id(const bm_doc_table *table, size_t row)
{
    uint64_t begin = row == 0 ? 0 : table->rows[row - 1].id_end;
    if (table->rows[row].id_end == begin) /* of empty ids alone there is no array */
        return (bm_str){"", 0};
    return (bm_str){table->ids.data + begin, (size_t)(table->rows[row].id_end - begin)};
}

/* More are not known yet, so what would do is told for those that are. The part of the memory that is
 * theirs grows at least as the memory does. */
static bm_status too_large(const bm_doc_table *table, uint64_t needed, bm_error *err)
{
    const double least = (double)needed * (double)table->memory_all / (double)table->memory;
    return bm_fail(err, BM_ERR_NOMEM,
                   "the first %zu documents and %zu bad records do not fit into `memory` of %lluM "
                   "(at least %lluM)",
                   table->n, table->n_skipped, (unsigned long long)(table->memory_all >> 20),
                   (unsigned long long)(least / (1 << 20)) + 1);
}

static bm_status check_bytes(const bm_doc_table *table, bm_error *err)
{
    const uint64_t bytes = bm_doc_table_bytes(table);
    return table->memory != 0 && bytes > table->memory ? too_large(table, bytes, err) : BM_OK;
}

/* --- the set of ids --- */

static uint64_t hash_again(const void *owner, uint32_t row, uint64_t seed)
{
    const bm_str id = bm_doc_table_id(owner, row);
    return XXH3_64bits_withSeed(id.data, id.len, seed);
}

static bool has_id(const void *owner, uint32_t row, const void *key)
{
    const bm_str other = bm_doc_table_id(owner, row), id = *(const bm_str *)key;
    return other.len == id.len && memcmp(other.data, id.data, id.len) == 0;
}

static uint64_t hash_of(const bm_doc_table *table, bm_doc_id id)
{
    return table->set.seed == 0 ? id.hash
                                : XXH3_64bits_withSeed(id.text.data, id.text.len, table->set.seed);
}

static bm_status reserve(bm_doc_table *table, bm_error *err)
{
    if (table->memory != 0 && bm_hash_table_is_full(&table->set)) {
        const uint64_t needed =
            bm_doc_table_bytes(table) + bm_hash_table_rebuilt_bytes(&table->set);
        if (needed > table->memory)
            return too_large(table, needed, err);
    }
    return bm_hash_table_reserve(&table->set, hash_again, table, err);
}

/* The slot of an id, or the free one where it belongs. */
static size_t find(const bm_doc_table *table, bm_doc_id id)
{
    return bm_hash_table_find(&table->set, hash_of(table, id), has_id, table, &id.text);
}

/* *out: the next free id#N of the id of row `first`, whose text lies in `text`. */
static bm_status next_free(bm_doc_table *table, uint32_t first, bm_buf *text, bm_doc_id *out,
                           bm_error *err)
{
    const bm_str id = bm_doc_table_id(table, first);
    uint32_t *number;
    bm_status status = bm_next_numbers_of(&table->next, first, &number, err);
    if (status == BM_OK)
        status = bm_buf_add(text, id.data, id.len, err);
    for (; status == BM_OK; (*number)++) {
        text->len = id.len;
        status = bm_buf_add_format(text, err, "#%" PRIu32, *number);
        if (status != BM_OK)
            break;
        *out = (bm_doc_id){{text->data, text->len}, XXH3_64bits(text->data, text->len)};
        table->n_tried++;
        if (bm_hash_table_is_free(&table->set, find(table, *out)))
            break;
    }
    return status;
}

/* `slot` is the free one where the id belongs. */
static bm_status append(bm_doc_table *table, const bm_doc_row *row, bm_doc_id id, size_t slot,
                        bm_error *err)
{
    if (table->n % CHECK_ROWS == 0)
        BM_TRY(check_bytes(table, err));
    BM_TRY(bm_grow_array(&table->rows, &table->cap, table->n + 1, err));
    BM_TRY(bm_buf_add(&table->ids, id.text.data, id.text.len, err));
    table->rows[table->n] = *row;
    table->rows[table->n].id_end = table->ids.len;
    table->n++;
    bm_hash_table_put(&table->set, slot, hash_of(table, id), (uint32_t)table->n - 1);
    return BM_OK;
}

/* The row's id is that of the row `first`. */
static bm_status repeated(const bm_doc_table *table, const bm_doc_row *row, uint64_t first,
                          const char *file_name, bm_error *err)
{
    const bm_doc_row *other = &table->rows[first];
    const bm_str id = bm_doc_table_id(table, first);
    const int len = (int)(id.len > 200 ? 200 : id.len);
    char place[400] = "before";
    if (table->files != NULL && other->file < table->files->n) {
        const char *name = table->files->names[other->file];
        int used = snprintf(place, sizeof place, "before, at %.350s", name);
        if (other->line > 0)
            snprintf(place + used, sizeof place - (size_t)used, ":%" PRIu64, other->line);
    }
    return bm_fail_at(err, BM_ERR_INPUT, file_name, row->line,
                      "the id '%.*s' was seen %s (ids must differ; `duplicate_ids` number makes "
                      "them so)",
                      len, id.data, place);
}

bm_status bm_doc_table_add(bm_doc_table *table, const bm_doc_row *row, bm_doc_id id,
                           const char *file_name, bm_error *err)
{
    if (table->n >= BM_DOCS_MAX)
        return bm_fail_at(err, BM_ERR_INPUT, file_name, row->line,
                          "more than %u documents in one run", (unsigned)BM_DOCS_MAX);
    BM_TRY(reserve(table, err));
    const size_t slot = find(table, id);
    if (bm_hash_table_is_free(&table->set, slot))
        return append(table, row, id, slot, err);
    const uint32_t first = bm_hash_table_number(&table->set, slot);
    if (!table->number_duplicates)
        return repeated(table, row, first, file_name, err);
    bm_buf text = {0};
    bm_doc_id numbered;
    bm_status status = BM_OK;
    BM_TRY_OUT(next_free(table, first, &text, &numbered, err));
    status = append(table, row, numbered, find(table, numbered), err);
out:
    bm_buf_reset(&text);
    return status;
}

void bm_doc_table_expect(const bm_doc_table *table, uint64_t id_hash)
{
    bm_hash_table_fetch(&table->set, id_hash);
}

/* With what an allocation costs. */
static uint64_t reason_bytes(const bm_skipped *skipped)
{
    return strlen(skipped->reason) + 1 + 2 * sizeof(void *);
}

bm_status bm_doc_table_skip(bm_doc_table *table, const bm_skipped *skipped, bm_error *err)
{
    if (table->n_skipped % CHECK_ROWS == 0)
        BM_TRY(check_bytes(table, err));
    BM_TRY(bm_grow_array(&table->skipped, &table->cap_skipped, table->n_skipped + 1, err));
    table->skipped[table->n_skipped++] = *skipped;
    table->reason_bytes += reason_bytes(skipped);
    table->n_swallowing += skipped->n_behind > 0;
    return BM_OK;
}

void bm_doc_table_cut(bm_doc_table *table, size_t n_rows, size_t n_skipped)
{
    while (table->n_skipped > n_skipped) {
        table->reason_bytes -= reason_bytes(&table->skipped[--table->n_skipped]);
        bm_free(table->skipped[table->n_skipped].reason);
    }
    table->ids.len = n_rows == 0 ? 0 : (size_t)table->rows[n_rows - 1].id_end;
    table->n = n_rows;
}
