/* SPDX-License-Identifier: Apache-2.0 */
/* race_pipeline.c -- the threads of the library at work, as a plain program for ThreadSanitizer.
 *
 * The pool and the queue under load; inputs unpacked ahead or read by position; sign, dedup and
 * pairs with several threads, small batches, repeated ids, callbacks, a cancel in the middle, and
 * every OpenCL device beside the CPU; two jobs at once. Results must equal those of one thread.
 * Prints "N passed, N failed"; exits with 1 if any failed. */
#include "match/match_all_pairs.c"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bandmill/bandmill.h>

#include "base/threads.h"
#include "input/input_ahead.h"
#include "input/input_set.h"
#include "output/out_file.h"
#include "lsh/all_pairs.h"
#include "match/match.h"
#include "tests/world/world_folder.h"
#include "tests/world/world_random.h"
#include "tests/world/world_reader.h"

#define N_DOCS 4000u

static char root[100], input[128];
static atomic_uint passed, failed;

static void check(bool ok, const char *what)
{
    atomic_fetch_add(ok ? &passed : &failed, 1u);
    if (!ok)
        printf("failed: %s\n", what);
}

static void write_input(void)
{
    FILE *file = fopen(input, "w");
    uint64_t state = 99;
    char text[1500] = "";
    for (unsigned i = 0; i < N_DOCS; i++) {
        size_t len = 0;
        for (unsigned w = 0; i % 3 != 0 && w < 10 + i % 90; w++) {
            len +=
                (size_t)snprintf(text + len, sizeof text - len, "w%u ", world_below(&state, 3000));
        }
        fprintf(file, "{\"id\":\"d%u\",\"text\":\"%s%s\"}\n", i, text, i % 2 == 0 ? " more" : "");
    }
    fclose(file);
}

/* --- pool and queue --- */

typedef struct relay {
    bm_queue *queue;
    atomic_size_t sum;
    atomic_uint producers;
} relay;

static bm_status run_relay(void *ctx, uint32_t thread, bm_error *err)
{
    (void)err;
    relay *r = ctx;
    if (thread % 2 == 0) {
        for (uintptr_t i = 1; i <= 5000; i++)
            bm_queue_push(r->queue, (void *)i);
        if (atomic_fetch_sub(&r->producers, 1u) == 1)
            bm_queue_close(r->queue);
        return BM_OK;
    }
    void *item;
    while (bm_queue_pop(r->queue, 0, &item))
        atomic_fetch_add(&r->sum, (uintptr_t)item);
    return BM_OK;
}

static bm_status add_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    for (size_t i = begin; i < end; i++)
        ((size_t *)ctx)[i] += i; /* each item is done by exactly one thread */
    return BM_OK;
}

static void test_threads(void)
{
    bm_pool *pool;
    relay r = {.producers = 2};
    size_t *items = calloc(100000, sizeof *items);
    check(bm_pool_open(4, &pool, NULL) == BM_OK && bm_queue_open(8, &r.queue, NULL) == BM_OK,
          "pool and queue open");
    check(bm_pool_run(pool, run_relay, &r, NULL) == BM_OK, "relay runs");
    check(atomic_load(&r.sum) == (size_t)2 * 5000 * 5001 / 2, "the queue loses nothing");
    for (int round = 0; round < 3; round++)
        bm_pool_for(pool, (bm_pool_split){100000, 64}, add_range, items, NULL);
    bool right = true;
    for (size_t i = 0; i < 100000; i++)
        right = right && items[i] == 3 * i;
    check(right, "ranges cover each item once");
    bm_queue_free(r.queue);
    bm_pool_close(pool);
    free(items);
}

/* --- compression in blocks --- */

