/* turns.c -- one sort of the representatives.
 *
 * Tests: tests/unit/match/test_grouping.c, tests/unit/match/test_match_stars.c */
#include "pipeline/match/turns.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/stars.h"

bool bm_preferred(const bm_preference *preference, uint32_t x, uint32_t y)
{
    const bm_doc_row *rows = preference->docs->rows;
    uint64_t bytes_x = rows[x].text_bytes, bytes_y = rows[y].text_bytes;
    switch (preference->keep) {
    case BM_KEEP_LAST:
        return x > y;
    case BM_KEEP_LONGEST:
        return bytes_x != bytes_y ? bytes_x > bytes_y : x < y;
    case BM_KEEP_SHORTEST:
        return bytes_x != bytes_y ? bytes_x < bytes_y : x < y;
    case BM_KEEP_FIRST:
        break;
    }
    return x < y;
}

void bm_preferred_of(const bm_preference *preference, const uint32_t *owner, size_t n,
                     uint32_t *best)
{
    for (size_t i = 0; i < n; i++)
        best[i] = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t *b = &best[owner[i]];
        if (*b == UINT32_MAX || bm_preferred(preference, (uint32_t)i, *b))
            *b = (uint32_t)i;
    }
}

typedef struct sorting {
    const bm_preference *preference;
    const uint32_t *best;
} sorting;

static int by_preference(const void *x, const void *y, void *ctx)
{
    const sorting *s = ctx;
    uint32_t a = s->best[*(const uint32_t *)x], b = s->best[*(const uint32_t *)y];
    return a == b ? 0 : bm_preferred(s->preference, a, b) ? -1 : 1;
}

bm_status bm_turns_make(const bm_preference *preference, const uint32_t *rep, size_t n,
                        bm_turns *out, bm_error *err)
{
    *out = (bm_turns){.n = n};
    out->best = bm_alloc(n, sizeof *out->best);
    out->order = bm_alloc(n, sizeof *out->order);
    out->centres = bm_alloc(n, sizeof *out->centres);
    if (out->best == NULL || out->order == NULL || out->centres == NULL) {
        bm_turns_reset(out);
        return bm_fail_nomem(err, n * sizeof *out->best);
    }
    bm_preferred_of(preference, rep, n, out->best);
    for (size_t i = 0; i < n; i++) {
        out->centres[i] = BM_NOT_TAKEN;
        if (rep[i] == i)
            out->order[out->n_order++] = (uint32_t)i;
    }
    sorting s = {preference, out->best};
    qsort_r(out->order, out->n_order, sizeof *out->order, by_preference, &s);
    return BM_OK;
}

void bm_turns_reset(bm_turns *turns)
{
    bm_free(turns->best);
    bm_free(turns->order);
    bm_free(turns->centres);
    memset(turns, 0, sizeof *turns);
}
