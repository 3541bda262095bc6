/* All pairs by the inverted index against all pairs by comparing every two documents. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lsh/all_pairs.h"
#include "lsh/verify.h"

static uint64_t state = 5;

static uint64_t draw(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

typedef struct corpus {
    size_t n;
    uint64_t **docs;
    uint32_t *sizes;
    uint8_t *skip;
} corpus;

/* Documents of up to `longest` shingles out of `words`; most are edited copies of an earlier one.
 */
static corpus make(size_t n, size_t longest, uint64_t words)
{
    corpus c = {n, calloc(n + 1, sizeof *c.docs), calloc(n + 1, sizeof *c.sizes), calloc(n + 1, 1)};
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
                doc[k] = draw() % words * (draw() % words); /* some far more frequent than others */
        }
        bm_hashes_sort(doc, size, scratch);
        c.sizes[i] = (uint32_t)bm_hashes_distinct(doc, size);
        c.docs[i] = doc;
        c.skip[i] = draw() % 7 == 0;
    }
    free(scratch);
    return c;
}

static void drop(corpus *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->docs[i]);
    free(c->docs);
    free(c->sizes);
    free(c->skip);
}

typedef struct list {
    bm_pair *pairs;
    size_t n, cap;
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
    return BM_OK;
}

static void naive(const corpus *c, bool skip, double threshold, list *out)
{
    for (size_t a = 0; a < c->n; a++) {
        for (size_t b = a + 1; b < c->n; b++) {
            size_t common = 0, i = 0, j = 0;
            while (i < c->sizes[a] && j < c->sizes[b]) {
                uint64_t x = c->docs[a][i], y = c->docs[b][j];
                common += x == y;
                i += x <= y;
                j += y <= x;
            }
            double s =
                common == 0 ? 0 : (double)common / (double)(c->sizes[a] + c->sizes[b] - common);
            bm_pair pair = {(uint32_t)a, (uint32_t)b, s};
            if (common != 0 && s >= threshold && !(skip && (c->skip[a] || c->skip[b])))
                append(out, &pair, 1, NULL);
        }
    }
}

static list run(const corpus *c, bool skip, double threshold, uint32_t threads, uint64_t *compared)
{
    list got = {0};
    bm_pool *pool = NULL;
    if (threads != 0)
        cr_assert_eq(bm_pool_open(threads, &pool, NULL), BM_OK);
    cr_assert_eq(bm_all_pairs((const uint64_t *const *)c->docs, c->sizes, skip ? c->skip : NULL,
                              c->n, threshold, pool, append, &got, compared, NULL, NULL),
                 BM_OK);
    bm_pool_close(pool);
    return got;
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

Test(all_pairs, equals_comparing_every_two_at_any_threshold)
{
    static const double thresholds[] = {1e-300,  .01, .1,  .2, .25, 1.0 / 3, .5, .6,
                                        2.0 / 3, .7,  .75, .8, .9,  .95,     1};
    for (int round = 0; round < 15 * 16; round++) {
        double t = thresholds[round % 15];
        if (round % 3 == 1)
            t = nextafter(t, 0);
        if (round % 3 == 2 && t < 1)
            t = nextafter(t, 1);
        corpus c = make(draw() % 150, 1 + draw() % 40, 10 + draw() % 200);
        for (int skip = 0; skip < 2; skip++) {
            uint64_t compared = 0;
            list wanted = {0}, got = run(&c, skip, t, (uint32_t)round % 3, &compared);
            naive(&c, skip, t, &wanted);
            expect_same(&got, &wanted);
            cr_assert_geq(compared, got.n);
            free(got.pairs);
            free(wanted.pairs);
        }
        drop(&c);
    }
}

Test(all_pairs, order_values_and_counts_are_the_same_for_any_threads)
{
    corpus c = make(9000, 40, 4000); /* several blocks */
    uint64_t compared = 0, other_compared = 0;
    list one = run(&c, false, .4, 0, &compared);
    cr_assert_gt(one.n, 9000);
    static const uint32_t threads[] = {1, 2, 8};
    for (int i = 0; i < 3; i++) {
        list other = run(&c, false, .4, threads[i], &other_compared);
        expect_same(&other, &one);
        cr_assert_eq(compared, other_compared);
        free(other.pairs);
    }
    list wanted = {0};
    naive(&c, false, .4, &wanted);
    expect_same(&one, &wanted);
    free(one.pairs);
    free(wanted.pairs);
    drop(&c);
}

Test(all_pairs, identical_documents_are_all_paired)
{
    enum { N = 3000 };
    corpus c = make(1, 30, 1000);
    c.docs[0][0] = 17;
    c.sizes[0] = 1;
    uint64_t *docs[N];
    uint32_t sizes[N];
    for (size_t i = 0; i < N; i++) {
        docs[i] = c.docs[0];
        sizes[i] = 1;
    }
    corpus same = {N, docs, sizes, NULL};
    list got = run(&same, false, 1, 2, NULL);
    cr_assert_eq(got.n, (size_t)N * (N - 1) / 2);
    for (size_t i = 0, a = 0, b = 1; i < got.n; i++, b++) {
        if (b == N)
            b = ++a + 1;
        cr_assert(got.pairs[i].a == a && got.pairs[i].b == b && got.pairs[i].similarity == 1);
    }
    free(got.pairs);
    drop(&c);
}

static bool yes(void *ctx)
{
    return --*(int *)ctx < 0;
}

Test(all_pairs, a_cancelled_job_ends_with_its_status)
{
    corpus c = make(9000, 10, 300);
    for (int after = 0; after < 2; after++) {
        int left = after;
        list got = {0};
        bm_callbacks callbacks = {.ctx = &left, .cancelled = yes};
        cr_assert_eq(bm_all_pairs((const uint64_t *const *)c.docs, c.sizes, NULL, c.n, .9, NULL,
                                  append, &got, NULL, &callbacks, NULL),
                     BM_ERR_CANCELLED);
        free(got.pairs);
    }
    drop(&c);
}

Test(all_pairs, thresholds_out_of_range_and_too_many_documents_are_usage_errors)
{
    static const double bad[] = {0, -1, 1.001, (double)NAN};
    for (int i = 0; i < 4; i++) {
        bm_error err = {0};
        cr_assert_eq(
            bm_all_pairs(NULL, NULL, NULL, 0, bad[i], NULL, append, NULL, NULL, NULL, &err),
            BM_ERR_USAGE);
        cr_assert(strstr(err.message, "above 0, at most 1") != NULL);
    }
    cr_assert_eq(bm_all_pairs(NULL, NULL, NULL, (size_t)BM_DOCS_MAX + 1, .5, NULL, append, NULL,
                              NULL, NULL, NULL),
                 BM_ERR_USAGE);
}
