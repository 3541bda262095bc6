/* SPDX-License-Identifier: Apache-2.0 */
/* match_all_pairs.c -- a similarity self-join of the sets of a corpus (lsh/all_pairs.h).
 *
 * If sets are in memory, they are sorted, and pairs are found together with their similarity. If
 * sets are in a file, their prefixes are made and written first. Then the prefixes of one block of
 * documents after another are indexed. Pairs that pass the filters of the index are compared like
 * candidates of bands: chunk by chunk, with sets read back in the order of their offsets. Both
 * methods compare the same pairs.
 *
 * Tests: tests/cli/cases/pairs.sh, tests/reference/test_measure.py,
 *        tests/unit/match/test_all_pairs_parts.c,
 *        tests/unit/match/test_match_all_pairs.c */
#include "match/match_all_pairs.h"

#include <string.h>

#include "base/column.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/all_pairs.h"
#include "lsh/prefix_index.h"
#include "lsh/shingle_counts.h"
#include "lsh/verify.h"
#include "spill/spill_file.h"

/* The prefixes of all documents, in a file. */
typedef struct set_prefixes {
    bm_prefix_store store;
    uint32_t *order; /* n documents, in order of size */
    size_t n;
    bm_spill_file *file;
    uint64_t *offsets;      /* for each range: offset of its record in the file */
    uint32_t *n_keys;       /* for each range: number of its keys */
    uint64_t bytes_held;    /* memory of the arrays above */
    uint64_t bytes_written; /* to temporary files, including files that are closed already */
    unsigned part_bits;     /* counting had 2^part_bits parts */
} set_prefixes;

typedef struct set_prefixes_job {
    bm_corpus *corpus; /* its sets are in a file */
    bm_join_rule rule;
    uint64_t memory; /* limit for the bytes of memory; 0: no limit */
    bm_pool *pool;
    bm_meter *meter;
} set_prefixes_job;

/* === all pairs counts ===
 *
 * Counts shingles in a table that is larger than memory, part by part.
 *
 * The leading bits of a shingle's mixed hash select its counter. Shingles that agree in the first
 * part_bits bits form a part, and no other shingles use the counters of that part.
 *
 *     1. add     hashes are written to a file by part, 2,048 in a block
 *                    [ part 0 | part 3 | part 0 | part 1 | … ]
 *     2. end     for each part: its blocks are read and counted, then read again, and the counts of
 *                their hashes are stored in a column in the same order, one part after another
 *                    [ counts of part 0 | of part 1 | of part 2 | … ]
 *     3. next    the same hashes, passed in the same order, each get the next count of their part
 *
 * Disk: 8 bytes for each shingle, and 2 for its count. Threads: one thread adds hashes and reads
 * counts; the threads of the pool count.
 *
 * An alternative was considered: a table that is a column in a file, as one method for all sizes.
 * Hashes would have to be sorted by their index in the table, M bytes of memory at a time, so the
 * pages of the table would be traversed once for each M / 8 shingles. Updating a table of T bytes
 * for n shingles would read and write 16 n T / M bytes; together with the later look-ups, it would
 * be 40 n T / M. T is 1 to 2 bytes for each shingle. Counting by parts transfers 30 n bytes. So the
 * column would be better only if the table nearly fits into memory. */

#define BLOCK       2048u
#define LEAVE       16u /* approximate number of blocks of counts that stay in memory */
#define WRITE_BYTES ((size_t)64 << 10)

typedef struct part {
    uint64_t n;       /* number of shingles */
    uint64_t at;      /* number of counts that part_counts_next has returned for the part */
    uint64_t first;   /* index of the part's first count in the column of all counts */
    uint64_t *blocks; /* offset of each block in the file of hashes */
    size_t cap;
    uint64_t *hashes; /* the block that is being filled */
    uint16_t *counts; /* the block of counts that is being read */
} part;

struct bm_part_counts {
    char *dir;
    unsigned table_bits, part_bits;
    size_t n_parts;
    part *parts;
    uint64_t *hashes;
    uint16_t *counts;
    bm_spill_file *hash_file;
    bm_column column; /* the counts of all parts */
    uint64_t written; /* bytes written to files */
};

/* The part that is being counted. */
typedef struct counting {
    bm_part_counts *all;
    part *part;
    bm_shingle_counts table;
    bool shared;
} counting;

