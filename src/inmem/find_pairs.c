/* find_pairs.c -- bm_find_pairs: pairs of similar documents, in memory, from texts or from sets of
 * hashes.
 *
 *     hashes, sorted, no repeats -> sign on the native CPU -> band keys -> candidates -> verify ->
 * sort
 *
 * Every step runs over ranges of documents or pairs on all threads.
 *
 * Memory: 8 bytes a hash, 16 with its weight, 8 bytes a band and document (4 a word and document under SIGNATURE), 21
 * bytes a document, and 32 a pair found; with a bound, what is known to be more is refused before it
 * is allocated. Tables of buckets, some 12 bytes a document, are not counted.
 *
 * A call owns its threads; different calls are independent.
 *
 * Tests: tests/unit/inmem/test_find_pairs.c, tests/unit/inmem/test_sketch_usage.c */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "lsh/band_plan.h"
#include "model/scheme_facts.h"
#include "model/option_check.h"
#include "model/option_defaults.h"
#include "model/option_names.h"
#include "inmem/documents.h"
#include "inmem/finder.h"
#include "sketch/scheme.h"
#include "text/stop_words.h"

static const bm_find_options find_defaults = {.text = BM_TEXT_DEFAULTS,
                                              .sketch = BM_SKETCH_DEFAULTS,
                                              .bands = BM_BAND_DEFAULTS,
                                              .resources = BM_RESOURCE_DEFAULTS};

void bm_find_options_init_sized(bm_find_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &find_defaults, sizeof find_defaults);
}

static bm_status take_options(const bm_find_options *options, bm_find_options *used, bm_error *err)
{
    *used = find_defaults;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_sized_take(options, BM_SIZED_TYPE(bm_find_options, callbacks), used, err));
    BM_TRY_OUT(bm_option_parts_check(&(bm_option_parts){.text = &used->text,
                                                        .sketch = &used->sketch,
                                                        .bands = &used->bands,
                                                        .resources = &used->resources,
                                                        .callbacks = &used->callbacks},
                                     err));
    BM_TRY_OUT(bm_option_check(BM_OPTION_CANDIDATES, used->candidates, err));
    BM_TRY_OUT(bm_option_check(BM_OPTION_VERIFY, used->verify, err));
    if (used->verify == BM_VERIFY_CONTAINED)
        BM_TRY_OUT(bm_fail_field(err, "verify",
                                 "`verify` contained is for dedup (exact, signature or none)"));
out:
    if (used->verify == BM_VERIFY_AUTO)
        used->verify = BM_VERIFY_EXACT;
    if (used->candidates == BM_CANDIDATES_LENGTH)
        used->candidates = BM_CANDIDATES_ALL;
    if (used->sketch.perms == 0) {
        const uint32_t n_keyed = used->bands.bands * used->bands.rows;
        used->sketch.perms = n_keyed != 0 ? n_keyed : BM_PERMS_DEFAULT;
    }
    return status;
}

/* Documents with weights are of a scheme of their own. */
static bm_status check_weights(const bm_find_options *options, const bm_documents *docs,
                               bm_error *err)
{
    if (docs->weights != NULL && options->text.bag)
        return bm_fail_field(err, "bag", "`bag` of hashes that have `weights`");
    return bm_scheme_weights_check(&options->sketch, docs->weights != NULL, err);
}

/* Bands and rows of the options; none given: chosen for the threshold. */
static bm_status settle_plan(const bm_find_options *options, bm_band_plan *plan, bm_error *err)
{
    const bm_band_options *bands = &options->bands;
    *plan = (bm_band_plan){0};
    if (options->candidates != BM_CANDIDATES_LSH)
        return BM_OK;
    if (bands->bands == 0)
        return bm_band_plan_choose(bands->threshold, bands->recall, options->sketch.perms, plan,
                                   err);
    const bm_band_plan wanted = {.perms = options->sketch.perms,
                                 .bands = bands->bands,
                                 .rows = bands->rows,
                                 .threshold = bands->threshold,
                                 .recall = bands->recall};
    return bm_band_plan_fixed(&wanted, plan, err);
}

