/* test_length_pairs.c -- pairs found by the sizes of their sets against counting what every two
 * documents share; windows at thresholds that are the ratio of two sizes, and just beside it. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lsh/joins/length_pairs.h"
#include "lsh/joins/prefix_index.h"
#include "lsh/verify.h"
#include "tests/unit/base/shared_counts.h"

static uint64_t state = 11;

static uint64_t draw(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Documents by number, and by size: `sets` in the order of positions. */
typedef struct corpus {
    size_t n;
    uint64_t **docs;
    uint32_t *sizes, *by_size;
    const uint64_t **sets;
    bm_length_order order;
} corpus;

static void end_adding(corpus *c, double threshold)
{
    const bm_set_list list = {.sizes = c->sizes, .n_docs = c->n};
    c->by_size = calloc(c->n + 1, sizeof *c->by_size);
    c->sets = calloc(c->n + 1, sizeof *c->sets);
    c->order = (bm_length_order){.docs = c->by_size, .sizes = c->sizes, .threshold = threshold};
    cr_assert_eq(bm_order_by_size(&list, c->by_size, &c->order.n, NULL), BM_OK);
    for (size_t i = 0; i < c->order.n; i++)
        c->sets[i] = c->docs[c->by_size[i]];
}

/* n documents of up to `longest` shingles; most are edited copies of an earlier one. */
static corpus make(size_t n, size_t longest, uint64_t words, double threshold)
{
    corpus c = {
        .n = n, .docs = calloc(n + 1, sizeof *c.docs), .sizes = calloc(n + 1, sizeof *c.sizes)};
    uint64_t *scratch = malloc(longest * 8 + 8);
    for (size_t i = 0; i < n; i++) {
        size_t size = draw() % (longest + 1);
        uint64_t *doc = malloc(longest * 8 + 8);
        if (i > 0 && draw() % 3 != 0) {
            size_t from = draw() % i;
            size = c.sizes[from];
            memcpy(doc, c.docs[from], size * 8);
            for (size_t edits = draw() % 6; edits > 0 && size > 0; edits--)
                doc[draw() % size] = draw() % words;
            size -= size > 2 && draw() % 2;
        } else {
            for (size_t k = 0; k < size; k++)
                doc[k] = draw() % words;
        }
        bm_hashes_sort(doc, size, scratch);
        c.sizes[i] = (uint32_t)bm_hashes_distinct(doc, size);
        c.docs[i] = doc;
    }
    free(scratch);
    end_adding(&c, threshold);
    return c;
}

static void drop(corpus *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->docs[i]);
    free(c->docs);
    free(c->sizes);
    free(c->by_size);
    free(c->sets);
}

typedef struct list {
    bm_pair *pairs;
    size_t n, cap, most;
} list;

static bm_status append(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    (void)err;
    list *l = ctx;
    if (l->n + n > l->cap) {
        l->cap = (l->n + n) * 2;
        l->pairs = realloc(l->pairs, l->cap * sizeof *l->pairs);
    }
    memcpy(l->pairs + l->n, pairs, n * sizeof *pairs);
    l->n += n;
    l->most = n > l->most ? n : l->most;
    return BM_OK;
}

static list naive(const corpus *c, double threshold)
{
    list out = {0};
    uint16_t *counts = shared_counts((const uint64_t *const *)c->docs, c->sizes, c->n);
    for (size_t a = 0; a < c->n; a++) {
        for (size_t b = a + 1; b < c->n; b++) {
            size_t common = counts[a * c->n + b];
            double s =
                common == 0 ? 0 : (double)common / (double)(c->sizes[a] + c->sizes[b] - common);
            bm_pair pair = {(uint32_t)a, (uint32_t)b, s};
            if (common != 0 && s >= threshold)
                append(&out, &pair, 1, NULL);
        }
    }
    free(counts);
    return out;
}

static bool reaches(size_t n_x, size_t n_y, double threshold)
{
    double least = (double)(n_x < n_y ? n_x : n_y), most = (double)(n_x < n_y ? n_y : n_x);
    return least / most >= threshold;
}

/* How many pairs have sizes that allow the threshold, by trying every two. */
static uint64_t count(const corpus *c, double threshold)
{
    uint64_t n = 0;
    for (size_t a = 0; a < c->n; a++)
        for (size_t b = a + 1; b < c->n; b++)
            n += c->sizes[a] != 0 && c->sizes[b] != 0 &&
                 reaches(c->sizes[a], c->sizes[b], threshold);
    return n;
}

