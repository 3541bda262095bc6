/* index_near.c -- chains of documents that share a band key.
 *
 * Tests: tests/unit/index/test_index_near.c, tests/cli/cases/index_unique.sh */
#include "index/index_near.h"

#include <string.h>

#include "base/error.h"
#include "lsh/verify.h"
#include "sketch/scheme.h"

bm_status bm_index_near_begin(bm_index_near *near, const bm_gathered *batch, size_t n,
                              const bm_gather_shape *shape, bm_error *err)
{
    const size_t entries = n * shape->bands;
    size_t n_heads = 1024;
    while (n_heads < entries)
        n_heads *= 2;
    near->batch = batch;
    near->shape = shape;
    if (entries >= UINT32_MAX)
        return bm_fail_nomem(err, entries * sizeof *near->next);
    BM_TRY(bm_grow_array(&near->heads, &near->cap_heads, n_heads, err));
    BM_TRY(bm_grow_array(&near->next, &near->cap_next, entries, err));
    BM_TRY(bm_grow_array(&near->seen, &near->cap_seen, n, err));
    BM_TRY(bm_grow_array(&near->there, &near->cap_there, n, err));
    near->n_heads = n_heads;
    near->question = 0;
    memset(near->heads, 0, n_heads * sizeof *near->heads);
    if (n > 0) {
        memset(near->seen, 0, n * sizeof *near->seen);
        memset(near->there, 0, n * sizeof *near->there);
    }
    return BM_OK;
}

void bm_index_near_reset(bm_index_near *near)
{
    bm_free(near->heads);
    bm_free(near->next);
    bm_free(near->seen);
    bm_free(near->there);
    *near = (bm_index_near){0};
}

/* Keys are hashes already; those of different bands are of different documents hardly ever equal. */
static uint32_t *head_of(const bm_index_near *near, uint64_t key)
{
    return &near->heads[(size_t)key & (near->n_heads - 1)];
}

void bm_index_near_add(bm_index_near *near, size_t i)
{
    const uint32_t bands = near->shape->bands;
    near->there[i] = true;
    if (near->batch->docs[i].n_shingles == 0)
        return;
    for (size_t e = i * bands; e < (i + 1) * bands; e++) {
        uint32_t *head = head_of(near, near->batch->keys[e]);
        near->next[e] = *head;
        *head = (uint32_t)e + 1;
    }
}

void bm_index_near_take_out(bm_index_near *near, size_t i)
{
    near->there[i] = false;
}

static double compare(bm_index_near *near, size_t i, size_t other)
{
    const bm_gathered *g = near->batch;
    const uint32_t words = near->shape->words;
    near->verified++;
    if (near->shape->sets)
        return bm_jaccard_at_least(g->sets[i], g->docs[i].n_shingles, g->sets[other],
                                   g->docs[other].n_shingles, near->threshold);
    return bm_agreement_at_least(g->words + i * words, g->words + other * words,
                                 (bm_word_rows){words, near->shape->word_bytes}, near->threshold);
}

bool bm_index_near_best(bm_index_near *near, size_t i, size_t but, size_t *best, double *similarity)
{
    const bm_gathered *g = near->batch;
    const uint32_t bands = near->shape->bands;
    bool found = false;
    near->question++;
    for (size_t b = 0; g->docs[i].n_shingles > 0 && b < bands; b++) {
        const uint64_t key = g->keys[i * bands + b];
        for (uint32_t e = *head_of(near, key); e != 0; e = near->next[e - 1]) {
            const size_t other = (e - 1) / bands;
            if ((e - 1) % bands != b || g->keys[e - 1] != key || other == but ||
                !near->there[other] || near->seen[other] == near->question)
                continue;
            near->seen[other] = near->question;
            near->candidates++;
            const double s = compare(near, i, other);
            if (s < 0 || (found && (s < *similarity || (s == *similarity && other > *best))))
                continue;
            found = true;
            *best = other;
            *similarity = s;
        }
    }
    return found;
}
