/* all_pairs_prefixes.c -- sets in, prefixes out, in two passes over the file of sets.
 *
 *     1. count       every shingle, into a table of 1 to 2 bytes a shingle; where that does not
 *                    fit, part by part (all_pairs_counts.c)
 *     2. prefixes    of each document, made where its set stood, and written in the order of sizes:
 *                    a record for 16 documents, which is what an index and a search read
 *
 *     window    [ 16 heads | set of 0 | set of 1 | … ][ 16 heads | set of 16 | … ]
 *     record    [ 16 heads | keys of 0 | keys of 1 | … ]        in the same place
 *
 * In text most shingles stand in one document alone and have no key, so this file is a small part
 * of that of the sets; each block of the search reads this one only. Counts are the same as where
 * all is in memory, and so are the prefixes and the pairs that are compared.
 *
 * Memory beside the table: a window of sets, an eighth of what is given, and a scratch of the
 * longest set for each thread. Threads: sets are read, counted and cut by all. */
#include "match/all_pairs_prefixes.h"

#include <string.h>

#include "base/error.h"
#include "lsh/rare_prefix.h"
#include "lsh/verify.h"
#include "match/all_pairs_counts.h"
#include "match/all_pairs_window.h"

#define WRITE_BYTES  ((size_t)256 << 10)
#define WINDOW_LEAST ((uint64_t)256 << 10)
#define WINDOW_MOST  ((uint64_t)32 << 20)
#define DOC_GRAIN    64u
#define RANGE_GRAIN  4u

typedef struct making {
    const bm_set_prefixes_job *job;
    bm_set_prefixes *out;
    bm_set_window window;
    bm_shingle_counts table; /* the counts, where they fit */
    bm_part_counts *parts;   /* the counts part by part; NULL: the table */
    size_t longest;
    uint64_t n_shingles;
    bool shared;
} making;

/* --- shares --- */

static uint64_t order_bytes(const making *m)
{
    return (uint64_t)m->job->corpus->n * sizeof *m->out->order +
           m->out->n / BM_PREFIX_RANGE * (sizeof *m->out->places + sizeof *m->out->n_keys);
}

/* Bytes that are needed beside the counters. */
static uint64_t fixed_bytes(const making *m)
{
    uint64_t largest = bm_set_window_least(&m->window);
    uint64_t window = m->window.most > largest ? m->window.most : largest;
    uint64_t sorting = (uint64_t)m->job->corpus->n * 2 * sizeof(uint64_t);
    uint64_t making_them =
        window + m->longest * sizeof(uint64_t) * bm_pool_size(m->job->pool) + WRITE_BYTES;
    return order_bytes(m) + (sorting > making_them ? sorting : making_them);
}

/* Choose how the counters are made: whole, or in as few parts as fit. */
static bm_status share_memory(making *m, unsigned *table_bits, bm_error *err)
{
    uint64_t memory = m->job->memory;
    m->window.most = memory / 8 < WINDOW_LEAST ? WINDOW_LEAST : memory / 8;
    if (memory == 0 || m->window.most > WINDOW_MOST)
        m->window.most = WINDOW_MOST;
    *table_bits = bm_shingle_counts_bits(m->n_shingles);
    uint64_t fixed = fixed_bytes(m), least = UINT64_MAX;
    for (unsigned bits = 0; bits <= BM_PART_BITS_MAX; bits++) {
        uint64_t bytes =
            fixed + (bits == 0 ? bm_shingle_counts_bytes(*table_bits)
                               : bm_part_counts_bytes(m->n_shingles, *table_bits, bits));
        m->out->part_bits = bits;
        if (memory == 0 || bytes <= memory)
            return BM_OK;
        least = bytes < least ? bytes : least;
    }
    return bm_fail(err, BM_ERR_NOMEM,
                   "comparing all pairs needs %llu MiB beside the documents, and `memory` leaves "
                   "%llu MiB",
                   (unsigned long long)(least >> 20) + 1, (unsigned long long)(memory >> 20));
}

/* --- 1. count --- */

static bm_status count_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    making *m = ctx;
    const bm_set_window *w = &m->window;
    for (size_t position = w->begin + begin; position < w->begin + end; position++) {
        uint64_t *set = bm_set_window_set(w, position);
        size_t n = bm_set_window_size(w, position);
        for (size_t i = 0; i < n; i++)
            set[i] = bm_shingle_mix(set[i]);
        bm_shingle_counts_add(&m->table, set, n, m->shared);
    }
    return BM_OK;
}

