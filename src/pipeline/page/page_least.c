/* page_least.c -- a short sorted list; most of what is offered is only looked at.
 *
 * Tests: tests/unit/page/test_page_least.c */
#include "pipeline/page/page_least.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

void bm_page_least_reset(bm_page_least *least)
{
    for (size_t i = 0; i < least->n; i++)
        bm_free(least->rows[i].ids);
    bm_free(least->rows);
    *least = (bm_page_least){.most = least->most};
}

/* Behind all that are no more similar. */
static size_t place_of(const bm_page_least *least, double jaccard)
{
    size_t low = 0, high = least->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (least->rows[middle].jaccard <= jaccard)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bm_status bm_page_least_offer(bm_page_least *least, const bm_page_offer *offer, bm_error *err)
{
    const bm_str a = offer->a, b = offer->b;
    least->of++;
    const size_t at = place_of(least, offer->jaccard);
    if (at >= least->most)
        return BM_OK;
    bm_status status = bm_grow_array(&least->rows, &least->cap, least->n + 1, err);
    if (status != BM_OK)
        return status;
    char *ids = bm_alloc(a.len + b.len, 1);
    if (ids == NULL)
        return bm_fail_nomem(err, a.len + b.len);
    if (a.len > 0)
        memcpy(ids, a.data, a.len);
    if (b.len > 0)
        memcpy(ids + a.len, b.data, b.len);
    if (least->n == least->most)
        bm_free(least->rows[--least->n].ids);
    memmove(least->rows + at + 1, least->rows + at, (least->n - at) * sizeof *least->rows);
    least->rows[at] = (bm_page_least_row){.jaccard = offer->jaccard,
                                          .known = offer->known,
                                          .ids = ids,
                                          .len_a = a.len,
                                          .len_b = b.len};
    least->n++;
    return BM_OK;
}

bm_status bm_page_least_show(const bm_page_least *least, bm_page_content *content,
                             bm_page_pairs *out, bm_error *err)
{
    bm_status status = bm_grow_array(&out->rows, &out->cap, least->n, err);
    out->of = least->of;
    for (size_t i = 0; status == BM_OK && i < least->n; i++) {
        const bm_page_least_row *row = &least->rows[i];
        bm_page_pair *pair = &out->rows[i];
        pair->jaccard = row->jaccard;
        const bm_str a = {row->ids, row->len_a};
        status = row->known ? bm_page_show_known(content, a, &pair->a, err)
                            : bm_page_show(content, a, &pair->a, err);
        if (status == BM_OK)
            status =
                bm_page_show(content, (bm_str){row->ids + row->len_a, row->len_b}, &pair->b, err);
        out->n += status == BM_OK;
    }
    return status;
}
