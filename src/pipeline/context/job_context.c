/* job_context.c -- settings checked once, in one place. */
#include "pipeline/context/job_context.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "lsh/band_plan.h"

#define SHINGLE_K_MAX         1024u
#define THREADS_MAX           1024u
#define DEFAULT_MAX_DOC_BYTES (UINT64_C(1) << 30)
#define DEFAULT_LEAST         (UINT64_C(256) << 20) /* of --memory where it is not given */

void bm_job_init(bm_job *job)
{
    memset(job, 0, sizeof *job);
    job->input.header = -1;
    job->input.max_errors = UINT64_MAX;
    job->input.max_doc_bytes = DEFAULT_MAX_DOC_BYTES;
    job->text = (bm_text_options){.normalize = BM_NORM_LOWER, .shingle_k = 5};
    job->sketch = (bm_sketch_options){.perms = 128, .seed = 1};
    job->lsh.threshold = 0.8;
    job->lsh.recall = 0.95;
}

/* --- memory --- */

static uint64_t read_number(const char *path)
{
    unsigned long long value = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu", &value) != 1)
        value = 0;
    fclose(file);
    return value;
}

/* Half of the smaller of the cgroup's limit and what is free. */
static uint64_t default_memory(void)
{
    uint64_t free_bytes = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long long kib;
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            free_bytes = (uint64_t)kib * 1024;
    }
    if (file != NULL)
        fclose(file);
    uint64_t limit = read_number("/sys/fs/cgroup/memory.max");
    if (limit == 0)
        limit = read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    if (limit != 0 && (free_bytes == 0 || limit < free_bytes))
        free_bytes = limit;
    if (free_bytes == 0)
        return UINT64_C(1) << 30;
    return free_bytes / 2 < DEFAULT_LEAST ? DEFAULT_LEAST : free_bytes / 2;
}

/* --- options --- */

static bm_status check_text(const bm_text_options *text, bm_error *err)
{
    if (text->shingle_k < 1 || text->shingle_k > SHINGLE_K_MAX)
        return bm_fail(err, BM_ERR_USAGE, "shingles of %u units (1 to %u)", text->shingle_k,
                       SHINGLE_K_MAX);
    if ((text->normalize & BM_NORM_NFC) != 0 && (text->normalize & BM_NORM_NFKC) != 0)
        return bm_fail(err, BM_ERR_USAGE, "nfc and nfkc together (one of them)");
    return BM_OK;
}

static bm_status check_lsh(const bm_job *job, bm_error *err)
{
    const bm_lsh_options *lsh = &job->lsh;
    if (!(lsh->threshold > 0.0 && lsh->threshold <= 1.0))
        return bm_fail(err, BM_ERR_USAGE, "threshold %g (more than 0, at most 1)", lsh->threshold);
    if (!(lsh->recall > 0.0 && lsh->recall < 1.0))
        return bm_fail(err, BM_ERR_USAGE, "recall %g (more than 0, less than 1)", lsh->recall);
    if ((lsh->bands == 0) != (lsh->rows == 0))
        return bm_fail(err, BM_ERR_USAGE,
                       "--bands without --rows or --rows without --bands (both or neither)");
    if ((uint64_t)lsh->bands * lsh->rows > BM_PERMS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%u bands of %u rows (bands times rows at most %u)",
                       lsh->bands, lsh->rows, BM_PERMS_MAX);
    return BM_OK;
}