/* The most bytes of memory for n shingles, counted in 2^part_bits parts. A single table would have
 * 2^table_bits counters. */
static uint64_t part_counts_bytes(uint64_t n, unsigned table_bits, unsigned part_bits)
{
    uint64_t parts = (uint64_t)1 << part_bits;
    uint64_t offsets = (n / BLOCK + parts * 8) * 2 * sizeof(uint64_t);
    uint64_t buffers = parts * BLOCK * sizeof(uint64_t) + WRITE_BYTES;
    uint64_t table = bm_shingle_counts_bytes(table_bits - part_bits) +
                     (uint64_t)LEAVE * BLOCK * sizeof(uint16_t);
    return offsets + buffers + table;
}

/* `c` may be NULL. */
static void part_counts_close(bm_part_counts *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; c->parts != NULL && i < c->n_parts; i++)
        bm_free(c->parts[i].blocks);
    bm_spill_close(c->hash_file);
    bm_column_reset(&c->column);
    bm_free_all(c->parts, c->hashes, c->counts, c->dir, c);
}

/* Make the files in `dir`. The counts are those that a table of 2^table_bits counters would have
 * (lsh/shingle_counts.h), but they are made in 2^part_bits parts. part_bits is from 1 to
 * BM_PART_BITS_MAX. */
static bm_status part_counts_open(const char *dir, unsigned table_bits, unsigned part_bits,
                                  bm_part_counts **out, bm_error *err)
{
    bm_part_counts *c = NULL;
    BM_TRY(bm_new_zero(&c, 1, err));
    c->table_bits = table_bits;
    c->part_bits = part_bits;
    c->n_parts = (size_t)1 << part_bits;
    c->dir = bm_strdup(dir);
    c->parts = bm_alloc_zero(c->n_parts, sizeof *c->parts);
    c->hashes = bm_alloc(c->n_parts * BLOCK, sizeof *c->hashes);
    bm_status status = BM_OK;
    if (c->dir == NULL || c->parts == NULL || c->hashes == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, c->n_parts * BLOCK * sizeof *c->hashes));
    status = bm_spill_open(dir, BM_SPILL_PREFIXES, WRITE_BYTES, &c->hash_file, err);
out:
    if (status != BM_OK) {
        part_counts_close(c);
        return status;
    }
    for (size_t i = 0; i < c->n_parts; i++)
        c->parts[i].hashes = c->hashes + i * BLOCK;
    *out = c;
    return BM_OK;
}

static uint64_t part_counts_written(const bm_part_counts *c)
{
    return c->written;
}

/* --- 1. add --- */

static size_t n_blocks(const part *p)
{
    return (size_t)((p->n + BLOCK - 1) / BLOCK);
}

/* The number of shingles in a block. */
static size_t block_size(const part *p, size_t block)
{
    uint64_t left = p->n - (uint64_t)block * BLOCK;
    return left < BLOCK ? (size_t)left : BLOCK;
}

static bm_status write_block(bm_part_counts *c, part *p, bm_error *err)
{
    size_t block = n_blocks(p) - 1, n = block_size(p, block);
    BM_TRY(bm_grow(&p->blocks, &p->cap, block + 1, sizeof *p->blocks, err));
    return bm_spill_add(c->hash_file, p->hashes, n * sizeof *p->hashes, &p->blocks[block], err);
}

/* Add a mixed hash to its part. */
static bm_status part_counts_add(bm_part_counts *c, uint64_t mixed, bm_error *err)
{
    part *p = &c->parts[mixed >> (64 - c->part_bits)];
    p->hashes[p->n++ % BLOCK] = mixed << c->part_bits;
    return p->n % BLOCK == 0 ? write_block(c, p, err) : BM_OK;
}

/* --- 2. end --- */

static bm_status read_hashes(const counting *k, size_t block, uint64_t *hashes, bm_error *err)
{
    return bm_spill_read(k->all->hash_file, k->part->blocks[block], hashes,
                         block_size(k->part, block) * sizeof *hashes, err);
}

static bm_status count_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    counting *k = ctx;
    for (size_t block = begin; block < end; block++) {
        uint64_t hashes[BLOCK];
        BM_TRY(read_hashes(k, block, hashes, err));
        bm_shingle_counts_add(&k->table, hashes, block_size(k->part, block), k->shared);
    }
    return BM_OK;
}