/* With 0 threads the file is not compressed. */
static void write_packed(const char *path, uint32_t threads, bool whole)
{
    bm_out_file *file = NULL;
    static char piece[700001];
    bool right =
        bm_out_file_open(path, BM_OUT_REPLACE, &file, NULL) == BM_OK &&
        (threads == 0 || bm_out_file_compress(file, BM_COMPRESSION_ZST,
                                              (bm_pack_lanes){.threads = threads}, NULL) == BM_OK);
    for (unsigned i = 0; i < 60 && right; i++) {
        memset(piece, 'a' + (int)(i % 26), sizeof piece);
        /* hard to compress: the file must be large enough for several threads */
        for (unsigned j = 0; j < 2000; j++)
            piece[j] = (char)((i * 2000 + j) * 2654435761u >> 13);
        right = bm_out_file_write(file, piece, sizeof piece, NULL) == BM_OK;
    }
    if (whole)
        right = bm_out_file_close(file, NULL) == BM_OK && right;
    else
        bm_out_file_abort(file);
    check(right, "a compressed file is written");
}

static void test_packed(void)
{
    char one[128], many[128], command[512];
    snprintf(one, sizeof one, "%s/one.zst", root);
    snprintf(many, sizeof many, "%s/many.zst", root);
    write_packed(one, 1, true);
    write_packed(many, 4, true);
    snprintf(command, sizeof command, "cmp -s %s %s", one, many);
    check(system(command) == 0, "threads change no compressed byte");
    remove(one);
    remove(many);
    write_packed(many, 4, false);
}

/* --- inputs unpacked ahead --- */

static atomic_bool has_read;

static void *help(void *ahead)
{
    while (!atomic_load(&has_read))
        if (!bm_input_ahead_help(ahead))
            sched_yield();
    return NULL;
}

/* Reads all sources until one fails or `leaves` bytes have come, and yields now and then if
 * `yields`; returns the bytes read. Either the set's own threads unpack ahead, or helpers do. */
static size_t read_ahead(bm_input_set *set, bool helped, bool yields, size_t leaves,
                         bm_status *status)
{
    static char block[300000];
    bm_input_ahead *ahead = NULL;
    pthread_t helpers[4];
    size_t n = 0, got = 1;
    *status = bm_input_ahead_open(set, &ahead, NULL);
    atomic_store(&has_read, false);
    if (helped)
        bm_input_ahead_set_helped(ahead);
    for (unsigned i = 0; i < 4 && helped; i++)
        check(pthread_create(&helpers[i], NULL, help, ahead) == 0, "a helper starts");
    for (size_t i = 0; i < bm_input_set_count(set) && *status == BM_OK && n < leaves;
         i++, got = 1) {
        *status = bm_input_ahead_begin(ahead, i, NULL);
        while (*status == BM_OK && got > 0 && n < leaves) {
            *status = bm_input_ahead_read(ahead, block, sizeof block, &got, NULL);
            n += got;
            if (*status == BM_OK && yields && n / 20000000 != (n - got) / 20000000)
                *status = bm_input_ahead_yield(ahead, UINT64_MAX, NULL);
        }
    }
    atomic_store(&has_read, true);
    for (unsigned i = 0; i < 4 && helped; i++)
        pthread_join(helpers[i], NULL);
    bm_input_ahead_close(ahead);
    return n;
}

