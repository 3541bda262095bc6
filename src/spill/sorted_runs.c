/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_runs.c -- sorts records in memory by radix, writes runs in blocks, and merges runs by a
 * heap.
 *
 *     memory   records   [ key, value | key, value | ... ]     and as much scratch for the sort
 *              bytes     [ head, bytes | head, bytes | ... ]   for byte keys
 *     files    [ block block block | block block | ... ]       runs of level 0, blocks of 64 KiB
 *              [ block block block block block | ... ]         runs of level 1, each merged from
 *              ...                                             many of level 0, and so on
 *
 * For a byte key, the record's 64-bit key is the first eight bytes of the byte key, and the
 * record's value is the offset of its head in `bytes`. The head has the length and the number, and
 * the bytes follow it. A run consists of records, or of heads and bytes in the order of the
 * records. It is divided into blocks regardless of the ends of records.
 *
 * The sort is a stable least-significant-digit radix sort by bytes, which skips bytes in which all
 * keys agree. Byte keys that are equal in their first eight bytes are then compared as a whole, and
 * by their numbers. The records in memory at the end are the last run, and often the only one.
 * While runs are merged, one block of each run in a file is in memory, in place of the scratch. The
 * number of blocks that fit there is the fan-in. When a level has this number of runs, they are
 * merged into one run of the next level, and their file is closed. So the memory stays within its
 * limit for any number of records, and a record is written at most 1 + log(runs) times, where the
 * base of the logarithm is the fan-in. Before records are read, runs of the lowest levels are
 * merged, until a single merge can read all runs that are left.
 *
 * The list of runs is in the order in which their records were added: the highest level comes
 * first, and runs of one level follow each other. If records are equal, the heap prefers the record
 * of the earlier run, so the merge is stable too.
 *
 * Tests: tests/unit/spill/test_sorted_bytes.c, tests/unit/spill/test_sorted_runs.c */
#include "spill/sorted_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/memory.h"
#include "spill/spill_file.h"
#include "spill/spill_saved.h"

#define BLOCK_BYTES  ((size_t)64 << 10)
#define BYTES_FAN_IN 16u /* the least fan-in for byte keys */
#define BYTES_LEAST  ((size_t)2 * BYTES_FAN_IN * BLOCK_BYTES)
#define MORE_RECORDS 4096u
#define AHEAD        8u  /* how many sorted records to prefetch ahead */
#define LEVELS       64u /* a run of level n is merged from 2^n runs or more */

typedef struct bytes_head {
    uint32_t len, number;
} bytes_head;

typedef struct sorted_run {
    unsigned level;  /* level of the run, which determines its file */
    uint64_t offset; /* offset of the run's first block in the file of `level` */
    uint64_t bytes;  /* bytes of all records of the run */
    /* used while merging: */
    uint64_t n_read; /* bytes read from the file so far */
    bm_buf data;     /* bytes of the file that are in memory */
    /* position after the current record: in `data`, or as an index in the records in memory */
    size_t at;
    const char *record; /* the current record; if keys are bytes, its head and bytes */
} sorted_run;

typedef struct run_level {
    bm_spill_file *file; /* NULL: the level has no runs */
    size_t n_runs;
} run_level;

typedef struct sorted_head {
    uint64_t key; /* key of the current record of run number `run` */
    size_t run;
} sorted_head;

struct bm_sorted_runs {
    char *dir; /* NULL: no files are made */
    bool of_bytes;
    size_t most;   /* the most bytes of records and scratch together */
    size_t fan_in; /* how many runs are merged at once */
    bm_run_record *records;
    size_t n, cap;
    bm_buf bytes; /* the heads and bytes of byte keys */
    run_level levels[LEVELS];
    /* the runs in files; while merging, also a last run for the records in memory */
    sorted_run *runs;
    size_t n_runs, cap_runs;
    sorted_head *heap; /* the runs that have records left; the first has the least current record */
    size_t n_heap, cap_heap;
    sorted_run made; /* the run being written */
    bm_buf out;      /* the bytes of `made` that are not written yet, less than a block */
    uint64_t spilled;
    bool one_file; /* all levels use the file of level 0 */
    bool sorted;   /* the records in memory are sorted */
    /* The current record of the heap's first run was returned, so this run must be advanced
     * next. */
    bool taken;
};

