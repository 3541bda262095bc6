/* SPDX-License-Identifier: Apache-2.0 */
/* native_cws.c -- signs by cws on the native CPU, one weighted document at a time.
 *
 *     elements -> block: logarithms and limits of the weights (cws_loops.h)
 *              -> numbers of each element, computed once and then kept (cws_kept.h)
 *              -> by its bytes the permutations in which it is a candidate -> batch
 *              -> their values, exactly -> the least of each permutation
 *
 * A value costs three logarithms, but only some 3 ln n of a document's n elements can be chosen in
 * a permutation. A bound without logarithms finds them: a >= c exp(-r) / S, since z = y exp(r) in
 * cws_draws.h is at most S exp(r). The least a of a document is exponentially distributed, with the
 * sum W of its weights as rate: it is above level/W with probability exp(-level). So a first scan
 * computes the elements that may have an a as small as level/W. If the least a of a permutation is
 * larger, another scan follows with a higher level. The last level includes every element.
 *
 * Nothing is lost: elements passed over have an a above level/W, and the chosen one does not.
 * Rounding: floats make the bound larger by 2^-19 at most. ln a is computed from numbers below 2^11
 * by some ten operations in double, so its error is less than 2^-36. To allow for both, the limit
 * of an element, level S/W, is made larger by 2^-14. Bounds and limits are compared as bytes, which
 * only lets more elements pass (cws_lanes.h). The order of the candidates does not matter: of two
 * equal values, the one with the lower hash is chosen.
 *
 * The bound c exp(-r) of an element is the same in every document. Its byte for each permutation is
 * kept. So if an element comes again, one comparison covers 64 permutations. r, c and beta are not
 * kept, because 24 bytes for each permutation would fill the caches, and few of them are needed.
 *
 * Other work memory is on the stack, 64 KiB.
 *
 * Tests: tests/unit/cpu/test_native_cws.c */
#include "cpu/cws_kept.h"
#include "cpu/native_row.h"

#define SLACK (1.0 + 0x1p-14)
#define EVERY __builtin_inf()

/* Any first level from 2 to 3 is equally fast: a higher level gives more candidates, and a lower
 * level more second scans. A document of several blocks begins with the second level, because a
 * second scan would fetch its blocks again. */
static const double levels[] = {2.5, 7.0, 16.0, EVERY};
#define N_LEVELS (sizeof levels / sizeof levels[0])

typedef struct choice {
    double value; /* the least value so far */
    uint64_t hash;
} choice;

/* The elements chosen so far while a document is scanned, one in each permutation. */
typedef struct chooser {
    const bm_scheme_params *params;
    const bm_cws_loops *loops;
    const bm_cws_kept *kept;
    bm_cws_store *store;
    const uint64_t *hashes; /* hashes of the whole document, like `weights` */
    const double *weights;
    size_t n;
    double greatest, sum; /* the greatest weight; the sum of all weights, divided by `greatest` */
    double most;          /* the logarithm of level/W */
    bm_cws_open open;     /* permutations whose least value may not have been found yet */
    choice best[BM_PERMS_MAX];
    bm_cws_batch batch;
    bm_cws_block block;
    bm_cws_scan scan; /* the scan of the block's elements */
    size_t fetched;   /* index in the document at which the block ends; 0: no block was fetched */
} chooser;

/* Keep the lesser value. There is no branch on the comparison, because it would often be
 * mispredicted. Equal values are very rare. */
static inline void keep_less(choice *best, double value, uint64_t hash)
{
    if (value == best->value && hash < best->hash)
        best->hash = hash;
    const uint64_t less = 0 - (uint64_t)(value < best->value);
    best->hash ^= (best->hash ^ hash) & less;
    best->value = value < best->value ? value : best->value;
}

/* Compute the pairs of the batch, BM_CWS_BATCH at a time. Fewer pairs stay in the batch; with
 * `all`, they are computed too. Pairs with a value above `most` are never chosen. */
static void scan_batch(chooser *c, const uint64_t *hashes, bool all)
{
    bm_cws_batch *batch = &c->batch;
    size_t first = 0;
    while (batch->n >= first + (all ? 1 : BM_CWS_BATCH)) {
        const size_t n = c->loops->values(&c->block, c->params, first, c->most, batch);
        for (size_t k = 0; k < n; k++) {
            const uint32_t pair = batch->pairs[first + batch->low[k]];
            keep_less(&c->best[pair >> 16], batch->value[batch->low[k]], hashes[pair & 0xFFFF]);
        }
        first += BM_CWS_BATCH;
    }
    batch->n = batch->n > first ? batch->n - first : 0;
    if (batch->n > 0)
        memmove(batch->pairs, batch->pairs + first, batch->n * sizeof *batch->pairs);
}

/* Add a slot for `hash` to the store, and fill it. Returns the number of the slot. */
static uint32_t keep(const chooser *c, uint64_t hash)
{
    const bm_cws_kept *kept = c->kept;
    const uint32_t slot = bm_cws_store_add(c->store, hash);
    uint32_t *mixed = c->store->slots[slot].mixed;
    bm_cws_mix(hash, mixed);
    c->loops->bounds(kept->coefs, kept->stride, kept->n_used, mixed,
                     c->store->bounds + (size_t)slot * kept->stride);
    return slot;
}

/* Get the words and the rows of bounds of all elements of the block. Prefetch the rows before the
 * first one is needed. */
