/* SPDX-License-Identifier: Apache-2.0 */
/* pair_census.c -- draws documents, indexes their sets, and compares them with the whole corpus.
 *
 *     draw    the distinct documents with the n lowest priorities, in a heap
 *     index   their sets (lsh/set_overlaps.h)
 *     walk    on all threads, the hashes of each distinct document are looked up in the index; the
 *             number of hashes in common with each drawn document gives the similarity
 *
 * About n * D pairs are counted, each of a drawn document and another document. The cost depends
 * only on the number of hashes in the corpus, and on the number of common hashes. Sets in a file
 * are read once more, in order. All sums are sums of integers, so the order of the walk does not
 * change the result.
 *
 * Tests: tests/reference/test_forecast.py, tests/reference/test_tune_range.py,
 *        tests/unit/jobs/test_job_tune.c, tests/unit/tune/test_census_parts.c,
 *        tests/unit/tune/test_pair_census.c */
#include "tune/pair_census.h"

#include <bandmill/sketch.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash_table.h"
#include "base/heap.h"
#include "base/memory.h"
#include "base/orders.h"
#include "base/random.h"
#include "base/system.h"
#include "corpus/sample.h"
#include "cpu/sign_loops.h"
#include "lsh/verify.h"
#include "sketch/scheme.h"

/* === trial runs ===
 *
 * A run draws permutations from its seed, computes the band keys of the documents, groups the
 * documents into buckets by key, and counts the pairs that share a bucket. The runs are divided
 * among the threads.
 *
 * Pairs are bits of a square matrix, so a pair counts once even if it shares several bands. A large
 * bucket becomes one row of bits. This row is ORed into the matrix row of each document of the
 * bucket, 64 bits at a time, so that many documents cost little.
 *
 * If the work would exceed WORK_MAX, the runs use fewer documents, which are drawn at random. */

/* limit for the work of all runs, in computed minima; so much work takes a second or two */
#define WORK_MAX     8e9
#define WORK_KEY     64u                /* the work for a key, in minima */
#define SMALL_BUCKET 32u                /* a bucket with more documents is large */
#define Z_90         1.6448536269514722 /* 90 % of normal values are within Z_90 sigma */
#define NO_DOC       UINT32_MAX

/* The memory of one thread. */
typedef struct worker {
    _Alignas(BM_ALIGNMENT) uint32_t words[2 * BM_PERMS_MAX]; /* the signature of one document */
    uint32_t block[BM_SIGN_BLOCK];                           /* mixed hashes of a block of
                                                              * shingles */
    uint64_t *keys; /* for each document: its keys of all bands */
    /* For each document: a row of trying.n_words words. A bit is set for each document with which
     * the document of the row shares a band. */
    uint64_t *bits;
    uint64_t *mask;       /* one bit for each document: whether it is in the current bucket */
    uint32_t *next;       /* for each document: the next document in the list of its bucket; NO_DOC:
                           * none */
    bm_hash_table heads;  /* maps a key of `band` to the first document in the list of the key's
                           * bucket */
    uint32_t band, bands; /* the current band, and the number of bands */
} worker;

typedef struct trying {
    const bm_trial_job *job;
    bm_hash_sets docs;
    size_t n_words; /* number of words in a row of bits, which has one bit for each document */
    const bm_sign_loops *loops;
    worker *benches; /* one for each thread */
    bm_trials *to;
} trying;

static uint32_t words_of(const bm_trial_job *job)
{
    return job->plan->bands * job->plan->rows;
}

static uint64_t bench_bytes(const bm_trial_job *job, size_t n)
{
    const size_t n_words = n / 64 + 1;
    return n * job->plan->bands * sizeof(uint64_t) + (n + 1) * n_words * sizeof(uint64_t) +
           n * sizeof(uint32_t) + bm_hash_table_bytes(n) + sizeof(worker);
}

/* Bytes that the trial runs need if n documents are drawn; 0 if the plan has too many words for any
 * run. */
