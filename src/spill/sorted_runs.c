/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_runs.c -- radix sort in memory, runs in blocks, a merge by a heap of runs.
 *
 *     memory   [ records … | scratch of the sort … ]        half each
 *     file     [ block block block | block block | … ]      a run after another, 64 KiB a block
 *
 * The sort is a least-significant-digit radix sort of bytes, stable, that leaves out bytes in which
 * all keys agree; 16 bytes a record and a pass. What is in memory at the end is the last run, and
 * often the only one. While merging, one block of each run in the file takes the place of the
 * scratch. When there are as many runs as blocks fit there, they are merged into one run of a new
 * file, so the memory stays what was given however many records come. Equal keys: the heap prefers
 * the earlier run, so the merge is stable too.
 *
 * Tests: tests/unit/spill/test_sorted_bytes.c, tests/unit/spill/test_sorted_runs.c */
#include "spill/sorted_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/memory.h"
#include "spill/spill_file.h"

#define BLOCK_RECORDS 4096u
#define BLOCK_BYTES   ((size_t)BLOCK_RECORDS * sizeof(bm_run_record))

typedef struct runs_run {
    uint64_t place; /* of its first block */
    uint64_t n;     /* records */
    /* While merging: */
    uint64_t n_read;                 /* records that were read from the file */
    const bm_run_record *next, *end; /* those at hand */
} runs_run;

struct bm_sorted_runs {
    char *dir;   /* NULL: no files */
    size_t most; /* records in memory; as many more of scratch */
    bm_run_record *records;
    size_t n, cap;
    bm_spill_file *file;
    runs_run *runs;
    size_t n_runs, cap_runs;
    size_t *heap; /* runs that are not at their end, the one with the least record first */
    size_t n_heap, cap_heap;
    bm_run_record *blocks;
    size_t cap_blocks;
    uint64_t spilled;
    bool sorted; /* the records in memory are */
};

bm_status bm_sorted_runs_open(const char *dir, size_t memory, bm_sorted_runs **out, bm_error *err)
{
    bm_sorted_runs *runs = NULL;
    BM_TRY(bm_new_zero(&runs, 1, err));
    if (memory < BM_SORTED_RUNS_LEAST)
        memory = BM_SORTED_RUNS_LEAST;
    runs->most = memory / (2 * sizeof *runs->records);
    if (dir != NULL && (runs->dir = bm_strdup(dir)) == NULL) {
        bm_sorted_runs_close(runs);
        return bm_fail_nomem(err, strlen(dir));
    }
    *out = runs;
    return BM_OK;
}

void bm_sorted_runs_close(bm_sorted_runs *runs)
{
    if (runs == NULL)
        return;
    bm_spill_close(runs->file);
    bm_free_all(runs->dir, runs->records, runs->runs, runs->heap, runs->blocks, runs);
}

/* --- the sort --- */

static void radix_pass(const bm_run_record *from, bm_run_record *to, size_t n, unsigned shift,
                       const size_t *counts)
{
    size_t ends[256], sum = 0;
    for (unsigned digit = 0; digit < 256; digit++) {
        ends[digit] = sum;
        sum += counts[digit];
    }
    for (size_t i = 0; i < n; i++)
        to[ends[from[i].key >> shift & 255]++] = from[i];
}

/* Sort records[0] … records[n-1]; scratch of n. */
static void sort_records(bm_run_record *records, bm_run_record *scratch, size_t n)
{
    bm_run_record *from = records, *to = scratch;
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= records[i].key ^ records[0].key;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((differ >> shift & 255) == 0)
            continue;
        size_t counts[256] = {0};
        for (size_t i = 0; i < n; i++)
            counts[from[i].key >> shift & 255]++;
        radix_pass(from, to, n, shift, counts);
        bm_run_record *other = from;
        from = to;
        to = other;
    }
    if (from != records && n > 0)
        memcpy(records, from, n * sizeof *records);
}

static bm_status sort_memory(bm_sorted_runs *runs, bm_error *err)
{
    bm_run_record *scratch = NULL;
    BM_TRY(bm_new(&scratch, runs->n, err));
    sort_records(runs->records, scratch, runs->n);
    bm_free(scratch);
    return BM_OK;
}

/* --- runs --- */