static void fetch_block(chooser *c, const uint64_t *hashes)
{
    bm_cws_store *store = c->store;
    bm_cws_block *block = &c->block;
    uint32_t next = 0;
    bm_cws_store_reserve(store, block->n);
    for (uint32_t i = 0; i < block->n; i++) {
        uint32_t slot = bm_cws_store_find(store, hashes[i], next);
        if (slot == BM_CWS_NONE)
            slot = keep(c, hashes[i]);
        __builtin_prefetch(store->bounds + (size_t)slot * store->stride);
        __builtin_prefetch(store->bounds + (size_t)slot * store->stride + BM_CWS_MASK);
        memcpy(block->mixed[i], store->slots[slot].mixed, sizeof store->slots[slot].mixed);
        c->scan.row[i] = slot;
        next = slot + 1;
    }
}

/* Scan the elements from `begin` on, as many as fit into a block. Returns how many. */
static size_t scan_block(chooser *c, size_t begin, double level)
{
    const size_t left = c->n - begin;
    const uint64_t *hashes = c->hashes + begin;
    bm_cws_block *block = &c->block;
    block->n = left < BM_CWS_BLOCK ? (uint32_t)left : BM_CWS_BLOCK;
    if (c->fetched != begin + block->n) {
        c->loops->log_weights(c->weights + begin, block);
        fetch_block(c, hashes);
        c->fetched = begin + block->n;
    }
    c->loops->set_limits(c->weights + begin, c->greatest, level / c->sum * SLACK, block);
    c->scan.next = c->scan.at = c->scan.n = 0;
    for (bool more = true; more;) {
        more = c->loops->candidates(block, &c->open, &c->scan, &c->batch);
        scan_batch(c, hashes, !more);
    }
    return block->n;
}

/* Scan all elements that may have an a as small as level/W. If the least a of a permutation is
 * larger, the permutation stays open. `open` becomes the open permutations. Returns true if there
 * are any. */
static bool scan_document(chooser *c, double level)
{
    bool left = false;
    c->most = EVERY;
    if (level < EVERY)
        c->most = bm_portable_log(level / c->sum) - bm_portable_log(c->greatest);
    for (size_t begin = 0; begin < c->n;)
        begin += scan_block(c, begin, level);
    memset(c->open.masks, 0, sizeof c->open.masks);
    for (uint32_t i = 0; i < c->params->perms; i++) {
        const bool open = c->best[i].value == EVERY;
        c->open.masks[i / BM_CWS_MASK] |= (uint64_t)open << i % BM_CWS_MASK;
        left |= open;
    }
    return left;
}

/* Find the greatest weight, and the sum of all weights divided by it. Four sums are added up at a
 * time, so that an addition need not wait for the previous one. */
static void sum_weights(chooser *c)
{
    double greatest[4] = {0}, sum[4] = {0};
    const size_t n = c->n / 4 * 4;
    for (size_t i = 0; i < n; i += 4)
        for (size_t k = 0; k < 4; k++)
            greatest[k] = c->weights[i + k] > greatest[k] ? c->weights[i + k] : greatest[k];
    for (size_t i = n; i < c->n; i++)
        greatest[0] = c->weights[i] > greatest[0] ? c->weights[i] : greatest[0];
    c->greatest = greatest[0];
    for (size_t k = 1; k < 4; k++)
        c->greatest = greatest[k] > c->greatest ? greatest[k] : c->greatest;
    for (size_t i = 0; i < n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += c->weights[i + k] / c->greatest;
    for (size_t i = n; i < c->n; i++)
        sum[0] += c->weights[i] / c->greatest;
    c->sum = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void begin_document(chooser *c)
{
    const uint32_t perms = c->params->perms;
    c->batch.n = c->fetched = 0;
    c->open.n_masks = (perms + BM_CWS_MASK - 1) / BM_CWS_MASK;
    for (uint32_t m = 0; m < c->open.n_masks; m++) {
        const uint32_t left = perms - m * BM_CWS_MASK;
        c->open.masks[m] = left < BM_CWS_MASK ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
    }
    for (uint32_t i = 0; i < perms; i++)
        c->best[i] = (choice){EVERY, UINT64_MAX};
    sum_weights(c);
}

static void cws_sign(const bm_native_choice *native, const uint64_t *hashes, const double *weights,
                     size_t n, uint32_t *words)
{
    chooser c;
    c.params = native->params;
    c.loops = native->loops->cws;
    c.kept = native->kept;
    c.store = native->borrowed;
    c.scan.bytes = c.store->bounds;
    c.scan.stride = c.store->stride;
    c.hashes = hashes;
    c.weights = weights;
    c.n = n;
    begin_document(&c);
    for (size_t i = n > BM_CWS_BLOCK ? 1 : 0; i < N_LEVELS && scan_document(&c, levels[i]);)
        i++;
    for (uint32_t i = 0; i < c.params->perms; i++)
        words[i] = (uint32_t)c.best[i].hash;
}

static bm_status cws_open(const bm_scheme_params *params, size_t kept_bytes, void **out,
                          bm_error *err)
{
    bm_cws_kept *kept = NULL;
    bm_status status = bm_cws_kept_open(params, kept_bytes, &kept, err);
    *out = kept;
    return status;
}

static void cws_close(void *kept)
{
    bm_cws_kept_close(kept);
}

static bm_status cws_borrow(void *kept, void **out, bm_error *err)
{
    bm_cws_store *store = NULL;
    bm_status status = bm_cws_kept_borrow(kept, &store, err);
    *out = store;
    return status;
}

static void cws_release(void *kept, void *borrowed)
{
    bm_cws_kept_return(kept, borrowed);
}

const bm_native_ops bm_native_cws = {.scheme = &bm_scheme_cws,
                                     .sign_weighted = cws_sign,
                                     .open = cws_open,
                                     .close = cws_close,
                                     .borrow = cws_borrow,
                                     .release = cws_release};
