/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint.c -- a job interrupted at any place where it asks whether to stop, and resumed,
 * writes the same bytes as one that was not interrupted. The tests try every such place. */
#include "job/checkpoint.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/scratch.h"
#include "tests/unit/jobs/whole_job.h"
#include "tests/world/sized.h"
#include "tests/world/world_random.h"

#define N_DOCS 700u

typedef struct bench bench;

typedef struct kind {
    run_fn run;
    bool pairs;
    bm_verify verify;
    bm_cluster cluster;
    const char *names[9];
    bm_weights weights;
    void (*set)(bench *b); /* more options; NULL: none */
} kind;

static void keep_by_field(bench *b);
static void keep_by_fields_in_file(bench *b);
static void keep_by_order(bench *b);
static void keep_by_shingles(bench *b);
static void keep_removed(bench *b);
static void divide_groups(bench *b);
static void number_ids(bench *b);
static void join_fields(bench *b);
static void know_documents(bench *b);
static void know_and_rank(bench *b);

static const kind kinds[] = {
    {sign_with_keys,
     false,
     BM_VERIFY_AUTO,
     BM_CLUSTER_COMPONENTS,
     {"signatures.npy", "band_keys.npy", "n_shingles.npy", "n_bytes.npy", "content_hash.npy",
      "ids.txt", "sources.tsv", NULL},
     BM_WEIGHTS_NONE,
     NULL},
    {bm_job_dedup,
     false,
     BM_VERIFY_AUTO,
     BM_CLUSTER_COMPONENTS,
     {"groups.jsonl", "removed.tsv", "kept.jsonl", "sources.tsv", NULL},
     BM_WEIGHTS_NONE,
     NULL},
    {bm_job_dedup,
     true,
     BM_VERIFY_SIGNATURE,
     BM_CLUSTER_STAR,
     {"groups.jsonl", "removed.tsv", "kept.jsonl", "pairs.tsv", "sources.tsv", NULL},
     BM_WEIGHTS_NONE,
     NULL},
    {bm_job_dedup,
     true,
     BM_VERIFY_NONE,
     BM_CLUSTER_COMPONENTS,
     {"groups.jsonl", "removed.tsv", "kept.jsonl", "pairs.tsv", "sources.tsv", NULL},
     BM_WEIGHTS_NONE,
     NULL},
    {bm_job_dedup, /* each run counts all documents first */
     true,
     BM_VERIFY_EXACT,
     BM_CLUSTER_COMPONENTS,
     {"groups.jsonl", "removed.tsv", "kept.jsonl", "pairs.tsv", "sources.tsv", NULL},
     BM_WEIGHTS_TFIDF,
     NULL},
/* Jobs with an option that adds a column to the table of documents, or an order of them. */
#define WITH(pairs, verify, cluster, weights, set)                                                 \
    {                                                                                              \
        bm_job_dedup, pairs, verify, cluster,                                                      \
            {"groups.jsonl", "removed.tsv", "kept.jsonl", "sources.tsv", "report.json", NULL},     \
            weights, set                                                                           \
    }
    WITH(false, BM_VERIFY_EXACT, BM_CLUSTER_COMPONENTS, BM_WEIGHTS_NONE, keep_by_field),
    WITH(false, BM_VERIFY_EXACT, BM_CLUSTER_STAR, BM_WEIGHTS_NONE, keep_by_fields_in_file),
    WITH(true, BM_VERIFY_SIGNATURE, BM_CLUSTER_STAR, BM_WEIGHTS_NONE, keep_by_order),
    WITH(false, BM_VERIFY_CONTAINED, BM_CLUSTER_COMPONENTS, BM_WEIGHTS_NONE, keep_by_shingles),
    WITH(false, BM_VERIFY_EXACT, BM_CLUSTER_STAR, BM_WEIGHTS_TFIDF, keep_by_field),
    WITH(true, BM_VERIFY_EXACT, BM_CLUSTER_COMPONENTS, BM_WEIGHTS_NONE, keep_removed),
    WITH(false, BM_VERIFY_EXACT, BM_CLUSTER_COMPONENTS, BM_WEIGHTS_NONE, divide_groups),
    WITH(false, BM_VERIFY_EXACT, BM_CLUSTER_COMPONENTS, BM_WEIGHTS_NONE, number_ids),
    WITH(false, BM_VERIFY_EXACT, BM_CLUSTER_COMPONENTS, BM_WEIGHTS_NONE, join_fields),
    WITH(false, BM_VERIFY_EXACT, BM_CLUSTER_COMPONENTS, BM_WEIGHTS_NONE, know_documents),
    WITH(false, BM_VERIFY_CONTAINED, BM_CLUSTER_COMPONENTS, BM_WEIGHTS_NONE, know_and_rank),
#undef WITH
};