static uint64_t trial_bytes(const bm_trial_job *job, uint64_t n, uint32_t n_threads)
{
    const size_t most = n < BM_TRIAL_DOCS ? (size_t)n : BM_TRIAL_DOCS;
    return words_of(job) <= BM_PERMS_MAX ? n_threads * bench_bytes(job, most) : 0;
}

/* --- a run --- */

static bm_status make_keys(const trying *t, uint32_t seed, worker *b, bm_error *err)
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

static uint64_t key_of(const worker *b, size_t doc)
{
    return b->keys[doc * b->bands + b->band];
}

static bool has_key(const void *owner, uint32_t doc, const void *key)
{
    return key_of(owner, doc) == *(const uint64_t *)key;
}

static uint64_t hash_again(const void *owner, uint32_t doc, uint64_t seed)
{
    return bm_hash_seeded(key_of(owner, doc), 0, seed);
}

/* For the current band, insert each document at the head of its bucket's list. */
static bm_status fill_buckets(const trying *t, worker *b, bm_error *err)
{
    bm_hash_table *heads = &b->heads;
    BM_TRY(bm_hash_table_clear(heads, t->docs.n, err));
    for (size_t doc = 0; doc < t->docs.n; doc++) {
        const uint64_t key = key_of(b, doc);
        BM_TRY(bm_hash_table_reserve(heads, hash_again, b, err));
        const uint64_t hash = heads->seed == 0 ? key : bm_hash_seeded(key, 0, heads->seed);
        const size_t at = bm_hash_table_find(heads, hash, has_key, b, &key);
        if (bm_hash_table_is_free(heads, at)) {
            b->next[doc] = NO_DOC;
            bm_hash_table_put(heads, at, hash, (uint32_t)doc);
        } else {
            b->next[doc] = bm_hash_table_number(heads, at);
            bm_hash_table_renumber(heads, at, (uint32_t)doc);
        }
    }
    return BM_OK;
}

static void set_bit(const trying *t, worker *b, uint32_t row, uint32_t bit)
{
    b->bits[row * t->n_words + bit / 64] |= UINT64_C(1) << bit % 64;
}

static void join_large(const trying *t, uint32_t head, worker *b)
{
    memset(b->mask, 0, t->n_words * sizeof *b->mask);
    for (uint32_t doc = head; doc != NO_DOC; doc = b->next[doc])
        b->mask[doc / 64] |= UINT64_C(1) << doc % 64;
    for (uint32_t doc = head; doc != NO_DOC; doc = b->next[doc])
        for (size_t k = 0; k < t->n_words; k++)
            b->bits[doc * t->n_words + k] |= b->mask[k];
}

static void join_bucket(const trying *t, uint32_t head, worker *b)
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

/* The number of pairs in b->bits, where each pair has two bits. A document that was in a large
 * bucket also has a bit for itself, which does not count. */
static uint64_t count_pairs(const trying *t, const worker *b)
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

