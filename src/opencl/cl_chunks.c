/* cl_chunks.c -- the cutting of work, apart from any device so that it can be tested alone.
 *
 * One walk over the documents. Short ones are packed into a chunk until it holds pack_units; one of
 * up to whole_units is a chunk of its own; a longer one is cut into parts of part_units and listed
 * in `split`. A document that exceeds a whole batch is cut into slices, a batch each, whose words
 * the host merges. */
#include "opencl/cl_chunks.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define MAX_PACKED_DOCS 4096u /* of no or few hashes, in one chunk */

static uint64_t units_of(const bm_cl_cut *cut, uint64_t n_hashes)
{
    return (n_hashes + cut->unit - 1) / cut->unit;
}

static bm_status add_chunk(bm_cl_plan *plan, bm_cl_chunk chunk, bm_error *err)
{
    void *array = plan->chunks;
    BM_TRY(bm_grow(&array, &plan->cap_chunks, plan->n_chunks + 1, sizeof chunk, err));
    plan->chunks = array;
    plan->chunks[plan->n_chunks++] = chunk;
    return BM_OK;
}

/* A document into the last chunk, or a chunk of its own. */
static bm_status add_whole(bm_cl_plan *plan, const bm_cl_cut *cut, bm_cl_chunk chunk, bm_error *err)
{
    if (plan->n_chunks > 0) {
        bm_cl_chunk *last = &plan->chunks[plan->n_chunks - 1];
        if (last->n > 0 && last->n < MAX_PACKED_DOCS &&
            chunk.end - last->begin <= cut->pack_units) {
            ++last->n;
            last->end = chunk.end;
            return BM_OK;
        }
    }
    return add_chunk(plan, chunk, err);
}

static bm_status add_split(bm_cl_plan *plan, const bm_cl_cut *cut, bm_cl_chunk chunk, bm_error *err)
{
    void *array = plan->split;
    bm_status status =
        bm_grow(&array, &plan->cap_split, plan->n_split + 1, sizeof *plan->split, err);
    plan->split = array;
    if (status != BM_OK)
        return status;
    plan->split[plan->n_split++] = chunk.doc;
    const uint32_t end = chunk.end;
    while (status == BM_OK && chunk.begin < end) {
        chunk.end = end - chunk.begin > cut->part_units ? chunk.begin + cut->part_units : end;
        status = add_chunk(plan, chunk, err);
        chunk.begin = chunk.end;
    }
    return status;
}

/* The next document, or a slice of it, into the plan. */
static bm_status add_document(bm_cl_plan *plan, const bm_cl_cut *cut, uint64_t units, bm_error *err)
{
    void *array = plan->offsets;
    bm_status status =
        bm_grow(&array, &plan->cap_offsets, plan->n_docs + 2, sizeof *plan->offsets, err);
    plan->offsets = array;
    if (status != BM_OK)
        return status;
    if (plan->n_docs == 0)
        plan->offsets[0] = 0;
    const uint32_t begin = plan->offsets[plan->n_docs];
    const uint32_t end = begin + (uint32_t)units;
    bm_cl_chunk chunk = {.doc = (uint32_t)plan->n_docs, .n = 1, .begin = begin, .end = end};
    if (units <= cut->whole_units) {
        status = add_whole(plan, cut, chunk, err);
    } else {
        chunk.n = 0;
        status = add_split(plan, cut, chunk, err);
    }
    if (status == BM_OK)
        plan->offsets[++plan->n_docs] = end;
    return status;
}

/* Bytes of the task's texts begin … end-1; 0 where it has none. */
static uint64_t text_bytes(const bm_sign_task *task, size_t begin, size_t end)
{
    if (task->text == NULL)
        return 0;
    return bm_text_batch_bytes_end(task->text, end) - task->text->docs[begin].begin;
}

bm_status bm_cl_plan_next(bm_cl_plan *plan, const bm_cl_cut *cut, const bm_sign_task *task,
                          bm_cl_cursor *at, bm_error *err)
{
    plan->unit = cut->unit;
    plan->first_doc = at->doc;
    plan->n_docs = plan->n_chunks = plan->n_split = 0;
    plan->slice_begin = plan->n_hashes = 0;
    plan->sliced = plan->last_slice = false;
    const uint64_t most =
        cut->doc_units > 0 && cut->doc_units < cut->max_units ? cut->doc_units : cut->max_units;
    bm_cl_cursor next = *at;
    while (next.doc < task->n_docs && plan->n_docs < cut->max_docs &&
           (plan->n_chunks < cut->max_chunks || plan->n_docs == 0)) {
        uint64_t left = task->offsets[next.doc + 1] - task->offsets[next.doc] - next.hash;
        uint64_t units = units_of(cut, left);
        bool slice = next.hash > 0 || units > most;
        const uint64_t bytes = text_bytes(task, plan->first_doc, next.doc + 1);
        if (plan->n_docs > 0 && (slice || bm_cl_plan_units(plan) + units > cut->max_units ||
                                 bytes > cut->max_text_bytes))
            break;
        if (task->text != NULL && (slice || bytes > cut->max_text_bytes))
            return bm_fail(err, BM_ERR_UNSUPPORTED, "a text of %" PRIu64 " bytes is too long",
                           bytes);
        if (slice && units > most) {
            units = most;
            left = units * cut->unit;
        }
        BM_TRY(add_document(plan, cut, units, err));
        plan->slice_begin = next.hash;
        plan->n_hashes = left;
        next.hash += left;
        if (next.hash == task->offsets[next.doc + 1] - task->offsets[next.doc]) {
            plan->last_slice = slice;
            ++next.doc;
            next.hash = 0;
        }
        if (slice) {
            plan->sliced = true;
            break;
        }
    }
    *at = next;
    return BM_OK;
}

void bm_cl_plan_reset(bm_cl_plan *plan)
{
    bm_free(plan->offsets);
    bm_free(plan->chunks);
    bm_free(plan->split);
    memset(plan, 0, sizeof *plan);
}

const uint64_t *bm_cl_plan_hashes(const bm_cl_plan *plan, const bm_sign_task *task)
{
    return task->hashes + task->offsets[plan->first_doc] + plan->slice_begin * plan->sliced;
}

static void copy_halves(uint32_t *restrict out, const uint64_t *restrict hashes, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        out[i] = (uint32_t)hashes[i];
    for (size_t i = n; i % 4 != 0; ++i)
        out[i] = (uint32_t)hashes[n - 1];
}

void bm_cl_plan_copy(const bm_cl_plan *plan, const bm_sign_task *task, void *out)
{
    const uint64_t *offsets = task->offsets + plan->first_doc;
    uint32_t *halves = out;
    if (plan->unit == 1)
        memcpy(out, bm_cl_plan_hashes(plan, task), (size_t)bm_cl_plan_units(plan) * 8);
    else if (plan->sliced)
        copy_halves(halves, bm_cl_plan_hashes(plan, task), (size_t)plan->n_hashes);
    else
        for (size_t i = 0; i < plan->n_docs; ++i)
            copy_halves(halves + (size_t)plan->offsets[i] * 4, task->hashes + offsets[i],
                        (size_t)(offsets[i + 1] - offsets[i]));
}
