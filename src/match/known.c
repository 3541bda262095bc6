/* known.c -- links are added at the end and now and then sorted: of those of one known document the first stays, and the
 * others join its document.
 *
 * Tests: tests/unit/match/test_known.c */
#include "match/known.h"

#include <stdlib.h>

#include "base/error.h"

#define LEAST_TAIL ((size_t)1 << 16) /* links that are sorted at once, at least */

bm_status bm_known_init(bm_known *known, size_t n, bm_error *err)
{
    *known = (bm_known){.n = n};
    known->best = bm_alloc(n, sizeof *known->best);
    known->similarities = bm_alloc(n, sizeof *known->similarities);
    bm_status status = BM_OK;
    BM_TRY_OUT(known->best == NULL || known->similarities == NULL
                   ? bm_fail_nomem(err, n * sizeof *known->similarities)
                   : bm_union_find_init(&known->joined, n, err));
    for (size_t i = 0; i < n; i++)
        known->best[i] = BM_NO_KNOWN;
out:
    if (status != BM_OK)
        bm_known_reset(known);
    return status;
}

void bm_known_reset(bm_known *known)
{
    bm_free(known->best);
    bm_free(known->similarities);
    bm_union_find_reset(&known->joined);
    bm_free(known->links);
    bm_buf_reset(&known->ids);
    bm_free(known->id_ends);
    bm_free(known->sizes);
    *known = (bm_known){0};
}

static int by_number(const void *x, const void *y)
{
    const bm_known_link *a = x, *b = y;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->doc < b->doc ? -1 : a->doc > b->doc;
}

static void sort_links(bm_known *known)
{
    size_t n = 0;
    if (known->n_links > 1)
        qsort(known->links, known->n_links, sizeof *known->links, by_number);
    for (size_t i = 0; i < known->n_links; i++) {
        const bm_known_link link = known->links[i];
        if (n > 0 && known->links[n - 1].number == link.number)
            bm_union_find_link(&known->joined, known->links[n - 1].doc, link.doc);
        else
            known->links[n++] = link;
    }
    known->n_links = known->n_sorted = n;
}

bm_status bm_known_add(bm_known *known, bm_known_link link, double similarity, bm_error *err)
{
    const size_t tail = known->n_links - known->n_sorted;
    if (tail >= LEAST_TAIL && tail >= known->n_sorted)
        sort_links(known);
    BM_TRY(bm_grow_array(&known->links, &known->cap, known->n_links + 1, err));
    known->links[known->n_links++] = link;
    if (known->best[link.doc] == BM_NO_KNOWN) {
        known->best[link.doc] = link.number;
        known->similarities[link.doc] = similarity;
    }
    return BM_OK;
}

bm_status bm_known_end(bm_known *known, bm_error *err)
{
    sort_links(known);
    BM_TRY(bm_new(&known->id_ends, known->n_links, err));
    return bm_new(&known->sizes, known->n_links, err);
}

bm_status bm_known_add_id(bm_known *known, size_t i, bm_str id, uint32_t n_shingles, bm_error *err)
{
    bm_status status = bm_buf_add(&known->ids, id.data, id.len, err);
    known->id_ends[i] = known->ids.len;
    known->sizes[i] = n_shingles;
    return status;
}

size_t bm_known_place(const bm_known *known, uint32_t number)
{
    size_t begin = 0, end = known->n_links;
    while (end - begin > 1) {
        const size_t middle = begin + (end - begin) / 2;
        if (known->links[middle].number <= number)
            begin = middle;
        else
            end = middle;
    }
    return begin;
}

bm_str bm_known_id(const bm_known *known, uint32_t number)
{
    const size_t i = bm_known_place(known, number);
    const uint64_t begin = i == 0 ? 0 : known->id_ends[i - 1];
    return (bm_str){known->ids.data + begin, (size_t)(known->id_ends[i] - begin)};
}
