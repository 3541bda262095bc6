/* native_cws.c -- cws on the native CPU: a weighted document at a time.
 *
 *     elements -> block: mixed words, logarithms (cws_loops.h)
 *              -> in each permutation the candidates, by floats -> batch
 *              -> their values, exactly -> the least of each permutation
 *
 * A value costs three logarithms, and a document of n elements has some 3 ln n in a permutation that
 * can be chosen. Which ones is told by a bound in floats that needs none: a >= c exp(-r) / S, since the
 * z = y exp(r) of cws_draws.h is at most S exp(r). The least a of a document is exponentially
 * distributed, with the sum W of its weights as rate: it is above level/W once in exp(level). So all
 * elements whose a may be as small as level/W are looked at; in a permutation whose least is above that
 * all the same, again with a higher level, and at last every element.
 *
 * Nothing is lost: what is passed over has an a above level/W, and what is chosen has none. Of the
 * roundings between the two, floats make the bound larger by 2^-19 at most (cws_lanes.h), and ln a,
 * made of numbers below 2^11 by some ten operations in double, is off by less than 2^-36. The limit
 * of an element, level S/W, is larger by 2^-14 for that.
 *
 * What is drawn for an element is not kept for the next document that has it: five multiplications
 * cost less than to fetch 24 bytes for each element and permutation.
 *
 * All lies on the stack, 64 KiB. Tests: tests/unit/cpu/test_native_cws.c */
#include "backend/cpu/native_row.h"
#include "kernels/affine32.h"

#define SLACK (1.0 + 0x1p-14)
#define EVERY __builtin_inf()

/* For the first anything from 1.5 to 3 is as fast: a higher one has more candidates, a lower one more
 * second turns. A document of several blocks, which would be prepared again, begins with the second. */
static const double levels[] = {2.5, 6.0, EVERY};
#define N_LEVELS (sizeof levels / sizeof levels[0])

typedef struct choice {
    double value; /* the least yet */
    uint64_t hash;
} choice;

/* The choice in each permutation, on its way through a document. */
typedef struct chooser {
    const bm_scheme_params *params;
    const bm_cws_loops *loops;
    const uint64_t *hashes; /* of the document, like the weights */
    const double *weights;
    size_t n;
    double greatest, sum; /* the greatest weight; the sum of all, in greatest ones */
    double most;          /* the logarithm of level/W */
    uint32_t n_open;
    uint16_t open[BM_PERMS_MAX]; /* permutations in which the least may not have been found */
    choice best[BM_PERMS_MAX];
    bm_cws_batch batch;
    bm_cws_block block;
    size_t block_end; /* behind its last element; 0: it is none of this document's */
} chooser;

/* Which value is the least nobody could guess, so both are taken and one is kept. Equal ones are seen
 * next to never. */
static inline void offer(choice *best, double value, uint64_t hash)
{
    if (value == best->value && hash < best->hash)
        best->hash = hash;
    const uint64_t less = 0 - (uint64_t)(value < best->value);
    best->hash ^= (best->hash ^ hash) & less;
    best->value = value < best->value ? value : best->value;
}

/* The pairs of the batch; what is above `most` is not chosen, whatever else there is.
 * Neighbours are of one permutation, and each waits for the one before: so two lots take turns. */
static void look_at_batch(chooser *c, const uint64_t *hashes)
{
    bm_cws_batch *batch = &c->batch;
    for (size_t first = 0; first < batch->n; first += BM_CWS_BATCH) {
        const size_t n = c->loops->values(&c->block, c->params, first, c->most, batch);
        const size_t half = (n + 1) / 2;
        for (size_t i = 0; i < half; i++)
            for (size_t k = i; k < n; k += half) {
                const uint32_t pair = batch->pairs[first + batch->low[k]];
                offer(&c->best[pair >> 16], batch->value[batch->low[k]], hashes[pair & 0xFFFF]);
            }
    }
    batch->n = 0;
}

/* The elements from `begin` on, as many as a block holds; how many. A limit that is no number lets
 * everything pass, as EVERY does. */
static size_t look_at_block(chooser *c, size_t begin, double level)
{
    const size_t left = c->n - begin;
    const uint32_t whole = 2 * c->loops->lanes;
    bm_cws_block *block = &c->block;
    if (c->block_end == 0 || c->block_end != begin + block->n) {
        block->n = left < BM_CWS_BLOCK ? (uint32_t)left : BM_CWS_BLOCK;
        block->n_padded = (block->n + whole - 1) / whole * whole;
        c->loops->prepare(c->hashes + begin, c->weights + begin, block);
        c->block_end = begin + block->n;
    }
    c->loops->set_limits(c->weights + begin, c->greatest, level / c->sum * SLACK, block);
    for (uint32_t o = 0; o < c->n_open;) {
        o +=
            (uint32_t)c->loops->candidates(block, c->params, c->open + o, c->n_open - o, &c->batch);
        look_at_batch(c, c->hashes + begin);
    }
    return block->n;
}

/* All elements whose a may be as small as level/W. `open` afterwards: the permutations whose least is
 * above that. */
static void look_at_document(chooser *c, double level)
{
    c->most = EVERY;
    if (level < EVERY)
        c->most = bm_portable_log(level / c->sum) - bm_portable_log(c->greatest);
    for (size_t begin = 0; begin < c->n;)
        begin += look_at_block(c, begin, level);
    uint32_t n = 0;
    for (uint32_t o = 0; o < c->n_open; o++)
        if (c->best[c->open[o]].value == EVERY)
            c->open[n++] = c->open[o];
    c->n_open = n;
}

static void begin_document(chooser *c)
{
    c->n_open = c->params->perms;
    c->batch.n = c->block_end = 0;
    for (uint32_t i = 0; i < c->n_open; i++) {
        c->open[i] = (uint16_t)i;
        c->best[i] = (choice){EVERY, UINT64_MAX};
    }
    c->greatest = c->sum = 0;
    for (size_t i = 0; i < c->n; i++)
        c->greatest = c->weights[i] > c->greatest ? c->weights[i] : c->greatest;
    for (size_t i = 0; i < c->n; i++)
        c->sum += c->weights[i] / c->greatest;
}

static void cws_sign(const bm_native_choice *native, const uint64_t *hashes, const double *weights,
                     size_t n, uint32_t *words)
{
    chooser c;
    c.params = native->params;
    c.loops = native->loops->cws;
    c.hashes = hashes;
    c.weights = weights;
    c.n = n;
    begin_document(&c);
    for (size_t i = n > BM_CWS_BLOCK ? 1 : 0; i < N_LEVELS && c.n_open > 0; i++)
        look_at_document(&c, levels[i]);
    for (uint32_t i = 0; i < c.params->perms; i++)
        words[i] = (uint32_t)c.best[i].hash;
}

const bm_native_ops bm_native_cws = {.scheme = &bm_scheme_cws, .sign_weighted = cws_sign};
