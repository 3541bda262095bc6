/* neighbours.c -- count, sum up, fill.
 *
 * While the lists are filled, begins[doc + 1] is where the next neighbour of `doc` goes; at the end
 * that is where its list ends and the next one begins. So no second array of places is needed.
 * Linear in documents and pairs. Pure; read by any number of threads once made. */
#include "lsh/neighbours.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* begins[doc + 2] counts the neighbours of `doc`, then begins[doc + 1] is where they begin. */
static void sum_up(bm_pair_list list, size_t *begins)
{
    for (size_t i = 0; i < list.n; i++) {
        begins[list.pairs[i].a + (size_t)2]++;
        begins[list.pairs[i].b + (size_t)2]++;
    }
    for (size_t doc = 0; doc < list.n_docs; doc++)
        begins[doc + 2] += begins[doc + 1];
}

static void fill(bm_pair_list list, const bm_neighbours *to)
{
    for (size_t i = 0; i < list.n; i++) {
        uint32_t a = list.pairs[i].a, b = list.pairs[i].b;
        size_t at_a = to->begins[a + (size_t)1]++, at_b = to->begins[b + (size_t)1]++;
        to->docs[at_a] = b;
        to->docs[at_b] = a;
        if (to->pairs != NULL)
            to->pairs[at_a] = to->pairs[at_b] = i;
    }
}

bm_status bm_neighbours_make(bm_pair_list list, bm_neighbours_with with, bm_neighbours *out,
                             bm_error *err)
{
    const bool numbers = with == BM_NEIGHBOURS_AND_PAIRS;
    out->begins = bm_alloc_zero(list.n_docs + 2, sizeof *out->begins);
    out->docs = bm_alloc(list.n, 2 * sizeof *out->docs);
    out->pairs = numbers ? bm_alloc(list.n, 2 * sizeof *out->pairs) : NULL;
    if (out->begins == NULL || out->docs == NULL || (numbers && out->pairs == NULL)) {
        bm_neighbours_reset(out);
        return bm_fail_nomem(err, list.n_docs * sizeof *out->begins + list.n * 8);
    }
    sum_up(list, out->begins);
    fill(list, out);
    return BM_OK;
}

void bm_neighbours_reset(bm_neighbours *neighbours)
{
    bm_free(neighbours->begins);
    bm_free(neighbours->docs);
    bm_free(neighbours->pairs);
    memset(neighbours, 0, sizeof *neighbours);
}
