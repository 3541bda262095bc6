/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest_columns.c -- a table in memory, run through the whole ingest, gives the same
 * documents and shingles as the same texts in a file of records, for any number of threads and any
 * batch size. */
#include "sources/batch_sources.h"
#include "input/input_set.h"
#include "sources/source_columns.h"
#include "sign/ingest.h"
#include "tests/world/scratch.h"
#include "tests/unit/sources/arrow_table.h"
#include "tests/world/world_calls.h"

#define N_ARRAYS 150u
#define N_DOCS   (N_ARRAYS * TEST_ROWS_MAX)

typedef struct result {
    bm_status status;
    bm_error err;
    bm_doc_table docs;
    bm_counts counts;
    uint64_t sum; /* of all shingle hashes, in order */
} result;

static bm_status add_hashes(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                            bm_error *err)
{
    (void)first_row;
    (void)err;
    result *out = ctx;
    for (size_t i = 0; i < bm_shingle_batch_hashes(&batch->shingles); i++)
        out->sum = out->sum * 31 + batch->shingles.hashes[i];
    return BM_OK;
}

typedef struct how {
    uint32_t threads, batch_docs;
    uint64_t skip;
} how;

static void run(bm_batch_source *source, const bm_input_options *input, how h, result *out)
{
    const bm_text_options text = {.normalize = BM_NORM_LOWER, .shingle_k = 2};
    const bm_callbacks none = {0};
    bm_meter meter;
    *out = (result){0};
    bm_meter_init(&meter, &none);
    bm_ingest_cfg cfg = {.source = source,
                         .input = input,
                         .text = &text,
                         .threads = h.threads,
                         .batch_docs = h.batch_docs,
                         .skip_records = h.skip,
                         .meter = &meter,
                         .docs = &out->docs,
                         .counts = &out->counts,
                         .sink = {.place = add_hashes, .ctx = out}};
    out->status = bm_ingest_run(&cfg, &out->err);
    bm_meter_reset(&meter);
}

static void check_same(const result *a, const result *b)
{
    cr_assert_eq(a->status, BM_OK, "%s", a->err.message);
    cr_assert_eq(a->docs.n, b->docs.n);
    cr_assert_eq(a->sum, b->sum);
    cr_assert_eq(a->counts.shingles, b->counts.shingles);
    cr_assert_eq(a->counts.empty, b->counts.empty);
    cr_assert_eq(a->counts.invalid_utf8, b->counts.invalid_utf8);
    for (size_t i = 0; i < a->docs.n; i++) {
        bm_str x = bm_doc_table_id(&a->docs, i), y = bm_doc_table_id(&b->docs, i);
        cr_assert(x.len == y.len && memcmp(x.data, y.data, x.len) == 0);
        cr_assert_eq(a->docs.rows[i].text_bytes, b->docs.rows[i].text_bytes);
        cr_assert_eq(a->docs.rows[i].line, b->docs.rows[i].line);
        cr_assert_eq(a->docs.rows[i].n_shingles, b->docs.rows[i].n_shingles);
    }
}

/* Every text contains its number; one in seven is empty, one in eleven has an invalid byte. */
static void make(test_array *arrays, char (*texts)[80], char **jsonl)
{
    char *at = *jsonl = malloc(N_DOCS * 120);
    for (size_t i = 0; i < N_DOCS; i++) {
        test_array *array = &arrays[i / TEST_ROWS_MAX];
        const bool empty = i % 7 == 3;
        texts[i][0] = '\0';
        if (!empty)
            snprintf(texts[i], sizeof texts[i], "The cat number %zu sat on mat %zu%s", i, i % 10,
                     i % 11 == 5 ? "\xFE" : "");
        array->n_rows = TEST_ROWS_MAX;
        array->lead = i / TEST_ROWS_MAX % 3;
        array->columns[0].name = "id";
        array->columns[0].format = "l";
        array->columns[0].cells[i % TEST_ROWS_MAX].number = (int64_t)i;
        array->columns[1].name = "text";
        array->columns[1].format = "u";
        array->columns[1].cells[i % TEST_ROWS_MAX].text = empty ? NULL : texts[i];
        at += sprintf(at, "{\"id\":%zu,\"text\":\"%s\"}\n", i, texts[i]);
    }
}

Test(ingest_columns, a_table_in_memory_is_what_its_records_are)
{
    SCRATCH dir = scratch_open();
    test_array *arrays = calloc(N_ARRAYS, sizeof *arrays);
    char(*texts)[80] = calloc(N_DOCS, sizeof *texts), *jsonl;
    make(arrays, texts, &jsonl);
    scratch_put_text(&dir, "in.jsonl", jsonl);
    const char *paths[] = {scratch_at(&dir, "in.jsonl")};
    bm_input_options o = {.paths = paths, .n_paths = 1, .max_errors = UINT64_MAX};
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    bm_batch_source *records = world_open(bm_batch_source, set);
    static const uint32_t threads[] = {1, 2, 8}, batches[] = {0, 3, 100};
    for (size_t c = 0; c < 9; c++) {
        result right, got;
        atomic_int alive = 0;
        uint64_t skip = c * 250;
        struct ArrowArrayStream stream = test_stream(arrays, N_ARRAYS, 2, &alive);
        bm_input_options of_table = o;
        bm_input_set *tables = NULL;
        of_table.format = BM_FORMAT_ARROW;
        of_table.stream = &stream;
        cr_assert_eq(bm_input_set_open_stream(&of_table, "t", &tables, NULL), BM_OK);
        bm_batch_source *table = world_open(bm_batch_source, tables);
        run(records, &o, (how){2, 0, skip}, &right);
        run(table, &o, (how){threads[c / 3], batches[c % 3], skip}, &got);
        cr_assert_eq(got.docs.n, N_DOCS - skip);
        check_same(&got, &right);
        cr_assert_gt(got.sum, 0);
        bm_batch_source_close(table);
        bm_input_set_close(tables);
        cr_assert_eq(atomic_load(&alive), 0);
        bm_doc_table_reset(&right.docs);
        bm_doc_table_reset(&got.docs);
    }
    bm_batch_source_close(records);
    bm_input_set_close(set);
    free(arrays);
    free(texts);
    free(jsonl);
}