static bm_status run_once(const trying *t, uint32_t seed, worker *b, uint64_t *count, bm_error *err)
{
    BM_TRY(make_keys(t, seed, b, err));
    memset(b->bits, 0, t->docs.n * t->n_words * sizeof *b->bits);
    for (b->band = 0; b->band < b->bands; b->band++) {
        BM_TRY(fill_buckets(t, b, err));
        for (size_t at = 0; at < b->heads.n_slots; at++)
            if (!bm_hash_table_is_free(&b->heads, at))
                join_bucket(t, bm_hash_table_number(&b->heads, at), b);
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

/* Choose the documents of the runs, in their order among the drawn documents. These are all drawn
 * documents, or fewer if there are more than BM_TRIAL_DOCS or the work would exceed WORK_MAX. */
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

static bm_status open_bench(const trying *t, worker *b, bm_error *err)
{
    const size_t n = t->docs.n;
    b->bands = t->job->plan->bands;
    b->keys = bm_alloc(n * b->bands, sizeof *b->keys);
    b->bits = bm_alloc(n * t->n_words, sizeof *b->bits);
    b->mask = bm_alloc(t->n_words, sizeof *b->mask);
    b->next = bm_alloc(n, sizeof *b->next);
    return b->keys != NULL && b->bits != NULL && b->mask != NULL && b->next != NULL
               ? BM_OK
               : bm_fail_nomem(err, (size_t)bench_bytes(t->job, n));
}

static bm_status try_all(trying *t, bm_pool *pool, bm_error *err)
{
    const uint32_t n_threads = bm_pool_size(pool);
    t->n_words = t->docs.n / 64 + 1;
    BM_TRY(bm_new_aligned(&t->benches, n_threads, err));
    memset(t->benches, 0, n_threads * sizeof *t->benches);
    bm_status status = BM_OK;
    for (uint32_t i = 0; i < n_threads; i++)
        BM_TRY_OUT(open_bench(t, &t->benches[i], err));
    status = bm_pool_for(pool, (bm_pool_split){BM_TRIALS, 1}, run_range, t, err);
out:
    for (uint32_t i = 0; i < n_threads; i++) {
        bm_free_all(t->benches[i].keys, t->benches[i].bits, t->benches[i].mask, t->benches[i].next);
        bm_hash_table_reset(&t->benches[i].heads);
    }
    bm_free(t->benches);
    return status;
}

/* Make the runs with the drawn documents (choose_docs). If the plan has more words than a signature
 * may have, or if there are fewer than two documents, no runs are made. The result does not depend
 * on the number of threads. BM_ERR_NOMEM; BM_ERR_USAGE: job->cpu is not available. */
static bm_status trials_make(const bm_trial_job *job, const bm_hash_sets *drawn, bm_pool *pool,
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
        qsort(out->counts, BM_TRIALS, sizeof *out->counts, bm_order_u64);
    }
out:
    bm_free_all(sets, sizes);
    return status;
}

/* Set *low and *high to the range in which nine of ten runs have their number of candidates.
 * n_docs: number of distinct documents in the corpus; `candidates`: the expected number of
 * candidates; `error`: its standard error. If the trial runs used all distinct documents, *low and
 * *high are counts of trial runs. Otherwise, they are the expected number minus or plus 1.645
 * errors, multiplied by the ratio of a count to the mean count. Both are NAN if there are no trial
 * runs, or if this ratio is needed and the mean count is 0. */
static void trials_range(const bm_trials *trials, uint64_t n_docs, double candidates, double error,
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

#define GRAIN       64u    /* documents that a thread processes at a time */
#define OFFSET_UNIT 65536u /* number of units of `offsets` in a thousandth of similarity */
#define NOT_DRAWN   UINT32_MAX

typedef struct census_drawn {
    uint64_t priority;
    uint32_t row;
} census_drawn;

/* The memory of one thread. */
typedef struct walker {
    bm_overlaps overlaps;
    bm_set_reader reader;
    /* For each cell: the sum, over its pairs, of the distance from the beginning of their
     * thousandth, in units of 1 / OFFSET_UNIT of a thousandth. */
    uint64_t offsets[BM_CENSUS_CELLS];
    uint64_t sample_pairs[BM_HISTOGRAM_BINS]; /* the part of bm_pair_census.sample_pairs that this
                                               * thread has counted */
} walker;

typedef struct walk {
    const bm_census_job *job;
    bm_pair_census *census;
    bm_overlap_index index;
    walker *walkers;
    uint64_t walked; /* number of rows that are done, for the meter */
} walk;

/* --- drawing --- */

static bool is_distinct(const bm_corpus *corpus, size_t row)
{
    return corpus->skip[row] == 0 && corpus->sizes[row] > 0;
}

static bool is_later(const void *ctx, const void *x, const void *y)
{
    (void)ctx;
    const census_drawn *a = x, *b = y;
    return a->priority != b->priority ? a->priority > b->priority : a->row > b->row;
}

static bm_status draw(const bm_census_job *job, bm_pair_census *census, bm_error *err)
{
    const bm_corpus *corpus = job->corpus;
    census_drawn *drawn = NULL;
    bm_heap heap = {.size = sizeof *drawn, .order = is_later};
    size_t cap = 0;
    bm_status status = BM_OK;
    for (size_t row = 0; row < corpus->n; row++) {
        if (!is_distinct(corpus, row))
            continue;
        const census_drawn d = {bm_sample_priority(job->seed, row), (uint32_t)row};
        census->n_docs++;
        if (heap.n < job->wanted) {
            BM_TRY_OUT(bm_grow_array(&drawn, &cap, heap.n + 1, err));
            heap.entries = drawn;
            drawn[heap.n++] = d;
            bm_heap_rise(&heap, heap.n - 1);
        } else if (heap.n > 0 && is_later(NULL, &drawn[0], &d)) {
            drawn[0] = d;
            bm_heap_sink(&heap, 0);
        }
    }
    BM_TRY_OUT(bm_new(&census->rows, heap.n, err));
    for (size_t i = 0; i < heap.n; i++)
        census->rows[i] = drawn[i].row;
    if (heap.n > 1)
        qsort(census->rows, heap.n, sizeof *census->rows, bm_order_u32);
    census->n = heap.n;
out:
    bm_free(drawn);
    return status;
}

/* --- the index --- */

static uint64_t drawn_hashes(const bm_census_job *job, const bm_pair_census *census)
{
    uint64_t n = 0;
    for (size_t i = 0; i < census->n; i++)
        n += job->corpus->sizes[census->rows[i]];
    return n;
}

/* Check that the memory limit allows the memory that is needed in addition to the corpus. If it
 * does not, and there is a temporary directory, move the sets to a file, and check again. */
static bm_status check_memory(const bm_census_job *job, const bm_pair_census *census, bm_error *err)
{
    const uint64_t n = census->n, hashes = drawn_hashes(job, census);
    const uint64_t bytes = n * BM_CENSUS_CELLS * sizeof *census->seen +
                           bm_overlap_index_bytes(hashes) + hashes * sizeof(uint64_t) +
                           bm_pool_size(job->pool) * (sizeof(walker) + 3 * n * sizeof(uint32_t)) +
                           trial_bytes(&job->trial, n, bm_pool_size(job->pool));
    bm_corpus *corpus = job->corpus;
    if (bm_corpus_check_matching(corpus, bytes, NULL) == BM_OK)
        return BM_OK;
    if (corpus->cfg.temp_dir != NULL)
        BM_TRY(bm_corpus_sets_to_file(corpus, err));
    if (bm_corpus_check_matching(corpus, bytes, err) != BM_OK)
        return bm_fail(err, BM_ERR_NOMEM,
                       "`sample` of %zu documents needs %llu MiB beside the corpus, more than "
                       "`memory` allows (a smaller sample, or more memory)",
                       census->n, (unsigned long long)(bytes >> 20) + 1);
    return BM_OK;
}

static bm_status copy_sets(const bm_census_job *job, const bm_pair_census *census, uint64_t *arena,
                           const uint64_t **sets, bm_error *err)
{
    const bm_corpus *corpus = job->corpus;
    bm_set_reader reader = {.corpus = corpus};
    bm_status status = BM_OK;
    for (size_t i = 0; i < census->n; i++) {
        const size_t row = census->rows[i];
        BM_TRY_OUT(
            bm_set_reader_copy(&reader, row, arena, corpus->sizes[row] * sizeof *arena, err));
        sets[i] = arena;
        arena += corpus->sizes[row];
    }
out:
    bm_set_reader_reset(&reader);
    return status;
}

static bm_status build_index(walk *w, bm_error *err)
{
    const bm_pair_census *census = w->census;
    const uint64_t n_hashes = drawn_hashes(w->job, census);
    uint64_t *arena = bm_alloc((size_t)n_hashes, sizeof *arena);
    const uint64_t **sets = bm_alloc(census->n, sizeof *sets);
    uint32_t *sizes = bm_alloc(census->n, sizeof *sizes);
    const bm_hash_sets given = {sets, sizes, census->n};
    bm_status status = BM_OK;
    BM_TRY_OUT(arena != NULL && sets != NULL && sizes != NULL
                   ? copy_sets(w->job, census, arena, sets, err)
                   : bm_fail_nomem(err, (size_t)n_hashes * sizeof *arena));
    for (size_t i = 0; i < census->n; i++)
        sizes[i] = w->job->corpus->sizes[census->rows[i]];
    BM_TRY_OUT(bm_overlap_index_build(&given, &w->index, err));
    status = trials_make(&w->job->trial, &given, w->job->pool, &w->census->trials, err);
out:
    bm_free_all(arena, sets, sizes);
    return status;
}

/* --- walking --- */

/* The levels that a similarity reaches, as one bit for each. */
static uint8_t levels_of(double similarity)
{
    uint8_t bits = 0;
    for (uint32_t l = 0; l < BM_TUNE_LEVELS; l++)
        bits |= (uint8_t)((similarity >= bm_tune_level(l)) << l);
    return bits;
}

/* Count the pair of drawn document number `drawn` and the document in row `row`. `both`: the second
 * document is drawn too, and is the later one. */
static void count_pair(const walk *w, walker *own, uint32_t drawn, size_t row, bool both)
{
    bm_pair_census *census = w->census;
    const uint64_t n_x = w->job->corpus->sizes[row];
    const uint64_t n_y = w->job->corpus->sizes[census->rows[drawn]];
    const uint64_t common = own->overlaps.common[drawn], all = n_x + n_y - common;
    const uint64_t scaled = common * BM_CENSUS_BINS;
    const double similarity = bm_jaccard(common, n_x, n_y);
    const bool reaches = similarity >= w->job->threshold;
    const uint32_t cell = (uint32_t)(scaled / all) + reaches;
    __atomic_fetch_add(&census->seen[(size_t)drawn * BM_CENSUS_CELLS + cell], 1, __ATOMIC_RELAXED);
    own->offsets[cell] += scaled % all * OFFSET_UNIT / all;
    if (row < census->rows[drawn] && similarity >= bm_tune_level(BM_TUNE_LEVELS - 1))
        __atomic_fetch_or(&census->levels[drawn], levels_of(similarity), __ATOMIC_RELAXED);
    if (both)
        own->sample_pairs[bm_histogram_bin(similarity)]++;
}

/* The index of a row among the drawn documents. NOT_DRAWN: its document is not drawn. */
static uint32_t index_of(const bm_pair_census *census, uint32_t row)
{
    const uint32_t *found = bsearch(&row, census->rows, census->n, sizeof row, bm_order_u32);
    return found != NULL ? (uint32_t)(found - census->rows) : NOT_DRAWN;
}

static bm_status walk_document(const walk *w, walker *own, size_t row, bm_error *err)
{
    const bm_corpus *corpus = w->job->corpus;
    const uint32_t drawn = index_of(w->census, (uint32_t)row);
    const void *set;
    own->reader.corpus = corpus;
    BM_TRY(bm_set_reader_get(&own->reader, row, &set, err));
    bm_overlaps_find(&own->overlaps, &w->index, set, corpus->sizes[row]);
    for (size_t i = 0; i < own->overlaps.n_found; i++) {
        const uint32_t other = own->overlaps.found[i];
        if (other != drawn) /* a pair of two drawn documents is found twice, from each of them */
            count_pair(w, own, other, row, drawn != NOT_DRAWN && other < drawn);
    }
    return BM_OK;
}

static bm_status walk_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    walk *w = ctx;
    walker *own = &w->walkers[thread];
    const bm_corpus *corpus = w->job->corpus;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_meter_check(w->job->meter, err));
    for (size_t row = begin; row < end; row++) {
        if (is_distinct(corpus, row))
            BM_TRY_OUT(walk_document(w, own, row, err));
    }
out:;
    const uint64_t done = __atomic_add_fetch(&w->walked, end - begin, __ATOMIC_RELAXED);
    bm_meter_progress(w->job->meter, done, corpus->n, corpus->n);
    return status;
}

