/* explain_pairs.c -- the verified pairs of one group.
 *
 * Where `dedup --pairs` left pairs.tsv, its rows of the group's documents. Else the group's
 * documents are read again, signed and banded as the report says, and every candidate pair among
 * them is verified: what dedup --pairs would have written, since whether two documents are a pair
 * depends on them alone. Identical documents are links from the first of them to each other one, as
 * there.
 *
 * A group whose pairs do not fit into the memory of the job is refused: 24 bytes a pair here, and
 * 64 in the graph while it is built.
 *
 * Tests: tests/unit/jobs/test_job_explain.c, tests/reference/test_groups.py
 * Tests: tests/fault/explain_calls.c */
#include "pipeline/explain/explainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "pipeline/match/match.h"
#include "model/file_names.h"
#include "model/pair_order.h"

#define BYTES_A_PAIR 88u
#define ROWS_A_LOOK  65536u
#define SHARES_A_BIT 1e-300 /* a threshold that any shared shingle reaches */

static double six_decimals(double similarity)
{
    char text[32];
    if (isnan(similarity))
        return similarity;
    snprintf(text, sizeof text, "%.6f", similarity); /* as our files are written and read */
    return strtod(text, NULL);
}

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
    e->answer.similarity =
        bm_pair_set_count(pairs) == 0 ? 0.0 : six_decimals(bm_pair_set_data(pairs)[0].similarity);
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
    BM_TRY_OUT(bm_explain_sets_read(e->settings, e->manifest, &two, &e->sets, err));
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

/* Documents by what is in them, copies in input order. */
static int by_content(const void *x, const void *y, void *ctx)
{
    const bm_hash128 *contents = ctx;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    const bm_hash128 *p = &contents[a], *q = &contents[b];
    if (p->hi != q->hi)
        return p->hi < q->hi ? -1 : 1;
    if (p->lo != q->lo)
        return p->lo < q->lo ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Each copy becomes a link of the first like it, and is marked in `copy`. */
static bm_status link_copies(bm_explainer *e, uint8_t *copy, bm_error *err)
{
    const bm_explain_sets *s = &e->sets;
    uint32_t *order = NULL;
    BM_TRY(bm_new(&order, s->n, err));
    for (size_t i = 0; i < s->n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, s->n, sizeof *order, by_content, s->contents);
    bm_status status = BM_OK;
    for (size_t i = 1, first = 0; i < s->n; i++) {
        const bm_hash128 *x = &s->contents[order[first]], *y = &s->contents[order[i]];
        if (x->hi != y->hi || x->lo != y->lo) {
            first = i;
            continue;
        }
        copy[order[i]] = 1;
        BM_TRY_OUT(
            add_pair(e, (bm_pair){s->numbers[order[first]], s->numbers[order[i]], 1.0}, err));
    }
out:
    bm_free(order);
    return status;
}

/* The sets that are no copies, moved together: CSR in `offsets` and the sets' own hashes.
 * numbers[i] is the document of set i. The sets of copies are lost. */
static size_t gather(bm_explain_sets *s, const uint8_t *copy, uint64_t *offsets, uint32_t *numbers)
{
    size_t n = 0;
    offsets[0] = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t size = (size_t)(s->offsets[i + 1] - s->offsets[i]);
        if (copy[i] != 0)
            continue;
        if (size > 0)
            memmove(s->hashes + offsets[n], s->hashes + s->offsets[i], size * sizeof *s->hashes);
        if (size > 0 && s->weights != NULL)
            memmove(s->weights + offsets[n], s->weights + s->offsets[i], size * sizeof *s->weights);
        offsets[n + 1] = offsets[n] + size;
        numbers[n++] = s->numbers[i];
    }
    return n;
}

/* Pairs of the gathered sets, as documents of the group. */
static bm_status find_pairs(bm_explainer *e, const uint64_t *offsets, const uint32_t *numbers,
                            size_t n, bm_error *err)
{
    bm_pair_set *found = NULL;
    bm_find_options options = e->find;
    options.resources.threads = e->settings->threads;
    options.callbacks = e->context.callbacks;
    options.max_pairs = e->settings->memory / BYTES_A_PAIR;
    bm_documents docs = bm_documents_of_weights(offsets, e->sets.hashes, e->sets.weights, n);
    bm_status status = bm_find_pairs(&options, &docs, &found, err);
    if (status == BM_ERR_NOMEM)
        status = too_many(e, err);
    const bm_pair *pairs = bm_pair_set_data(found);
    for (size_t i = 0; status == BM_OK && i < bm_pair_set_count(found); i++)
        status = add_pair(
            e,
            (bm_pair){numbers[pairs[i].a], numbers[pairs[i].b], six_decimals(pairs[i].similarity)},
            err);
    bm_pair_set_free(found);
    return status;
}

static bm_status compute_pairs(bm_explainer *e, bm_error *err)
{
    bm_explain_sets *s = &e->sets;
    BM_TRY(bm_explain_sets_read(e->settings, e->manifest, &e->ids, s, err));
    if (s->n != e->ids.n)
        return bm_fail_at(err, BM_ERR_FORMAT, e->options->path, 0,
                          "%zu of the group's %zu documents are in the inputs", s->n, e->ids.n);
    uint8_t *copy = bm_alloc_zero(s->n, sizeof *copy);
    uint64_t *offsets = bm_alloc(s->n + 1, sizeof *offsets);
    uint32_t *numbers = bm_alloc(s->n, sizeof *numbers);
    bm_status status = BM_OK;
    if (copy == NULL || offsets == NULL || numbers == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, s->n * 13));
    bm_job_context_stage(&e->context, "match", "pairs");
    if (e->a != e->b) /* before gathering, which loses the sets of copies */
        BM_TRY_OUT(measure(e, s->place[e->a], s->place[e->b], err));
    BM_TRY_OUT(link_copies(e, copy, err));
    BM_TRY_OUT(find_pairs(e, offsets, numbers, gather(s, copy, offsets, numbers), err));
    if (e->n_pairs > 1)
        qsort(e->pairs, e->n_pairs, sizeof *e->pairs, bm_pair_by_place);
out:
    bm_free(copy);
    bm_free(offsets);
    bm_free(numbers);
    return status;
}

bm_status bm_explain_pairs(bm_explainer *e, bm_error *err)
{
    e->from_inputs = bm_manifest_output(e->manifest, BM_FILE_PAIRS) == NULL;
    return e->from_inputs ? compute_pairs(e, err) : read_pairs(e, err);
}
