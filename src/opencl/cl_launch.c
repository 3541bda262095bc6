/* cl_launch.c -- a table says which arguments each kernel takes; one loop sets them and starts it.
 * At most seven kernels a batch: words of split documents to all ones, hashes of texts, their counts,
 * their content hashes, the chunks, then of split documents what the scheme does at their end, and their keys.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/parity/test_oclgrind.c */
#include "opencl/cl_launch.h"

#include <stdio.h>
#include <string.h>

#include "opencl/cl_text.h"

typedef enum argument {
    ARG_HASHES,
    ARG_IN,
    ARG_WORDS,
    ARG_KEYS,
    ARG_COEF,
    ARG_LAYOUT,
    ARG_WANT_KEYS,
    ARG_N_SPLIT,
    ARG_TABLE,
    ARG_COUNTS,
    ARG_CONTENT,
    ARG_TEXT,
    ARG_FACTOR
} argument;

static const struct {
    uint32_t n;
    argument args[7];
} signatures[BM_CL_N_KERNELS] = {
    [BM_CL_SIGN] = {7,
                    {ARG_HASHES, ARG_IN, ARG_WORDS, ARG_KEYS, ARG_COEF, ARG_LAYOUT, ARG_WANT_KEYS}},
    [BM_CL_SPLIT_BEGIN] = {4, {ARG_IN, ARG_WORDS, ARG_LAYOUT, ARG_N_SPLIT}},
    [BM_CL_SPLIT_FILL] = {4, {ARG_IN, ARG_WORDS, ARG_COEF, ARG_LAYOUT}},
    [BM_CL_SPLIT_KEYS] = {5, {ARG_IN, ARG_WORDS, ARG_KEYS, ARG_LAYOUT, ARG_N_SPLIT}},
    [BM_CL_TEXT_HASH] = {6, {ARG_IN, ARG_HASHES, ARG_TABLE, ARG_COUNTS, ARG_LAYOUT, ARG_TEXT}},
    [BM_CL_TEXT_COUNT] = {7,
                          {ARG_IN, ARG_HASHES, ARG_TABLE, ARG_COUNTS, ARG_LAYOUT, ARG_TEXT,
                           ARG_FACTOR}},
    [BM_CL_TEXT_CONTENT] = {5, {ARG_IN, ARG_HASHES, ARG_CONTENT, ARG_LAYOUT, ARG_TEXT}},
};

bm_cl_layout bm_cl_layout_of(const bm_cl_plan *plan, const bm_cl_shape *shape,
                             const bm_sign_task *task, bm_cl_parts parts)
{
    bm_cl_layout at = {0};
    const size_t unit_bytes = shape->unit == 4 ? 16 : 8;
    size_t hashes = parts.hashes ? ((size_t)bm_cl_plan_units(plan) * unit_bytes + 15) / 16 : 0;
    if (task->text != NULL)
        hashes = bm_cl_text_layout(plan, task->text, &at);
    const size_t offsets = (plan->n_docs + 1 + 3) / 4;
    const size_t split = (plan->n_split + 3) / 4;
    const size_t key_uints = parts.keys ? plan->n_docs * shape->bands * 2 : 0;
    const size_t word_uints = parts.words ? plan->n_docs * shape->row_uints : 0;
    at.offsets_at = (uint32_t)hashes;
    at.chunks_at = (uint32_t)(hashes + offsets);
    at.split_at = (uint32_t)(hashes + offsets + plan->n_chunks);
    at.in_bytes = (hashes + offsets + plan->n_chunks + split) * 16;
    at.words_at = parts.words ? (uint32_t)key_uints : 0;
    at.out_bytes = (key_uints + word_uints) * sizeof(uint32_t);
    return at;
}

/* Work-items of a kernel for this batch, and of its groups. */
static void grid_of(bm_cl_kernel_id id, const bm_cl_shape *shape, const bm_cl_plan *plan,
                    size_t *global, size_t *local)
{
    if (id == BM_CL_SIGN || id >= BM_CL_TEXT_HASH) {
        *local = shape->group;
        *global = plan->n_chunks * shape->group;
        return;
    }
    *local = shape->split_group;
    if (id == BM_CL_SPLIT_FILL) {
        *global = plan->n_split * shape->split_group;
        return;
    }
    *global = plan->n_split * (id == BM_CL_SPLIT_KEYS ? shape->bands : shape->perms);
    *global = (*global + *local - 1) / *local * *local;
}

/* A kernel about to be started. */
typedef struct launch {
    const bm_cl_stream *stream;
    const bm_cl_slot *slot;
    const bm_cl_layout *layout;
    cl_kernel kernel;
} launch;

static cl_int set(const launch *l, cl_uint index, const void *value, size_t bytes)
{
    return l->stream->api->clSetKernelArg(l->kernel, index, bytes, value);
}

/* `mem`, or where there is none `other`, which holds the same part. */
static cl_int set_mem(const launch *l, cl_uint index, cl_mem mem, cl_mem other)
{
    return set(l, index, mem != NULL ? &mem : &other, sizeof mem);
}