static bm_status open_sorter(const bm_sorted_runs *how, const char *dir, bm_sorted_runs **out,
                             bm_error *err)
{
    bm_sorted_runs *runs = NULL;
    BM_TRY(bm_new_zero(&runs, 1, err));
    *runs = *how;
    if (dir != NULL && (runs->dir = bm_strdup(dir)) == NULL) {
        bm_sorted_runs_close(runs);
        return bm_fail_nomem(err, strlen(dir));
    }
    *out = runs;
    return BM_OK;
}

bm_status bm_sorted_runs_open(const char *dir, size_t memory, bm_sorted_runs **out, bm_error *err)
{
    if (memory < BM_SORTED_RUNS_LEAST)
        memory = BM_SORTED_RUNS_LEAST;
    /* number of blocks for a merge, which may use half of the memory */
    const size_t blocks = memory / 2 / BLOCK_BYTES;
    return open_sorter(&(bm_sorted_runs){.most = memory, .fan_in = blocks < 4 ? 2 : blocks - 2},
                       dir, out, err);
}

bm_status bm_sorted_runs_open_bytes(const char *dir, size_t memory, bm_sorted_runs **out,
                                    bm_error *err)
{
    const size_t all = memory > BYTES_LEAST ? memory : BYTES_LEAST;
    /* The blocks of a merge use a quarter of the memory. With fewer blocks, merges would be more
     * frequent, and all records would be written too often. */
    const size_t blocks = dir == NULL ? 0 : all / 4 / BLOCK_BYTES;
    const size_t fan_in = blocks > BYTES_FAN_IN ? blocks : BYTES_FAN_IN;
    return open_sorter(
        &(bm_sorted_runs){.of_bytes = true,
                          .most = dir == NULL ? SIZE_MAX : all - fan_in * BLOCK_BYTES,
                          .fan_in = fan_in},
        dir, out, err);
}

void bm_sorted_runs_close(bm_sorted_runs *runs)
{
    if (runs == NULL)
        return;
    for (unsigned level = 0; level < LEVELS; level++)
        bm_spill_close(runs->levels[level].file);
    for (size_t i = 0; i < runs->n_runs; i++)
        bm_buf_reset(&runs->runs[i].data);
    bm_buf_reset(&runs->out);
    bm_buf_reset(&runs->bytes);
    bm_free_all(runs->dir, runs->records, runs->runs, runs->heap, runs);
}

/* The level whose file has the runs of `level`: level 0 if all levels share one file. */
static unsigned file_level(const bm_sorted_runs *runs, unsigned level)
{
    return runs->one_file ? 0 : level;
}

/* --- comparing --- */

static bytes_head head_of(const char *record)
{
    bytes_head head;
    memcpy(&head, record, sizeof head);
    return head;
}

/* The first eight bytes as a big-endian number. Fewer bytes are padded with zeros. */
static uint64_t key_of(const char *bytes, size_t len)
{
    uint64_t key = 0;
    if (len >= sizeof key) { /* compiled to one load */
        for (size_t i = 0; i < sizeof key; i++)
            key = key << 8 | (unsigned char)bytes[i];
        return key;
    }
    for (size_t i = 0; i < sizeof key; i++)
        key = key << 8 | (i < len ? (unsigned char)bytes[i] : 0);
    return key;
}

/* Compare two byte keys whose first eight bytes are equal; if the keys are equal, compare their
 * numbers. `x` and `y` are their heads. */
