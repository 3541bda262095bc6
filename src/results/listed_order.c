/* SPDX-License-Identifier: Apache-2.0 */
/* listed_order.c -- sorts the documents of a pairs.tsv by keys.
 *
 * Rows are numbered from 1. The key of a document that is the a of a row is the number of its first
 * row as a. Every other document gets the key of an a, and is ordered after this a. With
 * groups.jsonl, it is the last a before the document in its group. Without groups.jsonl, it is the
 * a of the document's last row. Documents with the same a are ordered by groups.jsonl, or by their
 * last rows.
 *
 * Tests: tests/cli/cases/filter.sh, tests/cli/cases/staged.sh, tests/reference/test_cluster.py,
 *        tests/reference/test_report.py, tests/unit/jobs/test_jobs.c,
 *        tests/unit/results/test_listed_order.c */
#include "results/listed_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/file_names.h"
#include "results/result_dir.h"

/* === source table ===
 *
 * All columns are read in one walk over the rows. */

/* Is `field` the name of input number `input`? False if the manifest has no such input. */
static bool is_input(const bm_manifest *manifest, size_t input, bm_str field)
{
    if (input >= bm_manifest_n_inputs(manifest))
        return false;
    const char *name = bm_manifest_input_at(manifest, input)->file;
    return strlen(name) == field.len && memcmp(name, field.data, field.len) == 0;
}

typedef struct reading {
    const bm_manifest *manifest;
    bm_source_column *columns;
    size_t n, input; /* n: number of columns; input: number of rows read so far */
} reading;

static const char *what_names(const bm_manifest *manifest)
{
    return strcmp(bm_manifest_kind(manifest), "signatures") == 0 ? "manifest" : "report";
}

/* The bm_result_row_fn that reads a row of sources.tsv. */
static bm_status read_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    reading *r = ctx;
    if (!is_input(r->manifest, r->input, row->fields[BM_SOURCES_FILE]))
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "not the inputs that the %s names", what_names(r->manifest));
    for (size_t i = 0; i < r->n; i++) {
        bm_source_column *column = &r->columns[i];
        BM_TRY(bm_tsv_table_uint(row, column->field, &column->rows[r->input], err));
        if (__builtin_add_overflow(column->sum, column->rows[r->input], &column->sum))
            return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line, "the rows pass 2^64");
    }
    r->input++;
    return BM_OK;
}

bm_status bm_source_table_read(const bm_manifest *manifest, bm_source_column *columns, size_t n,
                               bm_error *err)
{
    const bm_result_dir dir = {.manifest = manifest};
    const size_t n_inputs = bm_manifest_n_inputs(manifest);
    reading r = {.manifest = manifest, .columns = columns, .n = n};
    char message[100];
    for (size_t i = 0; i < n; i++)
        columns[i].sum = 0;
    BM_TRY(bm_result_rows(&dir, BM_TABLE_SOURCES, read_row, &r, err));
    if (r.input == n_inputs)
        return BM_OK;
    snprintf(message, sizeof message, "%zu inputs (the %s names %zu)", r.input,
             what_names(manifest), n_inputs);
    return bm_result_fail(&dir, BM_FILE_SOURCES, 0, message, err);
}

/* --- rows in the order of the inputs --- */

bm_status bm_source_walk_open(const bm_manifest *manifest, bm_source_walk *out, bm_error *err)
{
    *out = (bm_source_walk){.manifest = manifest, .n = bm_manifest_n_inputs(manifest)};
    return bm_new_zero(&out->left, out->n, err);
}

void bm_source_walk_close(bm_source_walk *walk)
{
    bm_free(walk->left);
    *walk = (bm_source_walk){0};
}

bm_status bm_source_walk_begin(bm_source_walk *walk, size_t column, uint64_t *sum, bm_error *err)
{
    bm_source_column counted = {.field = column, .rows = walk->left};
    const bm_status status = bm_source_table_read(walk->manifest, &counted, 1, err);
    walk->file = 0;
    *sum = counted.sum;
    return status;
}

bm_status bm_source_walk_row(bm_source_walk *walk, const bm_tsv_table *row, size_t field,
                             bm_error *err)
{
    while (walk->file < walk->n && walk->left[walk->file] == 0)
        walk->file++;
    if (!is_input(walk->manifest, walk->file, row->fields[field]))
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "not the rows that " BM_FILE_SOURCES " counts");
    walk->left[walk->file]--;
    return BM_OK;
}

