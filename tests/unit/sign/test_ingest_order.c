/* test_ingest_order.c -- each batch is put once, behind the sink; of failures the first in input
 * order counts, whichever comes first; between two batches nothing is in flight, nor while places
 * move, which is asked once the document table has the batch. The thread of a device delivers and
 * puts nothing. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/input_set.h"
#include "sources/batch_sources.h"
#include "sign/ingest.h"
#include "tests/unit/base/scratch.h"

#define N_DOCS 200u
#define NEVER  UINT64_MAX

typedef struct run {
    uint64_t put_fails;  /* rows from this one on cannot be put */
    uint64_t sink_fails; /* nor do rows from this one on go to the sink */
    uint64_t pauses_at;  /* behind so many rows, again and again; 0: never */
    size_t sunk, paused_at;
    unsigned n_pauses, n_moves;
    const bm_doc_table *docs;
    bool device; /* one signs, and its thread is to do nothing else */
    pthread_t device_thread;
    bool moving; /* places, under the batch that comes to the sink now */
    atomic_uint n_put[N_DOCS];
    atomic_bool missing;
} run;

/* Each document before `row` is put, and none behind. */
static void check_put(run *r, size_t row)
{
    for (size_t i = 0; i < N_DOCS; i++)
        if (atomic_load(&r->n_put[i]) != (i < row))
            atomic_store(&r->missing, true);
}

static void check_thread(run *r)
{
    if (r->device && pthread_equal(pthread_self(), r->device_thread))
        atomic_store(&r->missing, true);
}

static bool moves(void *ctx, const bm_ingest_batch *batch)
{
    run *r = ctx;
    if (r->docs->n != r->sunk + batch->n_docs)
        atomic_store(&r->missing, true);
    r->moving = r->sunk % 5 == 0;
    r->n_moves += r->moving;
    return r->moving;
}

static bm_status sink(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    run *r = ctx;
    check_thread(r);
    if (first_row >= r->sink_fails)
        return bm_fail(err, BM_ERR_IO, "sink %zu", first_row);
    if (r->moving)
        check_put(r, first_row);
    r->sunk = first_row + batch->n_docs;
    return BM_OK;
}

static bm_status put(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    run *r = ctx;
    check_thread(r);
    if (first_row % 3 == 0) /* so that others overtake it */
        for (volatile unsigned i = 0; i < 20000; i++)
            ;
    if (first_row >= r->put_fails)
        return bm_fail(err, BM_ERR_IO, "put %zu", first_row);
    for (size_t i = 0; i < batch->n_docs; i++)
        atomic_fetch_add(&r->n_put[first_row + i], 1);
    return BM_OK;
}

static bool is_due(void *ctx)
{
    const run *r = ctx;
    return r->pauses_at != 0 && r->sunk >= r->paused_at + r->pauses_at;
}

static void pause_here(void *ctx)
{
    run *r = ctx;
    r->paused_at = r->sunk;
    r->n_pauses++;
    check_put(r, r->sunk);
}

/* A device that is the native CPU. */
typedef struct plain_device {
    bm_backend base;
    bm_device_set *set;
    run *r;
} plain_device;

static bm_status submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    plain_device *device = (plain_device *)backend;
    device->r->device_thread = pthread_self();
    return bm_device_set_sign_cpu(device->set, task, err);
}

static bm_status ended(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    (void)backend, (void)task, (void)err;
    return BM_OK;
}

static void closed(bm_backend *backend)
{
    (void)backend;
}

static const bm_backend_ops plain_ops = {.submit = submit, .wait = ended, .close = closed};

static void open_device(run *r, bm_meter *meter, plain_device *device, bm_device_set *set)
{
    bm_device_info cpu = {.kind = BM_DEVICE_NATIVE};
    const bm_device_pick pick = {.devices = &cpu, .n = 1};
    const bm_device_set_cfg cfg = {.pick = &pick,
                                   .sketch = {.perms = 8, .seed = 1},
                                   .bands = 4,
                                   .rows = 2,
                                   .threads = 1,
                                   .meter = meter};
    cr_assert_eq(bm_device_set_open(&cfg, set, NULL), BM_OK);
    *device = (plain_device){.base = {.ops = &plain_ops, .depth = 2}, .set = set, .r = r};
    set->device_workers[set->n_device_workers++].backend = &device->base;
    set->use_cpu = false;
}

