/* find_search.c -- from band keys, or all sets, to verified pairs in order.
 *
 * Tests: tests/unit/inmem/test_find_pairs.c */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/joins/all_pairs.h"
#include "lsh/candidates.h"
#include "lsh/joins/length_pairs.h"
#include "lsh/verify.h"
#include "lsh/weighted_jaccard.h"
#include "pipeline/inmem/finder.h"
#include "sketch/scheme.h"

#define PAIR_GRAIN    1024u  /* pairs a range */
#define CHUNK         65536u /* candidates a chunk */
#define SHARES_A_BIT  1e-300 /* a threshold that any shared hash reaches */
#define BY_LENGTH_DOC 28u    /* bytes of a document's place by size, and of finding it */

static bm_weighted_set weighted_set(const bm_finder *f, uint32_t doc)
{
    return (bm_weighted_set){f->docs[doc], f->weights + (f->docs[doc] - f->sets.hashes),
                             f->sizes[doc]};
}

static bool comes_with_similarity(const bm_finder *f)
{
    return f->options->verify == BM_VERIFY_EXACT && f->weights == NULL;
}

/* A pair that is no edge gets a similarity below every threshold: -1. */
static bm_status verify_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    bm_finder *f = ctx;
    const bm_word_rows rows = bm_scheme_rows(f->options->sketch.scheme, f->options->sketch.perms);
    const double threshold = f->options->bands.threshold;
    for (size_t i = begin; i < end; i++) {
        bm_pair *p = &f->chunk[i];
        if (f->options->verify == BM_VERIFY_EXACT && f->weights != NULL) {
            p->similarity = bm_weighted_jaccard(weighted_set(f, p->a), weighted_set(f, p->b));
            p->similarity = p->similarity >= threshold ? p->similarity : -1;
        } else if (f->options->verify == BM_VERIFY_EXACT) {
            p->similarity = bm_jaccard_at_least(f->docs[p->a], f->sizes[p->a], f->docs[p->b],
                                                f->sizes[p->b], threshold);
        } else if (f->options->verify == BM_VERIFY_SIGNATURE) {
            p->similarity =
                bm_agreement_at_least(f->words + (size_t)p->a * rows.uints,
                                      f->words + (size_t)p->b * rows.uints, rows, threshold);
        } else {
            p->similarity = NAN;
        }
    }
    return BM_OK;
}

/* Twice the pairs, as they are put in order by copying. */
static bm_status check_room(const bm_finder *f, bm_error *err)
{
    const uint64_t max_pairs = f->options->max_pairs, memory = f->options->resources.memory;
    if (max_pairs != 0 && f->out->n > max_pairs)
        return bm_fail(err, BM_ERR_NOMEM, "more than %llu pairs", (unsigned long long)max_pairs);
    if (memory != 0 && f->out->n > (memory - f->bytes) / (2 * sizeof *f->out->pairs))
        return bm_fail(err, BM_ERR_NOMEM,
                       "more than %zu pairs need more than %llu bytes "
                       "(`memory`)",
                       f->out->n - 1, (unsigned long long)memory);
    return BM_OK;
}

static bm_status keep(bm_finder *f, const bm_pair *pairs, size_t n, bm_error *err)
{
    bm_pair_set *out = f->out;
    void *kept = out->pairs;
    bm_status status = bm_grow(&kept, &f->cap_pairs, out->n + n, sizeof *out->pairs, err);
    out->pairs = kept;
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        out->pairs[out->n] = pairs[i];
        out->n += !(pairs[i].similarity < 0);
    }
    return status == BM_OK ? check_room(f, err) : status;
}

static bm_status on_candidates(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    bm_finder *f = ctx;
    f->chunk = pairs;
    f->out->stats.candidates += n;
    f->out->stats.verified += f->options->verify == BM_VERIFY_NONE ? 0 : n;
    bm_status status = bm_pool_for(f->pool, (bm_pool_split){n, PAIR_GRAIN}, verify_range, f, err);
    return status == BM_OK ? keep(f, pairs, n, err) : status;
}

/* Exact similarities are there already, but for weighted documents, whose pairs share a hash. */
static bm_status on_all_pairs(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    bm_finder *f = ctx;
    return comes_with_similarity(f) ? keep(f, pairs, n, err) : on_candidates(ctx, pairs, n, err);
}

static bm_status search_all(bm_finder *f, const bm_callbacks *callbacks, bm_error *err)
{
    const bool exact = comes_with_similarity(f);
    const uint64_t memory = f->options->resources.memory;
    bm_all_pairs_stats stats = {0};
    bm_all_pairs_job job = {.docs = f->docs,
                            .sizes = f->sizes,
                            .skip = f->skip,
                            .n_docs = f->sets.n_docs,
                            .threshold = exact ? f->options->bands.threshold : SHARES_A_BIT,
                            .memory = memory == 0 ? 0 : memory - f->bytes + 1,
                            .pool = f->pool,
                            .fn = on_all_pairs,
                            .ctx = f,
                            .callbacks = callbacks};
    bm_status status = bm_all_pairs(&job, &stats, err);
    if (exact)
        f->out->stats.candidates = f->out->stats.verified = stats.n_compared;
    return status;
}

