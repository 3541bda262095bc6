/* cl_stream.c -- plan, fill, launch, read back; wait, copy out.
 *
 *     submit   plan a batch | copy hashes to staging | upload, kernels, one read-back enqueued
 *     wait     the oldest slot's last event | copy to the task's words and keys
 *
 * A batch reads back keys and words as one range: keys stand first in `out`, so keys alone are a
 * prefix. A CPU uses the task's own hashes, words and keys instead, so that nothing is copied
 * either way (zero copy); only offsets and chunks are staged. Texts are staged always: they are a
 * byte a shingle, and making hashes of them takes longer than copying. Buffers stay from batch to
 * batch and grow. When memory runs out, everything under way is finished, all buffers are released,
 * the limit is halved and the batch is planned again, down to BM_CL_MIN_LIMIT.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/parity/test_parity_text.c */
#include "opencl/cl_stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "opencl/cl_launch.h"
#include "opencl/cl_text.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

#define MAX_LIMIT  ((size_t)512 << 20)
#define MAX_CHUNKS 32768u /* PoCL compiles another variant for grids of 65,536 and more */

void bm_cl_stream_cut(bm_cl_stream *stream)
{
    const bm_cl_shape *shape = stream->shape;
    const size_t limit = stream->limit_bytes;
    const size_t row_bytes = shape->row_uints * sizeof(uint32_t) + shape->bands * sizeof(uint64_t);
    bm_cl_cut *cut = &stream->cut;
    cut->pack_units = shape->chunk.pack;
    cut->whole_units = shape->chunk.whole;
    cut->part_units = bm_cl_part_units(shape, shape->chunk.part);
    cut->unit = shape->unit;
    /* Hashes have half of `in`; offsets and chunks a quarter each. */
    cut->max_units = limit / (shape->unit == 4 ? 32 : 16);
    cut->doc_units = shape->scheme->device.alone ? BM_CL_ALONE_UNITS : 0;
    cut->max_docs = limit / row_bytes < limit / 16 ? limit / row_bytes : limit / 16;
    cut->max_chunks = limit / 64 < MAX_CHUNKS ? limit / 64 : MAX_CHUNKS;
}

static size_t first_limit(const bm_device_info *info)
{
    uint64_t limit = MAX_LIMIT;
    if (limit > info->max_alloc_bytes / 2)
        limit = info->max_alloc_bytes / 2;
    if (limit > info->memory_bytes / 16)
        limit = info->memory_bytes / 16;
    return limit < BM_CL_MIN_LIMIT ? BM_CL_MIN_LIMIT : (size_t)limit;
}

static bm_status upload_coefficients(bm_cl_stream *stream, bm_error *err)
{
    const bm_scheme_device *scheme = &stream->shape->scheme->device;
    void *coef = NULL;
    size_t bytes = 0;
    BM_TRY(scheme->upload(stream->params, stream->shape->coef_words, &coef, &bytes, err));
    cl_int code = CL_SUCCESS;
    stream->coef = stream->api->clCreateBuffer(
        stream->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, coef, &code);
    bm_free(coef);
    return code == CL_SUCCESS ? BM_OK : bm_cl_fail(err, code, "clCreateBuffer");
}

static uint64_t draw_factor(void)
{
    uint64_t drawn;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn)
        drawn = (uint64_t)(bm_clock_seconds() * 1e9) * UINT64_C(0x9E3779B97F4A7C15);
    return drawn | 1;
}

bm_status bm_cl_stream_open(bm_cl_stream *stream, bm_error *err)
{
    stream->zero_copy = stream->zero_copy && stream->device->unified && stream->shape->zero_copy;
    stream->limit_bytes = first_limit(&stream->device->info);
    stream->factor = draw_factor();
    bm_cl_stream_cut(stream);
    BM_TRY(bm_new(&stream->sliced, stream->shape->row_uints, err));
    for (uint32_t i = 0; i < BM_CL_DEPTH; ++i) {
        bm_cl_slot *slot = &stream->slots[i];
        cl_int code = CL_SUCCESS;
        slot->in.unified = slot->out.unified = stream->device->unified;
        slot->counts.unified = slot->content.unified = stream->device->unified;
        slot->in.write_only = true;
        slot->queue = (bm_cl_queue){.api = stream->api,
                                    .context = stream->context,
                                    .max_alloc = stream->device->info.max_alloc_bytes,
                                    .writing = bm_cl_map_writing(stream->device->version)};
        slot->queue.commands = stream->api->clCreateCommandQueue(
            stream->context, stream->device->id, stream->profile ? CL_QUEUE_PROFILING_ENABLE : 0,
            &code);
        if (code != CL_SUCCESS)
            return bm_cl_fail(err, code, "clCreateCommandQueue");
    }
    return upload_coefficients(stream, err);
}