/* Every third document copies the one before, every fourth adds a word to it, and one in 50 is
 * malformed. A score is a number or is missing; a label is one of three words. */
static void write_documents(scratch *s, const char *name)
{
    FILE *file = scratch_write(s, name);
    static const char *const labels[] = {"gold", "silver", "a label that stands in no rule"};
    char text[600] = "";
    uint64_t state = 99;
    cr_assert_not_null(file);
    for (unsigned i = 0; i < N_DOCS; i++) {
        size_t len = strlen(text);
        if (i % 3 != 0 && i % 4 != 0)
            len = 0;
        else if (i % 4 == 0 && len < 500)
            snprintf(text + len, sizeof text - len, "more%u ", i);
        for (unsigned w = 0; len == 0 && w < 30; w++) {
            size_t at = strlen(w == 0 ? strcpy(text, "") : text);
            snprintf(text + at, sizeof text - at, "w%u ", world_below(&state, 900));
        }
        fprintf(file,
                i % 50 == 7
                    ? "{\"id\":\"d%u\",\"text\":%s}\n"
                    : "{\"id\":\"d%u\",\"text\":\"%s\",\"twice\":\"t%u\",\"title\":\"%.9s\"",
                i, text, i % 300, text);
        if (i % 50 != 7)
            fprintf(file,
                    i % 11 == 0 ? ",\"label\":\"%s\"}\n" : ",\"label\":\"%s\",\"score\":%u}\n",
                    labels[i % 3], i * 7919u % 101u);
    }
    fclose(file);
}

typedef struct stop {
    atomic_int asked;
    int at; /* negative: never */
} stop;

static bool cancelled(void *ctx)
{
    stop *s = ctx;
    int n = atomic_fetch_add(&s->asked, 1);
    return s->at >= 0 && n >= s->at;
}

struct bench {
    scratch s;
    char input[300], out[300], known[300];
    const char *against;
    const char *paths[1], *fields[2];
    bm_dedup_options job;
    const kind *kind;
    char *wanted[9];
    size_t lens[9];
    size_t n_beside; /* files beside the output */
};

static void keep_by_field(bench *b)
{
    b->job.keep_rules = "max:score";
}

/* With so little memory that keys, sets and edges are in files. */
static void keep_by_fields_in_file(bench *b)
{
    b->job.keep_rules = "min:score,order:label=silver|gold,last";
    b->job.resources.memory = (uint64_t)20 << 20;
}

static void keep_by_order(bench *b)
{
    b->job.keep_rules = "order:label=silver|gold,max:score";
}

static void keep_by_shingles(bench *b)
{
    b->job.containment = 0.9;
}

static void keep_removed(bench *b)
{
    b->job.removed = BM_RECORDS_GZ;
    b->job.keep_rules = "shortest,max:label";
}

static void divide_groups(bench *b)
{
    b->job.max_group_size = 3;
    b->job.keep_rules = "min:label,longest";
}

static void number_ids(bench *b)
{
    b->job.input.id_field = "twice";
    b->job.input.duplicate_ids = BM_DUPLICATE_IDS_NUMBER;
}

static void join_fields(bench *b)
{
    b->fields[0] = "title";
    b->fields[1] = "text";
    b->job.input.text_fields = b->fields;
    b->job.input.n_text_fields = 2;
}

