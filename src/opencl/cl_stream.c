/* SPDX-License-Identifier: Apache-2.0 */
/* cl_stream.c -- plans batches, fills their buffers, starts kernels and copies results back.
 *
 *     submit   plan a batch | copy hashes to staging | enqueue upload, kernels, one read-back
 *     wait     wait for the oldest slot's last event | copy to the task's words and keys
 *
 * Keys and words are read back as one range. Keys come first in `out`, so they are a prefix if only
 * keys are needed. A CPU uses the task's own hashes, words and keys, so these are not copied (zero
 * copy), and only offsets and chunks are staged. Texts are always staged: they take about a byte
 * per shingle, and hashing them takes longer than copying them.
 *
 * Buffers are kept between batches, and grow. When memory runs out, all work in progress is
 * finished, all buffers are released, the limit is halved (down to BM_CL_MIN_LIMIT), and the batch
 * is planned again.
 *
 * Tests: tests/parity/test_oclgrind.c, tests/parity/test_parity_opencl.c,
 *        tests/parity/test_parity_text.c, tests/unit/opencl/test_cl_stream.c */
#include "opencl/cl_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

/* cl_chunks -- cuts the work. It does not depend on devices, so that it can be tested alone.
 *
 * Documents are cut in one pass. Short documents are packed into a chunk of at most pack_units. A
 * document of up to whole_units is a chunk of its own. A longer document is cut into parts of
 * part_units, and listed in `split`. A document larger than a batch is cut into slices, one for
 * each batch. The host merges the words of the slices or, if the scheme cannot merge, signs the
 * document itself. */

#define MAX_PACKED_DOCS 4096u /* most documents in a chunk, if they have few or no hashes */

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

/* Add a whole document to the last chunk, or as a chunk of its own. */
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

/* Add the next document, or a slice of it, to the plan. */
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

/* Return the bytes of the task's texts begin … end-1, or 0 if it has no texts. */
static uint64_t text_bytes(const bm_sign_task *task, size_t begin, size_t end)
{
    if (task->text == NULL)
        return 0;
    return bm_text_batch_bytes_end(task->text, end) - task->text->docs[begin].begin;
}

/* Plan the batch that begins at `at`, and move `at` past it. A batch has at least one document, or
 * a slice of one. BM_ERR_NOMEM: `at` is unchanged. BM_ERR_UNSUPPORTED: a text does not fit into a
 * batch. */
