/* listed_order.c -- keys that sort the documents.
 *
 * Rows are numbered from 1. The key of a document that is the a of a row is the number of its first such row. One
 * that is only a b follows the a before it in its group, or, without groups, the a of its last row. All others
 * of an a stand by their place in groups.jsonl, or by their last row.
 *
 * Tests: tests/unit/results/test_listed_order.c, tests/reference/test_cluster.py, tests/reference/test_report.py */
#include "results/listed_order.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/file_names.h"

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
    uint64_t key; /* of the last a */
    uint64_t n_placed;
} group_walk;

static bm_status place_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    group_walk *walk = ctx;
    const uint32_t number = bm_id_set_find(walk->ids, id);
    (void)file;
    (void)err;
    if (number == BM_ID_NONE) /* of no pair: the count of those that were placed tells */
        return BM_OK;
    bm_listed_doc *doc = &walk->docs->docs[number];
    if (doc->leads)
        walk->key = doc->key;
    doc->key = walk->key;
    doc->place = walk->n_placed++;
    return BM_OK;
}

/* A bm_result_group_fn. */
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

/* Without groups: behind the a of its last row, in the order of the rows. */
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
    bm_free(order->docs);
    bm_free(order->places);
    bm_free(order->rep);
    *order = (bm_listed_order){0};
}

void bm_listed_order_map(const bm_listed_order *order, bm_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pairs[i].a = order->places[pairs[i].a];
        pairs[i].b = order->places[pairs[i].b];
    }
}
