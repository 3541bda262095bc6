/* SPDX-License-Identifier: Apache-2.0 */
/* Whole jobs in one process: cancelling, the memory limit, files left behind. tests/identity checks
 * that outputs have the same bytes for any threads and batches. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/world/scratch.h"
#include "tests/unit/jobs/whole_job.h"
#include "tests/world/world_random.h"

#define N_DOCS 3000u

/* Makes a directory with an input: documents of words from a small vocabulary; every fourth is the
 * one before with a word added, every ninth a copy of it. */
static scratch make_place(void)
{
    scratch p = scratch_open();
    FILE *file = scratch_write(&p, "in.jsonl");
    char text[2000] = "";
    uint64_t state = 12345;
    for (unsigned i = 0; i < N_DOCS; i++) {
        if (i % 9 != 0 && i % 4 != 0) {
            size_t len = 0;
            for (unsigned w = 0; w < 20 + i % 60; w++) {
                len += (size_t)snprintf(text + len, sizeof text - len, "w%u ",
                                        world_below(&state, 5000));
            }
        }
        fprintf(file, "{\"id\":\"d%u\",\"text\":\"%s%s\"}\n", i, text, i % 4 == 0 ? "changed" : "");
    }
    fclose(file);
    return p;
}

static void init_job(bm_dedup_options *job, scratch *p, const char *const *paths)
{
    whole_job_init(job, paths, scratch_at(p, "out"));
    job->output.force = true;
}

static void assert_nothing_left(const scratch *p)
{
    DIR *dir = opendir(p->root);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        cr_assert(entry->d_name[0] == '.' || strcmp(entry->d_name, "in.jsonl") == 0,
                  "%s was left behind", entry->d_name);
    closedir(dir);
}

static bool stop_after_three(void *ctx)
{
    return atomic_fetch_add((atomic_int *)ctx, 1) >= 3;
}

/* The output does not exist. Returns whether a cancelled job left a work folder beside it, which a
 * job that has finished a batch does. */
static bool left_work(scratch *p)
{
    cr_assert_not(scratch_has(p, "out"));
    return scratch_has(p, "out.partial");
}

Test(jobs, a_cancelled_job_ends_so_and_is_gone_on_with)
{
    static const char *const names[] = {"out/content_hash.npy", "out/groups.jsonl"};
    SCRATCH p = make_place();
    const char *paths[] = {scratch_at(&p, "in.jsonl")};
    run_fn all[] = {sign_with_keys, bm_job_dedup};
    for (size_t i = 0; i < 2; i++) {
        bm_dedup_options job;
        bm_summary *summary = NULL;
        bm_error err = {0};
        size_t len[2];
        char *data[2];
        init_job(&job, &p, paths);
        job.resources.batch_docs = 10;
        job.resources.threads = 3;
        cr_assert_eq(all[i](&job, &summary, &err), BM_OK);
        bm_summary_free(summary);
        data[0] = scratch_get(&p, names[i], &len[0]);
        world_folder_remove(scratch_at(&p, "out"));
        for (int stops = 0; stops < 4; stops++) {
            atomic_int asked = 0;
            job.callbacks = (bm_callbacks){.ctx = &asked, .cancelled = stop_after_three};
            summary = NULL;
            cr_assert_eq(all[i](&job, &summary, &err), BM_ERR_CANCELLED);
            cr_assert_null(summary);
            cr_assert(left_work(&p));
            job.resume = true;
        }
        job.callbacks = (bm_callbacks){0};
        cr_assert_eq(all[i](&job, &summary, &err), BM_OK, "%s", err.message);
        cr_assert_eq(bm_summary_counts(summary)->documents, N_DOCS);
        bm_summary_free(summary);
        data[1] = scratch_get(&p, names[i], &len[1]);
        cr_assert(len[0] == len[1] && memcmp(data[0], data[1], len[0]) == 0);
        free(data[0]);
        free(data[1]);
        world_folder_remove(scratch_at(&p, "out"));
        assert_nothing_left(&p);
    }
}

Test(jobs, a_job_over_its_memory_says_so_and_leaves_nothing)
{
    SCRATCH p = make_place();
    const char *paths[] = {scratch_at(&p, "in.jsonl")};
    bm_dedup_options job;
    bm_summary *summary = NULL;
    bm_error err = {0};
    init_job(&job, &p, paths);
    job.resources.memory = 100000;
    cr_assert_eq(bm_job_dedup(&job, &summary, &err), BM_ERR_NOMEM);
    cr_assert(strstr(err.message, "`memory`") != NULL);
    assert_nothing_left(&p);
}

typedef struct seen {
    atomic_int calls;
    uint64_t last_done, total;
    bool fell;
    double job_done;
    uint32_t stage_number, n_stages;
} seen;

static void on_progress(void *ctx, const bm_progress *progress)
{
    seen *s = ctx;
    atomic_fetch_add(&s->calls, 1);
    if (strcmp(progress->stage, "sign") == 0) {
        s->fell = s->fell || progress->done < s->last_done;
        s->last_done = progress->done;
        s->total = progress->total;
    }
    s->fell = s->fell || progress->job_done < s->job_done || progress->job_done > 1 ||
              progress->stage_number < s->stage_number ||
              (s->n_stages != 0 && progress->n_stages != s->n_stages);
    s->job_done = progress->job_done;
    s->stage_number = progress->stage_number;
    s->n_stages = progress->n_stages;
}