static void test_ahead(void)
{
    enum { N = 6 };
    char names[N][128];
    const char *paths[N];
    bm_sign_options sign;
    bm_input_set *set = NULL;
    for (unsigned i = 0; i < N; i++) {
        const bool plain = i == 1 || i == 4;
        snprintf(names[i], sizeof names[i], "%s/%u.%s", root, i, plain ? "txt" : "zst");
        paths[i] = names[i];
        write_packed(names[i], plain ? 0 : 2, true);
    }
    bm_sign_options_init(&sign);
    sign.input.paths = paths;
    sign.input.n_paths = N;
    sign.input.format = BM_FORMAT_LINES;
    for (unsigned damaged = 0; damaged < 2; damaged++) {
        bm_status alone, status;
        if (damaged)
            check(truncate(paths[3], 1000) == 0, "a file is cut");
        check(bm_input_set_open(&sign.input, NULL, 0, NULL, &set, NULL) == BM_OK,
              "inputs are opened");
        const size_t n = read_ahead(set, false, false, SIZE_MAX, &alone);
        check(bm_input_ahead_grant(set, 8, (uint64_t)64 << 20) > 0, "memory is granted");
        for (unsigned i = 0; i < 4; i++) {
            const bool helped = i % 2, yields = i / 2;
            check(read_ahead(set, helped, yields, SIZE_MAX, &status) == n && status == alone,
                  "as alone");
            (void)read_ahead(set, helped, yields, 30000000, &status);
            check(status == BM_OK, "a reader leaves");
        }
        bm_input_set_close(set);
    }
    for (unsigned i = 0; i < N; i++)
        remove(paths[i]);
}

/* --- plain files read by several threads by position --- */

typedef struct range_readers {
    bm_batch_source *reader;
    pthread_mutex_t lock;
    atomic_uint_fast64_t bytes, first_lines;
} range_readers;

static void *read_ranges(void *ctx)
{
    range_readers *r = ctx;
    bm_raw_batch *batch = NULL;
    double in_turn = 0;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        bm_status status = world_reader_next(r->reader, &batch, NULL);
        pthread_mutex_unlock(&r->lock);
        check(status == BM_OK, "a batch is cut");
        if (batch == NULL)
            return NULL;
        status = world_reader_fill(r->reader, batch, &in_turn, NULL);
        check(status == BM_OK, "a batch is filled");
        for (size_t i = 0; i < batch->n_pieces; i++)
            atomic_fetch_add(&r->first_lines, batch->pieces[i].first_line);
        atomic_fetch_add(&r->bytes, batch->len);
        bm_raw_batch_free(batch);
    }
}

/* Reads the ranges completely, and cut off while ranges after the end are handed out. `guesses`:
 * some ranges end inside a record, so that batches depend on timing. */
static void test_ranges(const char *const *paths, size_t n_paths, bm_format format, bool guesses)
{
    enum { N = 5, BATCH = 5000 };
    bm_sign_options sign;
    uint64_t alone[2] = {0};
    bm_sign_options_init(&sign);
    sign.input.paths = paths;
    sign.input.n_paths = n_paths;
    sign.input.format = format;
    for (unsigned round = 0; round < 4; round++) {
        const bool is_cut = round / 2, crowd = round % 2;
        const bm_content_place places = {0};
        const bm_batch_limits limits = {.bytes = BATCH, .places = &places, .helped = true};
        range_readers r = {0};
        pthread_t threads[N];
        bm_input_set *set = NULL;
        pthread_mutex_init(&r.lock, NULL);
        check(bm_input_set_open(&sign.input, NULL, 0, NULL, &set, NULL) == BM_OK &&
                  world_reader_begin(set, &limits, &r.reader, NULL) == BM_OK,
              "a reader opens");
        if (is_cut)
            set->sources[0].size += 10 * BATCH; /* as if there had been more when it was opened */
        for (unsigned i = 0; i < (crowd ? N : 1); i++)
            check(pthread_create(&threads[i], NULL, read_ranges, &r) == 0, "a thread starts");
        for (unsigned i = 0; i < (crowd ? N : 1); i++)
            pthread_join(threads[i], NULL);
        const uint64_t got[] = {r.bytes, r.first_lines};
        if (!crowd)
            memcpy(alone, got, sizeof alone);
        check(got[0] == alone[0] && (guesses || got[1] == alone[1]), "the same batches as alone");
        world_reader_close(r.reader);
        bm_input_set_close(set);
        pthread_mutex_destroy(&r.lock);
    }
}

