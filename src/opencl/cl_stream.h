/* SPDX-License-Identifier: Apache-2.0 */
/* cl_stream.h -- batches on their way through a device (the state: cl_stream.h). One thread. */
#pragma once

#include <pthread.h>

#include <bandmill/status.h>

#include "model/backend.h"
#include "opencl/cl_buffer.h"
#include "opencl/cl_program.h"

/* cl_chunks -- a task cut into batches for the device, and a batch into chunks for work-groups: a
 * chunk is what one group signs (several short documents, one longer one, or a part of a long one).
 * No OpenCL here. */

/* How documents are cut; see bm_cl_shape. A unit is what a kernel reads at once: a quad of 32-bit
 * hashes (unit 4), or one hash of 64 bits as it came (unit 1). */
typedef struct bm_cl_cut {
    uint32_t unit; /* hashes */
    uint32_t pack_units, whole_units, part_units;
    uint64_t max_units; /* of hashes in a batch */
    uint64_t doc_units; /* of them of one document: a longer one comes in slices; 0: as many */
    size_t max_docs, max_chunks;
    uint64_t max_text_bytes; /* of texts in a batch; tasks of hashes have none */
} bm_cl_cut;

/* As the kernels read it: first document, n (0: a part), begin, end in units. */
typedef struct bm_cl_chunk {
    uint32_t doc, n, begin, end;
} bm_cl_chunk;

/* One batch. Documents are numbered from 0 in it. */
typedef struct bm_cl_plan {
    uint32_t unit;            /* of the cut */
    size_t first_doc, n_docs; /* of the task */
    uint64_t slice_begin;     /* of a sliced document: the first hash, from its own first */
    uint64_t n_hashes;        /* of a sliced document: hashes here */
    bool sliced, last_slice;  /* one document that no single batch can hold */
    uint32_t *offsets;        /* n_docs + 1, in units */
    bm_cl_chunk *chunks;      /* n_chunks */
    uint32_t *split;          /* n_split documents that parts meet in */
    size_t n_chunks, n_split;
    size_t cap_offsets, cap_chunks, cap_split;
} bm_cl_plan; /* {0} is empty; its arrays serve batch after batch */

/* Where the next batch of a task begins. */
typedef struct bm_cl_cursor {
    size_t doc;
    uint64_t hash; /* hashes of `doc` that were in earlier batches */
} bm_cl_cursor;

static inline uint64_t bm_cl_plan_units(const bm_cl_plan *plan)
{
    return plan->n_docs == 0 ? 0 : plan->offsets[plan->n_docs];
}

/* cl_slot -- what a stream of batches holds, for those who fill it (cl_stream.c), start its kernels
 * (cl_stream.c) and bring results back (cl_stream.c).
 *
 * A ring of slots, each with an in-order queue and buffers of its own, so that one slot's copies
 * run beside another's kernels. */

#define BM_CL_DEPTH 3u /* batches under way */

/* Where the parts of a batch lie in its buffers (kernels/band_keys.cl, kernels/text_hash.cl). */
typedef struct bm_cl_layout {
    uint32_t docs_at, bases_at, starts_at;    /* of texts: quads into `in`; the text at 0 */
    uint32_t offsets_at, chunks_at, split_at; /* quads into `in`; hashes or text, if there, at 0 */
    uint32_t words_at;                        /* uints into `out`; keys, if there, at 0 */
    size_t in_bytes, out_bytes;
} bm_cl_layout;

typedef enum bm_cl_place_state { BM_CL_FREE, BM_CL_TAKEN, BM_CL_TOO_SMALL } bm_cl_place_state;

/* A batch, and the buffers for it. A slot has one of its own. Where the host has twins of buffers
 * there are others, each for a whole task: any thread takes one, fills it, and looks at the results
 * where they arrive, so that the thread of the device copies nothing. */
typedef struct bm_cl_place {
    bm_staged staged; /* what its taker has of it */
    bm_cl_place_state state;
    bm_cl_plan plan;
    bm_cl_layout layout;
    bool want_keys;                        /* keys are made on the device */
    bool text;                             /* the task is one of texts: */
    bool want_content;                     /* and content hashes are wanted */
    size_t words_at, read_begin, read_end; /* bytes into `out`; begin = end: nothing */
    bm_cl_buffer in, out;
    bm_cl_buffer counts;  /* a uint a document */
    bm_cl_buffer content; /* sums (kernels/text_content.cl) */
} bm_cl_place;