/* Signs the first documents and passes their signatures as known documents. */
static void know_documents(bench *b)
{
    char input[300], line[1000];
    const char *paths[] = {input};
    bm_dedup_options known;
    bm_summary *summary = NULL;
    bm_error err = {0};
    snprintf(input, sizeof input, "%s/known.jsonl", b->s.root);
    snprintf(b->known, sizeof b->known, "%s/known", b->s.root);
    FILE *from = fopen(b->input, "r"), *to = fopen(input, "w");
    cr_assert(from != NULL && to != NULL);
    for (unsigned i = 0; i < 100 && fgets(line, sizeof line, from) != NULL; i++)
        if (i % 50 != 7)
            fputs(line, to);
    fclose(from);
    fclose(to);
    whole_job_init(&known, paths, b->known);
    cr_assert_eq(sign_with_keys(&known, &summary, &err), BM_OK, "%s", err.message);
    bm_summary_free(summary);
    b->against = b->known;
    b->job.against = &b->against;
    b->job.n_against = 1;
}

static void know_and_rank(bench *b)
{
    know_documents(b);
    b->job.keep_rules = "max:score";
    b->job.containment = 0.8;
}

static char *slurp(const char *folder, const char *name, size_t *len)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    *len = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*len + 1);
    cr_assert_eq(fread(data, 1, *len, file), *len);
    data[*len] = '\0';
    fclose(file);
    char *run = strcmp(name, "report.json") == 0 ? strstr(data, "\"run\"") : NULL;
    if (run != NULL) /* "run" differs from run to run; it is the last member */
        *len = (size_t)(run - data);
    return data;
}

static void remove_output(const bench *b)
{
    char command[400];
    snprintf(command, sizeof command, "rm -r '%s'", b->out);
    cr_assert_eq(system(command), 0);
}

static bm_status run(bench *b, int stop_at, bool resume, int *asked, bm_error *err)
{
    stop s = {.at = stop_at};
    bm_summary *summary = NULL;
    b->job.callbacks = (bm_callbacks){.ctx = &s, .cancelled = cancelled};
    b->job.resume = resume;
    bm_status status = b->kind->run(&b->job, &summary, err);
    *asked = atomic_load(&s.asked);
    bm_summary_free(summary);
    return status;
}

static void open_bench(const kind *k, bench *b)
{
    int asked;
    memset(b, 0, sizeof *b);
    b->s = scratch_open();
    write_documents(&b->s, "in.jsonl");
    snprintf(b->input, sizeof b->input, "%s/in.jsonl", b->s.root);
    snprintf(b->out, sizeof b->out, "%s/out", b->s.root);
    b->paths[0] = b->input;
    b->kind = k;
    whole_job_init(&b->job, b->paths, b->out);
    b->job.input.on_error = BM_ON_ERROR_SKIP;
    b->job.resources.threads = 1; /* so that it asks at the same places every time */
    b->job.resources.batch_docs = 100;
    b->job.write_pairs = k->pairs;
    b->job.verify = k->verify;
    b->job.text.weights = k->weights;
    b->job.bands.bands =
        k->weights != BM_WEIGHTS_NONE ? 16 : 0; /* weighted words are slow: few of them */
    b->job.bands.rows = b->job.bands.bands / 8;
    b->job.cluster = k->cluster;
    if (k->set != NULL)
        k->set(b);
    b->n_beside = scratch_count(&b->s, ".");
    bm_error err = {0};
    cr_assert_eq(run(b, -1, false, &asked, &err), BM_OK, "%s", err.message);
    for (size_t i = 0; k->names[i] != NULL; i++)
        b->wanted[i] = slurp(b->out, k->names[i], &b->lens[i]);
    remove_output(b);
}

static void close_bench(bench *b)
{
    for (size_t i = 0; b->kind->names[i] != NULL; i++)
        free(b->wanted[i]);
    scratch_close(&b->s);
}

static void expect_outputs(const bench *b, int stopped_at)
{
    for (size_t i = 0; b->kind->names[i] != NULL; i++) {
        size_t len;
        char *data = slurp(b->out, b->kind->names[i], &len);
        cr_assert(len == b->lens[i] && memcmp(data, b->wanted[i], len) == 0,
                  "%s after a stop at question %d", b->kind->names[i], stopped_at);
        free(data);
    }
    cr_assert_eq(scratch_count((scratch *)(uintptr_t)&b->s, "."), b->n_beside + 1,
                 "inputs and output only");
}