/* --- the sums --- */

static void add_up(const walk *w)
{
    bm_pair_census *census = w->census;
    const uint32_t n_threads = bm_pool_size(w->job->pool);
    uint64_t in_sample = census->n > 0 ? (uint64_t)census->n * (census->n - 1) / 2 : 0;
    for (size_t i = 0; i < census->n; i++)
        for (uint32_t c = 0; c < BM_CENSUS_CELLS; c++)
            census->pairs[c] += census->seen[i * BM_CENSUS_CELLS + c];
    for (uint32_t c = 0; c < BM_CENSUS_CELLS; c++) {
        uint64_t offsets = 0;
        for (uint32_t t = 0; t < n_threads; t++)
            offsets += w->walkers[t].offsets[c];
        const double bin = c - (c >= census->first_at ? 1 : 0);
        if (census->pairs[c] > 0)
            census->similarity[c] =
                (bin + (double)offsets / OFFSET_UNIT / (double)census->pairs[c]) / BM_CENSUS_BINS;
    }
    for (uint32_t b = 0; b < BM_HISTOGRAM_BINS; b++) {
        for (uint32_t t = 0; t < n_threads; t++)
            census->sample_pairs[b] += w->walkers[t].sample_pairs[b];
        in_sample -= census->sample_pairs[b];
    }
    census->sample_pairs[0] += in_sample; /* add the pairs without common hashes */
}