static void test_kinds_of_ranges(void)
{
    enum { N = 40 };
    char names[N][128];
    const char *paths[N] = {input};
    test_ranges(paths, 1, BM_FORMAT_JSONL, false);
    for (unsigned i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "%s/%u.part", root, i);
        paths[i] = names[i];
        FILE *file = fopen(names[i], "wb");
        check(file != NULL, "a file opens");
        if (file == NULL)
            return;
        fputs("id,text\n", file);
        for (unsigned k = 0; k < (i == 0 ? 9000 : i * 7); k++)
            fprintf(file, "%u,\"a %u%s\"\n", k, k * 7919, k % 50 < 25 ? "\n1,b\n2,c\n" : ", b");
        fclose(file);
    }
    test_ranges(paths, 1, BM_FORMAT_CSV, true);
    test_ranges(paths + 1, N - 1, BM_FORMAT_FILES, true);
    for (unsigned i = 0; i < N; i++)
        remove(paths[i]);
}

/* --- jobs --- */

static atomic_uint n_progress;

static void on_progress(void *ctx, const bm_progress *progress)
{
    (void)ctx;
    (void)progress;
    atomic_fetch_add(&n_progress, 1u);
}

static bool stop_later(void *ctx)
{
    return atomic_fetch_add((atomic_int *)ctx, 1) > 20;
}

typedef struct variant {
    const char *device;
    uint32_t threads, batch_docs;
    bm_cluster cluster;
    bool cancel;
} variant;

static bm_callbacks callbacks_of(const variant *v, atomic_int *asked)
{
    return (bm_callbacks){
        .ctx = asked, .progress = on_progress, .cancelled = v->cancel ? stop_later : NULL};
}

static bm_status end_job(bm_status status, bm_summary *summary, const bm_error *err)
{
    if (status != BM_OK && status != BM_ERR_CANCELLED)
        printf("%s\n", err->message);
    bm_summary_free(summary);
    return status;
}

static bm_status run_dedup(const variant *v, const char *output)
{
    const char *paths[] = {input};
    bm_summary *summary = NULL;
    bm_error err = {0};
    bm_dedup_options options;
    atomic_int asked = 0;
    bm_dedup_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.output.path = output;
    options.output.force = options.write_pairs = true;
    options.device.device = v->device;
    options.resources.threads = v->threads;
    options.resources.batch_docs = v->batch_docs;
    options.cluster = v->cluster;
    options.callbacks = callbacks_of(v, &asked);
    const bm_status status = bm_job_dedup(&options, &summary, &err);
    return end_job(status, summary, &err);
}

static bm_status run_sign(const variant *v, const char *output)
{
    const char *paths[] = {input};
    bm_summary *summary = NULL;
    bm_error err = {0};
    bm_sign_options options;
    atomic_int asked = 0;
    bm_sign_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.output.path = output;
    options.output.force = options.band_keys = true;
    options.device.device = v->device;
    options.resources.threads = v->threads;
    options.resources.batch_docs = v->batch_docs;
    options.callbacks = callbacks_of(v, &asked);
    const bm_status status = bm_job_sign(&options, &summary, &err);
    return end_job(status, summary, &err);
}

static bool same_files(const char *x, const char *y, const char *name)
{
    char command[512];
    snprintf(command, sizeof command, "cmp -s %s/%s %s/%s", x, name, y, name);
    return system(command) == 0;
}

static void path_in_root(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", root, name);
}