static bm_status add_to_parts(making *m, bm_error *err)
{
    const bm_set_window *w = &m->window;
    for (size_t position = w->begin; position < w->end; position++) {
        const uint64_t *set = bm_set_window_set(w, position);
        size_t n = bm_set_window_size(w, position);
        for (size_t i = 0; i < n; i++)
            BM_TRY(bm_part_counts_add(m->parts, bm_shingle_mix(set[i]), err));
    }
    return BM_OK;
}

static bm_status count_window(making *m, bm_error *err)
{
    if (m->parts != NULL)
        return add_to_parts(m, err);
    return bm_pool_for(m->job->pool, (bm_pool_split){m->window.end - m->window.begin, DOC_GRAIN},
                       count_range, m, err);
}

/* --- 2. prefixes --- */

/* Where counts are made in parts: put the keys of each set in its place, and their number into its
 * head. */
static bm_status make_keys(making *m, bm_error *err)
{
    const bm_set_window *w = &m->window;
    for (size_t position = w->begin; position < w->end; position++) {
        uint64_t *set = bm_set_window_set(w, position);
        size_t n = bm_set_window_size(w, position), n_keys = 0;
        size_t in_range = position % BM_PREFIX_RANGE;
        for (size_t i = 0; i < n; i++) {
            uint64_t mixed = bm_shingle_mix(set[i]);
            uint32_t count;
            BM_TRY(bm_part_counts_next(m->parts, mixed, &count, err));
            set[n_keys] = bm_rare_key(mixed, count);
            n_keys += count > 1;
        }
        (bm_set_window_set(w, position - in_range) - BM_PREFIX_RANGE)[in_range] = n_keys;
    }
    return BM_OK;
}

/* Put the record of a range where its sets stood; how many keys are in it. */
static size_t cut_range(const making *m, size_t first, uint64_t *scratch)
{
    const bm_set_window *w = &m->window;
    uint64_t *record = bm_set_window_set(w, first) - BM_PREFIX_RANGE,
             *to = record + BM_PREFIX_RANGE;
    for (size_t i = 0; i < BM_PREFIX_RANGE; i++) {
        if (first + i >= w->end) {
            record[i] = 0;
            continue;
        }
        uint64_t *set = bm_set_window_set(w, first + i);
        size_t n = bm_set_window_size(w, first + i), n_keys, n_alone;
        size_t length = bm_prefix_to_probe(m->job->rule, n);
        if (m->parts != NULL) {
            n_alone = n - (size_t)record[i];
            n_keys = bm_rare_prefix_cut(set, (size_t)record[i], n, length, scratch);
        } else {
            bm_rare_prefix_room room = {.keys = set, .scratch = scratch};
            bm_rare_prefix_size size = bm_rare_prefix(&m->table, set, n, length, room);
            n_keys = size.n_keys;
            n_alone = size.n_alone;
        }
        memmove(to, set, n_keys * sizeof *to);
        to += n_keys;
        record[i] = bm_prefix_head(n_alone, n_keys);
    }
    return (size_t)(to - record) - BM_PREFIX_RANGE;
}

static bm_status cut_ranges(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    making *m = ctx;
    uint64_t *scratch = NULL;
    BM_TRY(bm_new(&scratch, m->longest, err));
    for (size_t i = begin; i < end; i++) {
        size_t first = m->window.begin + i * BM_PREFIX_RANGE;
        m->out->n_keys[first / BM_PREFIX_RANGE] = (uint32_t)cut_range(m, first, scratch);
    }
    bm_free(scratch);
    return BM_OK;
}