/* A run that begins at the end of the file; the caller counts it once it is written. */
static bm_status new_run(bm_sorted_runs *runs, runs_run **out, bm_error *err)
{
    BM_TRY(bm_grow(&runs->runs, &runs->cap_runs, runs->n_runs + 1, sizeof *runs->runs, err));
    if (runs->file == NULL)
        BM_TRY(bm_spill_open(runs->dir, BM_SPILL_RUN, BLOCK_BYTES + BM_SPILL_RECORD, &runs->file,
                             err));
    *out = &runs->runs[runs->n_runs];
    **out = (runs_run){.place = bm_spill_bytes(runs->file)};
    return BM_OK;
}

static bm_status add_block(bm_sorted_runs *runs, runs_run *r, const bm_run_record *records,
                           size_t n, bm_error *err)
{
    r->n += n;
    runs->spilled += n * sizeof *records + BM_SPILL_RECORD;
    return bm_spill_add(runs->file, records, n * sizeof *records, NULL, err);
}

/* --- merging --- */

/* Read the next block of run i, if there is one. */
static bm_status load_block(bm_sorted_runs *runs, size_t i, bm_error *err)
{
    runs_run *r = &runs->runs[i];
    const uint64_t block = r->n_read / BLOCK_RECORDS, left = r->n - r->n_read;
    const size_t n = left < BLOCK_RECORDS ? (size_t)left : BLOCK_RECORDS;
    if (n == 0) /* nor is there a block */
        return BM_OK;
    bm_run_record *to = runs->blocks + i * BLOCK_RECORDS;
    r->next = to;
    r->end = to + n;
    r->n_read += n;
    return bm_spill_read(runs->file, r->place + block * (BLOCK_BYTES + BM_SPILL_RECORD), to,
                         n * sizeof *to, err);
}

/* Does run x come before run y? */
static bool before(const void *ctx, const void *x, const void *y)
{
    const runs_run *runs = ctx;
    const size_t i = *(const size_t *)x, k = *(const size_t *)y;
    const uint64_t a = runs[i].next->key, b = runs[k].next->key;
    return a != b ? a < b : i < k;
}

static bm_heap heap_of(const bm_sorted_runs *runs)
{
    return (bm_heap){runs->heap, runs->n_heap, sizeof *runs->heap, before, runs->runs};
}

/* The records in memory, which are sorted, are the last run. */
static bm_status merge_begin(bm_sorted_runs *runs, bm_error *err)
{
    const size_t n = runs->n_runs;
    BM_TRY(bm_grow_array(&runs->blocks, &runs->cap_blocks, n * BLOCK_RECORDS, err));
    BM_TRY(bm_grow_array(&runs->runs, &runs->cap_runs, n + 1, err));
    BM_TRY(bm_grow_array(&runs->heap, &runs->cap_heap, n + 1, err));
    runs->n_heap = 0;
    for (size_t i = 0; i < n; i++) {
        runs->runs[i].n_read = 0;
        BM_TRY(load_block(runs, i, err));
        runs->heap[runs->n_heap++] = i;
    }
    if (runs->n > 0) {
        runs->runs[n] = (runs_run){.next = runs->records, .end = runs->records + runs->n};
        runs->heap[runs->n_heap++] = n;
    }
    const bm_heap heap = heap_of(runs);
    bm_heap_build(&heap);
    return BM_OK;
}

bm_status bm_sorted_runs_next(bm_sorted_runs *runs, bm_run_record *out, bm_error *err)
{
    if (runs->n_heap == 0)
        return BM_NOT_FOUND;
    runs_run *r = &runs->runs[runs->heap[0]];
    *out = *r->next++;
    if (r->next == r->end)
        BM_TRY(load_block(runs, runs->heap[0], err));
    if (r->next == r->end)
        runs->heap[0] = runs->heap[--runs->n_heap];
    const bm_heap heap = heap_of(runs);
    bm_heap_sink(&heap, 0);
    return BM_OK;
}

/* Merge all runs into one, in a new file. */
static bm_status merge_all(bm_sorted_runs *runs, bm_error *err)
{
    bm_sorted_runs merged = {.dir = runs->dir};
    bm_run_record *block = bm_alloc(BLOCK_RECORDS, sizeof *block);
    size_t n = 0;
    runs_run *r = NULL;
    bm_status status = block == NULL ? bm_fail_nomem(err, BLOCK_BYTES) : merge_begin(runs, err);
    if (status == BM_OK)
        status = new_run(&merged, &r, err);
    while (status == BM_OK) {
        status = bm_sorted_runs_next(runs, &block[n], err);
        n += status == BM_OK;
        if (n == BLOCK_RECORDS || (status == BM_NOT_FOUND && n > 0)) {
            bm_status added = add_block(&merged, r, block, n, err);
            status = added != BM_OK ? added : status;
            n = 0;
        }
    }
    if (status == BM_NOT_FOUND)
        status = bm_spill_flush(merged.file, err);
    bm_free(block);
    runs->spilled += merged.spilled;
    if (status != BM_OK) {
        bm_spill_close(merged.file);
        bm_free(merged.runs);
        return status;
    }
    bm_spill_close(runs->file);
    bm_free(runs->runs);
    runs->file = merged.file;
    runs->runs = merged.runs;
    runs->cap_runs = merged.cap_runs;
    runs->n_runs = 1;
    return BM_OK;
}