static bm_status check_options(const bm_job *job, bm_error *err)
{
    if (job->input.n_paths == 0 && job->input.files_from == NULL)
        return bm_fail(err, BM_ERR_USAGE,
                       "no input given (files, directories or - for standard input)");
    if (job->sketch.perms < 1 || job->sketch.perms > BM_PERMS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%u permutations (1 to %u)", job->sketch.perms,
                       BM_PERMS_MAX);
    if (job->threads > THREADS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%u threads (at most %u)", job->threads, THREADS_MAX);
    bm_status status = check_text(&job->text, err);
    return status == BM_OK ? check_lsh(job, err) : status;
}

/* The directory of temporary files: --temp-dir, or where the output will be. */
static void find_temp_dir(const bm_job *job, char *out, size_t cap)
{
    if (job->temp_dir != NULL) {
        snprintf(out, cap, "%s", job->temp_dir);
        return;
    }
    snprintf(out, cap, "%s", job->output != NULL ? job->output : ".");
    size_t len = strlen(out);
    while (len > 1 && out[len - 1] == '/')
        out[--len] = '\0';
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        snprintf(out, cap, ".");
    else
        slash[slash == out ? 1 : 0] = '\0';
}

bm_status bm_job_context_open(const bm_job *job, const char *kind, bm_job_context *out,
                              bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->job = job;
    out->kind = kind;
    out->sketch = job->sketch;
    out->hash_name = job->input.format == BM_FORMAT_HASHES ? "given" : "xxh3";
    out->verify = job->lsh.verify;
    out->began = bm_clock_seconds();
    out->docs.number_duplicates = job->input.number_duplicate_ids;
    bm_meter_init(&out->meter, &job->callbacks);
    out->callbacks = bm_meter_callbacks(&out->meter);
    bm_isa isa;
    bm_status status = check_options(job, err);
    if (status == BM_OK)
        status = bm_isa_choose(job->cpu, &isa, err);
    out->threads = job->threads != 0 ? job->threads : bm_cpu_count();
    out->memory = job->memory != 0 ? job->memory : default_memory();
    find_temp_dir(job, out->temp_dir, sizeof out->temp_dir);
    if (status == BM_OK)
        status = bm_budget_make(out->memory, out->threads, 0, &out->budget, err);
    out->docs.memory = bm_budget_rows(&out->budget);
    if (status == BM_OK)
        status = bm_pool_open(out->threads, &out->pool, err);
    if (status != BM_OK)
        bm_job_context_close(out);
    return status;
}

void bm_job_context_close(bm_job_context *run)
{
    if (run->device_set_open)
        bm_device_set_close(&run->device_set);
    bm_device_pick_reset(&run->pick);
    bm_hash_input_close(run->hashes);
    bm_input_set_close(run->inputs);
    bm_free(run->names.names);
    bm_doc_table_reset(&run->docs);
    bm_pool_close(run->pool);
    bm_meter_reset(&run->meter);
}

bm_status bm_job_context_plan(bm_job_context *run, bm_error *err)
{
    const bm_lsh_options *lsh = &run->job->lsh;
    if (lsh->bands == 0)
        return bm_band_plan_choose(lsh->threshold, lsh->recall, run->sketch.perms, &run->plan, err);
    if (!run->job->perms_given)
        run->sketch.perms = lsh->bands * lsh->rows;
    bm_band_plan wanted = {.perms = run->sketch.perms,
                           .bands = lsh->bands,
                           .rows = lsh->rows,
                           .threshold = lsh->threshold,
                           .recall = lsh->recall};
    return bm_band_plan_fixed(&wanted, &run->plan, err);
}

/* --- inputs --- */

static bm_status open_hashes(bm_job_context *run, bm_error *err)
{
    if (bm_input_set_count(run->inputs) != 1)
        return bm_fail(err, BM_ERR_USAGE, "--format hashes takes one .npy file (%zu given)",
                       bm_input_set_count(run->inputs));
    if (run->job->input.offsets_path == NULL)
        return bm_fail(err, BM_ERR_USAGE, "--format hashes needs --offsets FILE");
    return bm_hash_input_open(bm_input_set_source(run->inputs, 0)->path,
                              run->job->input.offsets_path, &run->hashes, err);
}

/* Every file and directory that the job will write: none may be an input, nor another of them. */
static bm_status check_targets(const bm_job *job, bool is_dir, const char *const *inputs, size_t n,
                               bm_error *err)
{
    const char *targets[] = {job->output, job->report, job->histogram, job->histogram_svg};
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < sizeof targets / sizeof targets[0]; i++) {
        if (targets[i] == NULL)
            continue;
        for (size_t k = 0; status == BM_OK && k < i; k++)
            if (targets[k] != NULL && strcmp(targets[k], targets[i]) == 0)
                status = bm_fail_at(err, BM_ERR_USAGE, targets[i], 0,
                                    "two outputs in one file (a file for each)");
        if (status == BM_OK)
            status = bm_out_check(targets[i], job->force, is_dir && i == 0, inputs, n, err);
    }
    return status;
}

static bm_status check_output(bm_job_context *run, bool is_dir, bm_error *err)
{
    const bm_job *job = run->job;
    size_t n_sources = bm_input_set_count(run->inputs), n = 0;
    const char **paths = bm_alloc(n_sources + job->input.n_paths + 1, sizeof *paths);
    if (paths == NULL)
        return bm_fail_nomem(err, n_sources * sizeof *paths);
    for (size_t i = 0; i < job->input.n_paths; i++)
        paths[n++] = job->input.paths[i];
    for (size_t i = 0; i < n_sources; i++)
        paths[n++] = bm_input_set_source(run->inputs, i)->path;
    if (job->input.offsets_path != NULL)
        paths[n++] = job->input.offsets_path;
    bm_status status = check_targets(job, is_dir, paths, n, err);
    bm_free(paths);
    return status;
}

