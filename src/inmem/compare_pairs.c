/* compare_pairs.c -- bm_compare_pairs: exact similarities of pairs that somebody else chose, over sets of
 * hashes that are sorted already.
 *
 * For programs that find candidates by means of their own, such as a cluster that shuffles band keys: what
 * is left to do is to count common hashes. Nothing is copied and nothing is sorted; the sets are looked
 * through once, since the counting loops rely on their order.
 *
 * A call owns its threads; different calls are independent.
 *
 * Tests: tests/unit/inmem/test_compare_pairs.c */
#include <bandmill/sketch.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/sized_struct.h"
#include "lsh/verify.h"
#include "model/option_check.h"
#include "model/option_defaults.h"
#include "inmem/documents.h"

#define PAIR_GRAIN 1024u /* pairs a range */
#define DOC_GRAIN  256u  /* documents a range */

static const bm_compare_options compare_defaults = {.resources = BM_RESOURCE_DEFAULTS};

void bm_compare_options_init_sized(bm_compare_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &compare_defaults, sizeof compare_defaults);
}

typedef struct comparing {
    const bm_documents *docs;
    double threshold;
    bm_pair *pairs;
} comparing;

static bm_status check_sets(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const bm_documents *docs = ((comparing *)ctx)->docs;
    for (size_t doc = begin; doc < end; doc++)
        for (uint64_t i = docs->offsets[doc] + 1; i < docs->offsets[doc + 1]; i++)
            if (docs->hashes[i - 1] >= docs->hashes[i])
                return bm_fail(err, BM_ERR_INPUT,
                               "document %zu: its hashes do not ascend (sorted, each once)", doc);
    return BM_OK;
}

static bm_status check_numbers(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const comparing *c = ctx;
    for (size_t i = begin; i < end; i++)
        if (c->pairs[i].a >= c->docs->n_docs || c->pairs[i].b >= c->docs->n_docs)
            return bm_fail(err, BM_ERR_INPUT, "pair %zu is of documents %u and %u (there are %zu)",
                           i, c->pairs[i].a, c->pairs[i].b, c->docs->n_docs);
    return BM_OK;
}

static bm_status compare(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    const comparing *c = ctx;
    const uint64_t *offsets = c->docs->offsets, *hashes = c->docs->hashes;
    for (size_t i = begin; i < end; i++) {
        bm_pair *p = &c->pairs[i];
        p->similarity = bm_jaccard_at_least(
            hashes + offsets[p->a], offsets[p->a + 1] - offsets[p->a], hashes + offsets[p->b],
            offsets[p->b + 1] - offsets[p->b], c->threshold);
    }
    return BM_OK;
}

static bm_status take_options(const bm_compare_options *options, bm_compare_options *used,
                              bm_error *err)
{
    *used = compare_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_compare_options, resources), used, err));
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.resources = &used->resources}, err));
    if (!(used->threshold >= 0.0 && used->threshold <= 1.0))
        return bm_fail_field(err, "threshold", "`threshold` %g (0 to 1)", used->threshold);
    return BM_OK;
}

static bm_status take_documents(const bm_documents *documents, bm_documents *docs, bm_error *err)
{
    uint64_t work;
    BM_TRY(bm_documents_take(documents, docs, &work, err));
    BM_TRY(bm_documents_no_weights(docs, err));
    if ((docs->texts != NULL || docs->hashes32 != NULL))
        return bm_fail_field(err, docs->texts != NULL ? "texts" : "hashes32",
                             "only sets of 64-bit `hashes` are compared");
    return BM_OK;
}

bm_status bm_compare_pairs(const bm_compare_options *options, const bm_documents *documents,
                           bm_pair *pairs, size_t n_pairs, bm_error *err)
{
    bm_compare_options used;
    bm_documents docs;
    bm_pool *pool = NULL;
    BM_TRY(take_options(options, &used, err));
    BM_TRY(take_documents(documents, &docs, err));
    if (pairs == NULL && n_pairs != 0)
        return bm_fail_field(err, "pairs", "`pairs` is NULL and has %zu entries", n_pairs);
    const uint32_t threads = used.resources.threads;
    BM_TRY(bm_pool_open(threads != 0 ? threads : bm_cpu_count(), &pool, err));
    comparing c = {.docs = &docs, .threshold = used.threshold, .pairs = pairs};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_pool_for(pool, (bm_pool_split){docs.n_docs, DOC_GRAIN}, check_sets, &c, err));
    BM_TRY_OUT(bm_pool_for(pool, (bm_pool_split){n_pairs, PAIR_GRAIN}, check_numbers, &c, err));
    status = bm_pool_for(pool, (bm_pool_split){n_pairs, PAIR_GRAIN}, compare, &c, err);
out:
    bm_pool_close(pool);
    return status;
}
