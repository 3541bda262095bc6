/* listed_pairs.c -- the report of the same folder, asked for the file's name; then keys that sort its documents.
 *
 * Rows are numbered from 1. The key of a document that is the a of a row is the number of its first such row. One
 * that is only a b follows the a before it in its group, or, without groups, the a of its last row. All others
 * of an a stand by their place in groups.jsonl, or by their last row.
 *
 * Memory: 32 bytes a document, and 12 more while they are sorted.
 *
 * Tests: tests/reference/test_cluster.py, tests/cli/cases/damaged_outputs.sh, tests/cli/cases/cluster.sh */
#include "pipeline/jobs/listed_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/results/result_dir.h"
#include "model/file_names.h"

#define REPORT_BYTES ((uint64_t)1 << 30) /* that it may take */

/* What the job was. */
static bm_status read_parameters(bm_listed_pairs *out, bm_error *err)
{
    bm_result_facts f;
    bm_result_facts_begin(&f, out->report, err);
    out->threshold = bm_result_facts_double(&f, "parameters.threshold");
    out->stars = bm_result_facts_word(&f, BM_OPTION_CLUSTER) == BM_CLUSTER_STAR;
    out->against = bm_result_is_against(out->report);
    return bm_result_facts_end(&f);
}

/* *out: the report beside a file; NULL: there is none, or one of somebody else. */
static bm_status open_report(const char *path, int folder_len, bm_manifest **out, bm_error *err)
{
    char *report = NULL;
    bm_error why = {0};
    *out = NULL;
    BM_TRY(bm_string_format(&report, err, "%.*s" BM_FILE_REPORT, folder_len, path));
    bm_status status = bm_manifest_open(report, REPORT_BYTES, out, &why);
    bm_free(report);
    if (status == BM_ERR_FORMAT ||
        (status == BM_ERR_IO && (why.code == ENOENT || why.code == ENOTDIR)))
        return BM_OK;
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

bm_status bm_listed_pairs_open(const char *path, bm_listed_pairs *out, bm_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    *out = (bm_listed_pairs){0};
    if (strcmp(path, "-") == 0)
        return BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_report(path, (int)(name - path), &out->report, err));
    if (out->report != NULL && bm_manifest_output_find(out->report, name) != NULL)
        BM_TRY_OUT(bm_listed_open(out->report, name, path, &out->listed, err));
    if (out->listed != NULL)
        BM_TRY_OUT(read_parameters(out, err));
out:
    if (status != BM_OK)
        bm_listed_pairs_close(out);
    return status;
}

void bm_listed_pairs_close(bm_listed_pairs *pairs)
{
    bm_listed_close(pairs->listed);
    bm_manifest_close(pairs->report);
    bm_free(pairs->docs);
    *pairs = (bm_listed_pairs){0};
}

/* --- rows --- */

bm_status bm_listed_pairs_row(bm_listed_pairs *pairs, const bm_pair *row, bm_error *err)
{
    const size_t last = row->a > row->b ? row->a : row->b;
    BM_TRY(bm_grow_array(&pairs->docs, &pairs->cap, last + 1, err));
    for (; pairs->n <= last; pairs->n++)
        pairs->docs[pairs->n] = (bm_listed_doc){0};
    bm_listed_doc *a = &pairs->docs[row->a], *b = &pairs->docs[row->b];
    pairs->n_rows++;
    a->rows++;
    b->rows++;
    if (!a->leads)
        a->key = pairs->n_rows;
    a->leads = true;
    b->a = row->a;
    b->equal = row->similarity >= 1.0;
    if (!b->leads)
        b->place = pairs->n_rows;
    return BM_OK;
}

/* --- the order --- */

typedef struct group_walk {
    bm_listed_pairs *pairs;
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
    bm_listed_doc *doc = &walk->pairs->docs[number];
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

static bm_status place_by_groups(bm_listed_pairs *pairs, const bm_id_set *ids, bm_meter *meter,
                                 bm_error *err)
{
    const bm_callbacks callbacks = bm_meter_callbacks(meter);
    const bm_result_dir dir = {pairs->report, &callbacks, SIZE_MAX};
    group_walk walk = {.pairs = pairs, .ids = ids};
    BM_TRY(bm_result_groups(&dir, place_group, &walk, err));
    return walk.n_placed == pairs->n
               ? BM_OK
               : bm_result_fail(&dir, BM_FILE_GROUPS, 0,
                                "a document of the pairs is in none of the groups", err);
}

/* Without groups: behind the a of its last row, in the order of the rows. */
static void place_by_rows(bm_listed_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++) {
        bm_listed_doc *doc = &pairs->docs[i];
        if (doc->leads)
            doc->place = 0;
        else
            doc->key = pairs->docs[doc->a].key;
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

bm_status bm_listed_pairs_order(bm_listed_pairs *pairs, const bm_id_set *ids, bm_meter *meter,
                                bm_listed_order *out, bm_error *err)
{
    const size_t n = pairs->n;
    uint32_t *place = bm_alloc(n, sizeof *place);
    *out = (bm_listed_order){bm_alloc(n, sizeof *out->docs), bm_alloc(n, sizeof *out->rep)};
    bm_status status = BM_OK;
    BM_TRY_OUT(out->docs != NULL && out->rep != NULL && place != NULL
                   ? BM_OK
                   : bm_fail_nomem(err, 3 * n * sizeof *place));
    if (pairs->stars) {
        place_by_rows(pairs);
    } else {
        BM_TRY_OUT(place_by_groups(pairs, ids, meter, err));
    }
    for (size_t i = 0; i < n; i++)
        out->docs[i] = (uint32_t)i;
    if (n > 1)
        qsort_r(out->docs, n, sizeof *out->docs, by_key, pairs->docs);
    for (size_t i = 0; i < n; i++)
        place[out->docs[i]] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        const bm_listed_doc *doc = &pairs->docs[out->docs[i]];
        out->rep[i] = is_copy(doc) ? place[doc->a] : (uint32_t)i;
    }
out:
    bm_free(place);
    if (status != BM_OK)
        bm_listed_order_reset(out);
    return status;
}

void bm_listed_order_reset(bm_listed_order *order)
{
    bm_free(order->docs);
    bm_free(order->rep);
    *order = (bm_listed_order){0};
}