static int compare_bytes(const char *x, const char *y)
{
    const bytes_head a = head_of(x), b = head_of(y);
    const int order = memcmp(x + sizeof a, y + sizeof b, a.len < b.len ? a.len : b.len);
    if (order != 0)
        return order;
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return a.number < b.number ? -1 : a.number > b.number;
}

static const char *bytes_at(const bm_sorted_runs *runs, const bm_run_record *record)
{
    return runs->bytes.data + record->value;
}

/* Returns the bytes of record i. Records are read in order, but their bytes are anywhere in memory.
 * So the bytes of a later record are prefetched. */
static const char *bytes_ahead(const bm_sorted_runs *runs, size_t i)
{
    if (i + AHEAD < runs->n)
        __builtin_prefetch(bytes_at(runs, &runs->records[i + AHEAD]));
    return bytes_at(runs, &runs->records[i]);
}

static int by_bytes(const void *x, const void *y, void *ctx)
{
    return compare_bytes(bytes_at(ctx, x), bytes_at(ctx, y));
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

/* Sort n records by their keys. `scratch` has space for n records. */
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

/* Sort records with equal 64-bit keys by their bytes. All records are already sorted by key. Most
 * are in the right order. */
static void sort_equal_keys(bm_sorted_runs *runs)
{
    bm_run_record *records = runs->records;
    bool ordered = true;
    for (size_t begin = 0, i = 1; i <= runs->n; i++) {
        if (i < runs->n && records[i].key == records[begin].key) {
            ordered = ordered && by_bytes(&records[i - 1], &records[i], runs) < 0;
            continue;
        }
        if (!ordered)
            qsort_r(records + begin, i - begin, sizeof *records, by_bytes, runs);
        ordered = true;
        begin = i;
    }
}

static bm_status sort_memory(bm_sorted_runs *runs, bm_error *err)
{
    bm_run_record *scratch = NULL;
    BM_TRY(bm_new(&scratch, runs->n, err));
    sort_records(runs->records, scratch, runs->n);
    bm_free(scratch);
    if (runs->of_bytes)
        sort_equal_keys(runs);
    return BM_OK;
}

/* --- writing a run --- */

/* Begin the run runs->made at the end of the file of `level`. */
static bm_status begin_run(bm_sorted_runs *runs, unsigned level, bm_error *err)
{
    bm_spill_file **file = &runs->levels[file_level(runs, level)].file;
    if (*file == NULL)
        BM_TRY(bm_spill_open(runs->dir, BM_SPILL_RUN, BLOCK_BYTES + BM_SPILL_RECORD, file, err));
    BM_TRY(bm_buf_reserve(&runs->out, BLOCK_BYTES, err));
    runs->made = (sorted_run){.level = level, .offset = bm_spill_bytes(*file)};
    return BM_OK;
}

static bm_status write_block(bm_sorted_runs *runs, const char *data, size_t len, bm_error *err)
{
    runs->made.bytes += len;
    runs->spilled += len + BM_SPILL_RECORD;
    return bm_spill_add(runs->levels[file_level(runs, runs->made.level)].file, data, len, NULL,
                        err);
}

static inline bm_status write_bytes(bm_sorted_runs *runs, const char *data, size_t len,
                                    bm_error *err)
{
    bm_buf *out = &runs->out;
    /* the fast path, for one record */
    if (len == sizeof(bm_run_record) && out->len + len < BLOCK_BYTES) {
        memcpy(out->data + out->len, data, sizeof(bm_run_record));
        out->len += len;
        return BM_OK;
    }
    while (out->len + len >= BLOCK_BYTES) {
        const size_t n = BLOCK_BYTES - out->len;
        const bool whole = out->len == 0; /* a whole block is written without being copied */
        if (!whole)
            memcpy(out->data + out->len, data, n);
        BM_TRY(write_block(runs, whole ? data : out->data, BLOCK_BYTES, err));
        out->len = 0;
        data += n;
        len -= n;
    }
    if (len > 0)
        memcpy(out->data + out->len, data, len);
    out->len += len;
    return BM_OK;
}

static bm_status end_run(bm_sorted_runs *runs, bm_error *err)
{
    if (runs->out.len > 0)
        BM_TRY(write_block(runs, runs->out.data, runs->out.len, err));
    runs->out.len = 0;
    runs->levels[runs->made.level].n_runs++;
    return bm_spill_flush(runs->levels[file_level(runs, runs->made.level)].file, err);
}

static size_t record_bytes(const bm_sorted_runs *runs, const char *record)
{
    return runs->of_bytes ? sizeof(bytes_head) + head_of(record).len : sizeof(bm_run_record);
}

/* --- merging --- */

static inline uint64_t record_key(const bm_sorted_runs *runs, const char *record)
{
    uint64_t key;
    if (runs->of_bytes)
        return key_of(record + sizeof(bytes_head), head_of(record).len);
    memcpy(&key, record, sizeof key);
    return key;
}

/* Read until run->data has `n` bytes from run->at on, or all bytes that are left in the run. */
static bm_status have(const bm_sorted_runs *runs, sorted_run *run, size_t n, bm_error *err)
{
    while (run->data.len - run->at < n && run->n_read < run->bytes) {
        const size_t rest = run->data.len - run->at;
        const uint64_t left = run->bytes - run->n_read;
        const size_t len = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        if (rest > 0)
            memmove(run->data.data, run->data.data + run->at, rest);
        run->data.len = rest;
        run->at = 0;
        BM_TRY(bm_buf_reserve(&run->data, len, err));
        BM_TRY(
            bm_spill_read(runs->levels[file_level(runs, run->level)].file,
                          run->offset + run->n_read / BLOCK_BYTES * (BLOCK_BYTES + BM_SPILL_RECORD),
                          run->data.data + rest, len, err));
        run->data.len += len;
        run->n_read += len;
    }
    return BM_OK;
}

/* Advance a run in a file to its next record. *more becomes false at the end of the run. */
static bm_status next_in_file(const bm_sorted_runs *runs, sorted_run *run, bool *more,
                              bm_error *err)
{
    BM_TRY(have(runs, run, runs->of_bytes ? sizeof(bytes_head) : sizeof(bm_run_record), err));
    *more = run->at < run->data.len;
    if (*more && runs->of_bytes)
        BM_TRY(have(runs, run, record_bytes(runs, run->data.data + run->at), err));
    run->record = run->data.data + run->at;
    run->at += *more ? record_bytes(runs, run->record) : 0;
    return BM_OK;
}

/* Advance the run of `head`, in a file or in memory, to its next record. *more becomes false at the
 * end of the run. */
static bm_status next_of_run(bm_sorted_runs *runs, sorted_head *head, bool *more, bm_error *err)
{
    sorted_run *run = &runs->runs[head->run];
    *more = true;
    if (!runs->of_bytes && run->at < run->data.len) { /* the common case */
        run->record = run->data.data + run->at;
        run->at += sizeof(bm_run_record);
    } else if (head->run < runs->n_runs) {
        BM_TRY(next_in_file(runs, run, more, err));
    } else { /* the last run is in memory */
        *more = run->at < runs->n;
        if (*more)
            run->record =
                runs->of_bytes ? bytes_ahead(runs, run->at) : (const char *)&runs->records[run->at];
        run->at += *more;
    }
    if (*more)
        head->key = record_key(runs, run->record);
    return BM_OK;
}

/* The current records of runs i and k have equal 64-bit keys. Does the record of run i come
 * first? */
static bool equal_before(const bm_sorted_runs *runs, size_t i, size_t k)
{
    const int order =
        runs->of_bytes ? compare_bytes(runs->runs[i].record, runs->runs[k].record) : 0;
    return order != 0 ? order < 0 : i < k;
}

static inline bool before(const void *ctx, const void *x, const void *y)
{
    const sorted_head *a = x, *b = y;
    return a->key != b->key ? a->key < b->key : equal_before(ctx, a->run, b->run);
}

static bm_heap heap_of(const bm_sorted_runs *runs)
{
    return (bm_heap){runs->heap, runs->n_heap, sizeof *runs->heap, before, runs};
}

/* Begin a merge of the runs from `first` to end-1. Run number n_runs is the sorted records in
 * memory. */
static bm_status begin_merge(bm_sorted_runs *runs, size_t first, size_t end, bm_error *err)
{
    BM_TRY(bm_grow_array(&runs->runs, &runs->cap_runs, runs->n_runs + 1, err));
    BM_TRY(bm_grow_array(&runs->heap, &runs->cap_heap, end - first, err));
    runs->runs[runs->n_runs] = (sorted_run){0};
    runs->n_heap = 0;
    runs->taken = false;
    for (size_t i = first; i < end; i++) {
        sorted_run *run = &runs->runs[i];
        sorted_head *head = &runs->heap[runs->n_heap];
        bool more;
        run->n_read = 0;
        run->data.len = run->at = 0;
        head->run = i;
        BM_TRY(next_of_run(runs, head, &more, err));
        runs->n_heap += more;
    }
    const bm_heap heap = heap_of(runs);
    bm_heap_build(&heap);
    return BM_OK;
}

/* Set *out to the next record, valid until the next call. If keys are bytes, it is the record's
 * head and bytes. BM_NOT_FOUND: there are no more records. */
static bm_status next_record(bm_sorted_runs *runs, const char **out, bm_error *err)
{
    if (runs->taken && runs->n_heap > 0) {
        bool more;
        BM_TRY(next_of_run(runs, &runs->heap[0], &more, err));
        if (!more)
            runs->heap[0] = runs->heap[--runs->n_heap];
        const bm_heap heap = heap_of(runs);
        bm_heap_sink(&heap, 0);
    }
    runs->taken = true;
    if (runs->n_heap == 0)
        return BM_NOT_FOUND;
    *out = runs->runs[runs->heap[0].run].record;
    return BM_OK;
}

bm_status bm_sorted_runs_next(bm_sorted_runs *runs, bm_run_record *out, bm_error *err)
{
    const char *record;
    BM_TRY(next_record(runs, &record, err));
    memcpy(out, record, sizeof *out);
    return BM_OK;
}

bm_status bm_sorted_runs_next_bytes(bm_sorted_runs *runs, bm_bytes_record *out, bm_error *err)
{
    const char *record;
    BM_TRY(next_record(runs, &record, err));
    const bytes_head head = head_of(record);
    *out = (bm_bytes_record){{record + sizeof head, head.len}, head.number};
    return BM_OK;
}

/* Replace `n` runs of the list, starting with `first`, by runs->made. */
static void replace_runs(bm_sorted_runs *runs, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++)
        bm_buf_reset(&runs->runs[i].data);
    memmove(runs->runs + first + 1, runs->runs + first + n,
            (runs->n_runs - first - n) * sizeof *runs->runs);
    runs->runs[first] = runs->made;
    runs->n_runs -= n - 1;
}