/* The thousandth that contains the threshold. Pairs below the threshold are in this or an earlier
 * thousandth; pairs that reach the threshold are in this or a later one. */
static uint32_t thousandth_of(double threshold)
{
    uint32_t bin = (uint32_t)(threshold * BM_CENSUS_BINS);
    while (bin > 0 && (double)bin / BM_CENSUS_BINS > threshold)
        bin--;
    while (bin < BM_CENSUS_BINS && (double)(bin + 1) / BM_CENSUS_BINS <= threshold)
        bin++;
    return bin;
}

static bm_status walk_all(walk *w, bm_error *err)
{
    const uint32_t n_threads = bm_pool_size(w->job->pool);
    bm_status status = BM_OK;
    BM_TRY_OUT(build_index(w, err));
    BM_TRY_OUT(bm_new_aligned(&w->walkers, n_threads, err));
    memset(w->walkers, 0, n_threads * sizeof *w->walkers);
    for (uint32_t t = 0; t < n_threads; t++)
        BM_TRY_OUT(bm_overlaps_open(&w->index, &w->walkers[t].overlaps, err));
    BM_TRY_OUT(
        bm_pool_for(w->job->pool, (bm_pool_split){w->job->corpus->n, GRAIN}, walk_range, w, err));
    add_up(w);
out:
    for (uint32_t t = 0; w->walkers != NULL && t < n_threads; t++) {
        bm_overlaps_close(&w->walkers[t].overlaps);
        bm_set_reader_reset(&w->walkers[t].reader);
    }
    bm_free(w->walkers);
    bm_overlap_index_reset(&w->index);
    return status;
}