/* A batch on its way. */
typedef struct bm_cl_slot {
    bm_cl_queue queue;
    bm_cl_place own, *place; /* where the batch is: `own`, or one that came with the task */
    bm_sign_task *task;      /* NULL: free */
    cl_event done;           /* of the last command */
    /* The task's own arrays, where the device uses them in place. */
    bm_cl_zero_copy task_hashes, task_words, task_keys;
    cl_event kernel;             /* of bm_sign, for profiling */
    bm_cl_scratch hashes, table; /* of texts: made and used on the device */
} bm_cl_slot;

/* The places of a device that other threads may take: one for each batch under way, and as many
 * that are being filled, or wait for their turn. Each becomes as large as the tasks are. */
#define BM_CL_PLACES 8u

typedef struct bm_cl_stream {
    const bm_cl_api *api;
    const bm_cl_device *device;
    const bm_cl_program *program;
    const bm_cl_shape *shape;
    const bm_scheme_params *params; /* of the shape's scheme, with their plan */
    cl_context context;
    cl_mem coef;
    bm_cl_slot slots[BM_CL_DEPTH];
    uint32_t head, n_busy; /* the oldest busy slot, and how many are */
    uint32_t *sliced;      /* words of a document that comes in slices */
    uint64_t factor;  /* odd, drawn at random: where hashes lie in the tables of text_count.cl */
    cl_event in_turn; /* the last kernel, where kernels may not overlap; else NULL */
    double kernel_seconds;   /* by the device's clock, if `profile` */
    bool profile, zero_copy; /* zero_copy: the task's memory is used as it is */
    bool brief;              /* known answers without the long document */
    pthread_mutex_t lock;    /* of the states of places and, where it changes, of what follows */
    bm_cl_cut cut;
    size_t limit_bytes; /* of a buffer; halved when memory runs out */
    bool shut;          /* no place is given any more */
    bm_cl_place places[BM_CL_PLACES];
} bm_cl_stream;

static inline void bm_cl_event_release(const bm_cl_api *api, cl_event *event)
{
    if (*event != NULL)
        api->clReleaseEvent(*event);
    *event = NULL;
}

/* Hashes that one work-group signs of a document, if the device does not merge its parts: so many
 * turns of a loop, which llvmpipe leaves after 65,535 in all (docs/opencl.md). More come in
 * slices. */
#define BM_CL_ALONE_UNITS 49152u

/* How long the parts of a long document may be: all of it where they do not meet on a device. */
static inline uint32_t bm_cl_part_units(const bm_cl_shape *shape, uint32_t most)
{
    return shape->scheme->device.alone ? UINT32_MAX : most;
}

#define BM_CL_MIN_LIMIT ((size_t)64 << 10)

/* `stream` begins as {0} with api, device, program, shape, params and context set (borrowed). */
bm_status bm_cl_stream_open(bm_cl_stream *stream, bm_error *err);
void bm_cl_stream_close(bm_cl_stream *stream); /* waits first; {0} is fine */

bm_status bm_cl_stream_submit(bm_cl_stream *stream, bm_sign_task *task, bm_error *err);
/* Until no batch of `task` (NULL: of any) is under way. */
bm_status bm_cl_stream_wait(bm_cl_stream *stream, const bm_sign_task *task, bm_error *err);
/* Submit `task` and wait for it, while nothing else is under way. After a failure all work has
 * ended, without results: the task is not touched any more, and may be freed. */
bm_status bm_cl_stream_run(bm_cl_stream *stream, bm_sign_task *task, bm_error *err);

/* A place for all of the task, filled with its inputs; NULL: none is free, or large enough, or the
 * device shares the host's memory. Any thread, at any time; the task's inputs are not read again,
 * and must stay for whoever signs it if the device fails. bm_cl_stream_submit then knows the place
 * by task->staged. */
bm_staged *bm_cl_stream_stage(bm_cl_stream *stream, const bm_sign_task *task);
/* The place is free for others. Any thread. */
void bm_cl_stream_unstage(bm_cl_stream *stream, bm_staged *staged);

/* How documents are cut under the stream's limits. */
void bm_cl_stream_cut(bm_cl_stream *stream);

/* cl_launch -- the one place where kernels get their arguments and are started. */

/* The parts of a batch that lie in its buffers, beside offsets, chunks and texts. */
typedef struct bm_cl_parts {
    bool hashes, keys, words;
} bm_cl_parts;

/* cl_text -- texts in a batch: where they lie in `in`, and what the device needs beside it. */
