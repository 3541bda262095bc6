/* pair_census.c -- draw, index, walk.
 *
 *     draw    the n least priorities of the distinct documents, in a heap
 *     index   their sets (lsh/set_overlaps.h)
 *     walk    each distinct document of the corpus looks its hashes up, on all threads: what it has in
 *             common with every drawn one, hence the similarity
 *
 * A pair of a drawn document with any other is looked at, n D of them, at the cost of the hashes of the
 * corpus and of those that are in common; sets in a file are read once more, in order. All that is kept
 * are whole numbers, added up atomically, so the order in which documents are walked changes nothing.
 *
 * Tests: tests/unit/tune/test_pair_census.c, tests/reference/test_forecast.py */
#include "tune/pair_census.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/set_overlaps.h"
#include "lsh/verify.h"
#include "corpus/sample.h"

#define GRAIN       64u    /* documents that a thread takes at once */
#define OFFSET_UNIT 65536u /* parts of a thousandth */
#define NOT_DRAWN   UINT32_MAX

typedef struct drawn {
    uint64_t priority;
    uint32_t row;
} drawn;

/* What one thread has for itself. */
typedef struct walker {
    bm_overlaps overlaps;
    bm_set_reader reader;
    uint64_t offsets[BM_CENSUS_CELLS];
    uint64_t sample_pairs[BM_HISTOGRAM_BINS];
} walker;

typedef struct walk {
    const bm_census_job *job;
    bm_pair_census *census;
    bm_overlap_index index;
    walker *walkers;
    uint64_t walked; /* documents so far, for the meter */
} walk;

/* --- drawing --- */

static bool is_distinct(const bm_corpus *corpus, size_t row)
{
    return corpus->skip[row] == 0 && corpus->sizes[row] > 0;
}

static bool is_later(const drawn *x, const drawn *y)
{
    return x->priority != y->priority ? x->priority > y->priority : x->row > y->row;
}

/* The entry at the top of a heap, the latest first, goes down to its place. */
static void sift_down(drawn *heap, size_t n)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_later(&heap[child + 1], &heap[child]);
        if (!is_later(&heap[child], &heap[at]))
            break;
        const drawn was = heap[at];
        heap[at] = heap[child];
        heap[child] = was;
    }
}

static int latest_first(const void *x, const void *y)
{
    return is_later(x, y) ? -1 : is_later(y, x);
}

static int by_row(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

static bm_status draw(const bm_census_job *job, bm_pair_census *census, bm_error *err)
{
    const bm_corpus *corpus = job->corpus;
    drawn *heap = NULL;
    size_t n = 0, cap = 0;
    bm_status status = BM_OK;
    for (size_t row = 0; row < corpus->n; row++) {
        if (!is_distinct(corpus, row))
            continue;
        const drawn d = {bm_sample_priority(job->seed, row), (uint32_t)row};
        census->n_docs++;
        if (n < job->wanted) {
            BM_TRY_OUT(bm_grow_array(&heap, &cap, n + 1, err));
            heap[n++] = d;
            if (n == job->wanted) /* an array in this order is a heap */
                qsort(heap, n, sizeof *heap, latest_first);
        } else if (is_later(&heap[0], &d)) {
            heap[0] = d;
            sift_down(heap, n);
        }
    }
    BM_TRY_OUT(bm_new(&census->rows, n, err));
    for (size_t i = 0; i < n; i++)
        census->rows[i] = heap[i].row;
    if (n > 1)
        qsort(census->rows, n, sizeof *census->rows, by_row);
    census->n = n;
out:
    bm_free(heap);
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

/* What is needed beside the corpus fits into `memory`, perhaps when the sets have gone to a file. */
static bm_status check_memory(const bm_census_job *job, const bm_pair_census *census, bm_error *err)
{
    const uint64_t n = census->n, hashes = drawn_hashes(job, census);
    const uint64_t bytes = n * BM_CENSUS_CELLS * sizeof *census->seen +
                           bm_overlap_index_bytes(hashes) + hashes * sizeof(uint64_t) +
                           bm_pool_size(job->pool) * (sizeof(walker) + 3 * n * sizeof(uint32_t)) +
                           bm_trial_bytes(&job->trial, n, bm_pool_size(job->pool));
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
    status = bm_trials_make(&w->job->trial, &given, w->job->pool, &w->census->trials, err);
out:
    bm_free(arena);
    bm_free(sets);
    bm_free(sizes);
    return status;
}

/* --- walking --- */

/* A pair of a drawn document and another. */
static void count_pair(const walk *w, walker *own, uint32_t place, uint64_t n_x, bool both)
{
    bm_pair_census *census = w->census;
    const uint64_t n_y = w->job->corpus->sizes[census->rows[place]];
    const uint64_t common = own->overlaps.common[place], all = n_x + n_y - common;
    const uint64_t scaled = common * BM_CENSUS_BINS;
    const bool reaches = bm_jaccard(common, n_x, n_y) >= w->job->threshold;
    const uint32_t cell = (uint32_t)(scaled / all) + reaches;
    __atomic_fetch_add(&census->seen[(size_t)place * BM_CENSUS_CELLS + cell], 1, __ATOMIC_RELAXED);
    own->offsets[cell] += scaled % all * OFFSET_UNIT / all;
    if (both)
        own->sample_pairs[bm_histogram_bin(bm_jaccard(common, n_x, n_y))]++;
}

/* The place of a row among those drawn. */
static uint32_t place_of(const bm_pair_census *census, uint32_t row)
{
    const uint32_t *found = bsearch(&row, census->rows, census->n, sizeof row, by_row);
    return found != NULL ? (uint32_t)(found - census->rows) : NOT_DRAWN;
}

static bm_status walk_document(const walk *w, walker *own, size_t row, bm_error *err)
{
    const bm_corpus *corpus = w->job->corpus;
    const uint32_t place = place_of(w->census, (uint32_t)row);
    const void *set;
    own->reader.corpus = corpus;
    BM_TRY(bm_set_reader_get(&own->reader, row, &set, err));
    bm_overlaps_find(&own->overlaps, &w->index, set, corpus->sizes[row]);
    for (size_t i = 0; i < own->overlaps.n_found; i++) {
        const uint32_t other = own->overlaps.found[i];
        if (other != place) /* each pair of two drawn ones comes twice: the later row counts it */
            count_pair(w, own, other, corpus->sizes[row], place != NOT_DRAWN && other < place);
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
    census->sample_pairs[0] += in_sample; /* that have nothing in common */
}

/* The thousandth in which a threshold lies: of pairs below it none lies in a later one, and of those that
 * reach it none in an earlier one. */
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
    w->walkers = bm_alloc_aligned(n_threads, sizeof *w->walkers);
    if (w->walkers == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n_threads * sizeof *w->walkers));
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
    bm_free(census->rows);
    bm_free(census->seen);
    memset(census, 0, sizeof *census);
}

uint32_t bm_census_hundredth(const bm_pair_census *census, uint32_t cell)
{
    const uint32_t bin = cell - (cell >= census->first_at ? 1 : 0);
    return bin >= BM_CENSUS_BINS ? BM_HISTOGRAM_BINS - 1
                                 : bin / (BM_CENSUS_BINS / BM_HISTOGRAM_BINS);
}