/* The number of saved documents in the error's message; 0: none. */
static unsigned long sealed_in(const bm_error *err)
{
    unsigned long n = 0;
    return sscanf(err->message, "interrupted (%lu documents", &n) == 1 ? n : 0;
}

/* Interrupts and resumes a job at every `step`-th place where it asks. */
static void stop_everywhere(const kind *k, int step)
{
    bench b;
    unsigned long before = 0;
    int last = -1;
    open_bench(k, &b);
    for (int at = 0; last < 0; at += step) {
        bm_error err = {0};
        int asked;
        bm_status status = run(&b, at, false, &asked, &err);
        if (status == BM_OK) { /* it asks fewer times */
            expect_outputs(&b, -1);
            remove_output(&b);
            last = at;
            break;
        }
        cr_assert_eq(status, BM_ERR_CANCELLED, "question %d: %s", at, err.message);
        unsigned long saved = sealed_in(&err);
        cr_assert_geq(saved, before, "a later stop seals no less: %lu, %lu", saved, before);
        before = saved;
        cr_assert_eq(run(&b, -1, true, &asked, &err), BM_OK, "%s", err.message);
        expect_outputs(&b, at);
        remove_output(&b);
    }
    cr_assert_gt(last, 8, "at each batch, and later");
    cr_assert_eq(before, N_DOCS - N_DOCS / 50, "all documents, in the end");
    close_bench(&b);
}

Test(checkpoint, sign_goes_on_wherever_it_was_interrupted)
{
    stop_everywhere(&kinds[0], (int)sized(1, 3));
}

#define N_PLAIN 5u /* the first of `kinds`; the others have an option that adds a column */

Test(checkpoint, dedup_goes_on_wherever_it_was_interrupted)
{
    for (size_t i = 1; i < N_PLAIN; i++)
        stop_everywhere(&kinds[i], (int)sized(1, 3));
}

Test(checkpoint, an_option_that_adds_a_column_goes_on_wherever_it_was_interrupted)
{
    for (size_t i = N_PLAIN; i < sizeof kinds / sizeof kinds[0]; i++)
        stop_everywhere(&kinds[i], (int)sized(4, 7));
}

/* The job saves after each batch and is interrupted again and again, each time one question
 * later. */
Test(checkpoint, a_job_may_be_interrupted_any_number_of_times)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bench b;
        bm_status status = BM_ERR_CANCELLED;
        unsigned long before = 0;
        open_bench(&kinds[i], &b);
        b.job.resources.checkpoint_seconds = 0;
        for (int at = 1; status != BM_OK; at++) {
            bm_error err = {0};
            int asked;
            status = run(&b, at, true, &asked, &err);
            cr_assert(status == BM_OK || status == BM_ERR_CANCELLED, "%s", err.message);
            if (kinds[i].weights != BM_WEIGHTS_NONE && sealed_in(&err) == 0)
                continue; /* it was still counting, and has not loaded what was saved */
            cr_assert(status == BM_OK || sealed_in(&err) >= before, "nothing is lost");
            before = sealed_in(&err);
            cr_assert_lt(at, 200);
        }
        expect_outputs(&b, -1);
        close_bench(&b);
    }
}

/* tests/cli tests invalid words in BANDMILL_SEAL_SECONDS, which only the program reads. */
Test(checkpoint, seconds_that_are_no_number_are_refused)
{
    static const double wrong[] = {NAN, -NAN};
    bench b;
    open_bench(&kinds[1], &b);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bm_error err = {0};
        int asked;
        b.job.resources.checkpoint_seconds = wrong[i];
        cr_assert_eq(run(&b, -1, false, &asked, &err), BM_ERR_USAGE);
        cr_assert_str_eq(err.field, "checkpoint_seconds");
        cr_assert_not_null(strstr(err.message, "checkpoint_seconds"));
    }
    close_bench(&b);
}