/* Merge the first `n` runs of `level` into one run of the next level. */
static bm_status merge_level(bm_sorted_runs *runs, unsigned level, size_t n, bm_error *err)
{
    run_level *from = &runs->levels[level];
    const char *record;
    bm_status status;
    size_t first = 0;
    while (runs->runs[first].level != level)
        first++;
    BM_TRY(begin_run(runs, level + 1, err));
    BM_TRY(begin_merge(runs, first, first + n, err));
    while ((status = next_record(runs, &record, err)) == BM_OK)
        BM_TRY(write_bytes(runs, record, record_bytes(runs, record), err));
    if (status != BM_NOT_FOUND)
        return status;
    BM_TRY(end_run(runs, err));
    replace_runs(runs, first, n);
    from->n_runs -= n;
    if (from->n_runs == 0 && !runs->one_file) {
        bm_spill_close(from->file);
        from->file = NULL;
    }
    return BM_OK;
}

/* Merge runs of the lowest levels, until a single merge can read all runs that are left. */
static bm_status merge_lowest(bm_sorted_runs *runs, bm_error *err)
{
    for (unsigned level = 0; runs->n_runs > runs->fan_in; level++) {
        const size_t wanted = runs->n_runs - runs->fan_in + 1, had = runs->levels[level].n_runs;
        if (had > 0)
            BM_TRY(merge_level(runs, level, had < wanted ? had : wanted, err));
    }
    return BM_OK;
}