bm_status bm_pair_census_make(const bm_census_job *job, bm_pair_census *out, bm_error *err)
{
    bm_pair_census census = {.first_at = thousandth_of(job->threshold) + 1};
    walk w = {.job = job, .census = &census};
    bm_status status = BM_OK;
    BM_TRY_OUT(draw(job, &census, err));
    BM_TRY_OUT(check_memory(job, &census, err));
    BM_TRY_OUT(bm_new_zero(&census.levels, census.n, err));
    census.seen = bm_alloc_zero(census.n * BM_CENSUS_CELLS, sizeof *census.seen);
    status = census.seen != NULL
                 ? walk_all(&w, err)
                 : bm_fail_nomem(err, census.n * BM_CENSUS_CELLS * sizeof *census.seen);
out:
    if (status == BM_OK)
        *out = census;
    else
        bm_pair_census_reset(&census);
    return status;
}

void bm_pair_census_reset(bm_pair_census *census)
{
    bm_free_all(census->rows, census->seen, census->levels);
    memset(census, 0, sizeof *census);
}

/* The number of the hundredth of similarity that contains a cell. */
static uint32_t census_hundredth(const bm_pair_census *census, uint32_t cell)
{
    const uint32_t bin = cell - (cell >= census->first_at ? 1 : 0);
    return bin >= BM_CENSUS_BINS ? BM_HISTOGRAM_BINS - 1
                                 : bin / (BM_CENSUS_BINS / BM_HISTOGRAM_BINS);
}

