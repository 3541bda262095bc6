/* sorted_runs.c -- radix sort in memory, runs in blocks, a merge by a heap of runs.
 *
 *     memory   [ records … | scratch of the sort … ]        half each
 *     file     [ block block block | block block | … ]      a run after another, 64 KiB a block
 *
 * The sort is a least-significant-digit radix sort of bytes, stable, that leaves out bytes in which
 * all keys agree; 16 bytes a record and a pass. While merging, memory holds one block of each run.
 * When there are as many runs as blocks fit, they are merged into one run of a new file, so the
 * memory stays what was given however many records come. Equal keys: the heap prefers the earlier
 * run, so the merge is stable too. */
#include "spill/sorted_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "spill/spill_file.h"

#define BLOCK_RECORDS 4096u
#define BLOCK_BYTES   ((size_t)BLOCK_RECORDS * sizeof(bm_run_record))

typedef struct run {
    uint64_t place; /* of its first block */
    uint64_t n;     /* records */
    uint64_t at;    /* while merging: which record is next */
    bm_run_record *block;
} run;

struct bm_sorted_runs {
    char *dir;   /* NULL: no files */
    size_t most; /* records in memory; as many more of scratch */
    bm_run_record *records;
    size_t n, cap;
    bm_spill_file *file;
    run *runs;
    size_t n_runs, cap_runs;
    size_t *heap; /* runs that are not at their end, the one with the least record first */
    size_t n_heap;
    bm_run_record *blocks;
    size_t cap_blocks;
    uint64_t spilled;
    size_t next; /* without files: the record to give next */
    bool reading;
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
    bm_free(runs->dir);
    bm_free(runs->records);
    bm_free(runs->runs);
    bm_free(runs->heap);
    bm_free(runs->blocks);
    bm_free(runs);
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
static bm_status new_run(bm_sorted_runs *runs, run **out, bm_error *err)
{
    BM_TRY(bm_grow(&runs->runs, &runs->cap_runs, runs->n_runs + 1, sizeof *runs->runs, err));
    if (runs->file == NULL)
        BM_TRY(bm_spill_open(runs->dir, BM_SPILL_RUN, BLOCK_BYTES + BM_SPILL_RECORD, &runs->file,
                             err));
    *out = &runs->runs[runs->n_runs];
    **out = (run){.place = bm_spill_bytes(runs->file)};
    return BM_OK;
}

static bm_status add_block(bm_sorted_runs *runs, run *r, const bm_run_record *records, size_t n,
                           bm_error *err)
{
    r->n += n;
    runs->spilled += n * sizeof *records + BM_SPILL_RECORD;
    return bm_spill_add(runs->file, records, n * sizeof *records, NULL, err);
}

/* --- merging --- */

/* Read the block of the run's next record. */
static bm_status load_block(bm_sorted_runs *runs, run *r, bm_error *err)
{
    uint64_t block = r->at / BLOCK_RECORDS, left = r->n - r->at;
    size_t n = left < BLOCK_RECORDS ? (size_t)left : BLOCK_RECORDS;
    return bm_spill_read(runs->file, r->place + block * (BLOCK_BYTES + BM_SPILL_RECORD), r->block,
                         n * sizeof *r->block, err);
}

static const bm_run_record *in_hand(const bm_sorted_runs *runs, size_t i)
{
    const run *r = &runs->runs[i];
    return &r->block[r->at % BLOCK_RECORDS];
}

/* Does run x come before run y? */
static bool before(const bm_sorted_runs *runs, size_t x, size_t y)
{
    uint64_t a = in_hand(runs, x)->key, b = in_hand(runs, y)->key;
    return a != b ? a < b : x < y;
}

static void sink(bm_sorted_runs *runs, size_t at)
{
    size_t *heap = runs->heap;
    for (;;) {
        size_t least = 2 * at + 1;
        if (least >= runs->n_heap)
            return;
        if (least + 1 < runs->n_heap && before(runs, heap[least + 1], heap[least]))
            least++;
        if (!before(runs, heap[least], heap[at]))
            return;
        size_t other = heap[at];
        heap[at] = heap[least];
        heap[least] = other;
        at = least;
    }
}

static bm_status merge_begin(bm_sorted_runs *runs, bm_error *err)
{
    BM_TRY(bm_grow(&runs->blocks, &runs->cap_blocks, runs->n_runs * BLOCK_RECORDS,
                   sizeof *runs->blocks, err));
    bm_free(runs->heap);
    runs->heap = NULL;
    runs->n_heap = 0;
    BM_TRY(bm_new(&runs->heap, runs->n_runs, err));
    for (size_t i = 0; i < runs->n_runs; i++) {
        runs->runs[i].at = 0;
        runs->runs[i].block = runs->blocks + i * BLOCK_RECORDS;
        BM_TRY(load_block(runs, &runs->runs[i], err));
        runs->heap[runs->n_heap++] = i;
    }
    for (size_t i = runs->n_heap / 2; i > 0; i--)
        sink(runs, i - 1);
    return BM_OK;
}

static bm_status merge_next(bm_sorted_runs *runs, bm_run_record *out, bm_error *err)
{
    if (runs->n_heap == 0)
        return BM_NOT_FOUND;
    run *r = &runs->runs[runs->heap[0]];
    *out = *in_hand(runs, runs->heap[0]);
    r->at++;
    if (r->at == r->n) {
        runs->heap[0] = runs->heap[--runs->n_heap];
    } else if (r->at % BLOCK_RECORDS == 0)
        BM_TRY(load_block(runs, r, err));
    sink(runs, 0);
    return BM_OK;
}

/* Merge all runs into one, in a new file. */
static bm_status merge_all(bm_sorted_runs *runs, bm_error *err)
{
    bm_sorted_runs merged = {.dir = runs->dir};
    bm_run_record *block = bm_alloc(BLOCK_RECORDS, sizeof *block);
    size_t n = 0;
    run *r = NULL;
    bm_status status = block == NULL ? bm_fail_nomem(err, BLOCK_BYTES) : merge_begin(runs, err);
    if (status == BM_OK)
        status = new_run(&merged, &r, err);
    while (status == BM_OK) {
        status = merge_next(runs, &block[n], err);
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

/* How many runs can be merged at once: one block of each fits into the memory. 2 at least. */
static size_t fan_in(const bm_sorted_runs *runs)
{
    size_t blocks = 2 * runs->most / BLOCK_RECORDS;
    return blocks < 4 ? 2 : blocks - 2;
}

/* --- adding --- */

/* Write the records in memory as a run. */
static bm_status spill(bm_sorted_runs *runs, bm_error *err)
{
    run *r;
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
    if (runs->n_runs < fan_in(runs))
        return BM_OK;
    bm_free(runs->records);
    runs->records = NULL;
    runs->cap = 0;
    return merge_all(runs, err);
}

bm_status bm_sorted_runs_add(bm_sorted_runs *runs, uint64_t key, uint64_t value, bm_error *err)
{
    runs->reading = false;
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
    runs->next = 0;
    if (runs->n_runs == 0) { /* all in memory */
        if (!runs->reading)
            BM_TRY(sort_memory(runs, err));
        runs->reading = true;
        return BM_OK;
    }
    if (runs->n > 0)
        BM_TRY(spill(runs, err));
    bm_free(runs->records);
    runs->records = NULL;
    runs->n = runs->cap = 0;
    return merge_begin(runs, err);
}

bm_status bm_sorted_runs_next(bm_sorted_runs *runs, bm_run_record *out, bm_error *err)
{
    if (runs->n_runs > 0)
        return merge_next(runs, out, err);
    if (runs->next == runs->n)
        return BM_NOT_FOUND;
    *out = runs->records[runs->next++];
    return BM_OK;
}

uint64_t bm_sorted_runs_spilled(const bm_sorted_runs *runs)
{
    return runs->spilled;
}
