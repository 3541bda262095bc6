/* trial_runs.c -- permutations, keys, buckets, pairs; once for each seed, the seeds on all threads.
 *
 * A pair that shares several bands counts once: pairs are bits of a square. A large bucket is a row of bits that is
 * added to those of its documents, 64 at a time, so that a crowd costs little.
 *
 * The work is bounded: beyond WORK_MAX the documents of a run are fewer, drawn at random.
 *
 * Tests: tests/unit/tune/test_trial_runs.c, tests/reference/test_tune_range.py */
#include "tune/trial_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/sign_loops.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "sketch/scheme.h"

#define WORK_MAX     8e9 /* minima: a second or two */
#define WORK_KEY     64u /* minima that a key costs as much as */
#define SMALL_BUCKET 32u
#define Z_90         1.6448536269514722 /* nine of ten of a normal distribution lie within */
#define NO_DOC       UINT32_MAX

/* What one thread has for itself. */
typedef struct bench {
    _Alignas(BM_ALIGNMENT) uint32_t words[2 * BM_PERMS_MAX];
    uint32_t block[BM_SIGN_BLOCK];
    uint64_t *keys;  /* of each document */
    uint64_t *bits;  /* of each document, those that it shares a band with, as rows of `n_words` */
    uint64_t *mask;  /* of one bucket */
    uint32_t *slots; /* the first document of each key */
    uint32_t *next;  /* in its bucket */
} bench;

typedef struct trying {
    const bm_trial_job *job;
    bm_hash_sets docs;
    size_t n_words, n_slots;
    const bm_sign_loops *loops;
    bench *benches;
    bm_trials *to;
} trying;

static uint32_t words_of(const bm_trial_job *job)
{
    return job->plan->bands * job->plan->rows;
}

static size_t slots_for(size_t n)
{
    size_t slots = 16;
    while (slots < 2 * n)
        slots *= 2;
    return slots;
}

static uint64_t bench_bytes(const bm_trial_job *job, size_t n)
{
    const size_t n_words = n / 64 + 1;
    return n * job->plan->bands * sizeof(uint64_t) + (n + 1) * n_words * sizeof(uint64_t) +
           (slots_for(n) + n) * sizeof(uint32_t) + sizeof(bench);
}

uint64_t bm_trial_bytes(const bm_trial_job *job, uint64_t n, uint32_t n_threads)
{
    const size_t most = n < BM_TRIAL_DOCS ? (size_t)n : BM_TRIAL_DOCS;
    return words_of(job) <= BM_PERMS_MAX ? n_threads * bench_bytes(job, most) : 0;
}

/* --- one run --- */

static bm_status make_keys(const trying *t, uint32_t seed, bench *b, bm_error *err)
{
    const bm_band_plan *plan = t->job->plan;
    const bm_sketch_options sketch = {.perms = words_of(t->job), .seed = seed};
    bm_scheme_params params;
    BM_TRY(bm_scheme_draw(&sketch, &params, err));
    for (size_t doc = 0; doc < t->docs.n; doc++) {
        const size_t n = t->docs.sizes[doc];
        for (size_t at = 0; at < n; at += BM_SIGN_BLOCK) {
            const size_t more = n - at < BM_SIGN_BLOCK ? n - at : BM_SIGN_BLOCK;
            t->loops->premix(t->docs.sets[doc] + at, more, b->block);
            t->loops->minima(&params, b->block, more, at > 0, b->words);
        }
        bm_band_keys_scalar(b->words, plan->bands, plan->rows, n == 0, b->keys + doc * plan->bands);
    }
    bm_scheme_params_reset(&params);
    return BM_OK;
}

/* Each document into the bucket of its key, before the others; `slots` has the last of each bucket. */
static void fill_buckets(const trying *t, uint32_t band, bench *b)
{
    const uint32_t bands = t->job->plan->bands;
    memset(b->slots, 0xFF, t->n_slots * sizeof *b->slots);
    for (size_t doc = 0; doc < t->docs.n; doc++) {
        const uint64_t key = b->keys[doc * bands + band];
        size_t at = (size_t)key & (t->n_slots - 1);
        while (b->slots[at] != NO_DOC && b->keys[(size_t)b->slots[at] * bands + band] != key)
            at = (at + 1) & (t->n_slots - 1);
        b->next[doc] = b->slots[at];
        b->slots[at] = (uint32_t)doc;
    }
}