static bm_status cl_plan_next(bm_cl_plan *plan, const bm_cl_cut *cut, const bm_sign_task *task,
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

static void cl_plan_reset(bm_cl_plan *plan)
{
    bm_free_all(plan->offsets, plan->chunks, plan->split);
    memset(plan, 0, sizeof *plan);
}

/* Return the first hash of the batch. NULL is possible if the task has no hashes. */
static const uint64_t *cl_plan_hashes(const bm_cl_plan *plan, const bm_sign_task *task)
{
    const uint64_t first = task->offsets[plan->first_doc] + plan->slice_begin * plan->sliced;
    return first > 0 ? task->hashes + first : task->hashes;
}

static void copy_halves(uint32_t *restrict out, const uint64_t *restrict hashes, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        out[i] = (uint32_t)hashes[i];
    for (size_t i = n; i % 4 != 0; ++i)
        out[i] = (uint32_t)hashes[n - 1];
}

/* Copy the batch's hashes to `out`. Unit 4: the low halves of the hashes are copied, 16 bytes per
 * unit, and the last quad of each document is filled up with copies of its last hash. Unit 1: the
 * hashes are copied unchanged, 8 bytes per unit. */
static void cl_plan_copy(const bm_cl_plan *plan, const bm_sign_task *task, void *out)
{
    const uint64_t *offsets = task->offsets + plan->first_doc;
    uint32_t *halves = out;
    if (plan->unit == 1)
        memcpy(out, cl_plan_hashes(plan, task), (size_t)bm_cl_plan_units(plan) * 8);
    else if (plan->sliced)
        copy_halves(halves, cl_plan_hashes(plan, task), (size_t)plan->n_hashes);
    else
        for (size_t i = 0; i < plan->n_docs; ++i)
            copy_halves(halves + (size_t)plan->offsets[i] * 4, task->hashes + offsets[i],
                        (size_t)(offsets[i + 1] - offsets[i]));
}

/* cl_text -- kernels/text_hash.cl describes the layout.
 *
 * The start of a word is stored in 16 bits, relative to a 32-bit base for every 256 words. No word
 * here is longer than a shingle, 240 bytes, so 256 words and their spaces span less than 2^16
 * bytes. */

#define BLOCK 256u
/* the number of code points before is stored once per this many bytes of text */
#define RANKS      64u
#define ASCII      UINT32_MAX
#define SUMS_BYTES sizeof(bm_content_sums)
#define AHEAD      8u /* bytes that kernels may read after the end of a text (kernels/xxh3.h) */

static size_t quads(size_t bytes)
{
    return (bytes + 15) / 16;
}

/* Does the document need counts of code points? It does if it is cut into characters and is not
 * pure ASCII. */
static bool is_ranked(const bm_text_batch *text, size_t doc)
{
    return text->options.shingle == BM_SHINGLE_CHAR && !text->docs[doc].ascii;
}

static bool has_ranks(const bm_cl_plan *plan, const bm_text_batch *text)
{
    bool any = false;
    for (size_t i = 0; i < plan->n_docs && !any; ++i)
        any = is_ranked(text, plan->first_doc + i);
    return any;
}

/* The part of the task's texts that the plan covers. */
typedef struct extent {
    uint64_t bytes_begin, starts_begin;
    size_t n_bytes, n_starts;
} extent;

static extent extent_of(const bm_cl_plan *plan, const bm_text_batch *text)
{
    const bm_text_doc *first = &text->docs[plan->first_doc];
    const size_t end = plan->first_doc + plan->n_docs;
    extent e = {.bytes_begin = first->begin, .starts_begin = first->first_start};
    e.n_bytes = (size_t)(bm_text_batch_bytes_end(text, end) - e.bytes_begin);
    e.n_starts = (size_t)(bm_text_batch_starts_end(text, end) - e.starts_begin);
    return e;
}

/* Compute the layout of the plan's texts. Returns how many quads they take. */
static size_t cl_text_layout(const bm_cl_plan *plan, const bm_text_batch *text, bm_cl_layout *at)
{
    const extent e = extent_of(plan, text);
    const size_t n_bases =
        has_ranks(plan, text) ? e.n_bytes / RANKS + 1 : (e.n_starts + BLOCK - 1) / BLOCK;
    at->docs_at = (uint32_t)quads(e.n_bytes + AHEAD);
    at->bases_at = at->docs_at + (uint32_t)plan->n_docs;
    at->starts_at = at->bases_at + (uint32_t)quads(n_bases * sizeof(uint32_t));
    return at->starts_at + quads(e.n_starts * sizeof(uint16_t));
}

static void fill_docs(const bm_cl_plan *plan, const bm_text_batch *text, const extent *e,
                      uint32_t *out)
{
    const bool words = text->options.shingle == BM_SHINGLE_WORD;
    for (size_t i = 0; i < plan->n_docs; ++i, out += 4) {
        const size_t at = plan->first_doc + i;
        const bm_text_doc *doc = &text->docs[at];
        const uint32_t first = (uint32_t)(doc->first_start - e->starts_begin);
        out[0] = (uint32_t)(doc->begin - e->bytes_begin);
        out[1] = words ? first + doc->n_starts - 1 : (uint32_t)doc->len;
        out[2] = (uint32_t)(text->slots[at + 1] - text->slots[at]);
        out[3] = words ? first : is_ranked(text, at) ? (uint32_t)doc->n_shingles : ASCII;
    }
}

/* Store the starts, which ascend over all documents. */
static void fill_starts(const bm_cl_plan *plan, const bm_text_batch *text, const extent *e,
                        uint32_t *bases, uint16_t *out)
{
    size_t n = 0;
    for (size_t i = plan->first_doc; i < plan->first_doc + plan->n_docs; ++i) {
        const bm_text_doc *doc = &text->docs[i];
        if (doc->n_starts == 0)
            continue;
        const uint32_t *starts = text->starts + doc->first_start;
        const uint32_t begin = (uint32_t)(doc->begin - e->bytes_begin);
        for (size_t j = 0; j < doc->n_starts; ++j, ++n) {
            if (n % BLOCK == 0)
                bases[n / BLOCK] = begin + starts[j];
            out[n] = (uint16_t)(begin + starts[j] - bases[n / BLOCK]);
        }
    }
}

/* Store, for every RANKS-th byte of the text, how many code points of its document begin before it.
 * The number is 0 in documents that need none (is_ranked). */
static void fill_ranks(const bm_cl_plan *plan, const bm_text_batch *text, const extent *e,
                       uint32_t *out)
{
    memset(out, 0, (e->n_bytes / RANKS + 1) * sizeof *out);
    for (size_t i = plan->first_doc; i < plan->first_doc + plan->n_docs; ++i) {
        if (!is_ranked(text, i))
            continue;
        const size_t begin = (size_t)(text->docs[i].begin - e->bytes_begin);
        const char *bytes = text->bytes.data + e->bytes_begin;
        uint32_t rank = 0;
        for (size_t at = begin; at < begin + text->docs[i].len; ++at) {
            if (at % RANKS == 0)
                out[at / RANKS] = rank;
            rank += ((unsigned char)bytes[at] & 0xC0) != 0x80;
        }
    }
}

/* Store all parts of the texts in `in`, up to at->offsets_at. */
static void cl_text_fill(const bm_cl_plan *plan, const bm_text_batch *text, const bm_cl_layout *at,
                         char *in)
{
    const extent e = extent_of(plan, text);
    if (e.n_bytes > 0)
        memcpy(in, text->bytes.data + e.bytes_begin, e.n_bytes);
    memset(in + e.n_bytes, 0, (size_t)at->docs_at * 16 - e.n_bytes);
    fill_docs(plan, text, &e, (uint32_t *)(void *)(in + (size_t)at->docs_at * 16));
    uint32_t *bases = (uint32_t *)(void *)(in + (size_t)at->bases_at * 16);
    if (has_ranks(plan, text))
        fill_ranks(plan, text, &e, bases);
    else
        fill_starts(plan, text, &e, bases, (uint16_t *)(void *)(in + (size_t)at->starts_at * 16));
}

/* Return the index at which the sums of parts begin, after the sums of documents. */
static size_t parts_at(const bm_cl_plan *plan)
{
    return (plan->n_docs / 4 + 1) * 4;
}

/* Make room on the device for hashes and tables of the slot's batch. */
static cl_int cl_text_reserve(const bm_cl_stream *stream, bm_cl_slot *slot)
{
    const size_t slots = (size_t)bm_cl_plan_units(&slot->place->plan) * stream->shape->unit;
    const size_t bytes = slots > 0 ? slots * sizeof(uint64_t) : sizeof(uint64_t);
    const cl_int code = bm_cl_scratch_reserve(&slot->queue, &slot->hashes, bytes);
    return code == CL_SUCCESS /* a slot has two 32-bit entries */
               ? bm_cl_scratch_reserve(&slot->queue, &slot->table, bytes)
               : code;
}

/* Begin to read back counts and, if the task wants them, sums of content hashes. slot->done is the
 * event of the last command. */
static cl_int cl_text_begin_read(bm_cl_slot *slot)
{
    const bm_cl_plan *plan = &slot->place->plan;
    cl_int code = bm_cl_buffer_begin_read(&slot->queue, &slot->place->counts, 0,
                                          plan->n_docs * sizeof(uint32_t), &slot->done);
    if (code != CL_SUCCESS || !slot->place->want_content)
        return code;
    slot->queue.api->clReleaseEvent(slot->done);
    slot->done = NULL;
    const size_t n = plan->n_split > 0 ? parts_at(plan) + plan->n_chunks : plan->n_docs;
    return bm_cl_buffer_begin_read(&slot->queue, &slot->place->content, 0, n * SUMS_BYTES,
                                   &slot->done);
}

static cl_int cl_text_end_read(bm_cl_slot *slot)
{
    const cl_int code = bm_cl_buffer_end_read(&slot->queue, &slot->place->counts);
    return code == CL_SUCCESS && slot->place->want_content
               ? bm_cl_buffer_end_read(&slot->queue, &slot->place->content)
               : code;
}

/* Add up the sums of parts of each document, and compute the content hashes. */
static void copy_content(const bm_cl_slot *slot)
{
    const bm_cl_plan *plan = &slot->place->plan;
    const bm_text_doc *docs = slot->task->text->docs + plan->first_doc;
    bm_hash128 *out = slot->task->content + plan->first_doc;
    const bm_content_sums *whole = slot->place->content.host, *parts = whole + parts_at(plan);
    for (size_t i = 0; i < plan->n_docs; ++i)
        out[i] = (bm_hash128){whole[i].c, whole[i].d};
    for (size_t i = 0; i < plan->n_split; ++i)
        out[plan->split[i]] = (bm_hash128){0};
    for (size_t i = 0; i < plan->n_chunks && plan->n_split > 0; ++i) {
        if (plan->chunks[i].n != 0)
            continue;
        out[plan->chunks[i].doc].lo += parts[i].c;
        out[plan->chunks[i].doc].hi += parts[i].d;
    }
    for (size_t i = 0; i < plan->n_docs; ++i)
        out[i] = bm_content_with_second(
            bm_content_end(&(bm_content_sums){out[i].lo, out[i].hi}, docs[i].n_shingles),
            docs[i].second);
}

static void cl_text_copy_out(const bm_cl_slot *slot)
{
    memcpy(slot->task->n_shingles + slot->place->plan.first_doc, slot->place->counts.host,
           slot->place->plan.n_docs * sizeof(uint32_t));
    if (slot->place->want_content)
        copy_content(slot);
}

/* Return how texts are cut into batches: so that each buffer stays within the stream's limit. */
static bm_cl_cut cl_text_cut(const bm_cl_stream *stream)
{
    bm_cl_cut cut = stream->cut;
    const size_t limit = stream->limit_bytes;
    cut.max_text_bytes = limit / 2; /* a word takes at least two bytes, and its start takes two
                                       more */
    if (cut.max_docs > limit / 64)  /* each takes a quad */
        cut.max_docs = limit / 64;
    return cut;
}

#define MAX_LIMIT ((size_t)512 << 20)
/* cl_launch -- starts kernels. A table has the arguments of each kernel; one loop sets them and
 * starts the kernel.
 *
 * A batch starts at most seven kernels, in this order: the kernel that sets the words of split
 * documents to all ones; the kernels that make hashes of texts, their counts, and their content
 * hashes; the kernel that signs the chunks; for split documents, the fill of the scheme, and then
 * their keys. */

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

/* Return the layout of a batch of `task` in its buffers: with the `parts` and, if the task has
 * texts, with these. */
static bm_cl_layout cl_layout_of(const bm_cl_plan *plan, const bm_cl_shape *shape,
                                 const bm_sign_task *task, bm_cl_parts parts)
{
    bm_cl_layout at = {0};
    const size_t unit_bytes = shape->unit == 4 ? 16 : 8;
    size_t hashes = parts.hashes ? ((size_t)bm_cl_plan_units(plan) * unit_bytes + 15) / 16 : 0;
    if (task->text != NULL)
        hashes = cl_text_layout(plan, task->text, &at);
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

/* Set *global to the number of work-items of a kernel for this batch, and *local to the number in a
 * group. */
static void grid_of(bm_cl_kernel_id id, const bm_cl_shape *shape, const bm_cl_plan *plan,
                    size_t *global, size_t *local)
{
    if (id == BM_CL_SIGN || id >= BM_CL_TEXT_HASH) {
        *local = id == BM_CL_SIGN ? shape->group : shape->text_group;
        *global = plan->n_chunks * *local;
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

/* A kernel that is about to be started. */
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

/* Pass `mem` as the argument `index`. If `mem` is NULL, pass `other`, which has the same part of
 * the batch. */
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
    const cl_uint want_keys = slot->place->want_keys;
    const cl_uint n_split = (cl_uint)slot->place->plan.n_split;
    const cl_uint4 text = {.s = {layout->docs_at, layout->bases_at, layout->starts_at,
                                 (cl_uint)bm_cl_plan_units(&slot->place->plan)}};
    switch (what) {
    case ARG_HASHES:
        return slot->place->text ? set_mem(l, index, slot->hashes.mem, NULL)
                                 : set_mem(l, index, slot->task_hashes.mem, slot->place->in.device);
    case ARG_IN:
        return set_mem(l, index, slot->place->in.device, NULL);
    case ARG_WORDS:
        return set_mem(l, index, slot->task_words.mem, slot->place->out.device);
    case ARG_KEYS:
        return set_mem(l, index, slot->task_keys.mem, slot->place->out.device);
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
        return set_mem(l, index, slot->place->counts.device, NULL);
    case ARG_CONTENT:
        return set_mem(l, index, slot->place->content.device, NULL);
    case ARG_TEXT:
        return set(l, index, &text, sizeof text);
    case ARG_FACTOR:
        return set(l, index, &l->stream->factor, sizeof l->stream->factor);
    }
    return CL_INVALID_VALUE;
}

/* PoCL before 6.0 keeps a loaded kernel for each size of grid. But when a grid ends, it counts down
 * the users of the first loaded kernel that it finds, whatever its size. If two grids of one kernel
 * overlap, a count drops below zero and the process aborts. So with such a PoCL each kernel waits
 * for the one before it. */
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
    grid_of(id, stream->shape, &slot->place->plan, &global, &local);
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

/* Enqueue the kernels of a slot's batch on its queue. With stream->profile, the event of bm_sign is
 * kept in the slot. */
static cl_int cl_launch(bm_cl_stream *stream, bm_cl_slot *slot, const bm_cl_layout *layout)
{
    const bool split = slot->place->plan.n_split > 0;
    cl_int code = CL_SUCCESS;
    if (split)
        code = launch_one(stream, slot, layout, BM_CL_SPLIT_BEGIN);
    if (code == CL_SUCCESS && slot->place->text)
        code = launch_one(stream, slot, layout, BM_CL_TEXT_HASH);
    if (code == CL_SUCCESS && slot->place->text)
        code = launch_one(stream, slot, layout, BM_CL_TEXT_COUNT);
    if (code == CL_SUCCESS && slot->place->want_content)
        code = launch_one(stream, slot, layout, BM_CL_TEXT_CONTENT);
    if (code == CL_SUCCESS)
        code = launch_one(stream, slot, layout, BM_CL_SIGN);
    if (code == CL_SUCCESS && split && stream->shape->scheme->device.fills)
        code = launch_one(stream, slot, layout, BM_CL_SPLIT_FILL);
    if (code == CL_SUCCESS && split && slot->place->want_keys)
        code = launch_one(stream, slot, layout, BM_CL_SPLIT_KEYS);
    return code;
}

/* The most hashes of a launch. If a GPU also drives a screen, the system kills work that keeps it
 * busy for some seconds. More hashes, with many words each, could take that long on a small GPU. */
#define MAX_HASHES ((size_t)16 << 20)
#define MAX_CHUNKS 32768u /* for grids of 65,536 and more, PoCL compiles another variant */

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
    /* Hashes take half of `in`; offsets and chunks a quarter each. */
    cut->max_units = limit / (shape->unit == 4 ? 32 : 16);
    if (cut->max_units > MAX_HASHES / shape->unit)
        cut->max_units = MAX_HASHES / shape->unit;
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

static void init_place(bm_cl_place *place, bool unified)
{
    place->in.unified = place->out.unified = unified;
    place->counts.unified = place->content.unified = unified;
    place->in.write_only = true;
}

bm_status bm_cl_stream_open(bm_cl_stream *stream, bm_error *err)
{
    pthread_mutex_init(&stream->lock, NULL);
    stream->zero_copy = stream->zero_copy && stream->device->unified && stream->shape->zero_copy;
    stream->limit_bytes = first_limit(&stream->device->info);
    stream->factor = bm_hash_draw_seed();
    bm_cl_stream_cut(stream);
    BM_TRY(bm_new(&stream->sliced, stream->shape->row_uints, err));
    for (uint32_t i = 0; i < BM_CL_PLACES; ++i)
        init_place(&stream->places[i], stream->device->unified);
    for (uint32_t i = 0; i < BM_CL_DEPTH; ++i) {
        bm_cl_slot *slot = &stream->slots[i];
        cl_int code = CL_SUCCESS;
        slot->place = &slot->own;
        init_place(&slot->own, stream->device->unified);
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

/* Give no more places (bm_cl_place) to other threads. */
static void shut(bm_cl_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->shut = true;
    pthread_mutex_unlock(&stream->lock);
}

/* Called after a failure: give no more places to other threads, and wait until no queue is working,
 * so that the caller's memory is no longer used when the error is reported. (Kernels do not wait
 * for an earlier kernel that failed.) */
static void finish_all(bm_cl_stream *stream)
{
    shut(stream);
    for (uint32_t i = 0; i < BM_CL_DEPTH; ++i)
        if (stream->slots[i].queue.commands != NULL)
            stream->api->clFinish(stream->slots[i].queue.commands);
    bm_cl_event_release(stream->api, &stream->in_turn);
}

static void release_place(const bm_cl_queue *queue, bm_cl_place *place)
{
    bm_cl_buffer_release(queue, &place->in);
    bm_cl_buffer_release(queue, &place->out);
    bm_cl_buffer_release(queue, &place->counts);
    bm_cl_buffer_release(queue, &place->content);
}

/* Is the place free? Called after shut(), so a free place stays free. */
static bool is_free(bm_cl_stream *stream, const bm_cl_place *place)
{
    pthread_mutex_lock(&stream->lock);
    const bool free = place->state == BM_CL_FREE;
    pthread_mutex_unlock(&stream->lock);
    return free;
}

/* Release the buffers of slots and places. `all`: also the buffers of places that other threads
 * have taken. */
static void release_buffers(bm_cl_stream *stream, bool all)
{
    for (uint32_t i = 0; i < BM_CL_PLACES; ++i)
        if (all || is_free(stream, &stream->places[i]))
            release_place(&stream->slots[0].queue, &stream->places[i]);
    for (uint32_t i = 0; i < BM_CL_DEPTH; ++i) {
        bm_cl_slot *slot = &stream->slots[i];
        release_place(&slot->queue, &slot->own);
        bm_cl_scratch_release(&slot->queue, &slot->hashes);
        bm_cl_scratch_release(&slot->queue, &slot->table);
    }
}

void bm_cl_stream_close(bm_cl_stream *stream)
{
    if (stream->api == NULL)
        return;
    finish_all(stream);
    release_buffers(stream, true);
    for (uint32_t i = 0; i < BM_CL_PLACES; ++i)
        cl_plan_reset(&stream->places[i].plan);
    for (uint32_t i = 0; i < BM_CL_DEPTH; ++i) {
        bm_cl_slot *slot = &stream->slots[i];
        bm_cl_event_release(stream->api, &slot->done);
        bm_cl_event_release(stream->api, &slot->kernel);
        cl_plan_reset(&slot->own.plan);
        if (slot->queue.commands != NULL)
            stream->api->clReleaseCommandQueue(slot->queue.commands);
    }
    if (stream->coef != NULL)
        stream->api->clReleaseMemObject(stream->coef);
    bm_free(stream->sliced);
    pthread_mutex_destroy(&stream->lock);
    memset(stream, 0, sizeof *stream);
}

/* Fill the staging buffer with offsets, chunks and the list of split documents, and with texts or
 * hashes. Hashes are left out if the device uses the task's own. */
static void fill(const bm_cl_place *place, const bm_sign_task *task)
{
    const bm_cl_plan *plan = &place->plan;
    const bm_cl_layout *layout = &place->layout;
    char *in = place->in.host;
    if (task->text != NULL)
        cl_text_fill(plan, task->text, layout, in);
    else if (layout->offsets_at > 0)
        cl_plan_copy(plan, task, in);
    memcpy(in + (size_t)layout->offsets_at * 16, plan->offsets,
           (plan->n_docs + 1) * sizeof *plan->offsets);
    memcpy(in + (size_t)layout->chunks_at * 16, plan->chunks,
           plan->n_chunks * sizeof *plan->chunks);
    if (plan->n_split > 0)
        memcpy(in + (size_t)layout->split_at * 16, plan->split,
               plan->n_split * sizeof *plan->split);
}

/* Let the device use the task's own memory for this batch: its hashes, and its words and keys if
 * they are wanted and the batch is no slice. */
static cl_int begin_zero_copy(bm_cl_stream *stream, bm_cl_slot *slot, bm_sign_task *task)
{
    const bm_cl_plan *plan = &slot->place->plan;
    const bm_cl_shape *shape = stream->shape;
    cl_int code = CL_SUCCESS;
    if (task->text == NULL) {
        /* The kernels only read the hashes. The cast is needed because clCreateBuffer takes no
         * const. */
        void *hashes = (void *)(uintptr_t)cl_plan_hashes(plan, task);
        code = bm_cl_zero_copy_begin(&slot->queue, &slot->task_hashes, hashes,
                                     (size_t)bm_cl_plan_units(plan) * sizeof(uint64_t), true);
    }
    if (code == CL_SUCCESS && task->words != NULL && !plan->sliced)
        code = bm_cl_zero_copy_begin(&slot->queue, &slot->task_words,
                                     task->words + plan->first_doc * shape->row_uints,
                                     plan->n_docs * shape->row_uints * sizeof(uint32_t), false);
    if (code == CL_SUCCESS && slot->place->want_keys)
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

/* Enqueue the read-back of the results. slot->done is the event of the last command. */
static cl_int read_back(bm_cl_slot *slot)
{
    const bm_cl_queue *queue = &slot->queue;
    cl_int code = CL_SUCCESS;
    if (slot->place->text)
        code = cl_text_begin_read(slot);
    if (code == CL_SUCCESS && slot->task_words.mem != NULL) {
        bm_cl_event_release(queue->api, &slot->done);
        code = bm_cl_zero_copy_begin_read(queue, &slot->task_words, &slot->done);
    }
    if (code == CL_SUCCESS && slot->task_keys.mem != NULL) {
        bm_cl_event_release(queue->api, &slot->done);
        code = bm_cl_zero_copy_begin_read(queue, &slot->task_keys, &slot->done);
    }
    if (code == CL_SUCCESS && slot->place->read_end > slot->place->read_begin) {
        bm_cl_event_release(queue->api, &slot->done);
        code = bm_cl_buffer_begin_read(queue, &slot->place->out, slot->place->read_begin,
                                       slot->place->read_end, &slot->done);
    }
    return code;
}

/* The bytes that a batch needs in each buffer of its place. */
typedef struct extents {
    size_t in, out, counts, content;
} extents;

static extents extents_of(const bm_cl_place *place)
{
    const bm_cl_plan *plan = &place->plan;
    return (extents){.in = place->layout.in_bytes,
                     .out = place->layout.out_bytes,
                     .counts = place->text ? plan->n_docs * sizeof(uint32_t) : 0,
                     .content =
                         place->want_content ? (parts_at(plan) + plan->n_chunks) * SUMS_BYTES : 0};
}

static bool is_large_enough(const bm_cl_place *place)
{
    const extents e = extents_of(place);
    return e.in <= place->in.bytes && e.out <= place->out.bytes &&
           e.counts <= place->counts.bytes && e.content <= place->content.bytes;
}

static cl_int reserve(const bm_cl_queue *queue, bm_cl_place *place)
{
    const extents e = extents_of(place);
    cl_int code = bm_cl_buffer_reserve(queue, &place->in, e.in);
    if (code == CL_SUCCESS)
        code = bm_cl_buffer_reserve(queue, &place->out, e.out);
    if (code == CL_SUCCESS)
        code = bm_cl_buffer_reserve(queue, &place->counts, e.counts);
    return code == CL_SUCCESS ? bm_cl_buffer_reserve(queue, &place->content, e.content) : code;
}

/* Decide for each part of the batch whether it uses a buffer of `place` or the memory of `task`. */
static void lay_out(const bm_cl_stream *stream, bm_cl_place *place, const bm_sign_task *task)
{
    const bool sliced = place->plan.sliced;
    const bool want_words = task->words != NULL || sliced;
    place->want_keys = task->keys != NULL && !sliced && stream->shape->bands > 0;
    const bool own_words = !stream->zero_copy || task->words == NULL || sliced;
    const bool own_keys = place->want_keys && !stream->zero_copy;
    const bm_cl_layout layout = place->layout = cl_layout_of(
        &place->plan, stream->shape, task,
        (bm_cl_parts){.hashes = !stream->zero_copy, .keys = own_keys, .words = own_words});
    place->text = task->text != NULL;
    place->want_content = place->text && task->content != NULL;
    place->words_at = (size_t)layout.words_at * sizeof(uint32_t);
    place->read_begin = own_keys ? 0 : place->words_at;
    place->read_end = want_words && own_words ? layout.out_bytes : place->words_at;
}

/* Take a free place, or return NULL if there is none. *cut becomes how to cut the task. */
static bm_cl_place *acquire_place(bm_cl_stream *stream, const bm_sign_task *task, bm_cl_cut *cut)
{
    bm_cl_place *place = NULL;
    pthread_mutex_lock(&stream->lock);
    for (uint32_t i = 0; place == NULL && !stream->shut && i < BM_CL_PLACES; ++i)
        if (stream->places[i].state == BM_CL_FREE)
            place = &stream->places[i];
    if (place != NULL)
        place->state = BM_CL_TAKEN;
    *cut = task->text != NULL ? cl_text_cut(stream) : stream->cut;
    pthread_mutex_unlock(&stream->lock);
    return place;
}

static void set_place_state(bm_cl_stream *stream, bm_cl_place *place, bm_cl_place_state state)
{
    pthread_mutex_lock(&stream->lock);
    place->state = state;
    pthread_mutex_unlock(&stream->lock);
}

bm_staged *bm_cl_stream_stage(bm_cl_stream *stream, const bm_sign_task *task)
{
    bm_cl_cut cut;
    bm_cl_cursor at = {0};
    bm_cl_place *place =
        stream->device->unified || task->n_docs == 0 ? NULL : acquire_place(stream, task, &cut);
    if (place == NULL)
        return NULL;
    const bool whole = cl_plan_next(&place->plan, &cut, task, &at, NULL) == BM_OK &&
                       at.doc == task->n_docs && !place->plan.sliced;
    if (whole)
        lay_out(stream, place, task);
    if (!whole || !is_large_enough(place)) {
        set_place_state(stream, place, whole ? BM_CL_TOO_SMALL : BM_CL_FREE);
        return NULL;
    }
    fill(place, task);
    place->staged = (bm_staged){0};
    return &place->staged;
}

void bm_cl_stream_unstage(bm_cl_stream *stream, bm_staged *staged)
{
    set_place_state(stream, (bm_cl_place *)staged, BM_CL_FREE);
}

/* If a place was too small for a task, enlarge it, so that tasks of that size fit. Only the thread
 * of the device may call this, because it calls the driver. No other thread uses a place in this
 * state. */
static bm_status enlarge_place(bm_cl_stream *stream, const bm_cl_queue *queue, bm_error *err)
{
    bm_cl_place *place = NULL;
    pthread_mutex_lock(&stream->lock);
    for (uint32_t i = 0; place == NULL && !stream->shut && i < BM_CL_PLACES; ++i)
        if (stream->places[i].state == BM_CL_TOO_SMALL)
            place = &stream->places[i];
    pthread_mutex_unlock(&stream->lock);
    if (place == NULL)
        return BM_OK;
    const cl_int code = reserve(queue, place);
    if (code != CL_SUCCESS)
        shut(stream);
    set_place_state(stream, place, BM_CL_FREE);
    if (code == CL_SUCCESS || bm_cl_fail(err, code, "clCreateBuffer") == BM_ERR_NOMEM)
        return BM_OK; /* if memory runs out, the existing places must suffice */
    return BM_ERR_DEVICE;
}

static bm_status start(bm_cl_stream *stream, bm_cl_slot *slot, bm_sign_task *task, bm_error *err)
{
    const bm_cl_api *api = stream->api;
    bm_cl_place *place = slot->place;
    const bool filled = place != &slot->own;
    const char *call = "clCreateBuffer";
    if (!filled)
        lay_out(stream, place, task);
    const size_t in_bytes = place->layout.in_bytes;
    cl_int code = reserve(&slot->queue, place);
    if (code == CL_SUCCESS && place->text)
        code = cl_text_reserve(stream, slot);
    if (code == CL_SUCCESS && stream->zero_copy)
        code = begin_zero_copy(stream, slot, task);
    if (code == CL_SUCCESS) {
        call = "clEnqueueMapBuffer";
        code = bm_cl_buffer_begin_write(&slot->queue, &place->in, in_bytes);
    }
    if (code == CL_SUCCESS) {
        if (!filled)
            fill(place, task);
        call = "clEnqueueWriteBuffer";
        code = bm_cl_buffer_end_write(&slot->queue, &place->in, in_bytes, NULL);
    }
    if (code == CL_SUCCESS) {
        call = "clEnqueueNDRangeKernel";
        code = cl_launch(stream, slot, &place->layout);
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
        finish_all(stream);
        end_zero_copy(slot);
        bm_cl_event_release(api, &slot->done);
        bm_cl_event_release(api, &slot->kernel);
        return bm_cl_fail(err, code, call);
    }
    slot->task = task;
    ++stream->n_busy;
    return BM_OK;
}

/* The words of slices cannot be merged: sign the whole document again, on the host. */
static void sign_sliced(bm_cl_stream *stream, const bm_cl_slot *slot)
{
    const uint64_t *offsets = slot->task->offsets + slot->place->plan.first_doc;
    stream->shape->scheme->sign(stream->params, slot->task->hashes + offsets[0],
                                (size_t)(offsets[1] - offsets[0]), stream->sliced);
}

/* Merge the words of a slice; after the last slice, store the document's words and keys in the
 * task. */
static void merge_slice(bm_cl_stream *stream, const bm_cl_slot *slot, const uint32_t *words)
{
    const bm_cl_shape *shape = stream->shape;
    const bm_scheme_device *scheme = &shape->scheme->device;
    const bm_cl_plan *plan = &slot->place->plan;
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
        bm_band_keys_of(bm_scheme_value_bytes(shape->scheme->scheme))(
            stream->sliced, shape->bands, shape->rows, false,
            slot->task->keys + plan->first_doc * shape->bands);
}

/* Copy the results to the task; the words of a slice are merged. If another thread staged the task,
 * that thread reads words and keys in the place, and they are not copied. */
static void copy_out(bm_cl_stream *stream, bm_cl_slot *slot)
{
    const bm_cl_shape *shape = stream->shape;
    bm_cl_place *place = slot->place;
    const bm_cl_plan *plan = &place->plan;
    char *host = place->out.host;
    if (place->text)
        cl_text_copy_out(slot);
    if (place->read_end == place->read_begin)
        return; /* the results are in the task's memory already */
    uint32_t *words = (uint32_t *)(void *)(host + place->words_at);
    if (plan->sliced) {
        merge_slice(stream, slot, words);
        return;
    }
    if (place != &slot->own) {
        place->staged.keys = place->want_keys ? (uint64_t *)(void *)host : NULL;
        place->staged.words = slot->task->words != NULL ? words : NULL;
        return;
    }
    if (place->want_keys && slot->task_keys.mem == NULL)
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
    if (slot->place->text)
        code = cl_text_end_read(slot);
    if (code == CL_SUCCESS && slot->place->read_end > slot->place->read_begin)
        code = bm_cl_buffer_end_read(&slot->queue, &slot->place->out);
    return code;
}

/* Wait for the oldest batch, and copy its results out. */
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
        finish_all(stream);
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
        err->status = BM_ERR_DEVICE; /* it is too late to plan again, so the batch is lost */
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

/* End all work in progress without copying results, because the tasks are about to be freed. */
static void abandon(bm_cl_stream *stream)
{
    finish_all(stream);
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

/* Can the coefficients still be read from the device? If the context is lost, every call fails as
 * if memory had run out (NVIDIA's driver returns CL_OUT_OF_RESOURCES). */
static bool is_alive(bm_cl_stream *stream)
{
    uint32_t word;
    return stream->api->clEnqueueReadBuffer(stream->slots[0].queue.commands, stream->coef, CL_TRUE,
                                            0, sizeof word, &word, 0, NULL, NULL) == CL_SUCCESS;
}

/* There is less memory than expected, as `err` shows: finish all work in progress, and make batches
 * smaller. BM_ERR_DEVICE: the device is lost. */
static bm_status halve_limit(bm_cl_stream *stream, bm_error *err)
{
    BM_TRY(bm_cl_stream_wait(stream, NULL, err));
    if (!is_alive(stream)) {
        const bm_error first = err != NULL ? *err : (bm_error){0};
        bm_fail(err, BM_ERR_DEVICE, "%.400s, and so does every call: the device is lost",
                first.message);
        if (err != NULL)
            err->code = first.code;
        return BM_ERR_DEVICE;
    }
    shut(stream);
    release_buffers(stream, false);
    pthread_mutex_lock(&stream->lock);
    stream->limit_bytes /= 2;
    bm_cl_stream_cut(stream);
    pthread_mutex_unlock(&stream->lock);
    return BM_OK;
}

bm_status bm_cl_stream_submit(bm_cl_stream *stream, bm_sign_task *task, bm_error *err)
{
    bm_cl_cursor at = {0};
    bm_cl_place *filled = (bm_cl_place *)task->staged;
    while (at.doc < task->n_docs) {
        if (stream->n_busy == BM_CL_DEPTH)
            BM_TRY(finish_oldest(stream, err));
        bm_cl_slot *slot = &stream->slots[(stream->head + stream->n_busy) % BM_CL_DEPTH];
        bm_cl_cursor next = {.doc = task->n_docs};
        slot->place = filled != NULL ? filled : &slot->own;
        BM_TRY(enlarge_place(stream, &slot->queue, err));
        if (filled == NULL) {
            const bm_cl_cut cut = task->text != NULL ? cl_text_cut(stream) : stream->cut;
            next = at;
            const bm_status planned = cl_plan_next(&slot->own.plan, &cut, task, &next, err);
            if (planned == BM_ERR_UNSUPPORTED) /* so that work in progress does not write to the
                                                  task any more */
                BM_TRY(bm_cl_stream_wait(stream, task, err));
            BM_TRY(planned);
        }
        const bm_status status = start(stream, slot, task, err);
        if (status == BM_OK) {
            at = next;
        } else if (status == BM_ERR_NOMEM && stream->limit_bytes / 2 >= BM_CL_MIN_LIMIT) {
            BM_TRY(halve_limit(stream, err));
            filled = NULL;
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
