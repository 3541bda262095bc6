/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest_order.c -- the order of the ingest's steps. Each batch is put once, after the sink
 * has placed it. The first failure in input order is reported, whichever occurs first. During a
 * pause, and while the sink moves its data, no batch is being put; the sink is asked to place a
 * batch only when the document table has it. A device's thread calls neither `place` nor `put`. The
 * copies in a claimed batch are found before it is placed; after an unclaimed batch, no later batch
 * is noted before that one is placed. Of equal ids, the first in input order has the row, for any
 * batches, shards and threads. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/input_set.h"
#include "sources/batch_sources.h"
#include "sign/doc_copies.h"
#include "sign/ingest.h"
#include "tests/world/colliding.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"

#define N_DOCS 200u
#define NEVER  UINT64_MAX

typedef struct run {
    uint64_t put_fails;  /* putting fails from this row on */
    uint64_t sink_fails; /* the sink fails from this row on */
    uint64_t pauses_at;  /* pauses after every so many rows; 0: never */
    size_t sunk, paused_at;
    unsigned n_pauses, n_moves;
    const bm_doc_table *docs;
    bool device; /* a device signs; its thread must do nothing else */
    pthread_t device_thread;
    bool moving; /* the sink moves its data before it places the current batch */
    bool claims; /* the sink claims four of five batches */
    bm_doc_copies copies;
    uint32_t sizes[N_DOCS], rep[N_DOCS]; /* sizes: 0 until the document is noted */
    uint8_t skip[N_DOCS];
    bm_hash128 content[N_DOCS];
    atomic_uint n_put[N_DOCS];
    atomic_bool missing;
} run;

/* Checks that each document before `row` has been put, and none after. */
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

/* --- batches that are claimed --- */

static bool claim(void *ctx, const bm_ingest_batch *batch, size_t first_row, bool first)
{
    run *r = ctx;
    if (first && first_row != r->sunk)
        atomic_store(&r->missing, true);
    return batch->status == BM_OK && first_row % 5 != 0;
}

/* The text of row 3n is repeated in the next two rows. Checks that the representative of a claimed
 * document is known, and that no row after an unclaimed batch is noted. */
static void check_claim(run *r, const bm_ingest_batch *batch, size_t row)
{
    const bool claimed = r->claims && row % 5 != 0;
    uint64_t found = 0;
    bool ok = batch->turn.claimed == claimed;
    for (size_t i = row; r->claims && !claimed && i < N_DOCS; i++)
        ok = ok && r->sizes[i] == 0;
    if (claimed) {
        found = atomic_load(&batch->copies.n);
        ok = ok && batch->copies.n_filled == 1 && batch->copies.n_shingles == r->sizes[row] &&
             atomic_load(&batch->copies.n_copied) == found * r->sizes[row];
    } else if (r->claims) {
        bm_doc_copies_note(&r->copies, batch, row, 1);
        ok = ok && bm_doc_copies_find(&r->copies, row, 1, &found, NULL) == BM_OK;
    }
    if (r->claims)
        ok = ok && r->sizes[row] > 0 && r->rep[row] == row / 3 * 3 && found == (row % 3 != 0) &&
             r->skip[row] == found;
    if (!ok)
        atomic_store(&r->missing, true);
}

static bm_status place(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    run *r = ctx;
    check_thread(r);
    if (r->docs->n != r->sunk + batch->n_docs || batch->turn.all_put != r->moving)
        atomic_store(&r->missing, true);
    if (!batch->turn.claimed && !r->moving && r->sunk % 5 == 0) {
        r->moving = true;
        r->n_moves++;
        return BM_NOT_FOUND;
    }
    if (first_row >= r->sink_fails)
        return bm_fail(err, BM_ERR_IO, "sink %zu", first_row);
    if (r->moving)
        check_put(r, first_row);
    r->moving = false;
    if (batch->n_docs > 0)
        check_claim(r, batch, first_row);
    r->sunk = first_row + batch->n_docs;
    return BM_OK;
}

static bm_status put(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    run *r = ctx;
    check_thread(r);
    if (first_row % 3 == 0) /* slow batches, so that others overtake them */
        for (volatile unsigned i = 0; i < 20000; i++)
            ;
    if (first_row >= r->put_fails)
        return bm_fail(err, BM_ERR_IO, "put %zu", first_row);
    for (size_t i = 0; i < batch->n_docs; i++)
        atomic_fetch_add(&r->n_put[first_row + i], 1);
    return BM_OK;
}