/* After a failure: wait until no queue works any more, so that nothing is read from or written to a
 * caller's memory once the error is told. Later kernels do not wait for one that failed. */
static void settle(bm_cl_stream *stream)
{
    for (uint32_t i = 0; i < BM_CL_DEPTH; ++i)
        if (stream->slots[i].queue.commands != NULL)
            stream->api->clFinish(stream->slots[i].queue.commands);
    bm_cl_event_release(stream->api, &stream->in_turn);
}

static void release_buffers(bm_cl_stream *stream)
{
    for (uint32_t i = 0; i < BM_CL_DEPTH; ++i) {
        bm_cl_slot *slot = &stream->slots[i];
        bm_cl_buffer_release(&slot->queue, &slot->in);
        bm_cl_buffer_release(&slot->queue, &slot->out);
        bm_cl_buffer_release(&slot->queue, &slot->counts);
        bm_cl_buffer_release(&slot->queue, &slot->content);
        bm_cl_scratch_release(&slot->queue, &slot->hashes);
        bm_cl_scratch_release(&slot->queue, &slot->table);
    }
}

void bm_cl_stream_close(bm_cl_stream *stream)
{
    if (stream->api == NULL)
        return;
    settle(stream);
    release_buffers(stream);
    for (uint32_t i = 0; i < BM_CL_DEPTH; ++i) {
        bm_cl_slot *slot = &stream->slots[i];
        bm_cl_event_release(stream->api, &slot->done);
        bm_cl_event_release(stream->api, &slot->kernel);
        bm_cl_plan_reset(&slot->plan);
        if (slot->queue.commands != NULL)
            stream->api->clReleaseCommandQueue(slot->queue.commands);
    }
    if (stream->coef != NULL)
        stream->api->clReleaseMemObject(stream->coef);
    bm_free(stream->sliced);
    memset(stream, 0, sizeof *stream);
}

/* Into staging: texts, or hashes unless the task's own are used; offsets, chunks and the list of
 * split documents. */
static void fill(const bm_cl_slot *slot, const bm_sign_task *task, const bm_cl_layout *layout)
{
    const bm_cl_plan *plan = &slot->plan;
    char *in = slot->in.host;
    if (task->text != NULL)
        bm_cl_text_fill(plan, task->text, layout, in);
    else if (layout->offsets_at > 0)
        bm_cl_plan_copy(plan, task, in);
    memcpy(in + (size_t)layout->offsets_at * 16, plan->offsets,
           (plan->n_docs + 1) * sizeof *plan->offsets);
    memcpy(in + (size_t)layout->chunks_at * 16, plan->chunks,
           plan->n_chunks * sizeof *plan->chunks);
    if (plan->n_split > 0)
        memcpy(in + (size_t)layout->split_at * 16, plan->split,
               plan->n_split * sizeof *plan->split);
}

/* Give the device the task's own memory of this batch. */
static cl_int begin_zero_copy(bm_cl_stream *stream, bm_cl_slot *slot, bm_sign_task *task)
{
    const bm_cl_plan *plan = &slot->plan;
    const bm_cl_shape *shape = stream->shape;
    cl_int code = CL_SUCCESS;
    if (task->text == NULL) {
        /* The kernels only read it; the cast is because clCreateBuffer has no const. */
        void *hashes = (void *)(uintptr_t)bm_cl_plan_hashes(plan, task);
        code = bm_cl_zero_copy_begin(&slot->queue, &slot->task_hashes, hashes,
                                     (size_t)bm_cl_plan_units(plan) * sizeof(uint64_t), true);
    }
    if (code == CL_SUCCESS && task->words != NULL && !plan->sliced)
        code = bm_cl_zero_copy_begin(&slot->queue, &slot->task_words,
                                     task->words + plan->first_doc * shape->row_uints,
                                     plan->n_docs * shape->row_uints * sizeof(uint32_t), false);
    if (code == CL_SUCCESS && slot->want_keys)
        code = bm_cl_zero_copy_begin(&slot->queue, &slot->task_keys,
                                     task->keys + plan->first_doc * shape->bands,
                                     plan->n_docs * shape->bands * sizeof(uint64_t), false);
    return code;
}