static int by_place(const void *x, const void *y)
{
    const bm_pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

static void in_order(list *l)
{
    if (l->n != 0)
        qsort(l->pairs, l->n, sizeof *l->pairs, by_place);
}

static void expect_same(const list *got, const list *wanted)
{
    cr_assert_eq(got->n, wanted->n, "%zu pairs for %zu", got->n, wanted->n);
    for (size_t i = 0; i < got->n; i++) {
        cr_assert_eq(got->pairs[i].a, wanted->pairs[i].a);
        cr_assert_eq(got->pairs[i].b, wanted->pairs[i].b);
        cr_assert_eq(got->pairs[i].similarity, wanted->pairs[i].similarity);
    }
}

/* In the order in which they come. `held` documents at a time with windows of `window`, 0: all at
 * once. */
static list run_raw(const corpus *c, size_t held, size_t window, uint32_t threads)
{
    list got = {0};
    bm_length_job job = {.order = &c->order, .fn = append, .ctx = &got};
    bm_length_join *join;
    if (threads != 0)
        cr_assert_eq(bm_pool_open(threads, &job.pool, NULL), BM_OK);
    cr_assert_eq(bm_length_join_open(&job, &join, NULL), BM_OK);
    const size_t n = c->order.n, step = held == 0 ? n : held;
    for (size_t begin = 0; begin < n; begin += step) {
        size_t end = n - begin < step ? n : begin + step;
        const bm_length_sets own = {begin, end, c->sets + begin};
        cr_assert_eq(bm_length_join_run(join, &own, &own, NULL), BM_OK);
        const size_t last = bm_length_end(&c->order, end - 1);
        for (size_t at = end; at < last; at += window) {
            const bm_length_sets later = {at, last - at < window ? last : at + window,
                                          c->sets + at};
            cr_assert_eq(bm_length_join_run(join, &own, &later, NULL), BM_OK);
        }
    }
    cr_assert_eq(bm_length_join_compared(join), count(c, c->order.threshold));
    cr_assert_eq(bm_length_count(&c->order), count(c, c->order.threshold));
    cr_assert_leq(got.most, 1024);
    bm_length_join_close(join);
    bm_pool_close(job.pool);
    return got;
}

Test(length_pairs, equals_comparing_every_two_at_any_threshold)
{
    static const double thresholds[] = {1e-300,  .01, .1,  .2, .25, 1.0 / 3, .5, .6,
                                        2.0 / 3, .7,  .75, .8, .9,  .95,     1};
    for (int round = 0; round < 15 * 12; round++) {
        double t = thresholds[round % 15];
        if (round % 3 == 1)
            t = nextafter(t, 0);
        if (round % 3 == 2 && t < 1)
            t = nextafter(t, 1);
        corpus c = make(draw() % 150, 1 + draw() % 40, 10 + draw() % 200, t);
        list wanted = naive(&c, t);
        list got =
            run_raw(&c, round % 2 == 0 ? 0 : 1 + draw() % 40, 1 + draw() % 60, (uint32_t)round % 3);
        in_order(&got);
        expect_same(&got, &wanted);
        free(got.pairs);
        free(wanted.pairs);
        drop(&c);
    }
}

/* Of the sizes 1 … 60 at every ratio of two of them and its two neighbours among the doubles: by
 * the quotient in double, one pair of sizes after another. */
Test(length_pairs, windows_begin_and_end_where_the_quotient_of_sizes_says)
{
    enum { MOST = 60 };
    corpus c = {.n = MOST, .docs = calloc(MOST, 8), .sizes = calloc(MOST, 4)};
    for (uint32_t i = 0; i < MOST; i++)
        c.sizes[i] = MOST - i;
    end_adding(&c, 1);
    for (size_t den = 1; den <= MOST; den++) {
        for (size_t num = 1; num <= den; num++) {
            for (int side = -1; side <= 1; side++) {
                const double exact = (double)num / (double)den;
                double t = side == 0 ? exact : nextafter(exact, side < 0 ? 0 : 2);
                t = t > 1 ? 1 : t;
                c.order.threshold = t;
                size_t first = 0, end = 0; /* of the document of `den`, and of that of `num` */
                while (!reaches(first + 1, den, t))
                    first++;
                for (end = num; end < MOST && reaches(num, end + 1, t);)
                    end++;
                cr_assert_eq(bm_length_first(&c.order, den - 1), first);
                cr_assert_eq(bm_length_end(&c.order, num - 1), end);
            }
        }
    }
    drop(&c);
}

/* One set within the other: their similarity is the ratio of their sizes, and so is T. */
Test(length_pairs, a_pair_at_the_exact_ratio_of_its_sizes_is_found)
{
    for (size_t den = 1; den <= 40; den++) {
        for (size_t num = 1; num <= den; num++) {
            corpus c = {.n = 2, .docs = calloc(3, 8), .sizes = calloc(3, 4)};
            for (size_t i = 0; i < 2; i++) {
                c.sizes[i] = (uint32_t)(i == 0 ? den : num);
                c.docs[i] = calloc(den, 8);
                for (size_t k = 0; k < den; k++)
                    c.docs[i][k] = k * 3 + 1;
            }
            end_adding(&c, (double)num / (double)den);
            list got = run_raw(&c, 0, 0, 0);
            cr_assert(got.n == 1 && got.pairs[0].similarity == (double)num / (double)den);
            free(got.pairs);
            c.order.threshold = nextafter(c.order.threshold, 2);
            if (num < den) {
                got = run_raw(&c, 0, 0, 0);
                cr_assert_eq(got.n, 0);
            }
            drop(&c);
        }
    }
}

Test(length_pairs, order_and_values_are_the_same_for_any_threads)
{
    static const uint32_t threads[] = {1, 2, 8};
    corpus c = make(3000, 40, 3000, .4); /* more documents than are compared at once */
    list one = run_raw(&c, 0, 0, 0);
    cr_assert_gt(one.n, 3000);
    for (int i = 0; i < 3; i++) {
        list other = run_raw(&c, 0, 0, threads[i]);
        expect_same(&other, &one);
        free(other.pairs);
    }
    list wanted = naive(&c, .4);
    in_order(&one);
    expect_same(&one, &wanted);
    free(one.pairs);
    free(wanted.pairs);
    drop(&c);
}

Test(length_pairs, uncompared_pairs_are_all_whose_sizes_allow_the_threshold)
{
    corpus c = make(500, 40, 300, .7);
    list got = {0};
    bm_length_job job = {.order = &c.order, .uncompared = true, .fn = append, .ctx = &got};
    bm_length_join *join;
    cr_assert_eq(bm_length_join_open(&job, &join, NULL), BM_OK);
    const bm_length_sets all = {.end = c.order.n};
    cr_assert_eq(bm_length_join_run(join, &all, &all, NULL), BM_OK);
    bm_length_join_close(join);
    in_order(&got);
    size_t at = 0;
    for (uint32_t a = 0; a < c.n; a++)
        for (uint32_t b = a + 1; b < c.n; b++)
            if (c.sizes[a] != 0 && c.sizes[b] != 0 && reaches(c.sizes[a], c.sizes[b], .7)) {
                cr_assert(at < got.n && got.pairs[at].a == a && got.pairs[at].b == b);
                at++;
            }
    cr_assert_eq(at, got.n);
    cr_assert_gt(at, 10000);
    free(got.pairs);
    drop(&c);
}

typedef struct watch {
    uint64_t last, total;
    int n, stop_at;
} watch;

static void on_progress(void *ctx, const bm_progress *p)
{
    watch *w = ctx;
    cr_assert(strcmp(p->unit, "pairs") == 0 && p->done >= w->last && p->done <= p->total);
    w->last = p->done;
    w->total = p->total;
}

static bool on_cancelled(void *ctx)
{
    watch *w = ctx;
    return w->n++ == w->stop_at;
}

Test(length_pairs, progress_ends_at_all_pairs_and_cancelling_ends_the_work)
{
    corpus c = make(2000, 300, 300, .1);
    list got = {0};
    watch w = {.stop_at = -1};
    const bm_callbacks callbacks = {.ctx = &w, .progress = on_progress, .cancelled = on_cancelled};
    bm_length_job job = {.order = &c.order, .fn = append, .ctx = &got, .callbacks = &callbacks};
    const bm_length_sets all = {.end = c.order.n, .sets = c.sets};
    for (int stop_at = -1; stop_at < 4; stop_at += 2) {
        bm_length_join *join;
        w = (watch){.stop_at = stop_at};
        cr_assert_eq(bm_length_join_open(&job, &join, NULL), BM_OK);
        cr_assert_eq(bm_length_join_run(join, &all, &all, NULL),
                     stop_at < 0 ? BM_OK : BM_ERR_CANCELLED);
        cr_assert(stop_at < 0 ? w.n > 4 && w.last == w.total && w.total == bm_length_count(&c.order)
                              : w.last < w.total);
        bm_length_join_close(join);
    }
    free(got.pairs);
    drop(&c);
}

static bm_status full(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    (void)ctx;
    (void)pairs;
    (void)n;
    (void)err;
    return BM_ERR_NOMEM;
}

Test(length_pairs, thresholds_out_of_range_and_failures_of_the_caller_are_errors)
{
    static const double bad[] = {0, -1, 1.5, NAN};
    corpus c = make(50, 10, 5, .5);
    bm_length_job job = {.order = &c.order, .fn = full};
    const bm_length_sets all = {.end = c.order.n, .sets = c.sets};
    bm_length_join *join;
    for (int i = 0; i < 4; i++) {
        c.order.threshold = bad[i];
        cr_assert_eq(bm_length_join_open(&job, &join, NULL), BM_ERR_USAGE);
    }
    c.order.threshold = .1;
    cr_assert_eq(bm_length_join_open(&job, &join, NULL), BM_OK);
    cr_assert_eq(bm_length_join_run(join, &all, &all, NULL), BM_ERR_NOMEM);
    bm_length_join_close(join);
    bm_length_join_close(NULL);
    drop(&c);
}