static bool pause_here(void *ctx, bool all_put)
{
    run *r = ctx;
    if (!all_put)
        return r->pauses_at != 0 && r->sunk >= r->paused_at + r->pauses_at;
    r->paused_at = r->sunk;
    r->n_pauses++;
    check_put(r, r->sunk);
    return true;
}

/* A device whose results are computed on the CPU. */
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

/* Ingests one document a line; line `broken` (from 1) is malformed. */
static bm_status ingest(run *r, uint32_t threads, size_t broken, bm_error *err)
{
    SCRATCH s = scratch_open();
    char text[N_DOCS * 64] = "";
    size_t len = 0;
    for (size_t i = 1; i <= N_DOCS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                i == broken ? "{\"text\":\n" : "{\"text\":\"document %zu\"}\n",
                                (i - 1) / 3);
    scratch_put(&s, "in.jsonl", text, len);
    const char *path = scratch_at(&s, "in.jsonl");
    const bm_input_options input = {
        .paths = &path, .n_paths = 1, .format = BM_FORMAT_JSONL, .max_doc_bytes = 1000};
    const bm_text_options shingles = {.shingle_k = 2};
    bm_callbacks callbacks = {0};
    bm_meter meter;
    bm_doc_table docs = {0};
    bm_counts counts = {0};
    bm_meter_init(&meter, &callbacks);
    plain_device device;
    bm_device_set set = {0};
    if (r->device)
        open_device(r, &meter, &device, &set);
    bm_input_set *inputs = world_open(bm_input_set, &input, NULL, 0, NULL);
    bm_batch_source *source = world_open(bm_batch_source, inputs);
    bm_ingest_cfg cfg = {.input = &input,
                         .text = &shingles,
                         .threads = threads,
                         .batch_docs = 1,
                         .source = source,
                         .meter = &meter,
                         .docs = &docs,
                         .counts = &counts,
                         .device_set = r->device ? &set : NULL,
                         .want_keys = r->device,
                         .sink = {place, put, r},
                         .pause = {pause_here, r}};
    r->copies = (bm_doc_copies){
        .wanted = true, .sizes = r->sizes, .rep = r->rep, .skip = r->skip, .content = r->content};
    if (r->claims)
        cfg.early = (bm_ingest_early){claim, r, &r->copies};
    r->docs = &docs;
    const bm_status status = bm_ingest_run(&cfg, err);
    if (r->device)
        bm_device_set_close(&set);
    bm_batch_source_close(source);
    bm_input_set_close(inputs);
    bm_meter_reset(&meter);
    bm_doc_table_reset(&docs);
    bm_doc_copies_reset(&r->copies);
    return status;
}

static const uint32_t threads[] = {1, 2, 8};

Test(ingest_order, each_batch_is_put_once_and_pauses_see_all_before_them_put)
{
    for (size_t t = 0; t < 12; t++) {
        run r = {.put_fails = NEVER,
                 .sink_fails = NEVER,
                 .pauses_at = 7,
                 .device = t % 6 >= 3,
                 .claims = t >= 6};
        bm_error err = {0};
        cr_assert_eq(ingest(&r, threads[t % 3], 0, &err), BM_OK, "%s", err.message);
        for (size_t i = 0; i < N_DOCS; i++)
            cr_expect_eq(atomic_load(&r.n_put[i]), 1);
        cr_expect_not(atomic_load(&r.missing));
        cr_expect_eq(r.n_pauses, N_DOCS / 7);
        cr_expect_geq(r.n_moves, N_DOCS / 5);
    }
}

/* Failures of rows from 20 on in the sink and in putting, and a malformed line. */
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
                     .device = t >= 6,
                     .claims = t % 2 == 1};
            bm_error err = {0};
            cr_assert_neq(ingest(&r, threads[t % 3], cases[c].broken, &err), BM_OK);
            char got[sizeof err.file + sizeof err.message + 32];
            snprintf(got, sizeof got, "%s:%llu %s", err.file, (unsigned long long)err.line,
                     err.message);
            cr_expect_not_null(strstr(got, cases[c].wanted), "case %zu, %u threads: %s", c,
                               threads[t % 3], got);
            /* everything delivered before the failure can be saved */
            for (size_t i = 0; i < 19; i++)
                cr_expect_eq(atomic_load(&r.n_put[i]), 1);
        }
    }
}

/* --- ids --- */

#define N_MEETING 400u

typedef struct id_run {
    size_t n;
    const char *(*id)(const struct id_run *, size_t line); /* line counts from 1 */
    size_t twice, like; /* line `twice` repeats the id of line `like`; 0: no line does */
    size_t broken;      /* the malformed line; 0: none */
    unsigned seed;
    bool number, skip;
    uint32_t batch_docs;
} id_run;