/* === pair total ===
 *
 * Computes the estimate described in pair_census.h. */

static double variance(const double *halves, size_t n, uint64_t n_docs)
{
    const double d = (double)n_docs;
    double mean = 0, squares = 0;
    if (n == n_docs || n == 0)
        return 0;
    if (n == 1)
        return INFINITY;
    for (size_t i = 0; i < n; i++)
        mean += halves[i];
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (halves[i] - mean) * (halves[i] - mean);
    return d * d * (1 - (double)n / d) * squares / ((double)n - 1) / (double)n;
}

/* The estimate t, with the root of v as its error. `halves`: y_i of the n drawn documents; n_docs:
 * D. n must be at least 2, or equal to D. If n = D, the total is exact, and its error is 0. */
static bm_total pair_total(const double *halves, size_t n, uint64_t n_docs)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += halves[i];
    return (bm_total){n > 0 ? sum * ((double)n_docs / (double)n) : 0,
                      sqrt(variance(halves, n, n_docs))};
}

/* Like pair_total, but the error is greater, because there may be pairs that the sample does not
 * show. The error is increased as if the sample had shown one more pair, with f = `most`.
 * Otherwise, a sample without pairs would have the error 0, as if the corpus certainly had none. If
 * all documents or none were drawn, the error is not increased. */
static bm_total pair_total_rare(const double *halves, size_t n, uint64_t n_docs, double most)
{
    bm_total total = pair_total(halves, n, n_docs);
    if (n == 0 || n == n_docs)
        return total;
    const double d = (double)n_docs, one = d / (double)n * most / 2;
    total.error = sqrt(total.error * total.error + one * one * (1 - (double)n / d));
    return total;
}

/* === plan forecast ===
 *
 * A forecast is a sum over the pairs of the census, weighted by P, the curve of the plan.
 *
 * All pairs of a cell have the same weight: P at the mean of their similarities. A cell has the
 * width of a thousandth, in which P is nearly linear. The error due to its curvature is P''/24
 * millionths, far below any digit that is shown. No cell has pairs on both sides of the threshold.
 *
 * Plans are computed in parallel. The sum of each plan is computed in a fixed order, so the digits
 * do not depend on the number of threads. */

typedef struct forecasting {
    const bm_pair_census *census;
    const bm_tune_result *plans;
    bm_tune_documents *to;
    double **halves; /* scratch memory of each thread: a number for each drawn document */
} forecasting;

/* For each drawn document i, set halves[i] to half the sum over its pairs in cells begin … end-1.
 * A pair in cell c counts weights[c], or 1 if `weights` is NULL. */
static void add_halves(const bm_pair_census *census, const double *weights, uint32_t begin,
                       uint32_t end, double *halves)
{
    uint32_t cells[BM_CENSUS_CELLS], n = 0;
    for (uint32_t c = begin; c < end; c++)
        if (census->pairs[c] > 0)
            cells[n++] = c;
    for (size_t i = 0; i < census->n; i++) {
        const uint32_t *seen = census->seen + i * BM_CENSUS_CELLS;
        double sum = 0;
        for (uint32_t k = 0; k < n; k++)
            sum += seen[cells[k]] * (weights != NULL ? weights[cells[k]] : 1);
        halves[i] = sum / 2;
    }
}

static bm_total total_of(const bm_pair_census *census, const double *halves, double most)
{
    return pair_total_rare(halves, census->n, census->n_docs, most);
}

static void forecast_plan(const forecasting *f, const bm_tune_plan *plan, double *halves,
                          bm_tune_forecast *to)
{
    const bm_pair_census *census = f->census;
    const uint32_t at = census->first_at;
    double found[BM_CENSUS_CELLS], missed[BM_CENSUS_CELLS];
    for (uint32_t c = 0; c < BM_CENSUS_CELLS; c++) {
        found[c] = bm_band_probability(plan->bands, plan->rows, census->similarity[c]);
        missed[c] = 1 - found[c];
    }
    add_halves(census, found, 0, BM_CENSUS_CELLS, halves);
    const bm_total candidates = total_of(census, halves, 1);
    add_halves(census, found, at, BM_CENSUS_CELLS, halves);
    const bm_total verified = total_of(census, halves, 1);
    add_halves(census, missed, at, BM_CENSUS_CELLS, halves);
    const bm_total lost = total_of(census, halves, 1 - plan->recall);
    *to = (bm_tune_forecast){candidates.value, candidates.error, verified.value,
                             verified.error,   lost.value,       lost.error};
}