static bm_status look_up_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const counting *k = ctx;
    const bm_column *column = &k->all->column;
    for (size_t block = begin; block < end; block++) {
        uint64_t hashes[BLOCK];
        const size_t n = block_size(k->part, block);
        uint16_t *to = (uint16_t *)column->data + k->part->first + block * BLOCK;
        BM_TRY(read_hashes(k, block, hashes, err));
        for (size_t h = 0; h < n; h++)
            to[h] = (uint16_t)bm_shingle_counts_get(&k->table, hashes[h]);
        if (block % LEAVE == 0)
            bm_column_leave(column);
    }
    return BM_OK;
}

static bm_status count_part(counting *k, bm_pool *pool, bm_error *err)
{
    const bm_part_counts *c = k->all;
    const bm_pool_split blocks = {n_blocks(k->part), 1};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_shingle_counts_open(&k->table, c->table_bits - c->part_bits, err));
    BM_TRY_OUT(bm_pool_for(pool, blocks, count_blocks, k, err));
    status = bm_pool_for(pool, blocks, look_up_blocks, k, err);
out:
    bm_shingle_counts_reset(&k->table);
    return status;
}

/* Reserve space for all counts, and determine where the counts of each part begin. */
static bm_status make_column(bm_part_counts *c, bm_error *err)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_parts; i++) {
        c->parts[i].first = n;
        n += c->parts[i].n;
    }
    c->written = bm_spill_bytes(c->hash_file) + n * sizeof *c->counts;
    return bm_column_open_file(&c->column, (size_t)n * sizeof *c->counts, c->dir, err);
}

/* Close the file of hashes. Replace the buffers of hashes by buffers of counts. */
static bm_status begin_lookup(bm_part_counts *c, bm_error *err)
{
    bm_column_leave(&c->column);
    bm_spill_close(c->hash_file);
    bm_free(c->hashes);
    c->hash_file = NULL;
    c->hashes = NULL;
    BM_TRY(bm_new(&c->counts, c->n_parts * BLOCK, err));
    for (size_t i = 0; i < c->n_parts; i++)
        c->parts[i].counts = c->counts + i * BLOCK;
    return BM_OK;
}

/* End adding, and count all parts. BM_ERR_CANCELLED if the caller cancels. */
static bm_status part_counts_end(bm_part_counts *c, bm_pool *pool, bm_meter *meter, bm_error *err)
{
    counting k = {.all = c, .shared = bm_pool_size(pool) > 1};
    for (size_t i = 0; i < c->n_parts; i++) {
        if (c->parts[i].n % BLOCK != 0)
            BM_TRY(write_block(c, &c->parts[i], err));
    }
    BM_TRY(bm_spill_flush(c->hash_file, err));
    BM_TRY(make_column(c, err));
    for (size_t i = 0; i < c->n_parts; i++) {
        k.part = &c->parts[i];
        BM_TRY(bm_meter_check(meter, err));
        BM_TRY(count_part(&k, pool, err));
    }
    return begin_lookup(c, err);
}

/* --- 3. next --- */

/* Set *count to the count of a hash. Hashes must be passed in the order in which they were
 * added. */
static bm_status part_counts_next(bm_part_counts *c, uint64_t mixed, uint32_t *count, bm_error *err)
{
    part *p = &c->parts[mixed >> (64 - c->part_bits)];
    bm_status status = BM_OK;
    if (p->at % BLOCK == 0)
        status = bm_column_read_file(&c->column, p->counts,
                                     block_size(p, (size_t)(p->at / BLOCK)) * sizeof *p->counts,
                                     (p->first + p->at) * sizeof *p->counts, err);
    *count = status == BM_OK ? p->counts[p->at++ % BLOCK] : 0;
    return status;
}

/* === all pairs window ===
 *
 * Provides documents in order of size, but reads them from the file in order of their offsets.
 *
 *     positions   | 0 … 15 | 16 … 31 | …       documents by size; a window ends where a range ends
 *     reading     documents of the window by number, which is the order of their offsets
 *
 * If the sets do not fit into one window, the file is traversed once for each window, forward and
 * with gaps. All threads read. */

#define DOC_GRAIN 512u

static void set_window_reset(bm_set_window *w)
{
    bm_free_all(w->words, w->at, w->by_number);
    w->words = NULL;
    w->at = NULL;
    w->by_number = NULL;
    w->begin = w->end = w->cap_words = w->cap_docs = 0;
}