/* --- adding --- */

/* Write the records in memory as a run, and merge the levels that have fan_in runs. BM_ERR_NOMEM:
 * no files may be made. */
static bm_status spill(bm_sorted_runs *runs, bm_error *err)
{
    if (runs->dir == NULL)
        return bm_fail(err, BM_ERR_NOMEM, "%zu records to sort are more than `memory` allows",
                       runs->n);
    BM_TRY(sort_memory(runs, err));
    BM_TRY(bm_grow_array(&runs->runs, &runs->cap_runs, runs->n_runs + 1, err));
    BM_TRY(begin_run(runs, 0, err));
    if (!runs->of_bytes)
        BM_TRY(
            write_bytes(runs, (const char *)runs->records, runs->n * sizeof *runs->records, err));
    for (size_t i = 0; runs->of_bytes && i < runs->n; i++) {
        const char *record = bytes_ahead(runs, i);
        BM_TRY(write_bytes(runs, record, record_bytes(runs, record), err));
    }
    BM_TRY(end_run(runs, err));
    runs->runs[runs->n_runs++] = runs->made;
    runs->n = runs->bytes.len = 0;
    for (unsigned level = 0; runs->levels[level].n_runs >= runs->fan_in; level++)
        BM_TRY(merge_level(runs, level, runs->fan_in, err));
    return BM_OK;
}