bm_status bm_listed_docs_row(bm_listed_docs *docs, const bm_pair *row, bm_error *err)
{
    const size_t last = row->a > row->b ? row->a : row->b;
    BM_TRY(bm_grow_array(&docs->docs, &docs->cap, last + 1, err));
    for (; docs->n <= last; docs->n++)
        docs->docs[docs->n] = (bm_listed_doc){0};
    bm_listed_doc *a = &docs->docs[row->a], *b = &docs->docs[row->b];
    docs->n_rows++;
    a->rows++;
    b->rows++;
    if (!a->leads)
        a->key = docs->n_rows;
    a->leads = true;
    b->a = row->a;
    b->equal = row->similarity >= 1.0;
    if (!b->leads)
        b->place = docs->n_rows;
    return BM_OK;
}

void bm_listed_docs_reset(bm_listed_docs *docs)
{
    bm_free(docs->docs);
    *docs = (bm_listed_docs){0};
}

/* --- the order --- */

typedef struct group_walk {
    bm_listed_docs *docs;
    const bm_id_set *ids;
    uint64_t key; /* key of the last document in the group that is the a of a row */
    uint64_t n_placed;
} group_walk;

static bm_status place_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    group_walk *walk = ctx;
    const uint32_t number = bm_id_set_find(walk->ids, id);
    (void)file;
    (void)err;
    if (number == BM_ID_NONE) /* the document has no row; place_by_groups compares n_placed */
        return BM_OK;
    bm_listed_doc *doc = &walk->docs->docs[number];
    if (doc->leads)
        walk->key = doc->key;
    doc->key = walk->key;
    doc->place = walk->n_placed++;
    return BM_OK;
}

/* The bm_result_group_fn that places the members of a group. */
static bm_status place_group(void *ctx, bm_group_file *row, bool *stop, bm_error *err)
{
    bm_str kept;
    (void)stop;
    return bm_group_file_members(row, place_member, ctx, &kept, err);
}

static bm_status place_by_groups(bm_listed_docs *docs, const bm_result_dir *dir,
                                 const bm_id_set *ids, bm_error *err)
{
    group_walk walk = {.docs = docs, .ids = ids};
    BM_TRY(bm_result_groups(dir, place_group, &walk, err));
    return walk.n_placed == docs->n
               ? BM_OK
               : bm_result_fail(dir, BM_FILE_GROUPS, 0,
                                "a document of the pairs is in none of the groups", err);
}

/* Without groups.jsonl: a document that is `a` in no row follows the `a` of the last row that has
 * the document. Documents that follow the same `a` are ordered by their last rows. */
static void place_by_rows(bm_listed_docs *docs)
{
    for (size_t i = 0; i < docs->n; i++) {
        bm_listed_doc *doc = &docs->docs[i];
        if (doc->leads)
            doc->place = 0;
        else
            doc->key = docs->docs[doc->a].key;
    }
}

static int by_key(const void *x, const void *y, void *ctx)
{
    const bm_listed_doc *docs = ctx;
    const bm_listed_doc *a = &docs[*(const uint32_t *)x], *b = &docs[*(const uint32_t *)y];
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static bool is_copy(const bm_listed_doc *doc)
{
    return doc->rows == 1 && !doc->leads && doc->equal;
}

bm_status bm_listed_docs_order(bm_listed_docs *docs, const bm_result_dir *dir, const bm_id_set *ids,
                               bm_listed_order *out, bm_error *err)
{
    const size_t n = docs->n;
    bm_status status = BM_OK;
    *out = (bm_listed_order){0};
    BM_TRY_OUT(bm_new(&out->docs, n, err));
    BM_TRY_OUT(bm_new(&out->places, n, err));
    BM_TRY_OUT(bm_new(&out->rep, n, err));
    if (dir == NULL)
        place_by_rows(docs);
    else
        BM_TRY_OUT(place_by_groups(docs, dir, ids, err));
    for (size_t i = 0; i < n; i++)
        out->docs[i] = (uint32_t)i;
    if (n > 1)
        qsort_r(out->docs, n, sizeof *out->docs, by_key, docs->docs);
    for (size_t i = 0; i < n; i++)
        out->places[out->docs[i]] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        const bm_listed_doc *doc = &docs->docs[out->docs[i]];
        out->rep[i] = is_copy(doc) ? out->places[doc->a] : (uint32_t)i;
    }
out:
    if (status != BM_OK)
        bm_listed_order_reset(out);
    return status;
}

void bm_listed_order_reset(bm_listed_order *order)
{
    bm_free_all(order->docs, order->places, order->rep);
    *order = (bm_listed_order){0};
}

void bm_listed_order_map(const bm_listed_order *order, bm_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pairs[i].a = order->places[pairs[i].a];
        pairs[i].b = order->places[pairs[i].b];
    }
}
