/* match_every_pair.c -- documents times documents, a square of 256 times 256 of them after another.
 *
 *            b ->
 *     a   [ 0,0 ][ 0,1 ][ 0,2 ]       a square needs the sets of 512 documents at most, however many
 *                [ 1,1 ][ 1,2 ]       there are, so that those in a file are read n / 256 times
 *                       [ 2,2 ]
 *
 * There is nothing to leave out: each pair is a row, and the rows are what the time goes into.
 *
 * Tests: tests/reference/test_measure.py, tests/cli/cases/pairs.sh */
#include "match/match_all_pairs.h"

#include "base/error.h"
#include "base/memory.h"

#define SIDE 256u /* documents of a square */

/* The documents that are compared, in input order. */
typedef struct compared {
    uint32_t *docs;
    size_t n;
    bm_pair *pairs; /* of a square */
} compared;

static bm_status compare_square(bm_match *match, compared *c, size_t first_a, size_t first_b,
                                bm_error *err)
{
    const size_t end_a = c->n - first_a < SIDE ? c->n : first_a + SIDE;
    const size_t end_b = c->n - first_b < SIDE ? c->n : first_b + SIDE;
    size_t n = 0;
    for (size_t a = first_a; a < end_a; a++)
        for (size_t b = a < first_b ? first_b : a + 1; b < end_b; b++)
            c->pairs[n++] = (bm_pair){.a = c->docs[a], .b = c->docs[b]};
    return bm_edges_compare(match, c->pairs, n, err);
}

bm_status bm_match_every_pair(bm_match *match, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    bm_meter *meter = match->settings.meter;
    compared c = {0};
    bm_status status = BM_OK;
    bm_meter_stage(meter, "compare", "documents");
    BM_TRY_OUT(bm_new(&c.docs, corpus->n, err));
    BM_TRY_OUT(bm_new(&c.pairs, (size_t)SIDE * SIDE, err));
    for (size_t i = 0; i < corpus->n; i++)
        if (!corpus->skip[i] && corpus->sizes[i] > 0)
            c.docs[c.n++] = (uint32_t)i;
    for (size_t a = 0; a < c.n; a += SIDE) {
        for (size_t b = a; b < c.n; b += SIDE)
            BM_TRY_OUT(compare_square(match, &c, a, b, err));
        bm_meter_progress(meter, a, c.n, a);
    }
out:
    bm_free(c.docs);
    bm_free(c.pairs);
    return status;
}