/* Bytes of n records, and of the scratch that is needed to sort them. */
static size_t sort_bytes(size_t n)
{
    return 2 * n * sizeof(bm_run_record);
}

static bm_status grow_records(bm_sorted_runs *runs, bm_error *err)
{
    const size_t wanted = runs->cap + runs->cap / 2 + MORE_RECORDS,
                 most = runs->most / sort_bytes(1);
    const size_t cap = wanted < most ? wanted : most;
    bm_run_record *grown = bm_resize(runs->records, cap, sizeof *grown);
    if (grown == NULL)
        return bm_fail_nomem(err, cap * sizeof *grown);
    runs->records = grown;
    runs->cap = cap;
    return BM_OK;
}

/* Make space for one more record. If the limit is reached, the records in memory are first written
 * as a run. If keys are bytes, `bytes` is the size of its head and key in runs->bytes. */
static bm_status make_room(bm_sorted_runs *runs, size_t bytes, bm_error *err)
{
    runs->sorted = false;
    if (runs->n > 0 && runs->bytes.len + bytes + sort_bytes(runs->n + 1) > runs->most)
        BM_TRY(spill(runs, err));
    return runs->n == runs->cap ? grow_records(runs, err) : BM_OK;
}

bm_status bm_sorted_runs_add(bm_sorted_runs *runs, uint64_t key, uint64_t value, bm_error *err)
{
    BM_TRY(make_room(runs, 0, err));
    runs->records[runs->n++] = (bm_run_record){key, value};
    return BM_OK;
}

bm_status bm_sorted_runs_add_bytes(bm_sorted_runs *runs, bm_str bytes, uint32_t number,
                                   bm_error *err)
{
    const bytes_head head = {(uint32_t)bytes.len, number};
    BM_TRY(make_room(runs, sizeof head + bytes.len, err));
    BM_TRY(bm_buf_reserve(&runs->bytes, sizeof head + bytes.len, err));
    runs->records[runs->n++] = (bm_run_record){key_of(bytes.data, bytes.len), runs->bytes.len};
    BM_TRY(bm_buf_add(&runs->bytes, &head, sizeof head, err));
    return bm_buf_add(&runs->bytes, bytes.data, bytes.len, err);
}

