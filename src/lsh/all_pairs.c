/* all_pairs.c -- all pairs above a threshold by an inverted index of rare shingles.
 *
 * For each document a, in ascending order, the lists of its prefix (rare_prefix.c) name the later
 * documents b that may reach the threshold. At the first shingle that a and b share, in the order
 * of rarity, i rarer ones of a and j rarer ones of b are not shared; so at most
 * 1 + min(|a| - i - 1, |b| - j - 1) can be. Where that is too few, or the sizes alone rule the pair
 * out, b is dropped for this a; else the two sets are compared (verify.c), b ascending.
 *
 * Documents are taken in blocks whose lists name at most about four million others, which bounds
 * the results in flight; a block is split over the pool, and its results are emitted in order by
 * the calling thread. Work depends on the corpus: seconds where shared shingles are rare,
 * quadratic where the threshold is low and all documents look alike.
 *
 * Memory: the index, 4 bytes a document a thread, and the results of a block. */
#include "lsh/all_pairs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/rare_prefix.h"
#include "lsh/verify.h"

#define GRAIN      16u      /* documents a range */
#define BLOCK_DOCS 4096u    /* documents a block at most */
#define BLOCK_WORK 4194304u /* named documents a block, unless one document alone has more */
#define CHUNK      65536u

typedef struct range_pairs {
    bm_pair *pairs;
    size_t n, cap;
    uint64_t n_compared;
} range_pairs;

/* Scratch of a thread. */
typedef struct finder {
    uint32_t *seen;   /* seen[b] = a + 1: b was met for this a */
    uint64_t *others; /* to be compared with a; room for twice cap_others, for the sort */
    size_t n_others, cap_others;
} finder;

typedef struct search {
    bm_set_list sets;
    double threshold;
    bm_rare_prefix index;
    finder *finders;
    uint32_t n_finders;
    range_pairs ranges[BLOCK_DOCS / GRAIN];
    size_t block_begin;
} search;

/* Lists of a shingle from the first document after `doc` on. */
static size_t after(const bm_rare_prefix *index, uint32_t shingle, size_t doc)
{
    size_t low = index->list_begins[shingle], high = index->list_begins[shingle + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->postings[middle].doc <= doc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool may_reach(const search *s, size_t a, uint32_t rank_a, bm_posting b)
{
    size_t n_a = s->sets.sizes[a], n_b = s->sets.sizes[b.doc];
    size_t left_a = n_a - rank_a, left_b = n_b - b.rank;
    size_t most = left_a < left_b ? left_a : left_b;
    return bm_jaccard(most, n_a, n_b) >= s->threshold;
}

static bm_status meet(finder *f, uint32_t b, bm_error *err)
{
    if (f->n_others == f->cap_others) {
        void *others = f->others;
        bm_status status =
            bm_grow(&others, &f->cap_others, f->n_others + 1, 2 * sizeof *f->others, err);
        f->others = others;
        if (status != BM_OK)
            return status;
    }
    f->others[f->n_others++] = b;
    return BM_OK;
}

static bm_status find_others(const search *s, finder *f, size_t a, bm_error *err)
{
    const bm_rare_prefix *index = &s->index;
    f->n_others = 0;
    for (size_t i = a == 0 ? 0 : index->item_ends[a - 1]; i < index->item_ends[a]; i++) {
        bm_prefix_item item = index->items[i];
        size_t end = index->list_begins[item.shingle + 1];
        for (size_t k = after(index, item.shingle, a); k < end; k++) {
            bm_posting b = index->postings[k];
            if (f->seen[b.doc] == a + 1)
                continue;
            f->seen[b.doc] = (uint32_t)(a + 1);
            bm_status status = may_reach(s, a, item.rank, b) ? meet(f, b.doc, err) : BM_OK;
            if (status != BM_OK)
                return status;
        }
    }
    return BM_OK;
}

static bm_status compare(const search *s, finder *f, size_t a, range_pairs *out, bm_error *err)
{
    const bm_set_list *sets = &s->sets;
    bm_hashes_sort(f->others, f->n_others, f->others + f->cap_others);
    for (size_t i = 0; i < f->n_others; i++) {
        size_t b = (size_t)f->others[i];
        double similarity = bm_jaccard_at_least(sets->docs[a], sets->sizes[a], sets->docs[b],
                                                sets->sizes[b], s->threshold);
        if (similarity < 0)
            continue;
        void *pairs = out->pairs;
        bm_status status = bm_grow(&pairs, &out->cap, out->n + 1, sizeof *out->pairs, err);
        out->pairs = pairs;
        if (status != BM_OK)
            return status;
        out->pairs[out->n++] =
            (bm_pair){.a = (uint32_t)a, .b = (uint32_t)b, .similarity = similarity};
    }
    out->n_compared += f->n_others;
    return BM_OK;
}

static bm_status search_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    search *s = ctx;
    finder *f = &s->finders[thread];
    for (size_t i = begin; i < end; i++) {
        size_t a = s->block_begin + i;
        bm_status status = find_others(s, f, a, err);
        if (status == BM_OK && f->n_others != 0)
            status = compare(s, f, a, &s->ranges[i / GRAIN], err);
        if (status != BM_OK)
            return status;
    }
    return BM_OK;
}

/* Where the block that begins at `begin` ends. */
static size_t block_end(const search *s, size_t begin)
{
    size_t work = 0, doc = begin;
    for (; doc < s->sets.n_docs && doc - begin < BLOCK_DOCS; doc++) {
        size_t named = 0, later = s->sets.n_docs - doc - 1;
        for (size_t i = doc == 0 ? 0 : s->index.item_ends[doc - 1]; i < s->index.item_ends[doc];
             i++) {
            uint32_t shingle = s->index.items[i].shingle;
            named += s->index.list_begins[shingle + 1] - s->index.list_begins[shingle];
        }
        work += named < later ? named : later;
        if (work > BLOCK_WORK && doc > begin)
            break;
    }
    return doc;
}

static bm_status search_block(search *s, size_t end, bm_pool *pool, bm_error *err)
{
    size_t n = end - s->block_begin;
    if (pool != NULL)
        return bm_pool_for(pool, n, GRAIN, search_range, s, err);
    return search_range(s, 0, 0, n, err);
}

static bm_status emit(search *s, bm_candidates_fn fn, void *ctx, uint64_t *n_compared,
                      bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t r = 0; r < BLOCK_DOCS / GRAIN; r++) {
        range_pairs *range = &s->ranges[r];
        for (size_t i = 0; status == BM_OK && i < range->n; i += CHUNK)
            status = fn(ctx, range->pairs + i, range->n - i < CHUNK ? range->n - i : CHUNK, err);
        *n_compared += range->n_compared;
        range->n_compared = 0;
        range->n = 0;
        if (range->cap > CHUNK) { /* a rare giant; do not keep it */
            bm_free(range->pairs);
            range->pairs = NULL;
            range->cap = 0;
        }
    }
    return status;
}

