/* explain_pairs.c -- the verified pairs of one group.
 *
 * Where `dedup --pairs` left pairs.tsv, its rows of the group's documents. Else the group's
 * documents are read again, signed and banded as the report says, and every candidate pair among
 * them is verified (set_links.h).
 *
 * A group whose pairs do not fit into the memory of the job is refused: 24 bytes a pair here, and
 * 64 in the graph while it is built.
 *
 * Tests: tests/unit/jobs/test_job_explain.c, tests/reference/test_groups.py
 * Tests: tests/fault/explain_calls.c */
#include "report/explainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "inmem/set_links.h"
#include "json/json_scan.h"
#include "model/file_names.h"
#include "model/pair_order.h"

#define BYTES_A_PAIR 88u
#define ROWS_A_LOOK  65536u
#define SHARES_A_BIT 1e-300 /* a threshold that any shared shingle reaches */

static bm_status too_many(const bm_explainer *e, bm_error *err)
{
    return bm_fail(err, BM_ERR_NOMEM,
                   "the pairs of the group's %zu documents do not fit into %" PRIu64
                   " bytes (`memory`; %" PRIu64 " of them do)",
                   e->ids.n, e->settings->memory, e->settings->memory / BYTES_A_PAIR);
}

static bm_status add_pair(bm_explainer *e, bm_pair pair, bm_error *err)
{
    if (e->n_pairs >= e->settings->memory / BYTES_A_PAIR)
        return too_many(e, err);
    BM_TRY(bm_grow_array(&e->pairs, &e->cap_pairs, e->n_pairs + 1, err));
    e->pairs[e->n_pairs++] = pair;
    return BM_OK;
}

/* --- from pairs.tsv --- */

typedef struct reading {
    bm_explainer *e;
    uint64_t n_rows;
} reading;

/* A bm_pair_row_fn. */
static bm_status read_row(void *ctx, const bm_pair_file *row, bm_error *err)
{
    reading *r = ctx;
    bm_explainer *e = r->e;
    const uint32_t a = bm_id_set_find(&e->ids, row->id_a);
    const uint32_t b = a == BM_ID_NONE ? BM_ID_NONE : bm_id_set_find(&e->ids, row->id_b);
    if (b != BM_ID_NONE)
        BM_TRY(add_pair(e, (bm_pair){a, b, row->similarity}, err));
    if (++r->n_rows % ROWS_A_LOOK != 0)
        return BM_OK;
    bm_meter_progress(&e->context.meter, row->lines.n_bytes, 0, r->n_rows);
    return bm_meter_check(&e->context.meter, err);
}

static bm_status read_pairs(bm_explainer *e, bm_error *err)
{
    const bm_result_dir dir = {e->manifest, &e->context.callbacks, e->settings->memory};
    reading r = {.e = e};
    bm_job_context_stage(&e->context, "read", "bytes");
    return bm_result_pairs(&dir, read_row, &r, err);
}

/* --- from removed.tsv --- */

/* A bm_result_row_fn: under `verify` contained a document is in its group by the one that is kept, and by nothing else. */
static bm_status read_held(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    bm_explainer *e = ctx;
    const bool known = bm_json_scan_is(row->fields[BM_REMOVED_REASON], BM_REMOVED_IS_KNOWN);
    const uint32_t a = known ? BM_ID_NONE : bm_id_set_find(&e->ids, row->fields[BM_REMOVED_KEPT]),
                   b = a == BM_ID_NONE ? BM_ID_NONE
                                       : bm_id_set_find(&e->ids, row->fields[BM_REMOVED_ID]);
    double similarity;
    if (b == BM_ID_NONE)
        return BM_OK;
    if (!bm_table_similarity(row->fields[BM_REMOVED_JACCARD], &similarity))
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "the similarity is none of six decimals");
    return add_pair(e, (bm_pair){a < b ? a : b, a < b ? b : a, similarity}, err);
}

static bm_status read_holders(bm_explainer *e, bm_error *err)
{
    const bm_result_dir dir = {e->manifest, &e->context.callbacks, e->settings->memory};
    bm_job_context_stage(&e->context, "read", "bytes");
    BM_TRY(bm_result_rows(&dir, BM_TABLE_REMOVED, read_held, e, err));
    if (e->n_pairs > 1)
        qsort(e->pairs, e->n_pairs, sizeof *e->pairs, bm_pair_by_place);
    return BM_OK;
}

/* --- of two documents themselves --- */

/* The hashes of two sets one behind the other, and their weights where there are some: the caller's to
 * free. */
static bm_status copy_two(const bm_explain_sets *s, size_t x, size_t y, bm_documents *out,
                          bm_error *err)
{
    const size_t n_x = (size_t)(s->offsets[x + 1] - s->offsets[x]),
                 n = n_x + (size_t)(s->offsets[y + 1] - s->offsets[y]);
    uint64_t *hashes = bm_alloc(n, sizeof *hashes);
    double *weights = s->weights != NULL ? bm_alloc(n, sizeof *weights) : NULL;
    if (hashes == NULL || (s->weights != NULL && weights == NULL)) {
        bm_free(hashes);
        bm_free(weights);
        return bm_fail_nomem(err, n * (sizeof *hashes + sizeof *weights));
    }
    memcpy(hashes, s->hashes + s->offsets[x], n_x * sizeof *hashes);
    memcpy(hashes + n_x, s->hashes + s->offsets[y], (n - n_x) * sizeof *hashes);
    if (weights != NULL) {
        memcpy(weights, s->weights + s->offsets[x], n_x * sizeof *weights);
        memcpy(weights + n_x, s->weights + s->offsets[y], (n - n_x) * sizeof *weights);
    }
    *out = bm_documents_of_weights(NULL, hashes, weights, 2);
    return BM_OK;
}