static cl_int set_argument(const launch *l, cl_uint index, argument what)
{
    const bm_cl_layout *layout = l->layout;
    const bm_cl_slot *slot = l->slot;
    const cl_uint4 at = {
        .s = {layout->offsets_at, layout->chunks_at, layout->split_at, layout->words_at}};
    const cl_uint want_keys = slot->want_keys;
    const cl_uint n_split = (cl_uint)slot->plan.n_split;
    const cl_uint4 text = {.s = {layout->docs_at, layout->bases_at, layout->starts_at,
                                 (cl_uint)bm_cl_plan_units(&slot->plan)}};
    switch (what) {
    case ARG_HASHES:
        return slot->text ? set_mem(l, index, slot->hashes.mem, NULL)
                          : set_mem(l, index, slot->task_hashes.mem, slot->in.device);
    case ARG_IN:
        return set_mem(l, index, slot->in.device, NULL);
    case ARG_WORDS:
        return set_mem(l, index, slot->task_words.mem, slot->out.device);
    case ARG_KEYS:
        return set_mem(l, index, slot->task_keys.mem, slot->out.device);
    case ARG_COEF:
        return set_mem(l, index, l->stream->coef, NULL);
    case ARG_LAYOUT:
        return set(l, index, &at, sizeof at);
    case ARG_WANT_KEYS:
        return set(l, index, &want_keys, sizeof want_keys);
    case ARG_N_SPLIT:
        return set(l, index, &n_split, sizeof n_split);
    case ARG_TABLE:
        return set_mem(l, index, slot->table.mem, NULL);
    case ARG_COUNTS:
        return set_mem(l, index, slot->counts.device, NULL);
    case ARG_CONTENT:
        return set_mem(l, index, slot->content.device, NULL);
    case ARG_TEXT:
        return set(l, index, &text, sizeof text);
    case ARG_FACTOR:
        return set(l, index, &l->stream->factor, sizeof l->stream->factor);
    }
    return CL_INVALID_VALUE;
}

/* PoCL before 6.0 keeps a loaded kernel for each width of grid, but counts down the users of the
 * first one that it finds, whatever its width: where two grids of one kernel overlap, its count
 * falls below zero and the process is aborted. There each kernel waits for the one before it. */
static bool kernels_may_overlap(const bm_device_info *info)
{
    unsigned major = 0;
    return strcmp(info->platform, "Portable Computing Language") != 0 ||
           sscanf(info->driver, "%u.", &major) != 1 || major >= 6;
}

static cl_int launch_one(bm_cl_stream *stream, bm_cl_slot *slot, const bm_cl_layout *layout,
                         bm_cl_kernel_id id)
{
    const launch l = {stream, slot, layout, stream->program->kernels[id]};
    for (cl_uint i = 0; i < signatures[id].n; ++i) {
        cl_int code = set_argument(&l, i, signatures[id].args[i]);
        if (code != CL_SUCCESS)
            return code;
    }
    size_t global, local;
    grid_of(id, stream->shape, &slot->plan, &global, &local);
    const bm_cl_api *api = stream->api;
    const bool timed = stream->profile && id == BM_CL_SIGN;
    const bool in_turn = !kernels_may_overlap(&stream->device->info);
    cl_event event = NULL;
    cl_int code = api->clEnqueueNDRangeKernel(
        slot->queue.commands, l.kernel, 1, NULL, &global, &local, stream->in_turn != NULL,
        stream->in_turn != NULL ? &stream->in_turn : NULL, timed || in_turn ? &event : NULL);
    if (code != CL_SUCCESS)
        return code;
    if (timed && in_turn)
        code = api->clRetainEvent(event);
    if (timed)
        slot->kernel = event;
    if (in_turn) {
        bm_cl_event_release(api, &stream->in_turn);
        stream->in_turn = event;
    }
    return code;
}

cl_int bm_cl_launch(bm_cl_stream *stream, bm_cl_slot *slot, const bm_cl_layout *layout)
{
    const bool split = slot->plan.n_split > 0;
    cl_int code = CL_SUCCESS;
    if (split)
        code = launch_one(stream, slot, layout, BM_CL_SPLIT_BEGIN);
    if (code == CL_SUCCESS && slot->text)
        code = launch_one(stream, slot, layout, BM_CL_TEXT_HASH);
    if (code == CL_SUCCESS && slot->text)
        code = launch_one(stream, slot, layout, BM_CL_TEXT_COUNT);
    if (code == CL_SUCCESS && slot->want_content)
        code = launch_one(stream, slot, layout, BM_CL_TEXT_CONTENT);
    if (code == CL_SUCCESS)
        code = launch_one(stream, slot, layout, BM_CL_SIGN);
    if (code == CL_SUCCESS && split && stream->shape->scheme->device.fills)
        code = launch_one(stream, slot, layout, BM_CL_SPLIT_FILL);
    if (code == CL_SUCCESS && split && slot->want_keys)
        code = launch_one(stream, slot, layout, BM_CL_SPLIT_KEYS);
    return code;
}