bm_status bm_sorted_runs_begin(bm_sorted_runs *runs, bm_error *err)
{
    if (!runs->sorted)
        BM_TRY(sort_memory(runs, err));
    runs->sorted = true;
    BM_TRY(merge_lowest(runs, err));
    return begin_merge(runs, 0, runs->n_runs + 1, err);
}

uint64_t bm_sorted_runs_spilled(const bm_sorted_runs *runs)
{
    return runs->spilled;
}

/* --- saved runs --- */

void bm_sorted_runs_in_one_file(bm_sorted_runs *runs)
{
    runs->one_file = true;
}

uint64_t bm_sorted_runs_unsaved_bytes(const bm_sorted_runs *runs)
{
    return runs->of_bytes ? runs->bytes.len : runs->n * sizeof *runs->records;
}

bm_status bm_sorted_runs_save_in(bm_sorted_runs *runs, int folder, const char *path, bm_buf *list,
                                 bm_error *err)
{
    if (runs->n > 0)
        BM_TRY(spill(runs, err));
    if (runs->levels[0].file != NULL && !bm_spill_has_name(runs->levels[0].file))
        BM_TRY(bm_spill_save_in(runs->levels[0].file, folder, path, err));
    for (size_t i = 0; i < runs->n_runs; i++) {
        const sorted_run *of = &runs->runs[i];
        const bm_saved_run run = {of->offset, of->bytes, of->level};
        BM_TRY(bm_buf_add(list, &run, sizeof run, err));
    }
    return BM_OK;
}

const bm_spill_file *bm_sorted_runs_file(const bm_sorted_runs *runs)
{
    return runs->levels[0].file;
}

bm_status bm_sorted_runs_reopen_in(bm_sorted_runs *runs, int folder, const bm_spill_saved *saved,
                                   bm_error *err)
{
    return bm_spill_reopen_in(folder, saved, BLOCK_BYTES + BM_SPILL_RECORD, &runs->levels[0].file,
                              err);
}

/* Is the run inside a file of `bytes` bytes? */
static bool fits(const bm_saved_run *run, uint64_t bytes)
{
    const uint64_t blocks = run->bytes / BLOCK_BYTES + (run->bytes % BLOCK_BYTES != 0);
    return run->place >= BM_SPILL_HEADER && run->place <= bytes && run->bytes > 0 &&
           run->bytes <= bytes - run->place &&
           blocks * BM_SPILL_RECORD <= bytes - run->place - run->bytes;
}

bm_status bm_sorted_runs_restore(bm_sorted_runs *runs, const bm_saved_run *list, size_t n,
                                 bm_error *err)
{
    const bm_spill_file *file = runs->levels[0].file;
    const uint64_t bytes = file != NULL ? bm_spill_bytes(file) : 0;
    for (size_t i = 0; i < n; i++)
        if (!fits(&list[i], bytes) || list[i].level >= LEVELS ||
            (i > 0 && list[i].level > list[i - 1].level))
            return bm_fail(err, BM_ERR_FORMAT, "the saved runs do not fit into their file");
    for (size_t i = 0; i < runs->n_runs; i++)
        bm_buf_reset(&runs->runs[i].data);
    for (unsigned level = 0; level < LEVELS; level++)
        runs->levels[level].n_runs = 0;
    runs->n_runs = 0;
    BM_TRY(bm_grow_array(&runs->runs, &runs->cap_runs, n + 1, err));
    for (size_t i = 0; i < n; i++) {
        runs->runs[i] = (sorted_run){
            .level = (unsigned)list[i].level, .offset = list[i].place, .bytes = list[i].bytes};
        runs->levels[list[i].level].n_runs++;
    }
    runs->n_runs = n;
    return BM_OK;
}