static void end_zero_copy(bm_cl_slot *slot)
{
    bm_cl_zero_copy_end(&slot->queue, &slot->task_hashes);
    bm_cl_zero_copy_end(&slot->queue, &slot->task_words);
    bm_cl_zero_copy_end(&slot->queue, &slot->task_keys);
}

/* Enqueue what brings the results back; slot->done is the last command's. */
static cl_int read_back(bm_cl_slot *slot)
{
    const bm_cl_queue *queue = &slot->queue;
    cl_int code = CL_SUCCESS;
    if (slot->text)
        code = bm_cl_text_begin_read(slot);
    if (code == CL_SUCCESS && slot->task_words.mem != NULL) {
        bm_cl_event_release(queue->api, &slot->done);
        code = bm_cl_zero_copy_begin_read(queue, &slot->task_words, &slot->done);
    }
    if (code == CL_SUCCESS && slot->task_keys.mem != NULL) {
        bm_cl_event_release(queue->api, &slot->done);
        code = bm_cl_zero_copy_begin_read(queue, &slot->task_keys, &slot->done);
    }
    if (code == CL_SUCCESS && slot->read_end > slot->read_begin) {
        bm_cl_event_release(queue->api, &slot->done);
        code = bm_cl_buffer_begin_read(queue, &slot->out, slot->read_begin, slot->read_end,
                                       &slot->done);
    }
    return code;
}

static cl_int reserve(const bm_cl_stream *stream, bm_cl_slot *slot, const bm_cl_layout *layout)
{
    cl_int code = bm_cl_buffer_reserve(&slot->queue, &slot->in, layout->in_bytes);
    if (code == CL_SUCCESS && layout->out_bytes > 0)
        code = bm_cl_buffer_reserve(&slot->queue, &slot->out, layout->out_bytes);
    if (code == CL_SUCCESS && slot->text)
        code = bm_cl_text_reserve(stream, slot);
    return code;
}

/* Decide what of the batch lies in the slot's buffers, and what in the task's memory. */
static bm_cl_layout lay_out(bm_cl_stream *stream, bm_cl_slot *slot, const bm_sign_task *task)
{
    const bool sliced = slot->plan.sliced;
    const bool want_words = task->words != NULL || sliced;
    slot->want_keys = task->keys != NULL && !sliced && stream->shape->bands > 0;
    const bool own_words = !stream->zero_copy || task->words == NULL || sliced;
    const bool own_keys = slot->want_keys && !stream->zero_copy;
    const bm_cl_layout layout = bm_cl_layout_of(
        &slot->plan, stream->shape, task,
        (bm_cl_parts){.hashes = !stream->zero_copy, .keys = own_keys, .words = own_words});
    slot->text = task->text != NULL;
    slot->want_content = slot->text && task->content != NULL;
    slot->words_at = (size_t)layout.words_at * sizeof(uint32_t);
    slot->read_begin = own_keys ? 0 : slot->words_at;
    slot->read_end = want_words && own_words ? layout.out_bytes : slot->words_at;
    return layout;
}

