/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of table files, compared with the rows of the same files in order: for any number of
 * threads, for ranges that can be read in parallel, cannot be read, or are too long. */
#include "sources/source_columns.c"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/input/read_records.h"
#include "tests/world/world_calls.h"
#include "arrow_table.h"
#include "base/memory.h"

#define ROWS        103u /* rows per file */
#define RANGE_ROWS  7u
#define LONG_BYTES  3000u
#define BATCHES_MAX 4096u

/* The kinds of a file's ranges, repeated in turn. */
typedef enum kind { GOOD, IN_ORDER, UNREADABLE, LONG, ENDLESS } kind;

/* A file: its stream, and its ranges. */
typedef struct fake {
    const kind *kinds;
    size_t n_kinds;
    uint64_t at, end;   /* next row and end of the stream */
    uint64_t broken_at; /* the stream fails at this row */
    atomic_int *alive;
} fake;

static kind kind_of(const fake *f, uint64_t row)
{
    return f->kinds[row / RANGE_ROWS % f->n_kinds];
}

static size_t text_of(const fake *f, uint64_t row, char *out)
{
    const bool is_long = kind_of(f, row) == LONG && row % RANGE_ROWS == 2;
    const int len = snprintf(out, LONG_BYTES + 32, "text %u", (unsigned)row);
    if (!is_long)
        return (size_t)len;
    memset(out + len, 'x', LONG_BYTES);
    return (size_t)len + LONG_BYTES;
}

static struct ArrowArray make_array(const fake *f, uint64_t row, uint64_t n)
{
    struct ArrowArray out = {.length = (int64_t)n,
                             .n_buffers = 1,
                             .n_children = 1,
                             .release = test_release_array,
                             .private_data = f->alive};
    struct ArrowArray *texts = calloc(1, sizeof *texts);
    int32_t *offsets = calloc(n + 1, sizeof *offsets);
    char *bytes = malloc(n * (LONG_BYTES + 32));
    for (uint64_t i = 0; i < n; i++)
        offsets[i + 1] = offsets[i] + (int32_t)text_of(f, row + i, bytes + offsets[i]);
    *texts = (struct ArrowArray){.length = (int64_t)n, .n_buffers = 3};
    texts->buffers = calloc(3, sizeof *texts->buffers);
    texts->buffers[1] = offsets;
    texts->buffers[2] = bytes;
    out.buffers = calloc(1, sizeof *out.buffers);
    out.children = calloc(1, sizeof *out.children);
    out.children[0] = texts;
    atomic_fetch_add(f->alive, 1);
    return out;
}

/* --- the stream of a fake file --- */

static int fake_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    static const test_array text = {.columns = {{.name = "text", .format = "u"}}};
    const fake *f = stream->private_data;
    test_table table = {.n_columns = 1, .n_arrays = 1, .arrays = &text, .alive = f->alive};
    struct ArrowArrayStream of = {.private_data = &table};
    return test_get_schema(&of, out);
}

static int fake_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    fake *f = stream->private_data;
    const uint64_t end = f->end < ROWS ? f->end : ROWS, n = end - f->at < 3 ? end - f->at : 3;
    if (n > 0 && f->at + n > f->broken_at)
        return EIO;
    *out = n > 0 ? make_array(f, f->at, n) : (struct ArrowArray){0};
    f->at += n;
    return 0;
}

static const char *fake_error(struct ArrowArrayStream *stream)
{
    static _Thread_local char words[64];
    const fake *f = stream->private_data;
    snprintf(words, sizeof words, "broken behind row %u", (unsigned)f->at);
    return words;
}

static void fake_release(struct ArrowArrayStream *stream)
{
    atomic_fetch_sub(((fake *)stream->private_data)->alive, 1);
    stream->release = NULL;
}

/* --- the ranges of a fake file --- */

static bm_table_range range_next(void *own, uint64_t row)
{
    fake *f = own;
    const uint64_t n = ROWS - row < RANGE_ROWS ? ROWS - row : RANGE_ROWS;
    if (n == 0)
        return (bm_table_range){.row = row};
    if (kind_of(f, row) != IN_ORDER)
        atomic_fetch_add(f->alive, 1);
    cr_assert_eq(row % RANGE_ROWS, 0);
    return (bm_table_range){row, n, 30, kind_of(f, row) == IN_ORDER ? NULL : f->alive};
}