/* How many runs can be merged at once: one block of each fits beside the records. 2 at least. */
static size_t fan_in(const bm_sorted_runs *runs)
{
    size_t blocks = runs->most / BLOCK_RECORDS;
    return blocks < 4 ? 2 : blocks - 2;
}

/* --- adding --- */

/* Write the records in memory as a run. */
static bm_status spill(bm_sorted_runs *runs, bm_error *err)
{
    runs_run *r;
    if (runs->dir == NULL)
        return bm_fail(err, BM_ERR_NOMEM, "%zu records to sort are more than `memory` allows",
                       runs->n);
    BM_TRY(sort_memory(runs, err));
    BM_TRY(new_run(runs, &r, err));
    for (size_t i = 0; i < runs->n; i += BLOCK_RECORDS)
        BM_TRY(add_block(runs, r, runs->records + i,
                         runs->n - i < BLOCK_RECORDS ? runs->n - i : BLOCK_RECORDS, err));
    BM_TRY(bm_spill_flush(runs->file, err));
    runs->n_runs++;
    runs->n = 0;
    return runs->n_runs < fan_in(runs) ? BM_OK : merge_all(runs, err);
}

bm_status bm_sorted_runs_add(bm_sorted_runs *runs, uint64_t key, uint64_t value, bm_error *err)
{
    runs->sorted = false;
    if (runs->n == runs->most)
        BM_TRY(spill(runs, err));
    if (runs->n == runs->cap) {
        size_t cap = runs->cap + runs->cap / 2 + BLOCK_RECORDS;
        cap = cap < runs->most ? cap : runs->most;
        bm_run_record *grown = bm_resize(runs->records, cap, sizeof *grown);
        if (grown == NULL)
            return bm_fail_nomem(err, cap * sizeof *grown);
        runs->records = grown;
        runs->cap = cap;
    }
    runs->records[runs->n++] = (bm_run_record){key, value};
    return BM_OK;
}

bm_status bm_sorted_runs_begin(bm_sorted_runs *runs, bm_error *err)
{
    if (!runs->sorted)
        BM_TRY(sort_memory(runs, err));
    runs->sorted = true;
    return merge_begin(runs, err);
}

uint64_t bm_sorted_runs_spilled(const bm_sorted_runs *runs)
{
    return runs->spilled;
}

/* === sorted bytes ===
 *
 * Items sorted in memory, runs in blocks, a merge by a heap of runs.
 *
 *     bytes    [ bytes of a record | bytes of the next | … ]
 *     items    [ first 8 bytes, place, length, number | … ]
 *                  sorted by digits of the first 8 bytes, then compared
 *     a run    [ block block block … ]
 *                  a block: length, number, bytes of a record, then the next; about BLOCK_BYTES
 *
 * The records in memory at the end are the last run. While merging, one block of each other is
 * there too. When there are FAN_IN runs, they are merged into one of a new file. */

#define BYTES_BLOCK_BYTES ((size_t)64 << 10)
#define FAN_IN            16u /* runs that are merged at once */
#define MEMORY_LEAST      ((size_t)2 * FAN_IN * BYTES_BLOCK_BYTES)
#define DIGIT_BITS        11u
#define DIGITS            (1u << DIGIT_BITS)

typedef struct item {
    uint64_t prefix; /* its first bytes, the first in the highest place; zeros behind the last */
    size_t at;
    uint32_t len, number;
} item;

typedef struct bytes_block {
    uint64_t place; /* in the file */
    size_t len;
} bytes_block;

typedef struct bytes_run {
    size_t first_block, n_blocks;
    size_t next_block; /* while merging */
    bm_buf data;       /* the block at hand */
    size_t at;         /* in it, or in the items: behind the record at hand */
    bm_bytes_record record;
    uint64_t prefix;
} bytes_run;

