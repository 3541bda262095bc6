/* SPDX-License-Identifier: Apache-2.0 */
/* cl_stream.h -- passes batches through a device. Used by one thread, except where noted. */
#pragma once

#include <pthread.h>

#include <bandmill/status.h>

#include "model/backend.h"
#include "opencl/cl_buffer.h"
#include "opencl/cl_program.h"

/* cl_chunks -- cuts a task into batches for the device, and a batch into chunks for work-groups. A
 * chunk is what one group signs: several short documents, one longer document, or a part of a long
 * one. This part does not use OpenCL. */

/* How documents are cut; see bm_cl_shape. A unit is what a kernel reads at once: a quad of 32-bit
 * hashes (unit 4), or one unchanged 64-bit hash (unit 1). */
typedef struct bm_cl_cut {
    uint32_t unit; /* hashes in a unit */
    uint32_t pack_units, whole_units, part_units;
    uint64_t max_units; /* the most units of hashes in a batch */
    uint64_t doc_units; /* the most units of one document in a batch; a longer document is cut into
                           slices. 0: max_units */
    size_t max_docs, max_chunks;
    uint64_t max_text_bytes; /* most bytes of texts in a batch; unused for tasks of hashes */
} bm_cl_cut;

/* In the form that kernels read: first document, number of documents (0: only a part of one), begin
 * and end in units. */
typedef struct bm_cl_chunk {
    uint32_t doc, n, begin, end;
} bm_cl_chunk;

/* One batch. Its documents are numbered from 0. */
typedef struct bm_cl_plan {
    uint32_t unit;            /* as in bm_cl_cut */
    size_t first_doc, n_docs; /* documents of the task that are in the batch */
    uint64_t slice_begin;     /* for a slice: index of its first hash in the document */
    uint64_t n_hashes;        /* for a slice: its number of hashes */
    /* sliced: the batch is a slice of a document that is too large for one batch; last_slice: it is
     * the document's last slice */
    bool sliced, last_slice;
    uint32_t *offsets;   /* n_docs + 1, in units */
    bm_cl_chunk *chunks; /* n_chunks */
    uint32_t *split;     /* the documents that are cut into parts; n_split */
    size_t n_chunks, n_split;
    size_t cap_offsets, cap_chunks, cap_split;
} bm_cl_plan; /* {0} is empty; its arrays are reused for later batches */

/* Where the next batch of a task begins. */
typedef struct bm_cl_cursor {
    size_t doc;
    uint64_t hash; /* number of hashes of `doc` that earlier batches have */
} bm_cl_cursor;

static inline uint64_t bm_cl_plan_units(const bm_cl_plan *plan)
{
    return plan->n_docs == 0 ? 0 : plan->offsets[plan->n_docs];
}

/* cl_slot -- the state of a stream of batches.
 *
 * A stream has a ring of slots, each with an in-order queue and its own buffers, so that the copies
 * of one slot overlap the kernels of another. */

#define BM_CL_DEPTH 3u /* batches in progress at once */

/* Where the parts of a batch are in its buffers (kernels/band_keys.cl, kernels/text_hash.cl). */
typedef struct bm_cl_layout {
    /* offsets into `in`, in quads, if the batch has texts; the text itself is at 0 */
    uint32_t docs_at, bases_at, starts_at;
    /* offsets into `in`, in quads; hashes or texts, if there are any, are at 0 */
    uint32_t offsets_at, chunks_at, split_at;
    /* offset into `out`, in uints; keys, if there are any, are at 0 */
    uint32_t words_at;
    size_t in_bytes, out_bytes;
} bm_cl_layout;

typedef enum bm_cl_place_state { BM_CL_FREE, BM_CL_TAKEN, BM_CL_TOO_SMALL } bm_cl_place_state;

/* Buffers for one batch, and the batch in them. Each slot has a place of its own.
 *
 * If host buffers have twins on the device, there are more places, each for a whole task. Any
 * thread may take such a place, fill it, and later read the results from it, so the device's thread
 * copies nothing. */
typedef struct bm_cl_place {
    bm_staged staged; /* the part that the thread that took the place uses */
    bm_cl_place_state state;
    bm_cl_plan plan;
    bm_cl_layout layout;
    bool want_keys; /* keys are computed on the device */
    bool text;      /* the task has texts */
    /* the task has texts, and their content hashes are wanted */
    bool want_content;
    /* offsets into `out`, in bytes; read_begin == read_end: nothing is read */
    size_t words_at, read_begin, read_end;
    bm_cl_buffer in, out;
    bm_cl_buffer counts;  /* a uint for each document */
    bm_cl_buffer content; /* sums (kernels/text_content.cl) */
} bm_cl_place;

