/* find_search.c -- from band keys, or all sets, to verified pairs in order.
 *
 * Tests: tests/unit/inmem/test_find_pairs.c */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/all_pairs.h"
#include "lsh/candidates.h"
#include "lsh/verify.h"
#include "lsh/weighted_jaccard.h"
#include "inmem/finder.h"
#include "sketch/scheme.h"

#define PAIR_GRAIN   1024u  /* pairs a range */
#define CHUNK        65536u /* candidates a chunk */
#define SHARES_A_BIT 1e-300 /* a threshold that any shared hash reaches */

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
    BM_TRY(bm_pool_for(f->pool, (bm_pool_split){n, PAIR_GRAIN}, verify_range, f, err));
    return keep(f, pairs, n, err);
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
    bm_all_pairs_job job = {
        .docs = f->docs,
        .sizes = f->sizes,
        .skip = f->skip,
        .n_docs = f->sets.n_docs,
        .rule = {BM_MEASURE_JACCARD, exact ? f->options->bands.threshold : SHARES_A_BIT},
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

bm_status bm_finder_search(bm_finder *finder, bm_error *err)
{
    bm_callbacks callbacks = bm_meter_callbacks(&finder->meter);
    bm_status status;
    if (finder->options->candidates == BM_CANDIDATES_ALL) {
        bm_meter_stage(&finder->meter, "compare", "documents");
        status = search_all(finder, &callbacks, err);
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