/* Of two sets, whatever it is: exactly, or by the agreement of their signatures where that is how
 * the directory's pairs were verified. */
static bm_status measure(bm_explainer *e, size_t x, size_t y, bm_error *err)
{
    const bm_explain_sets *s = &e->sets;
    uint64_t n_x = s->offsets[x + 1] - s->offsets[x], n_y = s->offsets[y + 1] - s->offsets[y];
    uint64_t offsets[] = {0, n_x, n_x + n_y};
    bm_find_options options = e->find;
    uint32_t perms = options.sketch.perms;
    bm_pair_set *pairs = NULL;
    bm_documents two;
    BM_TRY(copy_two(s, x, y, &two, err));
    two.offsets = offsets;
    bool words = options.verify == BM_VERIFY_SIGNATURE;
    options.verify = words ? BM_VERIFY_SIGNATURE : BM_VERIFY_EXACT;
    options.bands.threshold = words ? .5 / perms : SHARES_A_BIT;
    options.candidates = words ? BM_CANDIDATES_LSH : BM_CANDIDATES_ALL;
    options.bands.bands = perms; /* of one row: any common word */
    options.bands.rows = 1;
    options.resources.threads = 1;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_find_pairs(&options, &two, &pairs, err));
    e->answer.similarity = bm_pair_set_count(pairs) == 0
                               ? 0.0
                               : bm_six_decimals(bm_pair_set_data(pairs)[0].similarity);
out:
    bm_pair_set_free(pairs);
    bm_free((void *)(uintptr_t)two.hashes);
    bm_free((void *)(uintptr_t)two.weights);
    return status;
}

/* The inputs once more, for two documents. */
static bm_status read_two(bm_explainer *e, bm_error *err)
{
    bm_id_set two = {0};
    uint32_t number;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_id_set_add(&two, bm_id_set_id(&e->ids, e->a), &number, err));
    BM_TRY_OUT(bm_id_set_add(&two, bm_id_set_id(&e->ids, e->b), &number, err));
    BM_TRY_OUT(bm_explain_sets_read(e->settings, e->manifest, e->options->streams[0], &two,
                                    &e->sets, err));
    if (e->sets.n != 2)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, e->options->path, 0,
                              "%zu of two documents are in the inputs", e->sets.n));
    status = measure(e, e->sets.place[0], e->sets.place[1], err);
out:
    bm_id_set_reset(&two);
    return status;
}

bm_status bm_explain_similarity(bm_explainer *e, bm_error *err)
{
    bm_error inner = {0};
    char why[2100];
    size_t link = bm_link_graph_find(&e->answer.graph, e->a, e->b);
    if (link != SIZE_MAX)
        e->answer.similarity = e->pairs[link].similarity;
    if (link != SIZE_MAX || e->from_inputs)
        return BM_OK;
    bm_status status = read_two(e, &inner);
    if (status == BM_ERR_IO || status == BM_ERR_FORMAT || status == BM_ERR_INPUT) {
        bm_error_format(&inner, why, sizeof why);
        bm_meter_log(&e->context.meter, BM_LOG_WARNING,
                     "the similarity of the two themselves is not known: %s", why);
        return BM_OK;
    }
    if (status != BM_OK && err != NULL)
        *err = inner;
    return status;
}

/* --- from the inputs --- */

/* A bm_set_link_fn: from sets to documents of the group. */
static bm_status add_link(void *ctx, bm_pair link, bm_error *err)
{
    bm_explainer *e = ctx;
    const uint32_t *numbers = e->sets.numbers;
    return add_pair(e, (bm_pair){numbers[link.a], numbers[link.b], link.similarity}, err);
}

static bm_status compute_pairs(bm_explainer *e, bm_error *err)
{
    bm_explain_sets *s = &e->sets;
    BM_TRY(bm_explain_sets_read(e->settings, e->manifest, e->options->streams[0], &e->ids, s, err));
    if (s->n != e->ids.n)
        return bm_fail_at(err, BM_ERR_FORMAT, e->options->path, 0,
                          "%zu of the group's %zu documents are in the inputs", s->n, e->ids.n);
    bm_job_context_stage(&e->context, "match", "pairs");
    if (e->a != e->b) /* before the sets of copies are lost */
        BM_TRY(measure(e, s->place[e->a], s->place[e->b], err));
    bm_find_options options = e->find;
    options.resources.threads = e->settings->threads;
    options.callbacks = e->context.callbacks;
    options.max_pairs = e->settings->memory / BYTES_A_PAIR;
    const bm_linked_sets sets = {s->offsets, s->hashes, s->weights, s->contents, s->n};
    const bm_status status = bm_set_links(&options, &sets, add_link, e, err);
    if (status == BM_ERR_NOMEM)
        return too_many(e, err);
    if (e->n_pairs > 1)
        qsort(e->pairs, e->n_pairs, sizeof *e->pairs, bm_pair_by_place);
    return status;
}

bm_status bm_explain_pairs(bm_explainer *e, bm_error *err)
{
    const bool no_pairs = bm_manifest_output(e->manifest, BM_FILE_PAIRS) == NULL;
    if (no_pairs && e->find.verify == BM_VERIFY_CONTAINED)
        return read_holders(e, err);
    e->from_inputs = no_pairs;
    return e->from_inputs ? compute_pairs(e, err) : read_pairs(e, err);
}