static bm_status start(bm_cl_stream *stream, bm_cl_slot *slot, bm_sign_task *task, bm_error *err)
{
    const bm_cl_api *api = stream->api;
    const bm_cl_layout layout = lay_out(stream, slot, task);
    const char *call = "clCreateBuffer";
    cl_int code = reserve(stream, slot, &layout);
    if (code == CL_SUCCESS && stream->zero_copy)
        code = begin_zero_copy(stream, slot, task);
    if (code == CL_SUCCESS) {
        call = "clEnqueueMapBuffer";
        code = bm_cl_buffer_begin_write(&slot->queue, &slot->in, layout.in_bytes);
    }
    if (code == CL_SUCCESS) {
        fill(slot, task, &layout);
        call = "clEnqueueWriteBuffer";
        code = bm_cl_buffer_end_write(&slot->queue, &slot->in, layout.in_bytes, NULL);
    }
    if (code == CL_SUCCESS) {
        call = "clEnqueueNDRangeKernel";
        code = bm_cl_launch(stream, slot, &layout);
    }
    if (code == CL_SUCCESS) {
        call = "clEnqueueReadBuffer";
        code = read_back(slot);
    }
    if (code == CL_SUCCESS) {
        call = "clFlush";
        code = api->clFlush(slot->queue.commands);
    }
    if (code != CL_SUCCESS) {
        settle(stream);
        end_zero_copy(slot);
        bm_cl_event_release(api, &slot->done);
        bm_cl_event_release(api, &slot->kernel);
        return bm_cl_fail(err, code, call);
    }
    slot->task = task;
    ++stream->n_busy;
    return BM_OK;
}

/* Where words cannot be merged: the document, once more and slowly, from all its hashes. */
static void sign_sliced(bm_cl_stream *stream, const bm_cl_slot *slot)
{
    const uint64_t *offsets = slot->task->offsets + slot->plan.first_doc;
    stream->shape->scheme->sign(stream->params, slot->task->hashes + offsets[0],
                                (size_t)(offsets[1] - offsets[0]), stream->sliced);
}

/* Merge a slice's words; after the last slice the document is the task's. */
static void merge_slice(bm_cl_stream *stream, const bm_cl_slot *slot, const uint32_t *words)
{
    const bm_cl_shape *shape = stream->shape;
    const bm_scheme_device *scheme = &shape->scheme->device;
    const bm_cl_plan *plan = &slot->plan;
    if (plan->slice_begin == 0)
        memset(stream->sliced, 0xFF, shape->row_uints * sizeof *stream->sliced);
    if (scheme->merge != NULL)
        scheme->merge(stream->params, words, stream->sliced);
    if (!plan->last_slice)
        return;
    if (scheme->merge == NULL)
        sign_sliced(stream, slot);
    if (scheme->finish != NULL)
        scheme->finish(stream->params, stream->sliced);
    if (slot->task->words != NULL)
        memcpy(slot->task->words + plan->first_doc * shape->row_uints, stream->sliced,
               shape->row_uints * sizeof *stream->sliced);
    if (slot->task->keys != NULL && shape->bands > 0)
        bm_band_keys_of(bm_scheme_word_bytes(shape->scheme->scheme))(
            stream->sliced, shape->bands, shape->rows, false,
            slot->task->keys + plan->first_doc * shape->bands);
}

static void copy_out(bm_cl_stream *stream, const bm_cl_slot *slot)
{
    const bm_cl_shape *shape = stream->shape;
    const bm_cl_plan *plan = &slot->plan;
    const char *host = slot->out.host;
    if (slot->text)
        bm_cl_text_copy_out(slot);
    if (slot->read_end == slot->read_begin)
        return; /* all of it is in the task's memory */
    const uint32_t *words = (const uint32_t *)(const void *)(host + slot->words_at);
    if (plan->sliced) {
        merge_slice(stream, slot, words);
        return;
    }
    if (slot->want_keys && slot->task_keys.mem == NULL)
        memcpy(slot->task->keys + plan->first_doc * shape->bands, host,
               plan->n_docs * shape->bands * sizeof(uint64_t));
    if (slot->task->words != NULL && slot->task_words.mem == NULL)
        memcpy(slot->task->words + plan->first_doc * shape->row_uints, words,
               plan->n_docs * shape->row_uints * sizeof *words);
}

static void add_kernel_time(bm_cl_stream *stream, bm_cl_slot *slot)
{
    cl_ulong begin = 0, end = 0;
    if (slot->kernel == NULL)
        return;
    if (stream->api->clGetEventProfilingInfo(slot->kernel, CL_PROFILING_COMMAND_START, sizeof begin,
                                             &begin, NULL) == CL_SUCCESS &&
        stream->api->clGetEventProfilingInfo(slot->kernel, CL_PROFILING_COMMAND_END, sizeof end,
                                             &end, NULL) == CL_SUCCESS)
        stream->kernel_seconds += (double)(end - begin) * 1e-9;
}

