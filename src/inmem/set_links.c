/* set_links.c -- copies are put aside, and the rest is what bm_find_pairs takes.
 *
 * Tests: tests/unit/inmem/test_set_links.c, tests/reference/test_groups.py, tests/reference/test_report.py */
#include "inmem/set_links.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

double bm_six_decimals(double similarity)
{
    char text[32];
    uint32_t millionths = 0;
    if (isnan(similarity))
        return similarity;
    snprintf(text, sizeof text, "%.6f", similarity); /* rounds exactly, as no product does */
    for (const char *c = text; *c != '\0'; c++)
        if (*c >= '0' && *c <= '9') /* whatever the locale puts between them */
            millionths = millionths * 10 + (uint32_t)(*c - '0');
    return millionths / 1e6;
}

static bool same_content(const bm_hash128 *x, const bm_hash128 *y)
{
    return x->hi == y->hi && x->lo == y->lo;
}

/* Documents by what is in them, copies in input order. */
static int by_content(const void *x, const void *y, void *ctx)
{
    const bm_hash128 *contents = ctx;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    const bm_hash128 *p = &contents[a], *q = &contents[b];
    if (p->hi != q->hi)
        return p->hi < q->hi ? -1 : 1;
    if (p->lo != q->lo)
        return p->lo < q->lo ? -1 : 1;
    return a < b ? -1 : a > b;
}

typedef struct rest {
    uint32_t *order;   /* sets by what is in them */
    uint8_t *copy;     /* of each set */
    uint32_t *numbers; /* of the sets that are no copies */
    uint64_t *offsets; /* of these */
    size_t n;
} rest;

/* Each copy becomes a link of the first like it. */
static bm_status link_copies(const bm_linked_sets *s, rest *r, bm_set_link_fn fn, void *ctx,
                             bm_error *err)
{
    for (size_t i = 0; i < s->n; i++)
        r->order[i] = (uint32_t)i;
    qsort_r(r->order, s->n, sizeof *r->order, by_content, (void *)(uintptr_t)s->contents);
    for (size_t i = 1, first = 0; i < s->n; i++) {
        const uint32_t a = r->order[first], b = r->order[i];
        if (!same_content(&s->contents[a], &s->contents[b])) {
            first = i;
            continue;
        }
        r->copy[b] = 1;
        BM_TRY(fn(ctx, (bm_pair){a, b, 1.0}, err));
    }
    return BM_OK;
}

/* The sets that are no copies, moved together. */
static void gather(const bm_linked_sets *s, rest *r)
{
    r->offsets[0] = 0;
    for (size_t i = 0; i < s->n; i++) {
        const size_t size = (size_t)(s->offsets[i + 1] - s->offsets[i]);
        if (r->copy[i] != 0)
            continue;
        if (size > 0)
            memmove(s->hashes + r->offsets[r->n], s->hashes + s->offsets[i],
                    size * sizeof *s->hashes);
        if (size > 0 && s->weights != NULL)
            memmove(s->weights + r->offsets[r->n], s->weights + s->offsets[i],
                    size * sizeof *s->weights);
        r->offsets[r->n + 1] = r->offsets[r->n] + size;
        r->numbers[r->n++] = (uint32_t)i;
    }
}

static bm_status find_pairs(const bm_find_options *options, const bm_linked_sets *s, const rest *r,
                            bm_set_link_fn fn, void *ctx, bm_error *err)
{
    bm_pair_set *found = NULL;
    const bm_documents docs = bm_documents_of_weights(r->offsets, s->hashes, s->weights, r->n);
    BM_TRY(bm_find_pairs(options, &docs, &found, err));
    const bm_pair *pairs = bm_pair_set_data(found);
    bm_status status = BM_OK;
    for (size_t i = 0; i < bm_pair_set_count(found); i++)
        BM_TRY_OUT(fn(ctx,
                      (bm_pair){r->numbers[pairs[i].a], r->numbers[pairs[i].b],
                                bm_six_decimals(pairs[i].similarity)},
                      err));
out:
    bm_pair_set_free(found);
    return status;
}

bm_status bm_set_links(const bm_find_options *options, const bm_linked_sets *sets,
                       bm_set_link_fn fn, void *ctx, bm_error *err)
{
    const size_t n = sets->n;
    rest r = {.order = bm_alloc(n, sizeof *r.order),
              .copy = bm_alloc_zero(n, sizeof *r.copy),
              .numbers = bm_alloc(n, sizeof *r.numbers),
              .offsets = bm_alloc(n + 1, sizeof *r.offsets)};
    bm_status status = BM_OK;
    if (r.order == NULL || r.copy == NULL || r.numbers == NULL || r.offsets == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n * 17));
    BM_TRY_OUT(link_copies(sets, &r, fn, ctx, err));
    gather(sets, &r);
    status = find_pairs(options, sets, &r, fn, ctx, err);
out:
    bm_free(r.order);
    bm_free(r.copy);
    bm_free(r.numbers);
    bm_free(r.offsets);
    return status;
}