/* A batch in progress. */
typedef struct bm_cl_slot {
    bm_cl_queue queue;
    bm_cl_place own, *place; /* place: the place of the batch, which is `own` or was staged with the
                                task */
    bm_sign_task *task;      /* NULL: the slot is free */
    cl_event done;           /* event of the last command */
    /* The task's own arrays, if the device uses them directly. */
    bm_cl_zero_copy task_hashes, task_words, task_keys;
    cl_event kernel;             /* event of bm_sign, for profiling */
    bm_cl_scratch hashes, table; /* used for texts, and only on the device */
} bm_cl_slot;

/* How many places other threads may take: enough for the batches in progress, and for tasks that
 * are being filled in or are waiting. Places grow to the size of the tasks. */
#define BM_CL_PLACES 8u

typedef struct bm_cl_stream {
    const bm_cl_api *api;
    const bm_cl_device *device;
    const bm_cl_program *program;
    const bm_cl_shape *shape;
    const bm_scheme_params *params; /* parameters of the shape's scheme, planned */
    cl_context context;
    cl_mem coef;
    bm_cl_slot slots[BM_CL_DEPTH];
    uint32_t head, n_busy; /* head: the oldest busy slot; n_busy: number of busy slots */
    uint32_t *sliced;      /* words of the document that is signed in slices */
    uint64_t factor;  /* odd, random: determines where hashes are in the tables of text_count.cl */
    cl_event in_turn; /* event of the last kernel, if kernels must not overlap; else NULL */
    double kernel_seconds;   /* time in bm_sign by the device's clock; measured only with
                                `profile` */
    bool profile, zero_copy; /* zero_copy: the task's memory is used directly */
    bool brief;              /* the known answers omit the long document */
    pthread_mutex_t lock;    /* guards the states of places, and changes of the members below */
    bm_cl_cut cut;
    size_t limit_bytes; /* limit of a buffer; halved when memory runs out */
    bool shut;          /* other threads get no more places */
    bm_cl_place places[BM_CL_PLACES];
} bm_cl_stream;

static inline void bm_cl_event_release(const bm_cl_api *api, cl_event *event)
{
    if (*event != NULL)
        api->clReleaseEvent(*event);
    *event = NULL;
}

/* The most units of one document that a single work-group signs, if the device does not merge
 * parts. Mesa's llvmpipe leaves loops after 65,535 iterations in total; this number stays below
 * that. A longer document is cut into slices. */
#define BM_CL_ALONE_UNITS 49152u

/* Return the size of the parts of a long document. If the device does not merge parts, the only
 * part is the whole document. */
static inline uint32_t bm_cl_part_units(const bm_cl_shape *shape, uint32_t most)
{
    return shape->scheme->device.alone ? UINT32_MAX : most;
}

#define BM_CL_MIN_LIMIT ((size_t)64 << 10)

/* Open the stream. The caller must have set the members api, device, program, shape, params and
 * context, which are borrowed. All other members must be 0. */
bm_status bm_cl_stream_open(bm_cl_stream *stream, bm_error *err);
void bm_cl_stream_close(bm_cl_stream *stream); /* waits for all work; {0} is fine */

bm_status bm_cl_stream_submit(bm_cl_stream *stream, bm_sign_task *task, bm_error *err);
/* Wait until no batch of `task` (NULL: of any task) is in progress. */
bm_status bm_cl_stream_wait(bm_cl_stream *stream, const bm_sign_task *task, bm_error *err);
/* Submit `task` and wait for it. Nothing else may be in progress. After a failure, all work has
 * ended without results. The task is then no longer used, and may be freed. */
bm_status bm_cl_stream_run(bm_cl_stream *stream, bm_sign_task *task, bm_error *err);

/* Take a place that is large enough for the whole task, and fill it with the task's inputs. Returns
 * NULL if no place is free or large enough, if the task has no documents, or if the device shares
 * the host's memory. Any thread may call this at any time. The task's inputs are not read again,
 * but must be kept, so that the task can be signed elsewhere if the device fails.
 * bm_cl_stream_submit finds the place in task->staged. */
bm_staged *bm_cl_stream_stage(bm_cl_stream *stream, const bm_sign_task *task);
/* Free the place. Any thread may call it. */
void bm_cl_stream_unstage(bm_cl_stream *stream, bm_staged *staged);

/* Choose how documents are cut, by the stream's limits. */
void bm_cl_stream_cut(bm_cl_stream *stream);

/* cl_launch -- the one place where kernels are started. */

/* Which parts of a batch are in its buffers, in addition to offsets, chunks and texts. */
typedef struct bm_cl_parts {
    bool hashes, keys, words;
} bm_cl_parts;

/* cl_text -- texts in a batch: their layout in `in`, and the further buffers that they need. */