Test(jobs, progress_never_falls_and_knows_the_total)
{
    SCRATCH p = make_place();
    const char *paths[] = {scratch_at(&p, "in.jsonl")};
    struct stat st;
    cr_assert_eq(stat(scratch_at(&p, "in.jsonl"), &st), 0);
    seen s = {0};
    bm_dedup_options job;
    bm_summary *summary = NULL;
    init_job(&job, &p, paths);
    job.resources.threads = 4;
    job.resources.batch_docs = 50;
    job.callbacks = (bm_callbacks){.ctx = &s, .progress = on_progress};
    cr_assert_eq(sign_with_keys(&job, &summary, NULL), BM_OK);
    bm_summary_free(summary);
    cr_assert_gt(atomic_load(&s.calls), 0);
    cr_assert_not(s.fell);
    cr_assert_eq(s.total, (uint64_t)st.st_size);
    cr_assert(s.n_stages == 3 && s.stage_number == 3, "%u of %u", s.stage_number, s.n_stages);
}

#define LINE_BYTES 1024u

/* Writes lines of equal length, each a distinct document. In the pass that copies records, a batch
 * ends between lines 1000 and 1050. */
static void write_lines(scratch *p, unsigned n)
{
    FILE *file = scratch_write(p, "in.jsonl");
    for (unsigned i = 1; i <= n; i++) {
        const int len = fprintf(file, "{\"id\":\"d%u\",\"text\":\"w%u", i, i);
        fprintf(file, "%*s\"}\n", (int)LINE_BYTES - 3 - len, "");
    }
    fclose(file);
}

typedef struct blanking {
    const char *path;
    unsigned from, to; /* lines */
} blanking;

/* Blanks out lines of the input when the second reading begins. */
static void blank_lines(void *ctx, const bm_progress *progress)
{
    const blanking *b = ctx;
    if (strcmp(progress->stage, "write") != 0 || progress->done > 0)
        return;
    FILE *file = fopen(b->path, "r+");
    fseek(file, (long)((b->from - 1) * LINE_BYTES), SEEK_SET);
    for (unsigned i = b->from; i <= b->to; i++)
        fprintf(file, "%*s\n", (int)LINE_BYTES - 1, "");
    fclose(file);
}

Test(jobs, an_input_that_changes_between_its_readings_is_named_with_the_first_line_that_differs)
{
    static const unsigned changes[][2] = {{1500, 1500}, {1000, 1050}, {2, 2}};
    for (size_t i = 0; i < 3 * (sizeof changes / sizeof changes[0]); i++) {
        SCRATCH p = make_place();
        write_lines(&p, N_DOCS);
        const char *paths[] = {scratch_at(&p, "in.jsonl")};
        blanking b = {scratch_at(&p, "in.jsonl"), changes[i / 3][0], changes[i / 3][1]};
        bm_dedup_options job;
        bm_summary *summary = NULL;
        bm_error err = {0};
        init_job(&job, &p, paths);
        job.resources.threads = (uint32_t[]){1, 2, 8}[i % 3];
        job.callbacks = (bm_callbacks){.ctx = &b, .progress = blank_lines};
        cr_assert_eq(bm_job_dedup(&job, &summary, &err), BM_ERR_INPUT);
        cr_assert_str_eq(err.file, scratch_at(&p, "in.jsonl"));
        cr_assert_eq(err.line, b.to + 1, "line %llu, and not %u", (unsigned long long)err.line,
                     b.to + 1);
        cr_assert(strstr(err.message, "changed while it was read") != NULL, "%s", err.message);
    }
}

Test(jobs, the_report_has_the_command_that_was_handed_in_and_else_none)
{
    static const char *const command[] = {"tool", "a b", "c\\d\te\xff\"", NULL};
    for (int handed = 0; handed < 2; handed++) {
        SCRATCH p = make_place();
        const char *paths[] = {scratch_at(&p, "in.jsonl")};
        bm_dedup_options job;
        bm_summary *summary = NULL;
        init_job(&job, &p, paths);
        job.output.command = handed != 0 ? command : NULL;
        cr_assert_eq(bm_job_dedup(&job, &summary, NULL), BM_OK);
        const char *json = bm_summary_json(summary), *at = strstr(json, "\"command\"");
        cr_assert_not_null(strstr(json, "\"date\""));
        cr_assert_eq(at != NULL, handed != 0);
        if (handed != 0) { /* escaped as names are, then as JSON */
            cr_assert_lt(strstr(json, "\"run\""), at);
            cr_assert_not_null(strstr(at, "\"tool\""));
            cr_assert_not_null(strstr(at, "\"a b\""));
            cr_assert_not_null(strstr(at, "\"c\\\\\\\\d\\\\te\\\\xff\\\"\""));
        }
        bm_summary_free(summary);
    }
}