static cl_int end_reads(bm_cl_slot *slot)
{
    cl_int code = CL_SUCCESS;
    if (slot->text)
        code = bm_cl_text_end_read(slot);
    if (code == CL_SUCCESS && slot->read_end > slot->read_begin)
        code = bm_cl_buffer_end_read(&slot->queue, &slot->out);
    return code;
}

/* Wait for the oldest batch and copy its results out. */
static bm_status finish_oldest(bm_cl_stream *stream, bm_error *err)
{
    bm_cl_slot *slot = &stream->slots[stream->head];
    cl_int code = stream->api->clWaitForEvents(1, &slot->done);
    if (code == CL_SUCCESS) {
        copy_out(stream, slot);
        add_kernel_time(stream, slot);
        code = end_reads(slot);
    }
    if (code != CL_SUCCESS)
        settle(stream);
    end_zero_copy(slot);
    bm_cl_event_release(stream->api, &slot->done);
    bm_cl_event_release(stream->api, &slot->kernel);
    slot->task = NULL;
    stream->head = (stream->head + 1) % BM_CL_DEPTH;
    --stream->n_busy;
    if (code == CL_SUCCESS)
        return BM_OK;
    bm_cl_fail(err, code, "clWaitForEvents");
    if (err != NULL)
        err->status = BM_ERR_DEVICE; /* too late to plan again: the batch is lost */
    return BM_ERR_DEVICE;
}

bm_status bm_cl_stream_wait(bm_cl_stream *stream, const bm_sign_task *task, bm_error *err)
{
    for (;;) {
        bool found = false;
        for (uint32_t i = 0; i < BM_CL_DEPTH; ++i)
            found |=
                stream->slots[i].task != NULL && (task == NULL || stream->slots[i].task == task);
        if (!found)
            return BM_OK;
        BM_TRY(finish_oldest(stream, err));
    }
}

/* End all that is under way, without results: it would be copied to tasks whose memory goes. */
static void abandon(bm_cl_stream *stream)
{
    settle(stream);
    for (uint32_t i = 0; i < BM_CL_DEPTH; ++i) {
        bm_cl_slot *slot = &stream->slots[i];
        if (slot->task == NULL)
            continue;
        end_reads(slot);
        end_zero_copy(slot);
        bm_cl_event_release(stream->api, &slot->done);
        bm_cl_event_release(stream->api, &slot->kernel);
        slot->task = NULL;
    }
    stream->n_busy = 0;
}

bm_status bm_cl_stream_submit(bm_cl_stream *stream, bm_sign_task *task, bm_error *err)
{
    bm_cl_cursor at = {0};
    while (at.doc < task->n_docs) {
        bm_status status = BM_OK;
        if (stream->n_busy == BM_CL_DEPTH)
            status = finish_oldest(stream, err);
        if (status != BM_OK)
            return status;
        bm_cl_slot *slot = &stream->slots[(stream->head + stream->n_busy) % BM_CL_DEPTH];
        bm_cl_cursor next = at;
        const bm_cl_cut cut = task->text != NULL ? bm_cl_text_cut(stream) : stream->cut;
        status = bm_cl_plan_next(&slot->plan, &cut, task, &next, err);
        if (status == BM_ERR_UNSUPPORTED) { /* what was begun must not write any more */
            bm_status waited = bm_cl_stream_wait(stream, task, err);
            return waited != BM_OK ? waited : status;
        }
        if (status != BM_OK)
            return status;
        status = start(stream, slot, task, err);
        if (status == BM_OK) {
            at = next;
        } else if (status == BM_ERR_NOMEM && stream->limit_bytes / 2 >= BM_CL_MIN_LIMIT) {
            status = bm_cl_stream_wait(stream, NULL, err);
            if (status != BM_OK)
                return status;
            release_buffers(stream);
            stream->limit_bytes /= 2;
            bm_cl_stream_cut(stream);
        } else {
            return status;
        }
    }
    return BM_OK;
}

bm_status bm_cl_stream_run(bm_cl_stream *stream, bm_sign_task *task, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_cl_stream_submit(stream, task, err));
    status = bm_cl_stream_wait(stream, task, err);
out:
    if (status != BM_OK)
        abandon(stream);
    return status;
}