struct bm_sorted_bytes {
    char *dir;
    size_t most; /* bytes for records; what is left is for the blocks of a merge */
    bm_buf bytes;
    item *items;
    size_t n, cap;
    bm_spill_file *file;
    bytes_block *blocks;
    size_t n_blocks, cap_blocks;
    bytes_run *runs; /* those of the file, and one place for the items */
    size_t n_runs, cap_runs;
    size_t heap[FAN_IN]; /* runs that are not at their end, the one with the least record first */
    size_t n_heap;
    bool taken; /* the record of the first of the heap was given: it goes on before the next is */
    uint64_t spilled;
};

bm_status bm_sorted_bytes_open(const char *dir, size_t memory, bm_sorted_bytes **out, bm_error *err)
{
    bm_sorted_bytes *sorter = NULL;
    BM_TRY(bm_new_zero(&sorter, 1, err));
    sorter->most = (memory > MEMORY_LEAST ? memory : MEMORY_LEAST) - FAN_IN * BYTES_BLOCK_BYTES;
    if (dir != NULL && (sorter->dir = bm_strdup(dir)) == NULL) {
        bm_sorted_bytes_close(sorter);
        return bm_fail_nomem(err, strlen(dir));
    }
    *out = sorter;
    return BM_OK;
}

static void close_file(bm_sorted_bytes *sorter)
{
    bm_spill_close(sorter->file);
    for (size_t i = 0; i < sorter->n_runs; i++)
        bm_buf_reset(&sorter->runs[i].data);
    bm_free_all(sorter->blocks, sorter->runs);
}

void bm_sorted_bytes_close(bm_sorted_bytes *sorter)
{
    if (sorter == NULL)
        return;
    close_file(sorter);
    bm_buf_reset(&sorter->bytes);
    bm_free_all(sorter->items, sorter->dir, sorter);
}

/* --- comparing --- */

static uint64_t prefix_of(const char *bytes, size_t len)
{
    uint64_t prefix = 0;
    for (size_t i = 0; i < sizeof prefix; i++)
        prefix = prefix << 8 | (i < len ? (unsigned char)bytes[i] : 0);
    return prefix;
}

/* Records whose prefixes are equal. */
static int compare(bm_str x, uint32_t x_number, bm_str y, uint32_t y_number)
{
    const size_t n = x.len < y.len ? x.len : y.len;
    const int order = n > 0 ? memcmp(x.data, y.data, n) : 0;
    if (order != 0)
        return order;
    if (x.len != y.len)
        return x.len < y.len ? -1 : 1;
    return x_number < y_number ? -1 : x_number > y_number;
}

static bm_str bytes_of(const bm_sorted_bytes *sorter, const item *i)
{
    return (bm_str){sorter->bytes.data + i->at, i->len};
}

static int by_bytes(const void *x, const void *y, void *ctx)
{
    const item *a = x, *b = y;
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix ? -1 : 1;
    return compare(bytes_of(ctx, a), a->number, bytes_of(ctx, b), b->number);
}

/* Sort by one digit of the prefixes into `to`; false: all have the same, and stay where they are.
 */
static bool sort_by_digit(const item *from, size_t n, unsigned shift, item *to)
{
    size_t places[DIGITS] = {0}, at = 0;
    for (size_t i = 0; i < n; i++)
        places[from[i].prefix >> shift & (DIGITS - 1)]++;
    if (places[from[0].prefix >> shift & (DIGITS - 1)] == n)
        return false;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        const size_t count = places[digit];
        places[digit] = at;
        at += count;
    }
    for (size_t i = 0; i < n; i++)
        to[places[from[i].prefix >> shift & (DIGITS - 1)]++] = from[i];
    return true;
}

/* The last digit first; then those whose prefixes are equal, most of which lie in order by then. */
static bm_status sort_items(bm_sorted_bytes *sorter, bm_error *err)
{
    const size_t n = sorter->n;
    item *other;
    if (n < 2)
        return BM_OK;
    BM_TRY(bm_new(&other, sorter->cap, err));
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS)
        if (sort_by_digit(sorter->items, n, shift, other)) {
            item *swap = sorter->items;
            sorter->items = other;
            other = swap;
        }
    bm_free(other);
    const item *items = sorter->items;
    bool ordered = true;
    for (size_t begin = 0, i = 1; i <= n; i++) {
        if (i < n && items[i].prefix == items[begin].prefix) {
            ordered = ordered && by_bytes(&items[i - 1], &items[i], sorter) < 0;
            continue;
        }
        if (!ordered)
            qsort_r(sorter->items + begin, i - begin, sizeof *items, by_bytes, sorter);
        ordered = true;
        begin = i;
    }
    return BM_OK;
}