static bm_status range_read(void *own, const bm_table_range *range, struct ArrowArray *out)
{
    const fake *f = own;
    if (kind_of(f, range->row) == UNREADABLE)
        return BM_ERR_INPUT;
    *out = make_array(f, range->row, range->n_rows - (kind_of(f, range->row) == ENDLESS));
    return BM_OK;
}

static void range_drop(bm_table_range *range)
{
    atomic_fetch_sub((atomic_int *)range->own, 1);
}

static void range_seek(void *own, uint64_t row, uint64_t end)
{
    fake *f = own;
    f->at = row;
    f->end = end;
}

static void cut_release(void *own)
{
    fake *f = own;
    atomic_fetch_sub(f->alive, 1);
    free(f);
}

static bm_status open_file(void *ctx, const bm_table_asked *asked, struct ArrowArrayStream *out,
                           bm_error *err)
{
    (void)err;
    fake *f = malloc(sizeof *f);
    *f = *(const fake *)ctx;
    f->at = 0;
    f->end = UINT64_MAX;
    atomic_fetch_add(f->alive, 2);
    *out = (struct ArrowArrayStream){fake_schema, fake_next, fake_error, fake_release, f};
    cr_assert(asked->range_bytes > 0 && asked->cut->own == NULL);
    *asked->cut = (bm_table_cut){f, range_next, range_read, range_drop, range_seek, cut_release};
    return BM_OK;
}

/* --- threads that read a fake file --- */

typedef struct reading {
    bm_batch_source *source;
    const fake *f;
    pthread_mutex_t lock;
    size_t n;
    bool ended;
    struct {
        uint32_t file;
        uint64_t first, n;
        bool right;
    } batches[BATCHES_MAX];
    bm_error err;
} reading;

typedef struct watched {
    const reading *r;
    size_t batch;
} watched;

static bm_status on_record(void *ctx, const bm_record *row, bm_error *err)
{
    (void)err;
    char text[LONG_BYTES + 32];
    const watched *w = ctx;
    reading *r = (reading *)w->r;
    const size_t len = text_of(r->f, row->line - 1, text);
    if (r->batches[w->batch].n == 0)
        r->batches[w->batch].first = row->line;
    r->batches[w->batch].file = row->file;
    r->batches[w->batch].right = r->batches[w->batch].right && !row->bad && row->text.len == len &&
                                 memcmp(row->text.data, text, len) == 0 &&
                                 row->line == r->batches[w->batch].first + r->batches[w->batch].n;
    r->batches[w->batch].n++;
    return BM_OK;
}

static void *read_batches(void *ctx)
{
    reading *r = ctx;
    bm_error err = {0};
    bm_batch_parser *parser = world_open(bm_batch_parser, r->source);
    for (;;) {
        bm_batch_next next = {0};
        double in_turn = 0;
        pthread_mutex_lock(&r->lock);
        if (!r->ended && bm_batch_source_next(r->source, &next, &err) != BM_OK)
            r->err = err;
        r->ended = r->ended || next.batch == NULL;
        watched w = {r, r->n};
        r->n += next.batch != NULL;
        pthread_mutex_unlock(&r->lock);
        if (next.batch == NULL)
            break;
        cr_assert_lt(w.batch, BATCHES_MAX);
        r->batches[w.batch].right = true;
        cr_assert_eq(bm_batch_source_fill(r->source, next.batch, &in_turn, NULL), BM_OK);
        cr_assert_eq(bm_batch_parser_run(parser, next.batch, on_record, &w, NULL), BM_OK);
        bm_batch_source_free_batch(r->source, next.batch);
    }
    bm_batch_parser_close(parser);
    return NULL;
}

/* Reads two such files; returns the number of rows before the first failure, after comparing them.
 */