static bm_status report(const search *s, const bm_callbacks *callbacks, double began_s,
                        bm_error *err)
{
    if (callbacks == NULL)
        return BM_OK;
    if (callbacks->cancelled != NULL && callbacks->cancelled(callbacks->ctx))
        return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
    if (callbacks->progress != NULL) {
        bm_progress progress = {.stage = "compare",
                                .done = s->block_begin,
                                .total = s->sets.n_docs,
                                .unit = "documents",
                                .n_docs = s->block_begin,
                                .elapsed_s = bm_clock_seconds() - began_s};
        callbacks->progress(callbacks->ctx, &progress);
    }
    return BM_OK;
}

static bm_status open_finders(search *s, uint32_t n, bm_error *err)
{
    s->finders = bm_alloc_zero(n, sizeof *s->finders);
    if (s->finders == NULL)
        return bm_fail_nomem(err, n * sizeof *s->finders);
    s->n_finders = n;
    for (uint32_t i = 0; i < n; i++) {
        s->finders[i].seen = bm_alloc_zero(s->sets.n_docs, sizeof *s->finders[i].seen);
        if (s->finders[i].seen == NULL)
            return bm_fail_nomem(err, s->sets.n_docs * sizeof *s->finders[i].seen);
    }
    return BM_OK;
}

static void search_free(search *s)
{
    for (uint32_t i = 0; i < s->n_finders; i++) {
        bm_free(s->finders[i].seen);
        bm_free(s->finders[i].others);
    }
    for (size_t i = 0; i < BLOCK_DOCS / GRAIN; i++)
        bm_free(s->ranges[i].pairs);
    bm_free(s->finders);
    bm_rare_prefix_reset(&s->index);
    bm_free(s);
}

bm_status bm_all_pairs(const uint64_t *const *docs, const uint32_t *sizes, const uint8_t *skip,
                       size_t n_docs, double threshold, bm_pool *pool, bm_candidates_fn fn,
                       void *ctx, uint64_t *n_compared, const bm_callbacks *callbacks,
                       bm_error *err)
{
    if (!(threshold > 0 && threshold <= 1))
        return bm_fail(err, BM_ERR_USAGE, "threshold %g is out of range (above 0, at most 1)",
                       threshold);
    if (n_docs > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%zu documents are too many (at most %u)", n_docs,
                       BM_DOCS_MAX);
    double began_s = bm_clock_seconds();
    uint64_t compared = 0;
    search *s = bm_alloc_zero(1, sizeof *s);
    if (s == NULL)
        return bm_fail_nomem(err, sizeof *s);
    s->sets = (bm_set_list){.docs = docs, .sizes = sizes, .skip = skip, .n_docs = n_docs};
    s->threshold = threshold;
    bm_status status = report(s, callbacks, began_s, err);
    if (status == BM_OK)
        status = bm_rare_prefix_build(&s->index, &s->sets, threshold, pool, err);
    if (status == BM_OK)
        status = open_finders(s, pool == NULL ? 1 : bm_pool_size(pool), err);
    while (status == BM_OK && s->block_begin < n_docs) {
        size_t end = block_end(s, s->block_begin);
        status = search_block(s, end, pool, err);
        if (status == BM_OK)
            status = emit(s, fn, ctx, &compared, err);
        s->block_begin = end;
        if (status == BM_OK)
            status = report(s, callbacks, began_s, err);
    }
    if (status == BM_OK && n_compared != NULL)
        *n_compared = compared;
    search_free(s);
    return status;
}