/* The sets in the order of their sizes; `docs` and `sets` have room for all documents. */
static bm_status join_by_length(bm_finder *f, uint32_t *docs, const uint64_t **sets,
                                const bm_callbacks *callbacks, bm_error *err)
{
    const bm_set_list list = {.sizes = f->sizes, .skip = f->skip, .n_docs = f->sets.n_docs};
    bm_length_order order = {
        .docs = docs, .sizes = f->sizes, .threshold = f->options->bands.threshold};
    const bm_length_job job = {.order = &order,
                               .uncompared = f->options->verify != BM_VERIFY_EXACT,
                               .pool = f->pool,
                               .fn = on_all_pairs,
                               .ctx = f,
                               .callbacks = callbacks};
    bm_length_join *join = NULL;
    bm_status status = bm_order_by_size(&list, docs, &order.n, err);
    if (status == BM_OK)
        status = bm_length_join_open(&job, &join, err);
    if (status != BM_OK)
        return status;
    for (size_t i = 0; i < order.n; i++)
        sets[i] = f->docs[docs[i]];
    const bm_length_sets all = {.end = order.n, .sets = (const uint64_t *const *)sets};
    status = bm_length_join_run(join, &all, &all, err);
    if (!job.uncompared)
        f->out->stats.candidates = f->out->stats.verified = bm_length_join_compared(join);
    bm_length_join_close(join);
    return status;
}

static bm_status search_by_length(bm_finder *f, const bm_callbacks *callbacks, bm_error *err)
{
    const size_t n = f->sets.n_docs;
    bm_status status = bm_finder_reserve(f, bm_length_join_bytes() + n * BY_LENGTH_DOC, err);
    if (status != BM_OK)
        return status;
    uint32_t *docs = bm_alloc(n, sizeof *docs);
    const uint64_t **sets = bm_alloc(n, sizeof *sets);
    status = docs == NULL || sets == NULL ? bm_fail_nomem(err, n * BY_LENGTH_DOC)
                                          : join_by_length(f, docs, sets, callbacks, err);
    bm_free(docs);
    bm_free(sets);
    return status;
}

bm_status bm_finder_search(bm_finder *finder, bm_error *err)
{
    bm_callbacks callbacks = bm_meter_callbacks(&finder->meter);
    bm_status status;
    if (finder->options->candidates == BM_CANDIDATES_ALL) {
        bm_meter_stage(&finder->meter, "compare", "documents");
        status = search_all(finder, &callbacks, err);
    } else if (finder->options->candidates == BM_CANDIDATES_LENGTH) {
        bm_meter_stage(&finder->meter, "compare", "pairs");
        status = search_by_length(finder, &callbacks, err);
    } else {
        bm_band_keyset keys = {.bands = finder->out->plan.bands,
                               .n_docs = finder->sets.n_docs,
                               .keys = (const uint64_t *const *)finder->keys,
                               .skip = finder->skip};
        bm_meter_stage(&finder->meter, "bucket", "bands");
        status = bm_candidates(&(bm_candidates_job){.keys = &keys,
                                                    .pool = finder->pool,
                                                    .chunk = CHUNK,
                                                    .fn = on_candidates,
                                                    .ctx = finder,
                                                    .callbacks = &callbacks},
                               err);
    }
    finder->out->stats.edges = finder->out->n;
    return status;
}

/* One round of a stable counting sort, by a or by b. begins: n_docs + 1 zeroes. */
static void order_by(const bm_finder *f, const bm_pair *from, bm_pair *to, bool by_a,
                     size_t *begins)
{
    for (size_t i = 0; i < f->out->n; i++)
        begins[(size_t)(by_a ? from[i].a : from[i].b) + 1]++;
    for (size_t doc = 1; doc <= f->sets.n_docs; doc++)
        begins[doc] += begins[doc - 1];
    for (size_t i = 0; i < f->out->n; i++)
        to[begins[by_a ? from[i].a : from[i].b]++] = from[i];
}

/* By a, then b, in O(pairs + documents). */
bm_status bm_finder_order(bm_finder *finder, bm_error *err)
{
    bm_finder *f = finder;
    const size_t n_docs = f->sets.n_docs, n_pairs = f->out->n;
    if (n_pairs < 2)
        return BM_OK;
    bm_pair *other = bm_alloc(n_pairs, sizeof *other);
    size_t *begins = bm_alloc_zero(n_docs + 1, 2 * sizeof *begins);
    bm_status status = BM_OK;
    if (other == NULL || begins == NULL) {
        status = bm_fail_nomem(err, n_pairs * sizeof *other + n_docs * 2 * sizeof *begins);
    } else {
        order_by(f, f->out->pairs, other, false, begins);
        order_by(f, other, f->out->pairs, true, begins + n_docs + 1);
    }
    bm_free(other);
    bm_free(begins);
    return status;
}
