/* length_pairs.c -- every two documents whose sizes allow the threshold are compared.
 *
 * Documents are taken by size. Those that can reach the threshold with the document at position x,
 * and are not larger, are a window of positions that ends at x:
 *
 *     sizes   3  5  5  8  9  9 10 12 …                   T = .8
 *                         [ window ] x                   10: from size 8 on
 *
 * No pair is lost. The similarity of a pair is c / (|x| + |y| - c), rounded to double, where c
 * shingles are shared. Let |y| <= |x|. Since c <= |y|, that fraction is at most |y| / |x|, and as
 * rounding is monotone the rounded one is at most |y| / |x| rounded. So a pair that reaches T in
 * double has fl(|y| / |x|) >= T, which is what bm_least_share answers with the very division:
 * the least size s with fl(s / |x|) >= T. A size at the exact ratio, say 4 of 5 at the double
 * nearest to .8, is inside whether that double is above or below the fraction, for it is the
 * quotient itself. And fl(s / n) falls as n grows, so windows begin at positions that ascend.
 *
 * Two sets are compared until the threshold is certain to be missed (lsh/intersect.h); what they
 * must share depends on their sizes alone, and neighbours have mostly the same size.
 *
 * Threads: 64 lanes of 16 documents each are compared at once with their windows, 32 documents of
 * these at a time so that sets stay in a cache. A lane stops where its buffer is full, or after a
 * number of steps, so that somebody who waits can cancel; this thread then hands the buffers on in
 * order, and lanes that are finished get the next documents. So neither the order nor the memory
 * depends on threads.
 *
 * Work is the number of pairs in the windows: quadratic, but with nothing to be made before, and it
 * does not depend on what stands in the documents.
 *
 * Tests: tests/unit/joins/test_length_pairs.c */
#include "lsh/joins/length_pairs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/intersect.h"
#include "lsh/joins/rare_prefix.h"
#include "lsh/verify.h"

#define LANES      64u
#define LANE_DOCS  16u
#define BESIDE     32u                 /* documents of a window at a time */
#define LANE_PAIRS 1024u               /* in a lane's buffer */
#define LANE_STEPS ((uint64_t)4 << 20) /* shingles of a round that a lane looks at, about */

typedef struct lane {
    size_t x, x_end; /* positions of its documents */
    size_t next;     /* of these, the one whose row is next */
    size_t y, y_end; /* what is left of their windows */
    size_t firsts[LANE_DOCS];
    bm_pair *pairs;
    size_t n;
    uint64_t n_compared, steps;
} lane;

struct bm_length_join {
    const bm_length_job *job;
    const bm_length_sets *smaller, *larger;
    lane lanes[LANES];
    bm_pair *pairs; /* of all lanes */
    uint64_t n_compared, total;
    double began_s;
};

/* --- windows --- */

static size_t size_at(const bm_length_order *order, size_t position)
{
    return order->sizes[order->docs[position]];
}