/* Documents one a line; the `broken` of them (from 1) is none. */
static bm_status ingest(run *r, uint32_t threads, size_t broken, bm_error *err)
{
    scratch s;
    scratch_open(&s);
    char text[N_DOCS * 64] = "";
    size_t len = 0;
    for (size_t i = 1; i <= N_DOCS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                i == broken ? "{\"text\":\n" : "{\"text\":\"document %zu\"}\n", i);
    scratch_put(&s, "in.jsonl", text, len);
    const char *path = scratch_at(&s, "in.jsonl");
    const bm_input_options input = {
        .paths = &path, .n_paths = 1, .format = BM_FORMAT_JSONL, .max_doc_bytes = 1000};
    const bm_text_options shingles = {.shingle_k = 2};
    bm_input_set *inputs = NULL;
    bm_batch_source *source = NULL;
    bm_callbacks callbacks = {0};
    bm_meter meter;
    bm_doc_table docs = {0};
    bm_counts counts = {0};
    bm_meter_init(&meter, &callbacks);
    plain_device device;
    bm_device_set set = {0};
    if (r->device)
        open_device(r, &meter, &device, &set);
    cr_assert_eq(bm_input_set_open(&input, NULL, &inputs, err), BM_OK, "%s", err->message);
    cr_assert_eq(bm_batch_source_open(inputs, &source, err), BM_OK, "%s", err->message);
    const bm_ingest_cfg cfg = {.input = &input,
                               .text = &shingles,
                               .threads = threads,
                               .batch_docs = 1,
                               .source = source,
                               .meter = &meter,
                               .docs = &docs,
                               .counts = &counts,
                               .device_set = r->device ? &set : NULL,
                               .want_keys = r->device,
                               .sink = sink,
                               .sink_ctx = r,
                               .put = {put, moves, r},
                               .pause = {is_due, pause_here, r}};
    r->docs = &docs;
    const bm_status status = bm_ingest_run(&cfg, err);
    if (r->device)
        bm_device_set_close(&set);
    bm_batch_source_close(source);
    bm_input_set_close(inputs);
    bm_meter_reset(&meter);
    bm_doc_table_reset(&docs);
    scratch_close(&s);
    return status;
}

static const uint32_t threads[] = {1, 2, 8};

Test(ingest_order, each_batch_is_put_once_and_pauses_see_all_before_them_put)
{
    for (size_t t = 0; t < 6; t++) {
        run r = {.put_fails = NEVER, .sink_fails = NEVER, .pauses_at = 7, .device = t >= 3};
        bm_error err = {0};
        cr_assert_eq(ingest(&r, threads[t % 3], 0, &err), BM_OK, "%s", err.message);
        for (size_t i = 0; i < N_DOCS; i++)
            cr_expect_eq(atomic_load(&r.n_put[i]), 1);
        cr_expect_not(atomic_load(&r.missing));
        cr_expect_eq(r.n_pauses, N_DOCS / 7);
        cr_expect_geq(r.n_moves, N_DOCS / 5);
    }
}

/* Failures of rows from 20 on, of the sink and of what is put, and a broken line. */
Test(ingest_order, the_first_failure_in_input_order_is_reported)
{
    static const struct {
        uint64_t put_fails, sink_fails;
        size_t broken;
        const char *wanted;
    } cases[] = {{20, NEVER, 0, "put 20"}, {20, 21, 0, "put 20"},  {20, NEVER, 22, "put 20"},
                 {40, 20, 0, "sink 20"},   {20, 20, 0, "sink 20"}, {NEVER, NEVER, 20, ":20"},
                 {21, 22, 20, "in.jsonl:"}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (size_t t = 0; t < 12; t++) {
            run r = {.put_fails = cases[c].put_fails,
                     .sink_fails = cases[c].sink_fails,
                     .device = t >= 6};
            bm_error err = {0};
            cr_assert_neq(ingest(&r, threads[t % 3], cases[c].broken, &err), BM_OK);
            char got[sizeof err.file + sizeof err.message + 32];
            snprintf(got, sizeof got, "%s:%llu %s", err.file, (unsigned long long)err.line,
                     err.message);
            cr_expect_not_null(strstr(got, cases[c].wanted), "case %zu, %u threads: %s", c,
                               threads[t % 3], got);
            for (size_t i = 0; i < 19; i++) /* what was delivered before can be saved */
                cr_expect_eq(atomic_load(&r.n_put[i]), 1);
        }
    }
}