static const char *plain_id(const id_run *r, size_t line)
{
    static char id[32];
    (void)r;
    snprintf(id, sizeof id, "doc-%zu", line);
    return id;
}

/* Ids that all belong to one shard. */
static const char *shard_id(const id_run *r, size_t line)
{
    static char id[32];
    static unsigned next;
    static size_t last;
    (void)r;
    next = line <= last ? 0 : next;
    last = line;
    do
        snprintf(id, sizeof id, "s%u", next++);
    while (bm_doc_shard(XXH3_64bits(id, strlen(id))) != 5);
    return id;
}

/* Ids whose hashes agree in the half that selects a slot of a table. */
static const char *one_place_id(const id_run *r, size_t line)
{
    static char ids[N_MEETING][16];
    static size_t n;
    static colliding_ids source = {.bits = 32, .leading = true};
    (void)r;
    while (n < line)
        colliding_next_id(&source, ids[n++]);
    return ids[line - 1];
}

/* Ids drawn from so few that some repeat. */
static const char *drawn_id(const id_run *r, size_t line)
{
    static char id[32];
    snprintf(id, sizeof id, "%u",
             (unsigned)(XXH3_64bits_withSeed(&line, sizeof line, r->seed) % 3000));
    return id;
}

static bm_status ingest_ids(const id_run *r, uint32_t n_threads, bm_doc_table *docs, bm_error *err)
{
    SCRATCH s = scratch_open();
    char *text = malloc(r->n * 64), *at = text;
    for (size_t i = 1; i <= r->n; i++)
        at += i == r->broken ? sprintf(at, "{\"text\":\n")
                             : sprintf(at, "{\"id\":\"%s\",\"text\":\"x\"}\n",
                                       r->id(r, i == r->twice ? r->like : i));
    scratch_put(&s, "in.jsonl", text, (size_t)(at - text));
    free(text);
    const char *path = scratch_at(&s, "in.jsonl");
    const bm_input_options input = {.paths = &path,
                                    .n_paths = 1,
                                    .format = BM_FORMAT_JSONL,
                                    .on_error = r->skip ? BM_ON_ERROR_SKIP : BM_ON_ERROR_FAIL,
                                    .max_errors = UINT64_MAX,
                                    .max_doc_bytes = 1000};
    const bm_text_options shingles = {.shingle_k = 2};
    bm_callbacks callbacks = {0};
    bm_meter meter;
    bm_counts counts = {0};
    bm_meter_init(&meter, &callbacks);
    bm_input_set *inputs = world_open(bm_input_set, &input, NULL, 0, NULL);
    bm_batch_source *source = world_open(bm_batch_source, inputs);
    const bm_file_names files = {.names = &path, .n = 1};
    *docs = (bm_doc_table){.files = &files, .number_duplicates = r->number};
    const bm_ingest_cfg cfg = {.input = &input,
                               .text = &shingles,
                               .threads = n_threads,
                               .batch_docs = r->batch_docs,
                               .source = source,
                               .meter = &meter,
                               .docs = docs,
                               .counts = &counts};
    const bm_status status = bm_ingest_run(&cfg, err);
    cr_expect(status != BM_OK || counts.documents == docs->n);
    docs->files = NULL;
    bm_batch_source_close(source);
    bm_input_set_close(inputs);
    bm_meter_reset(&meter);
    return status;
}

static const uint32_t batch_sizes[] = {1, 7, 64};

/* Checks that the table has the ids of the run, in order, at most the first `n`. */
static void check_ids(const id_run *r, const bm_doc_table *docs)
{
    for (size_t i = 0, line = 1; i < docs->n; i++, line++) {
        line += line == r->broken;
        const char *wanted = r->id(r, line);
        const bm_str got = bm_doc_table_id(docs, i);
        cr_assert_eq(docs->rows[i].line, line);
        cr_assert(got.len == strlen(wanted) && memcmp(got.data, wanted, got.len) == 0,
                  "row %zu is %.*s, not %s", i, (int)got.len, got.data, wanted);
    }
}