static bm_status forecast_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    const forecasting *f = ctx;
    (void)err;
    for (size_t i = begin; i < end; i++)
        forecast_plan(f, &f->plans->plans[i], f->halves[thread], &f->to->forecasts[i]);
    return BM_OK;
}

/* --- the histogram --- */

/* For each drawn document, add half the number of its pairs without common hashes, because these
 * pairs are in no cell. */
static void add_unlike(const bm_pair_census *census, double *halves)
{
    for (size_t i = 0; i < census->n; i++) {
        uint64_t alike = 0;
        for (uint32_t c = 0; c < BM_CENSUS_CELLS; c++)
            alike += census->seen[i * BM_CENSUS_CELLS + c];
        halves[i] += (double)(census->n_docs - 1 - alike) / 2;
    }
}

static void make_histogram(const bm_pair_census *census, double *halves, bm_tune_documents *to)
{
    uint32_t begin = 0;
    for (uint32_t bin = 0; bin < BM_TUNE_BINS; bin++) {
        uint32_t end = begin;
        while (end < BM_CENSUS_CELLS && census_hundredth(census, end) == bin)
            end++;
        add_halves(census, NULL, begin, end, halves);
        if (bin == 0)
            add_unlike(census, halves);
        const bm_total total = total_of(census, halves, 1);
        to->pairs[bin] = total.value;
        to->pairs_error[bin] = total.error;
        begin = end;
    }
    memcpy(to->sample_pairs, census->sample_pairs, sizeof to->sample_pairs);
    add_halves(census, NULL, census->first_at, BM_CENSUS_CELLS, halves);
    const bm_total similar = total_of(census, halves, 1);
    to->sample.similar_pairs = similar.value;
    to->sample.similar_pairs_error = similar.error;
}

/* For each level, count the documents whose similarity to an earlier document reaches the level.
 * Identical documents are counted exactly. The number of other documents is estimated from the
 * drawn documents. */
static void count_removed(const bm_pair_census *census, double *halves, bm_tune_sample *to)
{
    for (uint32_t l = 0; l < BM_TUNE_LEVELS; l++) {
        for (size_t i = 0; i < census->n; i++)
            halves[i] = census->levels[i] >> l & 1;
        const bm_total total = total_of(census, halves, 2); /* a document counts 1, which is half of
                                                             * 2 */
        to->removed[l] = total.value + (double)to->identical;
        to->removed_error[l] = total.error;
    }
}

bm_status bm_plan_forecast(const bm_pair_census *census, const bm_tune_result *plans,
                           bm_tune_documents *to, bm_pool *pool, bm_error *err)
{
    const uint32_t n_threads = bm_pool_size(pool);
    forecasting f = {.census = census, .plans = plans, .to = to};
    double *buffer = bm_alloc(n_threads * census->n, sizeof *buffer);
    bm_status status = BM_OK;
    f.halves = bm_alloc(n_threads, sizeof *f.halves);
    if (buffer == NULL || f.halves == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n_threads * census->n * sizeof *buffer));
    for (uint32_t t = 0; t < n_threads; t++)
        f.halves[t] = buffer + t * census->n;
    make_histogram(census, f.halves[0], to);
    count_removed(census, f.halves[0], &to->sample);
    BM_TRY_OUT(bm_pool_for(pool, (bm_pool_split){plans->n_plans, 1}, forecast_range, &f, err));
    const bm_tune_forecast *chosen = &to->forecasts[plans->chosen];
    trials_range(&census->trials, census->n_docs, chosen->candidates, chosen->candidates_error,
                 &to->sample.candidates_low, &to->sample.candidates_high);
out:
    bm_free_all(f.halves, buffer);
    return status;
}