/* An upper bound for the bytes of a window that consists of one range: those of the last whole
 * range and of the documents after it. */
static uint64_t set_window_least(const bm_set_window *w)
{
    size_t most = 2 * BM_PREFIX_RANGE - 1, words = BM_PREFIX_RANGE;
    for (size_t i = 0; i < w->n && i < most; i++)
        words += bm_set_window_size(w, w->n - 1 - i);
    return words * sizeof *w->words + most * BM_SET_WINDOW_DOC;
}

/* Set *end to the end of the window that begins at w->begin. Returns the number of words that the
 * window needs. */
static size_t measure(bm_set_window *w, size_t *end)
{
    size_t words = 0;
    *end = w->begin;
    while (*end < w->n) {
        size_t next = w->n - *end < BM_PREFIX_RANGE ? w->n : *end + BM_PREFIX_RANGE;
        size_t more = BM_PREFIX_RANGE;
        for (size_t position = *end; position < next; position++)
            more += bm_set_window_size(w, position);
        uint64_t bytes =
            (uint64_t)(words + more) * sizeof *w->words + (next - w->begin) * BM_SET_WINDOW_DOC;
        if (*end > w->begin && bytes > w->most)
            break;
        words += more;
        *end = next;
    }
    return words;
}

/* Reserve arrays for a window. Nothing is copied, because the previous window is not needed any
 * more. */
static bm_status reserve_window(bm_set_window *w, size_t words, size_t docs, bm_error *err)
{
    if (words <= w->cap_words && docs <= w->cap_docs)
        return BM_OK;
    size_t begin = w->begin, end = w->end;
    set_window_reset(w);
    w->begin = begin;
    w->end = end;
    w->words = bm_alloc(words, sizeof *w->words);
    w->at = bm_alloc(docs, sizeof *w->at);
    w->by_number = bm_alloc(docs, 2 * sizeof *w->by_number);
    if (w->words == NULL || w->at == NULL || w->by_number == NULL)
        return bm_fail_nomem(err, words * sizeof *w->words + docs * BM_SET_WINDOW_DOC);
    w->cap_words = words;
    w->cap_docs = docs;
    return BM_OK;
}

static bm_status read_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const bm_set_window *w = ctx;
    bm_set_reader reader = {.corpus = w->corpus};
    bm_status status = BM_OK;
    for (size_t i = begin; i < end; i++) {
        size_t position = w->begin + (uint32_t)w->by_number[i];
        size_t len = bm_set_window_size(w, position) * sizeof(uint64_t);
        BM_TRY_OUT(bm_set_reader_copy(&reader, w->order[position], bm_set_window_set(w, position),
                                      len, err));
    }
out:
    bm_set_reader_reset(&reader);
    return status;
}

/* Read the next window. The first window begins at position 0. Set corpus, order, n, most and pool
 * before the first call. After the last window, returns BM_NOT_FOUND, without an error in *err; the
 * next call then begins at position 0 again. */