/* --- runs --- */

static bm_status begin_run(bm_sorted_bytes *sorter, bm_error *err)
{
    BM_TRY(bm_grow_array(&sorter->runs, &sorter->cap_runs, sorter->n_runs + 1, err));
    if (sorter->file == NULL)
        BM_TRY(bm_spill_open(sorter->dir, BM_SPILL_RUN, BYTES_BLOCK_BYTES + BM_SPILL_RECORD,
                             &sorter->file, err));
    sorter->runs[sorter->n_runs++] = (bytes_run){.first_block = sorter->n_blocks};
    return BM_OK;
}

static bm_status write_block(bm_sorted_bytes *sorter, bm_buf *out, bm_error *err)
{
    if (out->len == 0)
        return BM_OK;
    BM_TRY(bm_grow_array(&sorter->blocks, &sorter->cap_blocks, sorter->n_blocks + 1, err));
    bytes_block *b = &sorter->blocks[sorter->n_blocks];
    BM_TRY(bm_spill_add(sorter->file, out->data, out->len, &b->place, err));
    b->len = out->len;
    sorter->n_blocks++;
    sorter->runs[sorter->n_runs - 1].n_blocks++;
    sorter->spilled += out->len + BM_SPILL_RECORD;
    out->len = 0;
    return BM_OK;
}

static bm_status write_record(bm_sorted_bytes *sorter, bm_buf *out, const bm_bytes_record *record,
                              bm_error *err)
{
    const uint32_t head[] = {(uint32_t)record->bytes.len, record->number};
    BM_TRY(bm_buf_add(out, head, sizeof head, err));
    BM_TRY(bm_buf_add(out, record->bytes.data, record->bytes.len, err));
    return out->len >= BYTES_BLOCK_BYTES ? write_block(sorter, out, err) : BM_OK;
}

/* --- merging --- */

/* The next record of run i, the last of which are the items; *more is false at its end. */
static bm_status next_of_run(bm_sorted_bytes *sorter, size_t i, bool *more, bm_error *err)
{
    bytes_run *r = &sorter->runs[i];
    uint32_t head[2];
    if (i == sorter->n_runs) {
        *more = r->at < sorter->n;
        if (*more) {
            const item *one = &sorter->items[r->at++];
            r->record = (bm_bytes_record){bytes_of(sorter, one), one->number};
            r->prefix = one->prefix;
        }
        return BM_OK;
    }
    if (r->at == r->data.len) {
        *more = r->next_block < r->n_blocks;
        if (!*more)
            return BM_OK;
        const bytes_block *b = &sorter->blocks[r->first_block + r->next_block++];
        r->data.len = r->at = 0;
        BM_TRY(bm_buf_reserve(&r->data, b->len, err));
        BM_TRY(bm_spill_read(sorter->file, b->place, r->data.data, b->len, err));
        r->data.len = b->len;
    }
    *more = true;
    memcpy(head, r->data.data + r->at, sizeof head);
    r->record = (bm_bytes_record){{r->data.data + r->at + sizeof head, head[0]}, head[1]};
    r->at += sizeof head + head[0];
    r->prefix = prefix_of(r->record.bytes.data, head[0]);
    return BM_OK;
}

/* Does the record of run x come before that of run y? */
static bool bytes_before(const void *ctx, const void *x, const void *y)
{
    const bytes_run *runs = ctx;
    const bytes_run *a = &runs[*(const size_t *)x], *b = &runs[*(const size_t *)y];
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix;
    return compare(a->record.bytes, a->record.number, b->record.bytes, b->record.number) < 0;
}

static bm_heap bytes_heap(bm_sorted_bytes *sorter)
{
    return (bm_heap){sorter->heap, sorter->n_heap, sizeof *sorter->heap, bytes_before,
                     sorter->runs};
}

static bm_status begin_merge(bm_sorted_bytes *sorter, bm_error *err)
{
    sorter->n_heap = 0;
    sorter->taken = false;
    BM_TRY(bm_grow_array(&sorter->runs, &sorter->cap_runs, sorter->n_runs + 1, err));
    sorter->runs[sorter->n_runs] = (bytes_run){0};
    for (size_t i = 0; i <= sorter->n_runs; i++) {
        bool more;
        BM_TRY(next_of_run(sorter, i, &more, err));
        if (more)
            sorter->heap[sorter->n_heap++] = i;
    }
    const bm_heap heap = bytes_heap(sorter);
    bm_heap_build(&heap);
    return BM_OK;
}