size_t bm_length_first(const bm_length_order *order, size_t x)
{
    const size_t least = bm_least_share(size_at(order, x), order->threshold);
    size_t low = 0, high = x;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (size_at(order, middle) < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t bm_length_end(const bm_length_order *order, size_t y)
{
    const size_t size = size_at(order, y);
    size_t low = y + 1, high = order->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bm_least_share(size_at(order, middle), order->threshold) <= size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t bm_length_count(const bm_length_order *order)
{
    size_t first = 0, size = 0, least = 0;
    uint64_t n = 0;
    for (size_t x = 0; x < order->n; x++) {
        if (size_at(order, x) != size) {
            size = size_at(order, x);
            least = bm_least_share(size, order->threshold);
        }
        while (size_at(order, first) < least)
            first++;
        n += x - first;
    }
    return n;
}

/* --- comparing --- */

static void put(lane *l, uint32_t doc_x, uint32_t doc_y, double similarity)
{
    l->pairs[l->n++] = (bm_pair){.a = doc_x < doc_y ? doc_x : doc_y,
                                 .b = doc_x < doc_y ? doc_y : doc_x,
                                 .similarity = similarity};
}

/* The document at x with those at y … y_end-1. */
static void compare_row(const bm_length_join *join, lane *l, size_t x, size_t y, size_t y_end)
{
    const bm_length_order *order = join->job->order;
    const uint32_t doc_x = order->docs[x];
    const size_t n_x = order->sizes[doc_x];
    const uint64_t *set_x = join->larger->sets[x - join->larger->begin];
    size_t n_before = 0, least = 0, common;
    for (; y < y_end; y++) {
        const uint32_t doc_y = order->docs[y];
        const size_t n_y = order->sizes[doc_y];
        if (n_y != n_before) {
            least = bm_jaccard_least_common(n_x, n_y, order->threshold);
            n_before = n_y;
        }
        const uint64_t *set_y = join->smaller->sets[y - join->smaller->begin];
        if (bm_intersect((bm_sorted_set){set_x, n_x}, (bm_sorted_set){set_y, n_y}, least, &common))
            put(l, doc_x, doc_y, bm_jaccard(common, n_x, n_y));
    }
}

static void list_row(const bm_length_join *join, lane *l, size_t x, size_t y, size_t y_end)
{
    const uint32_t *docs = join->job->order->docs;
    for (; y < y_end; y++)
        put(l, docs[x], docs[y], 0);
}

static bool may_go_on(const lane *l)
{
    return l->n + BESIDE <= LANE_PAIRS && l->steps < LANE_STEPS;
}

static void search_lane(const bm_length_join *join, lane *l)
{
    const size_t n = l->x_end - l->x;
    l->steps = 0;
    while (l->y < l->y_end) {
        const size_t y_next = l->y_end - l->y < BESIDE ? l->y_end : l->y + BESIDE;
        for (; l->next < n; l->next++) {
            const size_t x = l->x + l->next, first = l->firsts[l->next];
            const size_t begin = first > l->y ? first : l->y, end = x < y_next ? x : y_next;
            if (begin >= end)
                continue;
            if (!may_go_on(l))
                return;
            if (join->job->uncompared)
                list_row(join, l, x, begin, end);
            else
                compare_row(join, l, x, begin, end);
            l->n_compared += end - begin;
            l->steps += (end - begin) * size_at(join->job->order, x);
        }
        l->next = 0;
        l->y = y_next;
    }
}

static bm_status search_lanes(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    bm_length_join *join = ctx;
    for (size_t i = begin; i < end; i++)
        search_lane(join, &join->lanes[i]);
    return BM_OK;
}

/* --- rounds --- */

/* Give a lane the documents from x on. */
static void begin_lane(const bm_length_join *join, lane *l, size_t x)
{
    const bm_length_order *order = join->job->order;
    const bm_length_sets *smaller = join->smaller;
    const size_t end = join->larger->end;
    l->x = x;
    l->x_end = end - x < LANE_DOCS ? end : x + LANE_DOCS;
    l->next = 0;
    for (size_t i = x; i < l->x_end; i++)
        l->firsts[i - x] = bm_length_first(order, i);
    l->y = l->firsts[0] > smaller->begin ? l->firsts[0] : smaller->begin;
    l->y_end = l->x_end - 1 < smaller->end ? l->x_end - 1 : smaller->end;
}

/* Give finished lanes their next documents. False: all is done. */
static bool refill(bm_length_join *join, size_t *at)
{
    bool work = false;
    for (size_t i = 0; i < LANES; i++) {
        lane *l = &join->lanes[i];
        while (l->y >= l->y_end && *at < join->larger->end) {
            begin_lane(join, l, *at);
            *at = l->x_end;
        }
        work |= l->y < l->y_end;
    }
    return work;
}

static bm_status emit(bm_length_join *join, bm_error *err)
{
    const bm_length_job *job = join->job;
    bm_status status = BM_OK;
    for (size_t i = 0; i < LANES; i++) {
        lane *l = &join->lanes[i];
        if (status == BM_OK && l->n > 0)
            status = job->fn(job->ctx, l->pairs, l->n, err);
        join->n_compared += l->n_compared;
        l->n = 0;
        l->n_compared = 0;
    }
    return status;
}

static bm_status report(const bm_length_join *join, bm_error *err)
{
    const bm_callbacks *callbacks = join->job->callbacks;
    if (callbacks == NULL)
        return BM_OK;
    if (callbacks->cancelled != NULL && callbacks->cancelled(callbacks->ctx))
        return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
    if (callbacks->progress != NULL) {
        const double part = join->total > 0 ? (double)join->n_compared / (double)join->total : 1;
        bm_progress progress = {.stage = "compare",
                                .done = join->n_compared,
                                .total = join->total,
                                .unit = "pairs",
                                .n_docs = (uint64_t)(part * (double)join->job->order->n),
                                .elapsed_s = bm_clock_seconds() - join->began_s};
        callbacks->progress(callbacks->ctx, &progress);
    }
    return BM_OK;
}

bm_status bm_length_join_run(bm_length_join *join, const bm_length_sets *smaller,
                             const bm_length_sets *larger, bm_error *err)
{
    size_t at = larger->begin;
    bm_status status = report(join, err);
    join->smaller = smaller;
    join->larger = larger;
    while (status == BM_OK && refill(join, &at)) {
        if (join->job->pool != NULL)
            status =
                bm_pool_for(join->job->pool, (bm_pool_split){LANES, 1}, search_lanes, join, err);
        else
            status = search_lanes(join, 0, 0, LANES, err);
        if (status == BM_OK)
            status = emit(join, err);
        if (status == BM_OK)
            status = report(join, err);
    }
    return status;
}

/* --- opening --- */

uint64_t bm_length_join_bytes(void)
{
    return LANES * LANE_PAIRS * sizeof(bm_pair) + sizeof(bm_length_join);
}

bm_status bm_length_join_open(const bm_length_job *job, bm_length_join **out, bm_error *err)
{
    if (!(job->order->threshold > 0 && job->order->threshold <= 1))
        return bm_fail(err, BM_ERR_USAGE, "threshold %g is out of range (above 0, at most 1)",
                       job->order->threshold);
    bm_length_join *join = bm_alloc_zero(1, sizeof *join);
    if (join == NULL)
        return bm_fail_nomem(err, sizeof *join);
    join->pairs = bm_alloc((size_t)LANES * LANE_PAIRS, sizeof *join->pairs);
    if (join->pairs == NULL) {
        bm_free(join);
        return bm_fail_nomem(err, (size_t)bm_length_join_bytes());
    }
    for (size_t i = 0; i < LANES; i++)
        join->lanes[i].pairs = join->pairs + i * LANE_PAIRS;
    join->job = job;
    join->total = bm_length_count(job->order);
    join->began_s = bm_clock_seconds();
    *out = join;
    return BM_OK;
}

void bm_length_join_close(bm_length_join *join)
{
    if (join == NULL)
        return;
    bm_free(join->pairs);
    bm_free(join);
}

uint64_t bm_length_join_compared(const bm_length_join *join)
{
    return join->n_compared;
}