static bm_status take_names(bm_job_context *run, bm_error *err)
{
    size_t n = bm_input_set_count(run->inputs);
    run->names.names = bm_alloc(n, sizeof *run->names.names);
    if (run->names.names == NULL)
        return bm_fail_nomem(err, n * sizeof *run->names.names);
    run->names.n = n;
    for (size_t i = 0; i < n; i++)
        run->names.names[i] = bm_input_set_source(run->inputs, i)->name;
    return BM_OK;
}

bm_status bm_job_context_inputs(bm_job_context *run, bool twice, bool output_is_dir, bm_error *err)
{
    const bm_job *job = run->job;
    /* Before anything is read; again below, with the files that directories hold. */
    bm_status status = check_targets(job, output_is_dir, job->input.paths, job->input.n_paths, err);
    if (status != BM_OK)
        return status;
    status = bm_input_set_open_watched(&job->input, twice ? run->temp_dir : NULL, &run->callbacks,
                                       &run->inputs, err);
    if (status == BM_OK)
        status = check_output(run, output_is_dir, err);
    if (status == BM_OK && bm_input_set_format(run->inputs) == BM_FORMAT_HASHES)
        status = open_hashes(run, err);
    if (status == BM_OK)
        status = take_names(run, err);
    run->counts.hidden_files = status == BM_OK ? bm_input_set_hidden(run->inputs) : 0;
    return status;
}

bm_status bm_job_context_devices(bm_job_context *run, uint32_t bands, uint32_t rows, bm_error *err)
{
    bm_status status = bm_device_pick_open(run->job->device, run->job->cpu, &run->pick, err);
    if (status != BM_OK)
        return status;
    if (run->pick.why[0] != '\0')
        bm_meter_log(&run->meter, BM_LOG_INFO, "%s", run->pick.why);
    bm_device_set_cfg cfg = {.pick = &run->pick,
                             .sketch = run->sketch,
                             .perms_used = run->perms_used,
                             .bands = bands,
                             .rows = rows,
                             .text = run->texts && run->hashes == NULL ? &run->job->text : NULL,
                             .threads = run->threads,
                             .cpu = run->job->cpu,
                             .cache_dir = run->job->cache_dir,
                             .meter = &run->meter};
    status = bm_device_set_open(&cfg, &run->device_set, err);
    run->device_set_open = status == BM_OK;
    return status == BM_OK
               ? bm_budget_make(run->memory, run->threads,
                                (uint32_t)run->device_set.n_device_workers, &run->budget, err)
               : status;
}

void bm_job_context_stage(bm_job_context *run, const char *name, const char *unit)
{
    double now = bm_clock_seconds();
    if (run->stage != NULL && run->n_stages < BM_STAGES_MAX)
        run->stages[run->n_stages++] = (bm_stage){run->stage, now - run->stage_began};
    run->stage = name;
    run->stage_began = now;
    if (name != NULL)
        bm_meter_stage(&run->meter, name, unit);
}

bm_status bm_job_context_ingest(bm_job_context *run, bool words, bool keys, bm_ingest_sink sink,
                                void *ctx, bm_error *err)
{
    bm_ingest_cfg cfg = {.input = &run->job->input,
                         .text = &run->job->text,
                         .cpu = run->job->cpu,
                         .threads = run->threads,
                         .budget = &run->budget,
                         .batch_docs = run->job->batch_docs,
                         .inputs = run->inputs,
                         .hashes = run->hashes,
                         .skip_records = run->skip_records,
                         .device_set = run->device_set_open ? &run->device_set : NULL,
                         .want_words = words,
                         .want_keys = keys,
                         .meter = &run->meter,
                         .docs = &run->docs,
                         .counts = &run->counts,
                         .sink = sink,
                         .sink_ctx = ctx,
                         .times = &run->ingest_times};
    bm_status status = bm_ingest_run(&cfg, err);
    bm_meter_log(&run->meter, BM_LOG_DEBUG, "the flow was bound by: %s",
                 bm_ingest_bottleneck(&run->ingest_times));
    return status;
}