static void test_jobs(const char *device)
{
    static const char *const sign_names[] = {"signatures.npy", "band_keys.npy", "ids.txt"};
    static const char *const dedup_names[] = {"groups.jsonl", "removed.tsv", "kept.jsonl",
                                              "pairs.tsv"};
    char one[128], many[128];
    path_in_root(one, "one");
    path_in_root(many, "many");
    for (int star = 0; star < 2; star++) {
        bm_cluster cluster = star ? BM_CLUSTER_STAR : BM_CLUSTER_COMPONENTS;
        variant alone = {"cpu", 1, 0, cluster, false}, crowd = {device, 5, 37, cluster, false};
        check(run_dedup(&alone, one) == BM_OK && run_dedup(&crowd, many) == BM_OK, "dedup runs");
        for (size_t i = 0; i < 4; i++)
            check(same_files(one, many, dedup_names[i]), dedup_names[i]);
    }
    path_in_root(one, "sign_one");
    path_in_root(many, "sign_many");
    variant alone = {"cpu", 1, 0, BM_CLUSTER_COMPONENTS, false},
            crowd = {device, 5, 37, BM_CLUSTER_COMPONENTS, false};
    check(run_sign(&alone, one) == BM_OK && run_sign(&crowd, many) == BM_OK, "sign runs");
    for (size_t i = 0; i < 3; i++)
        check(same_files(one, many, sign_names[i]), sign_names[i]);
    crowd.cancel = true;
    check(run_sign(&crowd, many) == BM_ERR_CANCELLED, "a cancelled job says so");
    check(same_files(one, many, "signatures.npy"), "and leaves what was there");
}

/* --- all pairs --- */

/* Two sums of the pairs: one depends on their order, the other does not. */
typedef struct sums {
    uint64_t ordered, any;
} sums;

static bm_status sum_pairs(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    (void)err;
    sums *sum = ctx;
    for (size_t i = 0; i < n; i++) {
        uint64_t pair = (uint64_t)pairs[i].a << 32 | pairs[i].b;
        sum->ordered = sum->ordered * 31 + pair;
        sum->any += pair * pair * 31 + pair;
    }
    return BM_OK;
}

static void test_all_pairs(void)
{
    enum { N = 6000, MOST = 60 };
    uint64_t *hashes = calloc((size_t)N * MOST, sizeof *hashes);
    const uint64_t **docs = calloc(N, sizeof *docs);
    uint32_t *sizes = calloc(N, sizeof *sizes);
    for (size_t i = 0; i < N; i++) { /* ascending; every third hash is shared with many */
        docs[i] = hashes + i * MOST;
        sizes[i] = (uint32_t)(1 + i % MOST);
        for (size_t k = 0; k < sizes[i]; k++)
            hashes[i * MOST + k] = k * 1000000 + (k % 3 == 0 ? 0 : i * (k + 7) % 90);
    }
    sums sum[4] = {{0, 0}};
    uint64_t blocks = 0;
    /* one thread and five, each with full memory and with little */
    for (int run = 0; run < 4; run++) {
        bm_all_pairs_job job = {.docs = docs,
                                .sizes = sizes,
                                .n_docs = N,
                                .rule = {BM_MEASURE_JACCARD, .7},
                                .memory = run < 2 ? 0 : 4 << 20,
                                .fn = sum_pairs,
                                .ctx = &sum[run]};
        bm_all_pairs_stats stats;
        check(bm_pool_open(run % 2 == 0 ? 1 : 5, &job.pool, NULL) == BM_OK, "pool opens");
        check(bm_all_pairs(&job, &stats, NULL) == BM_OK, "all pairs are found");
        bm_pool_close(job.pool);
        blocks = stats.n_blocks;
    }
    check(blocks > 1, "little memory makes blocks");
    check(sum[0].any != 0 && sum[0].ordered == sum[1].ordered,
          "five threads find what one finds, in its order");
    check(sum[2].any == sum[0].any && sum[3].any == sum[0].any, "blocks find what one index finds");
    free(sizes);
    free(docs);
    free(hashes);
}

/* --- all pairs of sets in a file --- */

enum { FILE_DOCS = 1600, FILE_MOST = 700 };