/* The steps, with the time that each took. */
static bm_status find(bm_finder *f, bm_error *err)
{
    bm_find_stats *stats = &f->out->stats;
    const double begin = bm_clock_seconds();
    BM_TRY(bm_finder_prepare(f, err));
    const double prepared = bm_clock_seconds();
    BM_TRY(bm_finder_sign(f, err));
    const double has_keys = bm_clock_seconds();
    BM_TRY(bm_finder_search(f, err));
    BM_TRY(bm_finder_order(f, err));
    const double end = bm_clock_seconds();
    stats->prepare_seconds = prepared - begin;
    stats->sign_seconds = has_keys - prepared;
    stats->search_seconds = end - has_keys;
    stats->seconds = end - begin;
    return BM_OK;
}

static void finder_reset(bm_finder *f)
{
    if (f->backend != NULL)
        f->backend->ops->close(f->backend);
    for (uint32_t band = 0; f->keys != NULL && band < f->out->plan.bands; band++)
        bm_free(f->keys[band]);
    bm_free(f->keys);
    bm_free(f->words);
    bm_free(f->skip);
    bm_free(f->sizes);
    bm_free(f->docs);
    bm_free(f->weights);
    bm_hash_sets_reset(&f->sets);
    bm_meter_reset(&f->meter);
    bm_pool_close(f->pool);
}

bm_status bm_find_pairs(const bm_find_options *options, const bm_documents *documents,
                        bm_pair_set **out, bm_error *err)
{
    bm_find_options used;
    bm_finder f = {.options = &used};
    bm_band_plan plan;
    char *stop_words = NULL;
    BM_TRY(take_options(options, &used, err));
    BM_TRY(bm_documents_take(documents, &f.input, &f.work, err));
    BM_TRY(check_weights(&used, &f.input, err));
    if (f.input.hashes32 != NULL && f.input.n_docs != 0)
        return bm_fail_field(err, "hashes32", "`hashes32` cannot be compared (64-bit `hashes`)");
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the pairs given");
    BM_TRY(settle_plan(&used, &plan, err));
    BM_TRY(bm_stop_words_settle(&used.text, &stop_words, err));
    bm_scheme_note_hashing(&used.sketch, &used.text);
    f.out = bm_alloc_zero(1, sizeof *f.out);
    if (f.out == NULL) {
        bm_free(stop_words);
        return bm_fail_nomem(err, sizeof *f.out);
    }
    f.out->plan = plan;
    bm_meter_init(&f.meter, &used.callbacks);
    const uint32_t threads = used.resources.threads;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_pool_open(threads != 0 ? threads : bm_cpu_count(), &f.pool, err));
    status = find(&f, err);
out:
    finder_reset(&f);
    bm_free(stop_words);
    if (status == BM_OK)
        *out = f.out;
    else
        bm_pair_set_free(f.out);
    return status;
}

/* --- the result --- */

size_t bm_pair_set_count(const bm_pair_set *pairs)
{
    return pairs != NULL ? pairs->n : 0;
}

const bm_pair *bm_pair_set_data(const bm_pair_set *pairs)
{
    return pairs != NULL ? pairs->pairs : NULL;
}

const bm_find_stats *bm_pair_set_stats(const bm_pair_set *pairs)
{
    return pairs != NULL ? &pairs->stats : NULL;
}

const bm_band_plan *bm_pair_set_plan(const bm_pair_set *pairs)
{
    return pairs != NULL ? &pairs->plan : NULL;
}

void bm_pair_set_free(bm_pair_set *pairs)
{
    if (pairs == NULL)
        return;
    bm_free(pairs->pairs);
    bm_free(pairs);
}