Test(ingest_order, ids_that_differ_are_in_the_table_in_input_order)
{
    static const struct {
        const char *(*id)(const id_run *, size_t);
        size_t n;
    } kinds[] = {{plain_id, 3000}, {shard_id, 300}, {one_place_id, N_MEETING}};
    for (size_t c = 0; c < 3 * 3 * 3; c++) {
        const id_run r = {.n = kinds[c / 9].n,
                          .id = kinds[c / 9].id,
                          .batch_docs = batch_sizes[c / 3 % 3],
                          .broken = c % 2 == 0 ? 77 : 0,
                          .skip = true};
        bm_doc_table docs;
        bm_error err = {0};
        cr_assert_eq(ingest_ids(&r, threads[c % 3], &docs, &err), BM_OK, "%s", err.message);
        cr_expect_eq(docs.n, r.n - (r.broken != 0));
        cr_expect_eq(docs.n_skipped, r.broken != 0);
        cr_expect_eq(docs.reserved.docs, docs.n);
        check_ids(&r, &docs);
        bm_doc_table_reset(&docs);
    }
}

/* The repetition is in the same batch, in a neighbouring one, or far away; with a malformed line
 * before or after it. */
Test(ingest_order, a_repeated_id_is_an_error_unless_one_stands_before)
{
    static const struct {
        size_t twice, like, broken;
    } cases[] = {{45, 44, 0},    {50, 43, 0},  {300, 12, 0},  {300, 12, 301},
                 {300, 12, 290}, {45, 44, 46}, {45, 44, 300}, {46, 44, 45}};
    static const char *(*const kinds[])(const id_run *, size_t) = {plain_id, one_place_id};
    for (size_t c = 0; c < 8 * 2 * 9; c++) {
        id_run r = {.n = 400,
                    .id = kinds[c % 2],
                    .batch_docs = batch_sizes[c / 16 % 3],
                    .twice = cases[c / 2 % 8].twice,
                    .like = cases[c / 2 % 8].like,
                    .broken = cases[c / 2 % 8].broken};
        bm_doc_table docs;
        bm_error err = {0};
        char first[64];
        snprintf(first, sizeof first, "in.jsonl:%zu (", r.like);
        cr_assert_eq(ingest_ids(&r, threads[c / 48], &docs, &err), BM_ERR_INPUT);
        const bool broken = r.broken != 0 && r.broken < r.twice;
        cr_expect_eq(err.line, broken ? r.broken : r.twice, "case %zu: line %zu: %s", c,
                     (size_t)err.line, err.message);
        cr_expect_eq(strstr(err.message, first) != NULL, !broken, "%s", err.message);
        cr_expect_lt(docs.n, err.line, "nothing of what fails is in the table");
        r.broken = 0;
        check_ids(&r, &docs);
        bm_doc_table_reset(&docs);
    }
}

/* The model: the first line that repeats an earlier id; *like is that earlier line. */
static size_t first_repeated(const id_run *r, size_t *like)
{
    char(*ids)[16] = calloc(r->n, sizeof *ids);
    size_t found = 0;
    for (size_t i = 0; i < r->n && found == 0; i++) {
        snprintf(ids[i], sizeof ids[i], "%s", r->id(r, i + 1));
        for (size_t k = 0; k < i && found == 0; k++) {
            found = strcmp(ids[k], ids[i]) == 0 ? i + 1 : 0;
            *like = k + 1;
        }
    }
    free(ids);
    return found;
}

Test(ingest_order, of_many_repeated_ids_the_first_in_input_order_is_reported)
{
    for (unsigned seed = 0; seed < 60; seed++) {
        const id_run r = {
            .n = 2000, .id = drawn_id, .seed = seed, .batch_docs = 1 + seed * seed % 300};
        size_t like = 0;
        const size_t wanted = first_repeated(&r, &like);
        bm_doc_table docs;
        bm_error err = {0};
        char first[64];
        snprintf(first, sizeof first, "in.jsonl:%zu (", like);
        cr_assert_eq(ingest_ids(&r, threads[seed % 3], &docs, &err), BM_ERR_INPUT);
        cr_expect_eq(err.line, wanted, "line %zu, not %zu", (size_t)err.line, wanted);
        cr_expect_not_null(strstr(err.message, first), "%s", err.message);
        bm_doc_table_reset(&docs);
    }
}

Test(ingest_order, repeated_ids_get_the_same_numbers_from_any_threads)
{
    for (size_t c = 0; c < 9; c++) {
        const id_run r = {.n = 300,
                          .id = plain_id,
                          .batch_docs = batch_sizes[c / 3],
                          .twice = 200,
                          .like = 3,
                          .number = true};
        bm_doc_table docs;
        bm_error err = {0};
        cr_assert_eq(ingest_ids(&r, threads[c % 3], &docs, &err), BM_OK, "%s", err.message);
        cr_assert_eq(docs.n, r.n);
        const bm_str got = bm_doc_table_id(&docs, 199);
        cr_expect(got.len == 7 && memcmp(got.data, "doc-3#2", 7) == 0);
        bm_doc_table_reset(&docs);
    }
}