bm_status bm_sorted_bytes_next(bm_sorted_bytes *sorter, bm_bytes_record *out, bm_error *err)
{
    if (sorter->taken && sorter->n_heap > 0) {
        bool more;
        BM_TRY(next_of_run(sorter, sorter->heap[0], &more, err));
        if (!more)
            sorter->heap[0] = sorter->heap[--sorter->n_heap];
        const bm_heap heap = bytes_heap(sorter);
        bm_heap_sink(&heap, 0);
    }
    sorter->taken = true;
    if (sorter->n_heap == 0)
        return BM_NOT_FOUND;
    *out = sorter->runs[sorter->heap[0]].record;
    return BM_OK;
}

static bm_status merge_into(bm_sorted_bytes *sorter, bm_sorted_bytes *merged, bm_buf *out,
                            bm_error *err)
{
    bm_bytes_record record;
    bm_status status = BM_OK;
    BM_TRY(begin_run(merged, err));
    BM_TRY(begin_merge(sorter, err));
    while ((status = bm_sorted_bytes_next(sorter, &record, err)) == BM_OK)
        BM_TRY(write_record(merged, out, &record, err));
    if (status != BM_NOT_FOUND)
        return status;
    BM_TRY(write_block(merged, out, err));
    return bm_spill_flush(merged->file, err);
}

/* Merge all runs into one, in a new file. */
static bm_status bytes_merge_all(bm_sorted_bytes *sorter, bm_error *err)
{
    bm_sorted_bytes merged = {.dir = sorter->dir};
    bm_buf out = {0};
    bm_status status = merge_into(sorter, &merged, &out, err);
    bm_buf_reset(&out);
    if (status != BM_OK) {
        close_file(&merged);
        return status;
    }
    close_file(sorter);
    sorter->file = merged.file;
    sorter->blocks = merged.blocks;
    sorter->n_blocks = merged.n_blocks;
    sorter->cap_blocks = merged.cap_blocks;
    sorter->runs = merged.runs;
    sorter->n_runs = merged.n_runs;
    sorter->cap_runs = merged.cap_runs;
    sorter->spilled += merged.spilled;
    return BM_OK;
}

/* --- adding --- */

/* Write what is in memory as a run. */
static bm_status bytes_spill(bm_sorted_bytes *sorter, bm_error *err)
{
    bm_buf out = {0};
    bm_status status = BM_OK;
    BM_TRY(sort_items(sorter, err));
    BM_TRY_OUT(begin_run(sorter, err));
    for (size_t i = 0; i < sorter->n; i++) {
        const item *one = &sorter->items[i];
        const bm_bytes_record record = {bytes_of(sorter, one), one->number};
        BM_TRY_OUT(write_record(sorter, &out, &record, err));
    }
    BM_TRY_OUT(write_block(sorter, &out, err));
    status = bm_spill_flush(sorter->file, err);
out:
    bm_buf_reset(&out);
    sorter->n = sorter->bytes.len = 0;
    return status == BM_OK && sorter->n_runs == FAN_IN ? bytes_merge_all(sorter, err) : status;
}

bm_status bm_sorted_bytes_add(bm_sorted_bytes *sorter, bm_str bytes, uint32_t number, bm_error *err)
{
    /* sorting takes the items once more */
    const size_t held = sorter->bytes.len + bytes.len + 2 * (sorter->n + 1) * sizeof(item);
    if (sorter->dir != NULL && sorter->n > 0 && held > sorter->most)
        BM_TRY(bytes_spill(sorter, err));
    BM_TRY(bm_grow_array(&sorter->items, &sorter->cap, sorter->n + 1, err));
    sorter->items[sorter->n] = (item){.prefix = prefix_of(bytes.data, bytes.len),
                                      .at = sorter->bytes.len,
                                      .len = (uint32_t)bytes.len,
                                      .number = number};
    BM_TRY(bm_buf_add(&sorter->bytes, bytes.data, bytes.len, err));
    sorter->n++;
    return BM_OK;
}

bm_status bm_sorted_bytes_begin(bm_sorted_bytes *sorter, bm_error *err)
{
    BM_TRY(sort_items(sorter, err));
    return begin_merge(sorter, err);
}

uint64_t bm_sorted_bytes_spilled(const bm_sorted_bytes *sorter)
{
    return sorter->spilled;
}