/* Documents of up to FILE_MOST shingles, each similar to the one before it. */
static bool fill_corpus(bm_corpus *corpus)
{
    static uint64_t hashes[FILE_MOST];
    bm_corpus_cfg cfg = {
        .hashes = true, .spill_now = true, .temp_dir = root, .budget = {.arena = 1 << 20}};
    bm_corpus_init(corpus, &cfg);
    bool ok = true;
    for (uint64_t i = 0; ok && i < FILE_DOCS; i++) {
        uint64_t offsets[2] = {0, 400 + i % 300};
        bm_hash128 content = {i, i};
        for (uint64_t k = 0; k < offsets[1]; k++)
            hashes[k] = k << 32 | (k % 4 == 0 ? i : k % 4 == 1 ? 7 : i / 5);
        bm_ingest_batch batch = {
            .shingles = {.n_docs = 1, .offsets = offsets, .hashes = hashes, .content = &content}};
        ok = bm_corpus_add(corpus, &batch, (size_t)i, NULL) == BM_OK;
    }
    return ok && bm_corpus_end_adding(corpus, NULL) == BM_OK;
}

/* Makes prefixes with counts in parts; returns a sum over all of them. */
static uint64_t sum_prefixes(bm_corpus *corpus, bm_pool *pool, bm_meter *meter)
{
    set_prefixes p;
    set_prefixes_job job = {.corpus = corpus,
                            .rule = {BM_MEASURE_JACCARD, .5},
                            .memory = 1500000,
                            .pool = pool,
                            .meter = meter};
    uint64_t sum = 0;
    check(set_prefixes_make(&job, &p, NULL) == BM_OK && p.part_bits > 0, "prefixes in parts");
    uint64_t *record = calloc(BM_PREFIX_RANGE + p.store.most, sizeof *record);
    for (size_t range = 0; range * BM_PREFIX_RANGE < p.n; range++) {
        check(p.store.read(p.store.ctx, range, record, NULL) == BM_OK, "a record is read");
        for (size_t i = 0; i < BM_PREFIX_RANGE + (size_t)p.store.n_keys[range]; i++)
            sum = sum * 31 + record[i];
    }
    free(record);
    set_prefixes_reset(&p);
    return sum;
}

static void test_all_pairs_in_file(void)
{
    uint64_t prefixes[2], edges[2], candidates[2];
    bm_meter meter;
    bm_meter_init(&meter, NULL);
    for (int run = 0; run < 2; run++) {
        bm_corpus corpus;
        bm_pool *pool = NULL;
        check(bm_pool_open(run == 0 ? 1 : 5, &pool, NULL) == BM_OK, "pool opens");
        check(fill_corpus(&corpus), "a corpus in a file");
        prefixes[run] = sum_prefixes(&corpus, pool, &meter);
        bm_match match = {.settings = {.corpus = &corpus,
                                       .pool = pool,
                                       .meter = &meter,
                                       .verify = BM_VERIFY_EXACT,
                                       .threshold = .5,
                                       .all_candidates = true}};
        corpus.cfg.memory = 16 << 20;
        check(bm_match_run(&match, NULL) == BM_OK, "all pairs of a corpus in a file");
        edges[run] = match.result.counts.edges;
        candidates[run] = match.result.counts.candidates;
        bm_match_reset(&match);
        bm_corpus_reset(&corpus);
        bm_pool_close(pool);
    }
    bm_meter_reset(&meter);
    check(prefixes[0] == prefixes[1], "prefixes of five threads are those of one");
    check(edges[0] > 100 && edges[0] == edges[1] && candidates[0] == candidates[1],
          "edges of five threads are those of one");
}

static void test_pairs(void)
{
    char one[128], many[128];
    path_in_root(one, "pairs_one");
    path_in_root(many, "pairs_many");
    for (int i = 0; i < 4; i++) {
        const char *paths[] = {input}, *outputs[] = {one, many};
        for (int run = 0; run < 2; run++) {
            bm_summary *summary = NULL;
            bm_pairs_options options;
            bm_pairs_options_init(&options);
            options.input.paths = paths;
            options.input.n_paths = 1;
            options.output.path = outputs[run];
            options.output.force = true;
            options.device.device = "cpu";
            options.resources.threads = run == 0 ? 1 : 5;
            options.resources.batch_docs = run == 0 ? 0 : 37;
            options.candidates = i == 0   ? BM_CANDIDATES_ALL
                                 : i == 2 ? BM_CANDIDATES_LENGTH
                                          : BM_CANDIDATES_LSH;
            options.sample = i < 2 ? 0 : 1500;
            options.bands.threshold = .6;
            check(bm_job_pairs(&options, &summary, NULL) == BM_OK, "pairs runs");
            bm_summary_free(summary);
        }
        char command[512];
        snprintf(command, sizeof command, "test -s %s && cmp -s %s %s", one, one, many);
        check(system(command) == 0, "pairs of five threads are those of one");
    }
}

