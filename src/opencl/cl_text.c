/* cl_text.c -- see kernels/text_hash.cl for the layout.
 *
 * Starts of words go as 16 bits each, and 32 bits for every 256 of them: no word that comes here is
 * longer than a shingle, 240 bytes, so 256 of them and their blanks span less than 2^16.
 *
 * Tests: tests/unit/opencl/test_cl_text.c, tests/parity/test_parity_text.c */
#include "opencl/cl_text.h"

#include <string.h>

#define BLOCK      256u
#define RANKS      64u /* bytes of text for each count of code points */
#define ASCII      UINT32_MAX
#define SUMS_BYTES sizeof(bm_content_sums)
#define AHEAD      8u /* bytes behind a text that kernels read (kernels/xxh3.h) */

static size_t quads(size_t bytes)
{
    return (bytes + 15) / 16;
}

/* Characters that are not all ASCII: these need counts of code points. */
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

/* What of the batch's texts the plan takes. */
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

size_t bm_cl_text_layout(const bm_cl_plan *plan, const bm_text_batch *text, bm_cl_layout *at)
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

/* The starts, which never fall from one document to the next. */
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

/* At each RANKS-th byte of the text how many code points of its document begin before it. */
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

void bm_cl_text_fill(const bm_cl_plan *plan, const bm_text_batch *text, const bm_cl_layout *at,
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

/* Where sums of parts begin behind those of documents. */
static size_t parts_at(const bm_cl_plan *plan)
{
    return (plan->n_docs / 4 + 1) * 4;
}

cl_int bm_cl_text_reserve(const bm_cl_stream *stream, bm_cl_slot *slot)
{
    const size_t slots = (size_t)bm_cl_plan_units(&slot->plan) * stream->shape->unit;
    const size_t bytes = slots > 0 ? slots * sizeof(uint64_t) : sizeof(uint64_t);
    cl_int code = bm_cl_scratch_reserve(&slot->queue, &slot->hashes, bytes);
    if (code == CL_SUCCESS) /* two 32-bit entries a slot */
        code = bm_cl_scratch_reserve(&slot->queue, &slot->table, bytes);
    if (code == CL_SUCCESS)
        code =
            bm_cl_buffer_reserve(&slot->queue, &slot->counts, slot->plan.n_docs * sizeof(uint32_t));
    if (code == CL_SUCCESS && slot->want_content)
        code = bm_cl_buffer_reserve(&slot->queue, &slot->content,
                                    (parts_at(&slot->plan) + slot->plan.n_chunks) * SUMS_BYTES);
    return code;
}

cl_int bm_cl_text_begin_read(bm_cl_slot *slot)
{
    const bm_cl_plan *plan = &slot->plan;
    cl_int code = bm_cl_buffer_begin_read(&slot->queue, &slot->counts, 0,
                                          plan->n_docs * sizeof(uint32_t), &slot->done);
    if (code != CL_SUCCESS || !slot->want_content)
        return code;
    slot->queue.api->clReleaseEvent(slot->done);
    slot->done = NULL;
    const size_t n = plan->n_split > 0 ? parts_at(plan) + plan->n_chunks : plan->n_docs;
    return bm_cl_buffer_begin_read(&slot->queue, &slot->content, 0, n * SUMS_BYTES, &slot->done);
}

cl_int bm_cl_text_end_read(bm_cl_slot *slot)
{
    const cl_int code = bm_cl_buffer_end_read(&slot->queue, &slot->counts);
    return code == CL_SUCCESS && slot->want_content
               ? bm_cl_buffer_end_read(&slot->queue, &slot->content)
               : code;
}

/* Sums of documents, those in parts added up here, to hashes. */
static void copy_content(const bm_cl_slot *slot)
{
    const bm_cl_plan *plan = &slot->plan;
    const bm_text_doc *docs = slot->task->text->docs + plan->first_doc;
    bm_hash128 *out = slot->task->content + plan->first_doc;
    const bm_content_sums *whole = slot->content.host, *parts = whole + parts_at(plan);
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
        out[i] = bm_content_end(&(bm_content_sums){out[i].lo, out[i].hi}, docs[i].n_shingles);
}

void bm_cl_text_copy_out(const bm_cl_slot *slot)
{
    memcpy(slot->task->n_shingles + slot->plan.first_doc, slot->counts.host,
           slot->plan.n_docs * sizeof(uint32_t));
    if (slot->want_content)
        copy_content(slot);
}

bm_cl_cut bm_cl_text_cut(const bm_cl_stream *stream)
{
    bm_cl_cut cut = stream->cut;
    const size_t limit = stream->limit_bytes;
    cut.max_text_bytes = limit / 2; /* its words have two bytes or more each, and a start two */
    if (cut.max_docs > limit / 64)  /* a quad each */
        cut.max_docs = limit / 64;
    return cut;
}
