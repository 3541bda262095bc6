/* SPDX-License-Identifier: Apache-2.0 */
/* budget.c -- divides --memory into shares.
 *
 * A batch takes about BATCH_FOLD times the bytes of its text: text, hashes (8 bytes for about 6
 * bytes of text), rows, keys, and unused capacity of arrays. All batches together get a quarter of
 * the memory, so from 128M on they have their usual size. The arena gets an eighth. */
#include "sign/budget.h"

#include "base/error.h"

#define MIB              ((uint64_t)1 << 20)
#define DEVICE_BATCHES   10u /* places in the ring for each device */
#define BATCH_FOLD       5u
#define BATCH_LEAST      ((size_t)64 << 10)
#define BATCH_DOCS_LEAST 64u
#define FIXED_BYTES      (8 * MIB)
#define THREAD_BYTES     (MIB / 2) /* scratch of the shingler, stack in use */
#define ARENA_LEAST      (4 * MIB)
#define ARENA_MOST       (256 * MIB)
#define KEPT_MOST        (4 * MIB)
#define AHEAD_BYTES                                                                                \
    (256 * MIB) /* for each thread; most of it is unused unless reading is the bottleneck */
#define GROWS_LEAST (4 * MIB) /* least bytes for data that grow with documents */

uint64_t bm_budget_batches(const bm_budget *budget)
{
    return budget->batches - budget->ahead;
}

uint64_t bm_budget_ahead(const bm_budget *budget, uint32_t threads)
{
    const uint64_t most = AHEAD_BYTES * threads;
    return budget->total != 0 && budget->batches / 4 < most ? budget->batches / 4 : most;
}

uint64_t bm_budget_window(uint32_t threads, uint32_t devices)
{
    return 2 * (uint64_t)threads + 2 + (uint64_t)devices * DEVICE_BATCHES;
}

size_t bm_budget_kept(uint64_t total, uint32_t threads)
{
    const uint64_t share = total / 32 / threads;
    return (size_t)(total == 0 || share > KEPT_MOST ? KEPT_MOST : share);
}

uint64_t bm_budget_rows(const bm_budget *budget)
{
    return budget->total == 0 ? 0 : budget->total - budget->batches - budget->fixed;
}

uint64_t bm_budget_least(const bm_budget *budget, uint64_t rows)
{
    const uint64_t held = rows + budget->fixed, by_part = held + held / 3 + 1,
                   by_least = held + budget->batches;
    return by_part > by_least ? by_part : by_least;
}

size_t bm_budget_batch_bytes(const bm_budget *budget, uint64_t window)
{
    if (budget->total == 0)
        return SIZE_MAX;
    uint64_t bytes = bm_budget_batches(budget) / (BATCH_FOLD * window);
    return bytes < BATCH_LEAST ? BATCH_LEAST : (size_t)bytes;
}

uint32_t bm_budget_batch_docs(const bm_budget *budget, uint64_t window, size_t batch_bytes,
                              uint64_t doc_bytes)
{
    if (budget->total == 0)
        return UINT32_MAX;
    const uint64_t share = bm_budget_batches(budget) / window,
                   folded = BATCH_FOLD * (uint64_t)batch_bytes;
    uint64_t left = share / 4;
    if (folded < share && share - folded > left)
        left = share - folded;
    const uint64_t docs = left / doc_bytes;
    return docs < BATCH_DOCS_LEAST ? BATCH_DOCS_LEAST
           : docs > UINT32_MAX     ? UINT32_MAX
                                   : (uint32_t)docs;
}

bm_status bm_budget_make(uint64_t total, uint32_t threads, uint32_t devices, bm_budget *out,
                         bm_error *err)
{
    uint64_t batches_least = BATCH_FOLD * BATCH_LEAST * bm_budget_window(threads, devices);
    uint64_t fixed = FIXED_BYTES + THREAD_BYTES * threads;
    uint64_t least = (batches_least + fixed + ARENA_LEAST + GROWS_LEAST + MIB - 1) / MIB;
    *out = (bm_budget){.total = total, .fixed = fixed};
    if (total == 0) {
        out->batches = out->arena = ARENA_MOST;
        return BM_OK;
    }
    if (total < least * MIB)
        return bm_fail(
            err, BM_ERR_NOMEM,
            "`memory` of %llu KiB is too small to work (at least %lluM with %u thread%s)",
            (unsigned long long)(total >> 10), (unsigned long long)least, threads,
            threads == 1 ? "" : "s");
    out->batches = total / 4 > batches_least ? total / 4 : batches_least;
    out->arena = total / 8 < ARENA_LEAST  ? ARENA_LEAST
                 : total / 8 > ARENA_MOST ? ARENA_MOST
                                          : total / 8;
    return BM_OK;
}