/* Batches of one to five documents meet in the shards of ids; then the last one or two ids repeat
 * earlier lines' ids. */
static void test_ids(void)
{
    enum { N = 6000 };
    char path[128], out[128];
    path_in_root(path, "ids.jsonl");
    path_in_root(out, "ids");
    for (unsigned round = 0; round < 10; round++) {
        FILE *file = fopen(path, "w");
        const unsigned again = round % 2 == 0 ? 0 : N - 40 * round;
        for (unsigned i = 1; i <= N; i++)
            fprintf(file, "{\"id\":\"%u\",\"text\":\"a b\"}\n",
                    again != 0 && i >= again ? i - again + 1 : i * 7);
        fclose(file);
        const char *paths[] = {path};
        bm_summary *summary = NULL;
        bm_error err = {0};
        bm_sign_options options;
        bm_sign_options_init(&options);
        options.input.paths = paths;
        options.input.n_paths = 1;
        options.output.path = out;
        options.output.force = true;
        options.device.device = "cpu";
        options.resources.threads = 8;
        options.resources.batch_docs = 1 + round / 2;
        const bm_status status = bm_job_sign(&options, &summary, &err);
        check(status == (again == 0 ? BM_OK : BM_ERR_INPUT), "ids are signed");
        check(again == 0 || err.line == again + 6, "the first repeated id is named");
        bm_summary_free(summary);
    }
}

static void *second_job(void *arg)
{
    char out[128];
    path_in_root(out, "second");
    variant v = {"cpu", 2, 100, BM_CLUSTER_STAR, false};
    *(bm_status *)arg = run_dedup(&v, out);
    return NULL;
}

static void test_two_jobs(void)
{
    pthread_t thread;
    bm_status status = BM_ERR_INTERNAL;
    char out[128];
    path_in_root(out, "first");
    variant v = {"cpu", 2, 100, BM_CLUSTER_COMPONENTS, false};
    pthread_create(&thread, NULL, second_job, &status);
    check(run_dedup(&v, out) == BM_OK, "a job beside another");
    pthread_join(thread, NULL);
    check(status == BM_OK, "the other");
}

int main(void)
{
    if (!world_folder_make(NULL, root, sizeof root))
        return 1;
    snprintf(input, sizeof input, "%s/in.jsonl", root);
    write_input();
    test_threads();
    test_packed();
    test_ahead();
    test_kinds_of_ranges();
    test_jobs("cpu");
    test_ids();
    test_two_jobs();
    test_all_pairs();
    test_all_pairs_in_file();
    test_pairs();
    bm_device_list *devices;
    if (bm_device_list_open(&devices, NULL) == BM_OK) {
        for (size_t i = 1; i < bm_device_list_count(devices); i++) {
            const bm_device_info *device = bm_device_list_at(devices, i);
            char both[64];
            snprintf(both, sizeof both, "cpu,%s", device->spec);
            if (device->usable)
                test_jobs(both);
        }
        bm_device_list_close(devices);
    }
    check(atomic_load(&n_progress) > 0, "progress was told");
    check(world_folder_remove(root) == 0, "cleaned up");
    printf("%u passed, %u failed\n", atomic_load(&passed), atomic_load(&failed));
    return atomic_load(&failed) == 0 ? 0 : 1;
}
