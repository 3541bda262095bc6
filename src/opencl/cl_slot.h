/* cl_slot.h -- what a stream of batches holds, for those who fill it (cl_text.c), start its kernels
 * (cl_launch.c) and bring results back (cl_stream.c).
 *
 * A ring of slots, each with an in-order queue and buffers of its own, so that one slot's copies
 * run beside another's kernels. */
#ifndef BM_BACKEND_OPENCL_CL_SLOT_H
#define BM_BACKEND_OPENCL_CL_SLOT_H

#include "opencl/cl_buffer.h"
#include "opencl/cl_chunks.h"
#include "opencl/cl_program.h"

#define BM_CL_DEPTH 3u /* batches under way */

/* A batch on its way. */
typedef struct bm_cl_slot {
    bm_cl_queue queue;
    bm_cl_buffer in, out;
    bm_cl_plan plan;
    bm_sign_task *task; /* NULL: free */
    cl_event done;      /* of the last command */
    bool want_keys;     /* keys are made on the device */
    /* Of the task, where it is used as it is. */
    bm_cl_zero_copy task_hashes, task_words, task_keys;
    size_t words_at, read_begin, read_end; /* bytes into `out`; begin = end: nothing */
    cl_event kernel;                       /* of bm_sign, for profiling */
    bool text;                             /* the task is one of texts: */
    bool want_content;                     /* and content hashes are wanted */
    bm_cl_scratch hashes, table;           /* made and used on the device */
    bm_cl_buffer counts;                   /* a uint a document */
    bm_cl_buffer content;                  /* sums (kernels/text_content.cl) */
} bm_cl_slot;

typedef struct bm_cl_stream {
    const bm_cl_api *api;
    const bm_cl_device *device;
    const bm_cl_program *program;
    const bm_cl_shape *shape;
    const bm_scheme_params *params; /* of the shape's scheme, with their plan */
    cl_context context;
    cl_mem coef;
    bm_cl_cut cut;
    size_t limit_bytes; /* of a buffer; halved when memory runs out */
    bm_cl_slot slots[BM_CL_DEPTH];
    uint32_t head, n_busy; /* the oldest busy slot, and how many are */
    uint32_t *sliced;      /* words of a document that comes in slices */
    uint64_t factor;  /* odd, drawn at random: where hashes lie in the tables of text_count.cl */
    cl_event in_turn; /* the last kernel, where kernels may not overlap; else NULL */
    double kernel_seconds;   /* by the device's clock, if `profile` */
    bool profile, zero_copy; /* zero_copy: the task's memory is used as it is */
    bool brief;              /* known answers without the long document */
} bm_cl_stream;

static inline void bm_cl_event_release(const bm_cl_api *api, cl_event *event)
{
    if (*event != NULL)
        api->clReleaseEvent(*event);
    *event = NULL;
}

/* Hashes that one work-group signs of a document whose parts do not meet on a device: so many turns
 * of a loop, which llvmpipe leaves after 65,535 in all (docs/opencl.md). More come in slices. */
#define BM_CL_ALONE_UNITS 49152u

/* How long the parts of a long document may be: all of it where they do not meet on a device. */
static inline uint32_t bm_cl_part_units(const bm_cl_shape *shape, uint32_t most)
{
    return shape->scheme->device.alone ? UINT32_MAX : most;
}

/* Where the parts of a batch lie in its buffers (kernels/band_keys.cl, kernels/text_hash.cl). */
typedef struct bm_cl_layout {
    uint32_t docs_at, bases_at, starts_at;    /* of texts: quads into `in`; the text at 0 */
    uint32_t offsets_at, chunks_at, split_at; /* quads into `in`; hashes or text, if there, at 0 */
    uint32_t words_at;                        /* uints into `out`; keys, if there, at 0 */
    size_t in_bytes, out_bytes;
} bm_cl_layout;

#endif