static void set_bit(const trying *t, bench *b, uint32_t row, uint32_t bit)
{
    b->bits[row * t->n_words + bit / 64] |= UINT64_C(1) << bit % 64;
}

static void join_large(const trying *t, uint32_t head, bench *b)
{
    memset(b->mask, 0, t->n_words * sizeof *b->mask);
    for (uint32_t doc = head; doc != NO_DOC; doc = b->next[doc])
        b->mask[doc / 64] |= UINT64_C(1) << doc % 64;
    for (uint32_t doc = head; doc != NO_DOC; doc = b->next[doc])
        for (size_t k = 0; k < t->n_words; k++)
            b->bits[doc * t->n_words + k] |= b->mask[k];
}

static void join_bucket(const trying *t, uint32_t head, bench *b)
{
    size_t n = 0;
    for (uint32_t doc = head; doc != NO_DOC && n <= SMALL_BUCKET; doc = b->next[doc])
        n++;
    if (n > SMALL_BUCKET) {
        join_large(t, head, b);
        return;
    }
    for (uint32_t x = head; x != NO_DOC; x = b->next[x])
        for (uint32_t y = b->next[x]; y != NO_DOC; y = b->next[y]) {
            set_bit(t, b, x, y);
            set_bit(t, b, y, x);
        }
}

/* Each pair has two bits; a document of a large bucket one with itself, which is none. */
static uint64_t count_pairs(const trying *t, const bench *b)
{
    uint64_t n = 0;
    for (size_t doc = 0; doc < t->docs.n; doc++) {
        const uint64_t *row = b->bits + doc * t->n_words;
        n -= row[doc / 64] >> doc % 64 & 1;
        for (size_t k = 0; k < t->n_words; k++)
            n += (uint64_t)__builtin_popcountll(row[k]);
    }
    return n / 2;
}

static bm_status run_once(const trying *t, uint32_t seed, bench *b, uint64_t *count, bm_error *err)
{
    BM_TRY(make_keys(t, seed, b, err));
    memset(b->bits, 0, t->docs.n * t->n_words * sizeof *b->bits);
    for (uint32_t band = 0; band < t->job->plan->bands; band++) {
        fill_buckets(t, band, b);
        for (size_t at = 0; at < t->n_slots; at++)
            if (b->slots[at] != NO_DOC)
                join_bucket(t, b->slots[at], b);
    }
    *count = count_pairs(t, b);
    return BM_OK;
}

static bm_status run_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    trying *t = ctx;
    for (size_t i = begin; i < end; i++) {
        const uint32_t seed = t->job->seed + (uint32_t)(i + 1) * UINT32_C(0x9E3779B9);
        BM_TRY(run_once(t, seed, &t->benches[thread], &t->to->counts[i], err));
    }
    return BM_OK;
}

/* --- the documents of a run --- */

/* Draw fewer of the documents where all of them would be too much work, in their order. */
static void choose_docs(const bm_trial_job *job, const bm_hash_sets *drawn, trying *t,
                        const uint64_t **sets, uint32_t *sizes)
{
    const uint32_t seed = job->seed;
    double work = 0;
    bm_random random;
    for (size_t i = 0; i < drawn->n; i++)
        work += ((double)drawn->sizes[i] * words_of(job) + (double)WORK_KEY * job->plan->bands) *
                BM_TRIALS;
    size_t most = drawn->n < BM_TRIAL_DOCS ? drawn->n : BM_TRIAL_DOCS;
    if (work > WORK_MAX && (double)most > (double)drawn->n * WORK_MAX / work)
        most = (size_t)((double)drawn->n * WORK_MAX / work);
    bm_random_init(&random, seed);
    t->docs = (bm_hash_sets){sets, sizes, 0};
    for (size_t i = 0; i < drawn->n; i++)
        if (bm_random_range(&random, 0, drawn->n - i) < most - t->docs.n) {
            sets[t->docs.n] = drawn->sets[i];
            sizes[t->docs.n++] = drawn->sizes[i];
        }
}