static bm_status set_window_next(bm_set_window *w, bm_error *err)
{
    size_t end, at = 0;
    w->begin = w->end;
    size_t words = measure(w, &end), n = end - w->begin;
    if (n == 0) {
        w->begin = w->end = 0;
        return BM_NOT_FOUND;
    }
    BM_TRY(reserve_window(w, words, n, err));
    w->end = end;
    for (size_t i = 0; i < n; i++) {
        at += i % BM_PREFIX_RANGE == 0 ? BM_PREFIX_RANGE : 0;
        w->at[i] = at;
        at += bm_set_window_size(w, w->begin + i);
        w->by_number[i] = (uint64_t)w->order[w->begin + i] << 32 | i;
    }
    bm_hashes_sort(w->by_number, n, w->by_number + w->cap_docs);
    w->corpus->sets.bytes_back +=
        (words - (n + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE * BM_PREFIX_RANGE) * sizeof *w->words;
    return bm_pool_for(w->pool, (bm_pool_split){n, DOC_GRAIN}, read_range, w, err);
}

/* === all pairs prefixes ===
 *
 * Makes prefixes from sets in two passes over the file of sets.
 *
 *     1. count       every shingle is counted in a table of 1 to 2 bytes a shingle; if that does
 *                    not fit into memory, part by part
 *     2. prefixes    each document's prefix overwrites its set in the window. Prefixes are written
 *                    in the order of sizes: a record for 16 documents, which an index and a search
 *                    read
 *
 *     window    [ 16 heads | set of 0 | set of 1 | … ][ 16 heads | set of 16 | … ]
 *     record    [ 16 heads | keys of 0 | keys of 1 | … ]        in the same memory
 *
 * In text, most shingles occur in only one document and have no key. So the file of prefixes is
 * small compared with the file of sets, and each block of the search reads only the file of
 * prefixes. Counts, prefixes and compared pairs are the same as if all sets were in memory.
 *
 * Memory besides the table: a window of sets, which takes an eighth of the given memory (within
 * fixed limits), and for each thread a buffer for the longest set. All threads read, count and cut
 * sets. */

#define PREFIXES_WRITE_BYTES ((size_t)256 << 10)
#define WINDOW_LEAST         ((uint64_t)256 << 10)
#define WINDOW_MOST          ((uint64_t)32 << 20)
#define PREFIXES_DOC_GRAIN   64u
#define RANGE_GRAIN          4u

typedef struct prefix_maker {
    const set_prefixes_job *job;
    set_prefixes *out;
    bm_set_window window;
    bm_shingle_counts table; /* all counters, if they fit into memory */
    bm_part_counts *parts;   /* otherwise the counters, in parts; NULL: `table` is used */
    size_t longest;
    uint64_t n_shingles;
    bool shared;
} prefix_maker;

/* --- dividing the memory --- */

static uint64_t order_bytes(const prefix_maker *m)
{
    return (uint64_t)m->job->corpus->n * sizeof *m->out->order +
           m->out->n / BM_PREFIX_RANGE * (sizeof *m->out->offsets + sizeof *m->out->n_keys);
}

/* Bytes that are needed in addition to the counters. */
static uint64_t fixed_bytes(const prefix_maker *m)
{
    uint64_t largest = set_window_least(&m->window);
    uint64_t window = m->window.most > largest ? m->window.most : largest;
    uint64_t sorting = (uint64_t)m->job->corpus->n * 2 * sizeof(uint64_t);
    uint64_t making_them =
        window + m->longest * sizeof(uint64_t) * bm_pool_size(m->job->pool) + PREFIXES_WRITE_BYTES;
    return order_bytes(m) + (sorting > making_them ? sorting : making_them);
}

/* Choose how to count: in one table if it fits into memory, otherwise in the fewest parts that
 * suffice. */
static bm_status share_memory(prefix_maker *m, unsigned *table_bits, bm_error *err)
{
    uint64_t memory = m->job->memory;
    m->window.most = memory / 8 < WINDOW_LEAST ? WINDOW_LEAST : memory / 8;
    if (memory == 0 || m->window.most > WINDOW_MOST)
        m->window.most = WINDOW_MOST;
    *table_bits = bm_shingle_counts_bits(m->n_shingles);
    uint64_t fixed = fixed_bytes(m), least = UINT64_MAX;
    for (unsigned bits = 0; bits <= BM_PART_BITS_MAX; bits++) {
        uint64_t bytes = fixed + (bits == 0 ? bm_shingle_counts_bytes(*table_bits)
                                            : part_counts_bytes(m->n_shingles, *table_bits, bits));
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
    prefix_maker *m = ctx;
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

static bm_status add_to_parts(prefix_maker *m, bm_error *err)
{
    const bm_set_window *w = &m->window;
    for (size_t position = w->begin; position < w->end; position++) {
        const uint64_t *set = bm_set_window_set(w, position);
        size_t n = bm_set_window_size(w, position);
        for (size_t i = 0; i < n; i++)
            BM_TRY(part_counts_add(m->parts, bm_shingle_mix(set[i]), err));
    }
    return BM_OK;
}

static bm_status count_window(prefix_maker *m, bm_error *err)
{
    if (m->parts != NULL)
        return add_to_parts(m, err);
    return bm_pool_for(m->job->pool,
                       (bm_pool_split){m->window.end - m->window.begin, PREFIXES_DOC_GRAIN},
                       count_range, m, err);
}

/* --- 2. prefixes --- */

/* If shingles are counted by parts, overwrite each set with its keys, and store their number in the
 * head of the set. */
static bm_status make_keys(prefix_maker *m, bm_error *err)
{
    const bm_set_window *w = &m->window;
    for (size_t position = w->begin; position < w->end; position++) {
        uint64_t *set = bm_set_window_set(w, position);
        size_t n = bm_set_window_size(w, position), n_keys = 0;
        size_t in_range = position % BM_PREFIX_RANGE;
        for (size_t i = 0; i < n; i++) {
            uint64_t mixed = bm_shingle_mix(set[i]);
            uint32_t count;
            BM_TRY(part_counts_next(m->parts, mixed, &count, err));
            set[n_keys] = bm_rare_key(mixed, count);
            n_keys += count > 1;
        }
        (bm_set_window_set(w, position - in_range) - BM_PREFIX_RANGE)[in_range] = n_keys;
    }
    return BM_OK;
}

/* Overwrite the sets of a range with its record. Returns the number of keys in the record. */
static size_t cut_range(const prefix_maker *m, size_t first, uint64_t *scratch)
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
            bm_rare_prefix_buffers room = {.keys = set, .scratch = scratch};
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
    prefix_maker *m = ctx;
    uint64_t *scratch = NULL;
    BM_TRY(bm_new(&scratch, m->longest, err));
    for (size_t i = begin; i < end; i++) {
        size_t first = m->window.begin + i * BM_PREFIX_RANGE;
        m->out->n_keys[first / BM_PREFIX_RANGE] = (uint32_t)cut_range(m, first, scratch);
    }
    bm_free(scratch);
    return BM_OK;
}

static bm_status write_window(prefix_maker *m, bm_error *err)
{
    const bm_set_window *w = &m->window;
    set_prefixes *out = m->out;
    size_t n_ranges = (w->end - w->begin + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE;
    if (m->parts != NULL)
        BM_TRY(make_keys(m, err));
    BM_TRY(bm_pool_for(m->job->pool, (bm_pool_split){n_ranges, RANGE_GRAIN}, cut_ranges, m, err));
    for (size_t i = 0; i < n_ranges; i++) {
        size_t first = w->begin + i * BM_PREFIX_RANGE, range = first / BM_PREFIX_RANGE;
        size_t n_keys = out->n_keys[range];
        out->store.most = n_keys > out->store.most ? n_keys : out->store.most;
        BM_TRY(bm_spill_add(out->file, bm_set_window_set(w, first) - BM_PREFIX_RANGE,
                            (BM_PREFIX_RANGE + n_keys) * sizeof(uint64_t), &out->offsets[range],
                            err));
    }
    return BM_OK;
}

/* --- both passes --- */

static bm_status each_window(prefix_maker *m, bm_status (*fn)(prefix_maker *, bm_error *),
                             bm_error *err)
{
    bm_status status = BM_OK;
    for (;;) {
        BM_TRY_OUT(bm_meter_check(m->job->meter, err));
        BM_TRY_OUT(set_window_next(&m->window, err));
        BM_TRY_OUT(fn(m, err));
        bm_meter_progress(m->job->meter, m->window.end, m->out->n, m->window.end);
    }
out:
    return status == BM_NOT_FOUND ? BM_OK : status;
}

static bm_status read_record(void *ctx, size_t range, uint64_t *record, bm_error *err)
{
    const set_prefixes *p = ctx;
    return bm_spill_read(p->file, p->offsets[range], record,
                         (BM_PREFIX_RANGE + (size_t)p->n_keys[range]) * sizeof *record, err);
}

static bm_status count_all(prefix_maker *m, unsigned table_bits, bm_error *err)
{
    const char *dir = m->job->corpus->cfg.temp_dir;
    unsigned part_bits = m->out->part_bits;
    if (part_bits == 0) {
        BM_TRY(bm_shingle_counts_open(&m->table, table_bits, err));
        return each_window(m, count_window, err);
    }
    BM_TRY(bm_spill_check_space(dir, m->n_shingles * (sizeof(uint64_t) + sizeof(uint16_t)), err));
    BM_TRY(part_counts_open(dir, table_bits, part_bits, &m->parts, err));
    BM_TRY(each_window(m, count_window, err));
    return part_counts_end(m->parts, m->job->pool, m->job->meter, err);
}

/* Make the order of documents, and the arrays for ranges. */
static bm_status begin(prefix_maker *m, bm_error *err)
{
    set_prefixes *out = m->out;
    const bm_corpus *corpus = m->job->corpus;
    bm_set_list sets = {.sizes = corpus->sizes, .skip = corpus->skip, .n_docs = corpus->n};
    BM_TRY(bm_new(&out->order, corpus->n, err));
    BM_TRY(bm_order_by_size(&sets, out->order, &out->n, err));
    size_t n_ranges = (out->n + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE;
    BM_TRY(bm_new(&out->offsets, n_ranges, err));
    BM_TRY(bm_new(&out->n_keys, n_ranges, err));
    for (size_t i = 0; i < out->n; i++)
        m->n_shingles += corpus->sizes[out->order[i]];
    m->longest = out->n == 0 ? 0 : corpus->sizes[out->order[out->n - 1]];
    m->window.order = out->order;
    m->window.n = out->n;
    out->store = (bm_prefix_store){.read = read_record, .ctx = out, .n_keys = out->n_keys};
    return BM_OK;
}

/* Make the prefixes. They do not depend on the memory or the pool. `out` must not move while it is
 * used. BM_ERR_NOMEM: `memory` is too little; the message names the least that suffices. BM_ERR_IO,
 * BM_ERR_FORMAT, BM_ERR_CANCELLED. The stages are "count" and "prefixes", their unit is
 * "documents". */
static bm_status set_prefixes_make(const set_prefixes_job *job, set_prefixes *out, bm_error *err)
{
    *out = (set_prefixes){0};
    prefix_maker m = {.job = job,
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
    BM_TRY_OUT(bm_spill_open(job->corpus->cfg.temp_dir, BM_SPILL_PREFIXES, PREFIXES_WRITE_BYTES,
                             &out->file, err));
    BM_TRY_OUT(each_window(&m, write_window, err));
    BM_TRY_OUT(bm_spill_flush(out->file, err));
    out->bytes_held = order_bytes(&m);
    out->bytes_written = bm_spill_bytes(out->file);
    out->bytes_written += m.parts != NULL ? part_counts_written(m.parts) : 0;
out:
    part_counts_close(m.parts);
    bm_shingle_counts_reset(&m.table);
    set_window_reset(&m.window);
    return status;
}

static void set_prefixes_reset(set_prefixes *p)
{
    bm_spill_close(p->file);
    bm_free_all(p->order, p->offsets, p->n_keys);
    *p = (set_prefixes){0};
}

/* === match every pair ===
 *
 * Compares each document with all others, in squares of 256 times 256 documents.
 *
 *            b ->
 *     a   [ 0,0 ][ 0,1 ][ 0,2 ]       a square needs the sets of at most 512 documents, so sets in
 *                [ 1,1 ][ 1,2 ]       a file are read n / 256 times
 *                       [ 2,2 ]
 *
 * No pair can be skipped, because each pair is a row of the result. Writing rows takes most of the
 * time. */

#define SIDE 256u /* documents on one side of a square */

/* The documents that are compared, in input order. */
typedef struct compared {
    uint32_t *docs;
    size_t n;
    bm_pair *pairs; /* scratch memory for the pairs of a square */
} compared;

static bm_status compare_square(bm_match *match, compared *c, size_t first_a, size_t first_b,
                                bm_error *err)
{
    const size_t end_a = c->n - first_a < SIDE ? c->n : first_a + SIDE;
    const size_t end_b = c->n - first_b < SIDE ? c->n : first_b + SIDE;
    size_t n = 0;
    for (size_t a = first_a; a < end_a; a++)
        for (size_t b = a < first_b ? first_b : a + 1; b < end_b; b++)
            c->pairs[n++] = (bm_pair){.a = c->docs[a], .b = c->docs[b]};
    return bm_edges_compare(match, c->pairs, n, err);
}

bm_status bm_match_every_pair(bm_match *match, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    bm_meter *meter = match->settings.meter;
    compared c = {0};
    bm_status status = BM_OK;
    bm_meter_stage(meter, "compare", "documents");
    BM_TRY_OUT(bm_new(&c.docs, corpus->n, err));
    BM_TRY_OUT(bm_new(&c.pairs, (size_t)SIDE * SIDE, err));
    for (size_t i = 0; i < corpus->n; i++)
        if (!corpus->skip[i] && corpus->sizes[i] > 0)
            c.docs[c.n++] = (uint32_t)i;
    for (size_t a = 0; a < c.n; a += SIDE) {
        for (size_t b = a; b < c.n; b += SIDE)
            BM_TRY_OUT(compare_square(match, &c, a, b, err));
        bm_meter_progress(meter, a, c.n, a);
    }
out:
    bm_free_all(c.docs, c.pairs);
    return status;
}

/* if possible, the search gets so many bytes more than its minimum */
#define ROOM_LEAST ((uint64_t)1 << 20)

/* How many of `left` bytes the search may use. This is half, because edges will need the rest. The
 * search gets more only if half is too little for it. */
static uint64_t share_of(uint64_t left, const bm_all_pairs_job *job)
{
    uint64_t least = bm_all_pairs_least(job) + ROOM_LEAST;
    if (left / 2 >= least)
        return left / 2;
    return left < least ? left : least;
}

/* If memory is limited, and sets leave little of it for an index, move sets to a file. If the index
 * has less than an eighth of the sets' size, it needs so many blocks that reading sets back costs
 * less. */
static bm_status move_sets(bm_corpus *corpus, const bm_all_pairs_job *job, bm_error *err)
{
    uint64_t wanted = bm_all_pairs_least(job) + corpus->sets.bytes / 8;
    if (corpus->cfg.memory == 0 || corpus->cfg.temp_dir == NULL ||
        bm_corpus_matching_bytes(corpus) / 2 >= wanted)
        return BM_OK;
    return bm_corpus_sets_to_file(corpus, err);
}

static bm_status search(bm_match *match, const bm_all_pairs_job *job, bm_error *err)
{
    bm_all_pairs_stats stats = {0};
    bm_meter_stage(match->settings.meter, "compare", "documents");
    BM_TRY(bm_all_pairs(job, &stats, err));
    match->result.counts.candidates = match->result.counts.verified = stats.n_compared;
    if (stats.n_blocks > 1)
        bm_meter_log(match->settings.meter, BM_LOG_INFO,
                     "documents were compared through %llu indexes, one after another, to stay "
                     "within `memory`",
                     (unsigned long long)stats.n_blocks);
    return BM_OK;
}

static bm_status match_in_memory(bm_match *match, bm_all_pairs_job *job, bm_error *err)
{
    job->docs = (const uint64_t *const *)match->settings.corpus->sets.places;
    job->fn = bm_edges_found;
    job->memory = share_of(bm_corpus_matching_bytes(match->settings.corpus), job);
    BM_TRY(bm_corpus_sort_all(match->settings.corpus, match->settings.pool, err));
    return search(match, job, err);
}

static bm_status match_in_file(bm_match *match, bm_all_pairs_job *job, bm_error *err)
{
    set_prefixes prefixes;
    uint64_t left = bm_corpus_matching_bytes(match->settings.corpus);
    set_prefixes_job making = {.corpus = match->settings.corpus,
                               .rule = job->rule,
                               .memory = left,
                               .pool = match->settings.pool,
                               .meter = match->settings.meter};
    bm_status status = BM_OK;
    BM_TRY_OUT(set_prefixes_make(&making, &prefixes, err));
    bm_meter_log(match->settings.meter, BM_LOG_DEBUG,
                 "prefixes of all documents: %llu MiB of temporary files, counted in %u parts",
                 (unsigned long long)(prefixes.bytes_written >> 20) + 1, 1u << prefixes.part_bits);
    job->store = &prefixes.store;
    job->order = prefixes.order;
    job->n_order = prefixes.n;
    job->memory = left == 0 ? 0 : share_of(left - prefixes.bytes_held, job);
    job->fn = bm_edges_compare;
    status = search(match, job, err);
out:
    set_prefixes_reset(&prefixes);
    return status;
}

bm_status bm_match_all_pairs(bm_match *match, const bm_callbacks *callbacks, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    bm_all_pairs_job job = {.sizes = corpus->sizes,
                            .skip = corpus->skip,
                            .n_docs = corpus->n,
                            .rule = {match->settings.measure, match->settings.threshold},
                            .pool = match->settings.pool,
                            .ctx = match,
                            .callbacks = callbacks};
    BM_TRY(move_sets(match->settings.corpus, &job, err));
    return bm_corpus_sets_in_file(corpus) ? match_in_file(match, &job, err)
                                          : match_in_memory(match, &job, err);
}