static uint64_t read_both(const fake *like, unsigned n_threads, uint32_t docs, bm_error *err)
{
    SCRATCH dir = scratch_open();
    const char *a = scratch_put(&dir, "a.table", "1234", 4),
               *b = scratch_put(&dir, "b.table", "567", 3);
    const char *paths[] = {a, b};
    bm_input_options o = test_options(paths, 2, BM_FORMAT_FILES);
    reading r = {.f = like};
    pthread_t threads[8];
    const bm_batch_limits limits = {.bytes = 20, .range_bytes = 600, .docs = docs, .helped = true};
    const bm_arrow_column_provider provider = {
        .ctx = (void *)like, .name = "tables", .open = open_file};
    pthread_mutex_init(&r.lock, NULL);
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    cr_assert_eq(columns_open_files(set, &provider, &r.source, NULL), BM_OK);
    cr_assert_eq(bm_batch_source_begin(r.source, &limits, 0, NULL), BM_OK);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_create(&threads[i], NULL, read_batches, &r);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    uint64_t rows = 0;
    for (size_t i = 0; i < r.n; i++) {
        if (r.batches[i].n == 0)
            continue;
        cr_assert(r.batches[i].right, "batch %zu", i);
        cr_assert_eq(r.batches[i].file * ROWS + r.batches[i].first - 1, rows, "batch %zu", i);
        cr_assert(docs == 0 || r.batches[i].n <= docs);
        rows += r.batches[i].n;
    }
    *err = r.err;
    if (err->status == BM_OK)
        cr_assert_eq(
            bm_input_set_source(set, 0)->bytes_read + bm_input_set_source(set, 1)->bytes_read, 7);
    bm_batch_source_close(r.source);
    cr_assert_eq(atomic_load(like->alive), 0);
    bm_input_set_close(set);
    pthread_mutex_destroy(&r.lock);
    return rows;
}

static const kind all_good[] = {GOOD}, some_whole[] = {GOOD, GOOD, IN_ORDER, GOOD},
                  some_long[] = {GOOD, LONG, GOOD, GOOD, LONG, LONG},
                  mixed[] = {GOOD, GOOD, UNREADABLE, IN_ORDER, LONG, GOOD},
                  ends_before[] = {GOOD, GOOD, GOOD, ENDLESS}, none[] = {IN_ORDER};
static const struct {
    const kind *kinds;
    size_t n;
} ways[] = {{all_good, 1}, {some_whole, 4},  {some_long, 6},
            {mixed, 6},    {ends_before, 4}, {none, 1}};

Test(table_ranges, all_rows_come_in_order_whatever_is_read_beside_others)
{
    static const unsigned n_threads[] = {1, 2, 3, 8};
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
        for (size_t t = 0; t < 4; t++)
            for (uint32_t docs = 0; docs < 6; docs += 5) {
                atomic_int alive = 0;
                const fake like = {.kinds = ways[way].kinds,
                                   .n_kinds = ways[way].n,
                                   .broken_at = UINT64_MAX,
                                   .alive = &alive};
                bm_error err;
                cr_assert_eq(read_both(&like, n_threads[t], docs, &err), 2 * (uint64_t)ROWS,
                             "way %zu, %u threads: %s", way, n_threads[t], err.message);
                cr_assert_eq(err.status, BM_OK, "%s", err.message);
            }
}

Test(table_ranges, what_breaks_ends_the_rows_at_the_same_place_with_any_number_of_threads)
{
    static const kind broken[] = {GOOD, GOOD, GOOD, GOOD, GOOD, UNREADABLE, GOOD, LONG, GOOD, GOOD};
    for (unsigned n_threads = 1; n_threads <= 8; n_threads++) {
        atomic_int alive = 0;
        const fake like = {.kinds = broken, .n_kinds = 10, .broken_at = 40, .alive = &alive};
        bm_error err;
        cr_assert_eq(read_both(&like, n_threads, 0, &err), 38);
        cr_assert_eq(err.status, BM_ERR_INPUT);
        cr_assert(strstr(err.file, "a.table") != NULL &&
                      strstr(err.message, "broken behind row 38") != NULL,
                  "%s", err.message);
    }
}