static bm_status open_bench(const trying *t, bench *b, bm_error *err)
{
    const size_t n = t->docs.n;
    b->keys = bm_alloc(n * t->job->plan->bands, sizeof *b->keys);
    b->bits = bm_alloc(n * t->n_words, sizeof *b->bits);
    b->mask = bm_alloc(t->n_words, sizeof *b->mask);
    b->slots = bm_alloc(t->n_slots, sizeof *b->slots);
    b->next = bm_alloc(n, sizeof *b->next);
    return b->keys != NULL && b->bits != NULL && b->mask != NULL && b->slots != NULL &&
                   b->next != NULL
               ? BM_OK
               : bm_fail_nomem(err, (size_t)bench_bytes(t->job, n));
}

static void close_bench(bench *b)
{
    bm_free(b->keys);
    bm_free(b->bits);
    bm_free(b->mask);
    bm_free(b->slots);
    bm_free(b->next);
}

static int by_count(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static bm_status try_all(trying *t, bm_pool *pool, bm_error *err)
{
    const uint32_t n_threads = bm_pool_size(pool);
    t->n_words = t->docs.n / 64 + 1;
    t->n_slots = slots_for(t->docs.n);
    BM_TRY(bm_new_aligned(&t->benches, n_threads, err));
    memset(t->benches, 0, n_threads * sizeof *t->benches);
    bm_status status = BM_OK;
    for (uint32_t i = 0; i < n_threads; i++)
        BM_TRY_OUT(open_bench(t, &t->benches[i], err));
    status = bm_pool_for(pool, (bm_pool_split){BM_TRIALS, 1}, run_range, t, err);
out:
    for (uint32_t i = 0; i < n_threads; i++)
        close_bench(&t->benches[i]);
    bm_free(t->benches);
    return status;
}

bm_status bm_trials_make(const bm_trial_job *job, const bm_hash_sets *drawn, bm_pool *pool,
                         bm_trials *out, bm_error *err)
{
    trying t = {.job = job, .to = out};
    bm_isa isa;
    *out = (bm_trials){0};
    if (words_of(job) > BM_PERMS_MAX || drawn->n < 2)
        return BM_OK;
    const uint64_t **sets = bm_alloc(drawn->n, sizeof *sets);
    uint32_t *sizes = bm_alloc(drawn->n, sizeof *sizes);
    bm_status status = BM_OK;
    BM_TRY_OUT(sets != NULL && sizes != NULL
                   ? bm_isa_choose(job->cpu, &isa, err)
                   : bm_fail_nomem(err, drawn->n * (sizeof *sets + sizeof *sizes)));
    if ((t.loops = bm_sign_loops_find(isa)) == NULL)
        BM_TRY_OUT(bm_fail_field(err, "cpu", "this build has no loops for %s", bm_isa_name(isa)));
    choose_docs(job, drawn, &t, sets, sizes);
    if (t.docs.n >= 2)
        BM_TRY_OUT(try_all(&t, pool, err));
    if (t.docs.n >= 2) {
        out->n_docs = t.docs.n;
        qsort(out->counts, BM_TRIALS, sizeof *out->counts, by_count);
    }
out:
    bm_free(sets);
    bm_free(sizes);
    return status;
}

void bm_trials_range(const bm_trials *trials, uint64_t n_docs, double candidates, double error,
                     double *low, double *high)
{
    const double least = (double)trials->counts[BM_TRIALS_TAIL - 1],
                 greatest = (double)trials->counts[BM_TRIALS - BM_TRIALS_TAIL];
    double mean = 0;
    for (uint32_t i = 0; i < BM_TRIALS; i++)
        mean += (double)trials->counts[i] / BM_TRIALS;
    *low = *high = NAN;
    if (trials->n_docs > 0 && trials->n_docs == n_docs) {
        *low = least;
        *high = greatest;
    } else if (trials->n_docs > 0 && mean > 0) {
        *low = fmax(0, candidates - Z_90 * error) * least / mean;
        *high = (candidates + Z_90 * error) * greatest / mean;
    }
}