static bm_status write_window(making *m, bm_error *err)
{
    const bm_set_window *w = &m->window;
    bm_set_prefixes *out = m->out;
    size_t n_ranges = (w->end - w->begin + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE;
    if (m->parts != NULL)
        BM_TRY(make_keys(m, err));
    BM_TRY(bm_pool_for(m->job->pool, (bm_pool_split){n_ranges, RANGE_GRAIN}, cut_ranges, m, err));
    for (size_t i = 0; i < n_ranges; i++) {
        size_t first = w->begin + i * BM_PREFIX_RANGE, range = first / BM_PREFIX_RANGE;
        size_t n_keys = out->n_keys[range];
        out->store.most = n_keys > out->store.most ? n_keys : out->store.most;
        BM_TRY(bm_spill_add(out->file, bm_set_window_set(w, first) - BM_PREFIX_RANGE,
                            (BM_PREFIX_RANGE + n_keys) * sizeof(uint64_t), &out->places[range],
                            err));
    }
    return BM_OK;
}

/* --- both passes --- */

static bm_status each_window(making *m, bm_status (*fn)(making *, bm_error *), bm_error *err)
{
    bm_status status = BM_OK;
    for (;;) {
        BM_TRY_OUT(bm_meter_check(m->job->meter, err));
        BM_TRY_OUT(bm_set_window_next(&m->window, err));
        BM_TRY_OUT(fn(m, err));
        bm_meter_progress(m->job->meter, m->window.end, m->out->n, m->window.end);
    }
out:
    return status == BM_NOT_FOUND ? BM_OK : status;
}

static bm_status read_record(void *ctx, size_t range, uint64_t *record, bm_error *err)
{
    const bm_set_prefixes *p = ctx;
    return bm_spill_read(p->file, p->places[range], record,
                         (BM_PREFIX_RANGE + (size_t)p->n_keys[range]) * sizeof *record, err);
}

static bm_status count_all(making *m, unsigned table_bits, bm_error *err)
{
    const char *dir = m->job->corpus->cfg.temp_dir;
    unsigned part_bits = m->out->part_bits;
    if (part_bits == 0) {
        BM_TRY(bm_shingle_counts_open(&m->table, table_bits, err));
        return each_window(m, count_window, err);
    }
    BM_TRY(bm_spill_room(dir, m->n_shingles * (sizeof(uint64_t) + sizeof(uint16_t)), err));
    BM_TRY(bm_part_counts_open(dir, table_bits, part_bits, &m->parts, err));
    BM_TRY(each_window(m, count_window, err));
    return bm_part_counts_end(m->parts, m->job->pool, m->job->meter, err);
}

/* Set up the order of the documents, and arrays of their ranges. */
static bm_status begin(making *m, bm_error *err)
{
    bm_set_prefixes *out = m->out;
    const bm_corpus *corpus = m->job->corpus;
    bm_set_list sets = {.sizes = corpus->sizes, .skip = corpus->skip, .n_docs = corpus->n};
    BM_TRY(bm_new(&out->order, corpus->n, err));
    bm_status status = bm_order_by_size(&sets, out->order, &out->n, err);
    size_t n_ranges = (out->n + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE;
    out->places = bm_alloc(n_ranges, sizeof *out->places);
    out->n_keys = bm_alloc(n_ranges, sizeof *out->n_keys);
    if (status == BM_OK && (out->places == NULL || out->n_keys == NULL))
        return bm_fail_nomem(err, n_ranges * (sizeof *out->places + sizeof *out->n_keys));
    for (size_t i = 0; i < out->n; i++)
        m->n_shingles += corpus->sizes[out->order[i]];
    m->longest = out->n == 0 ? 0 : corpus->sizes[out->order[out->n - 1]];
    m->window.order = out->order;
    m->window.n = out->n;
    out->store = (bm_prefix_store){.read = read_record, .ctx = out, .n_keys = out->n_keys};
    return status;
}

bm_status bm_set_prefixes_make(const bm_set_prefixes_job *job, bm_set_prefixes *out, bm_error *err)
{
    *out = (bm_set_prefixes){0};
    making m = {.job = job,
                .out = out,
                .window = {.corpus = job->corpus, .pool = job->pool},
                .shared = bm_pool_size(job->pool) > 1};
    unsigned table_bits = 0;
    bm_meter_stage(job->meter, "count", "documents");
    bm_status status = BM_OK;
    BM_TRY_OUT(begin(&m, err));
    BM_TRY_OUT(share_memory(&m, &table_bits, err));
    BM_TRY_OUT(count_all(&m, table_bits, err));
    bm_meter_stage(job->meter, "prefixes", "documents");
    BM_TRY_OUT(
        bm_spill_open(job->corpus->cfg.temp_dir, BM_SPILL_PREFIXES, WRITE_BYTES, &out->file, err));
    BM_TRY_OUT(each_window(&m, write_window, err));
    BM_TRY_OUT(bm_spill_flush(out->file, err));
    out->bytes_held = order_bytes(&m);
    out->bytes_written = bm_spill_bytes(out->file);
    out->bytes_written += m.parts != NULL ? bm_part_counts_written(m.parts) : 0;
out:
    bm_part_counts_close(m.parts);
    bm_shingle_counts_reset(&m.table);
    bm_set_window_reset(&m.window);
    return status;
}

void bm_set_prefixes_reset(bm_set_prefixes *p)
{
    bm_spill_close(p->file);
    bm_free(p->order);
    bm_free(p->places);
    bm_free(p->n_keys);
    *p = (bm_set_prefixes){0};
}
