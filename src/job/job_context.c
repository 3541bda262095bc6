/* SPDX-License-Identifier: Apache-2.0 */
/* job_context.c -- the resources of a job: memory, inputs, devices, stages, and passes over the
 * inputs.
 *
 * Tests: tests/cli/cases/bounds.sh, tests/cli/cases/progress.sh, tests/cli/cases/staged.sh,
 *        tests/cli/cases/weights.sh, tests/reference/test_weights.py,
 *        tests/scale/long_documents.sh, tests/unit/job/test_input_finder.c,
 *        tests/unit/jobs/test_jobs.c */
#include "job/job_context.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/address.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "sign/df_table.h"
#include "input/input_ahead.h"
#include "input/input_digest.h"
#include "input/input_shard.h"
#include "input/tables.h"
#include "model/scheme_facts.h"
#include "model/option_words.h"
#include "output/out_target.h"
#include "remote/remote_file.h"
#include "results/kept_writer.h"
#include "sources/batch_sources.h"
#include "text/shingler.h"

/* === job stages ===
 *
 * Plans the stages of a job for its meter.
 *
 * The weight of a stage is its time relative to the time of signing, as measured on 120 MB of JSON
 * Lines with two cores. Rough values are enough: while a stage runs, the meter uses its measured
 * pace instead (base/meter.h). */

typedef struct plan {
    bm_forecast_step steps[BM_FORECAST_STEPS];
    uint32_t n;
} plan;

static void add(plan *p, const char *stage, double weight)
{
    p->steps[p->n++] = (bm_forecast_step){stage, weight, NULL};
}

/* Add the stages that the job has of loading, reading and signing. */
static void add_reading(plan *p, const bm_settings *s, bm_job_start start)
{
    const bool signs = bm_job_does(s, BM_JOB_SIGNS) || (s->pairs.candidates == BM_CANDIDATES_LSH &&
                                                        s->input.format != BM_FORMAT_KEYS);
    if (start != BM_START_DOCUMENTS)
        add(p, BM_STAGE_LOAD, 0.2);
    if (start == BM_START_SIGNATURES_AND_TEXTS)
        add(p, BM_STAGE_READ, 0.6);
    else if (start != BM_START_SIGNATURES)
        add(p, signs ? BM_STAGE_SIGN : BM_STAGE_READ, start == BM_START_RESUMED_WHOLE ? 0 : 1);
}

static void add_matching(plan *p, const bm_settings *s)
{
    if (s->pairs.candidates == BM_CANDIDATES_LSH) {
        add(p, BM_STAGE_MATCH,
            bm_verify_reads_sets(s->pairs.verify)    ? 0.35
            : s->pairs.verify == BM_VERIFY_SIGNATURE ? 0.15
                                                     : 0.1);
        return;
    }
    add(p, BM_STAGE_MATCH, 2);
    p->steps[p->n - 1].within = BM_STAGE_COMPARE;
}

static bool is_compressed(const bm_input_set *set)
{
    return set != NULL && bm_input_set_count(set) > 0 &&
           bm_input_set_source(set, 0)->compression != BM_COMPRESSION_NONE;
}

static double weight_of_writing(const bm_job_context *job, bm_records kept)
{
    if (kept == BM_RECORDS_NOT_WRITTEN)
        return 0.05;
    const bool compresses = kept == BM_RECORDS_GZ || kept == BM_RECORDS_ZST ||
                            (kept == BM_RECORDS_SAME && is_compressed(job->inputs.set));
    return compresses ? 3 : 0.5;
}

/* The weight of copying is the weight of writing the kept records, since most records are kept. If
 * kept records are not written, it is the weight of writing the removed records. */
static double weight_of_copying(const bm_job_context *job, bool texts)
{
    const bm_result_settings *results = &job->settings->results;
    const double kept = weight_of_writing(job, texts ? results->kept : BM_RECORDS_NOT_WRITTEN);
    return kept < 0.5 && bm_settings_write_removed(job->settings)
               ? weight_of_writing(job, results->removed)
               : kept;
}

void bm_job_context_plan(bm_job_context *job, bm_job_start start)
{
    const bm_settings *s = job->settings;
    const bm_job_row *row = bm_job_row_of(s);
    plan p = {.n = 0};
    if (bm_job_does(s, BM_JOB_FILLS_INDEX)) { /* most of an index is written during signing */
        add(&p, BM_STAGE_SIGN, 1);
        add(&p, BM_STAGE_WRITE, row->write_weight);
        bm_meter_plan(&job->meter, p.steps, p.n);
        return;
    }
    if (!bm_job_does(s, BM_JOB_COPIES))
        add_reading(&p, s, start);
    else if (s->recorded.read_twice)
        add(&p, BM_STAGE_READ, 0.5);
    if (s->pairs.n_against > 0)
        add(&p, BM_STAGE_KNOWN, 0.5);
    if (bm_job_does(s, BM_JOB_MATCHES))
        add_matching(&p, s);
    if (bm_job_does(s, BM_JOB_GROUPS))
        add(&p, BM_STAGE_GROUP, 0.03);
    if (bm_job_does(s, BM_JOB_COMPARES)) {
        add(&p, BM_STAGE_COMPARE, 1);
        bm_meter_plan(&job->meter, p.steps, p.n);
        return;
    }
    if (bm_job_does(s, BM_JOB_COPIES))
        add(&p, BM_STAGE_COPY, weight_of_copying(job, true));
    else if (bm_job_does(s, BM_JOB_GROUPS))
        add(&p, BM_STAGE_WRITE, weight_of_copying(job, start != BM_START_SIGNATURES));
    else
        add(&p, BM_STAGE_WRITE, row->write_weight);
    if (row->seal_weight > 0)
        add(&p, BM_STAGE_SEAL, row->seal_weight);
    bm_meter_plan(&job->meter, p.steps, p.n);
}

#define BATCH_BYTES  (1u << 20)
#define BATCH_HASHES (1u << 17)

/* The bytes that neither the fixed memory nor the table of documents takes. The memory of the
 * corpus counts as free, because `dedup` moves the corpus to files when a long record needs the
 * memory (corpus_sets.c). */
static uint64_t free_bytes(const bm_job_context *job)
{
    const uint64_t held = job->budget.fixed + bm_doc_table_bytes(&job->docs);
    return job->budget.total > held ? job->budget.total - held : 0;
}

/* The bytes that a complete record needs: its own, an eighth more for bytes read after it, and
 * copies of its text. */
static uint64_t needed_bytes(const bm_record_budget *budget, uint64_t record_bytes)
{
    return record_bytes + record_bytes / 8 + budget->copies * record_bytes;
}

/* The `hold` function of a record budget's gate. `bytes`: the bytes of the record read so far, plus
 * a sixteenth for bytes that may be read after it. */
static bm_status admit_record(void *ctx, uint64_t bytes, bool *may, bm_error *err)
{
    const bm_record_budget *budget = ctx;
    (void)err;
    *may = budget->job->budget.total == 0 ||
           bytes + budget->copies * (bytes - bytes / 17) <= free_bytes(budget->job);
    return BM_OK;
}

uint64_t bm_record_budget_left(const bm_record_budget *budget, uint64_t record_bytes)
{
    const uint64_t all = free_bytes(budget->job), held = needed_bytes(budget, record_bytes);
    if (budget->job->budget.total == 0)
        return 0;
    return all > held ? all - held : 1;
}

bm_status bm_record_budget_refuse(const bm_record_budget *budget, const bm_long_record *record,
                                  uint64_t shingling, bm_error *err)
{
    const uint64_t total = budget->job->budget.total, taken = budget->job->taken;
    uint64_t least =
        total - free_bytes(budget->job) + needed_bytes(budget, record->bytes) + shingling;
    if (budget->shingles && taken < total) /* `taken`, the memory of an index, grows with `total` */
        least = (uint64_t)((double)(least - taken) * ((double)total / (double)(total - taken)));
    return bm_fail_at(err, BM_ERR_NOMEM, record->file, record->line,
                      "a record of %llu bytes does not fit into `memory` of %lluM (at least %lluM)",
                      (unsigned long long)record->bytes, (unsigned long long)(total >> 20),
                      (unsigned long long)(least >> 20) + 3);
}

static bm_status refuse(void *ctx, const bm_long_record *record, bm_error *err)
{
    const bm_record_budget *budget = ctx;
    const bm_text_options *text = &budget->job->settings->text;
    const uint64_t units = bm_shingle_is_of_words(text->shingle) ? record->words : record->bytes;
    return bm_record_budget_refuse(
        budget, record, budget->shingles ? bm_shingler_bytes(text, record->bytes, units) : 0, err);
}

void bm_record_budget_init(const bm_job_context *job, bm_record_use use, bm_record_budget *out)
{
    const bm_format format =
        job->inputs.set != NULL ? bm_input_set_format(job->inputs.set) : BM_FORMAT_AUTO;
    const bool elements = format == BM_FORMAT_JSON || format == BM_FORMAT_MIXED;
    *out = (bm_record_budget){
        .job = job, .shingles = use == BM_RECORDS_SHINGLED, .gate = {out, admit_record, refuse}};
    if (use != BM_RECORDS_SPLIT ||
        elements) /* elements of an array are parsed, even if the pass only splits records */
        out->copies = job->settings->input.n_text_fields > 1 ? 2 : 1;
}

static bm_status read_batches(bm_job_context *job, bm_batch_parser *parser, bm_record_fn fn,
                              void *ctx, const bool *enough, bm_error *err)
{
    bm_batch_source *source = job->inputs.source;
    bm_batch_next next;
    while (enough == NULL || !*enough) {
        BM_TRY(bm_meter_check(&job->meter, err));
        BM_TRY(bm_batch_source_next(source, &next, err));
        if (next.got == BM_BATCH_END)
            return BM_OK;
        const bm_status status = bm_batch_parser_run(parser, next.batch, fn, ctx, err);
        bm_meter_progress(&job->meter, next.bytes_read, bm_batch_source_total_bytes(source),
                          job->docs.n);
        bm_batch_source_free_batch(source, next.batch);
        BM_TRY(status);
    }
    return BM_OK;
}

bm_status bm_records_read(bm_job_context *job, bm_record_fn fn, void *ctx, const bool *enough,
                          bm_error *err)
{
    bm_record_budget budget;
    bm_batch_parser *parser = NULL;
    bm_record_budget_init(job, BM_RECORDS_PARSED, &budget);
    const bm_batch_limits limits = {
        .bytes = BATCH_BYTES, .hashes = BATCH_HASHES, .gate = &budget.gate};
    bm_job_context_stage(job, BM_STAGE_READ, "bytes");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_source_begin(job->inputs.source, &limits, 0, err));
    BM_TRY_OUT(bm_batch_parser_open(job->inputs.source, &parser, err));
    status = read_batches(job, parser, fn, ctx, enough, err);
out:
    bm_batch_parser_close(parser);
    bm_batch_source_end(job->inputs.source);
    return status;
}

bm_status bm_table_budget(const bm_settings *settings, uint64_t *out, bm_error *err)
{
    bm_budget budget;
    BM_TRY(bm_budget_make(settings->memory, settings->threads, 0, &budget, err));
    *out = bm_budget_rows(&budget);
    return BM_OK;
}

bm_status bm_table_budget_refuse(const bm_settings *settings, const char *what, uint64_t bytes,
                                 bm_error *err)
{
    bm_budget budget;
    BM_TRY(bm_budget_make(settings->memory, settings->threads, 0, &budget, err));
    return bm_fail(err, BM_ERR_NOMEM, "%s do not fit into `memory` of %lluM (at least %lluM)", what,
                   (unsigned long long)(settings->memory >> 20),
                   (unsigned long long)(bm_budget_least(&budget, bytes) >> 20) + 1);
}

/* === input finder ===
 *
 * Searches for an input in several places, in order.
 *
 * A file of the recorded size counts as found. Its bytes are usually not read here: the reader
 * computes the digest later, and reports a difference. Files are digested here only if several
 * different files have the recorded size. */

#define FOUND_MAX 8u /* most different files of the recorded size that are considered */

typedef struct found {
    char *path;
    dev_t device;
    ino_t inode;
} found;

typedef struct search {
    const bm_manifest_input *input;
    const bm_input_places *places;
    char *beside; /* directory of the manifest */
    found found[FOUND_MAX];
    size_t n;
    char *other;          /* the first existing file of another size */
    uint64_t other_bytes; /* the size of `other` */
    bm_error why;         /* the error of the first place that cannot be examined */
} search;

/* If `path` is a new regular file, add it to `found` if its size fits, or make it `other` if it is
 * the first whose size does not. Takes ownership of `path`. */
static void try_path(search *s, char *path)
{
    struct stat st;
    bool there;
    (void)bm_look_at(AT_FDCWD, path, 0, &there, &st, s->why.status == BM_OK ? &s->why : NULL);
    there = there && S_ISREG(st.st_mode);
    bool known = s->n == FOUND_MAX;
    for (size_t i = 0; there && i < s->n; i++)
        known = known || (s->found[i].device == st.st_dev && s->found[i].inode == st.st_ino);
    if (there && (uint64_t)st.st_size == s->input->bytes && !known) {
        s->found[s->n++] = (found){path, st.st_dev, st.st_ino};
    } else if (there && (uint64_t)st.st_size != s->input->bytes && s->other == NULL) {
        s->other = path;
        s->other_bytes = (uint64_t)st.st_size;
    } else {
        bm_free(path);
    }
}

/* Try dir/name, or `name` if dir is NULL. */
static bm_status try_in(search *s, const char *dir, const char *name, bm_error *err)
{
    char *path = NULL;
    BM_TRY(dir == NULL ? bm_string_format(&path, err, "%s", name)
                       : bm_string_format(&path, err, "%s/%s", dir, name));
    try_path(s, path);
    return BM_OK;
}

/* `name` without its first component; NULL: `name` has only one component. */
static const char *without_first(const char *name)
{
    const char *slash = strchr(name, '/');
    while (slash != NULL && *slash == '/')
        slash++;
    return slash != NULL && *slash != '\0' ? slash : NULL;
}

/* Does the name have a component ".."? Such a name could lead out of the directory. */
static bool leads_up(const char *name)
{
    for (const char *step = name; step != NULL; step = without_first(step))
        if (strncmp(step, "..", 2) == 0 && (step[2] == '/' || step[2] == '\0'))
            return true;
    return false;
}

static bm_status try_below(search *s, const char *dir, bm_error *err)
{
    const char *name = s->input->file;
    if (name[0] == '/')
        name = without_first(name);
    for (; name != NULL; name = without_first(name)) {
        if (!leads_up(name))
            BM_TRY(try_in(s, dir, name, err));
    }
    return BM_OK;
}

/* Try the parent of the manifest's directory. If that directory is a symbolic link, its parent is
 * the directory that contains the link. */
static bm_status try_parent(search *s, bm_error *err)
{
    char *parent;
    BM_TRY(bm_copy_text(s->beside, &parent, err));
    parent[bm_path_plain_len(parent)] = '\0';
    char *slash = strrchr(parent, '/');
    const char *last = slash != NULL ? slash + 1 : parent;
    bm_status status;
    if (strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        char *above = NULL;
        status = bm_string_format(&above, err, "%s/..", parent);
        if (status == BM_OK)
            status = try_in(s, above, s->input->file, err);
        bm_free(above);
    } else {
        if (slash != NULL)
            slash[slash == parent ? 1 : 0] = '\0';
        status = try_in(s, slash != NULL ? parent : NULL, s->input->file, err);
    }
    bm_free(parent);
    return status;
}

static bm_status try_all(search *s, bm_error *err)
{
    const char *name = s->input->file;
    BM_TRY(try_in(s, NULL, name, err));
    if (s->input->found != NULL)
        BM_TRY(try_in(s, NULL, s->input->found, err));
    if (name[0] != '/') {
        BM_TRY(try_in(s, s->beside, name, err));
        BM_TRY(try_parent(s, err));
    }
    if (s->places->sources != NULL)
        BM_TRY(try_below(s, s->places->sources, err));
    if (s->input->here != NULL)
        BM_TRY(try_in(s, s->beside, s->input->here, err));
    return BM_OK;
}

bm_status bm_input_is_same(const bm_manifest_input *input, const char *path, bm_remote *remote,
                           const bm_callbacks *callbacks, bool *same, bm_error *err)
{
    const bm_manifest_part whole = {0, UINT64_MAX, input->xxh3_128};
    const bm_manifest_part *parts = input->n_parts > 0 ? input->parts : &whole;
    const size_t n = input->n_parts > 0 ? input->n_parts : 1;
    *same = false;
    for (size_t i = 0; i < n; i++) {
        const bm_digest_of of = {path, remote, parts[i].from, parts[i].bytes, input->piece_bytes};
        bm_hash128 digest;
        char hex[BM_HASH128_HEX];
        BM_TRY(bm_input_digest_file(&of, callbacks, &digest, err));
        bm_hash128_hex(digest, hex);
        if (strcmp(hex, parts[i].xxh3_128) != 0)
            return BM_OK;
    }
    *same = true;
    return BM_OK;
}

/* Set *at to the index of the first found file that has the recorded bytes, or to 0 if no file has
 * them. A single file is not read. Files that cannot be read are passed over. */
static bm_status choose(const search *s, size_t *at, bm_error *err)
{
    *at = 0;
    for (size_t i = 0; s->n > 1 && i < s->n; i++) {
        bm_error inner = {0};
        bool same = false;
        bm_status status =
            bm_input_is_same(s->input, s->found[i].path, NULL, s->places->callbacks, &same, &inner);
        if (status == BM_ERR_CANCELLED || status == BM_ERR_NOMEM) {
            if (err != NULL)
                *err = inner;
            return status;
        }
        if (same) {
            *at = i;
            return BM_OK;
        }
    }
    return BM_OK;
}

static bm_status not_found(const search *s, bm_error *err)
{
    const char *sources = s->places->sources;
    if (s->other != NULL)
        return bm_fail_at(err, BM_ERR_FORMAT, s->other, 0,
                          "the file is not the one that %s was made from (it has %" PRIu64
                          " bytes, had %" PRIu64 ")",
                          s->places->manifest, s->other_bytes, s->input->bytes);
    if (s->why.status != BM_OK && err != NULL)
        *err = s->why;
    if (s->why.status != BM_OK)
        return s->why.status;
    return bm_fail_at(err, BM_ERR_IO, s->input->file, 0,
                      "the file is not there any more (looked for here, beside %s%s%s%s)",
                      s->beside, sources != NULL ? " and below " : "",
                      sources != NULL ? sources : "",
                      sources != NULL ? "" : "; `sources` says where else");
}

bm_status bm_input_find(const bm_manifest_input *input, const bm_input_places *places, char **path,
                        bm_error *err)
{
    search s = {.input = input, .places = places};
    size_t at = 0;
    if (strcmp(input->file, "-") == 0)
        return bm_fail_at(err, BM_ERR_FORMAT, places->manifest, 0,
                          "its input was standard input, which cannot be read again");
    /* There is nothing to search for: an input that could not be read has no digest, and an address
     * is its own path. */
    if (strspn(input->xxh3_128, "0") == BM_HASH128_HEX - 1 || bm_is_address(input->file))
        return bm_copy_text(input->file, path, err);
    const char *slash = strrchr(places->manifest, '/');
    s.beside = slash == NULL ? bm_strdup(".")
                             : bm_strndup(places->manifest, (size_t)(slash - places->manifest));
    bm_status status = BM_OK;
    BM_TRY_OUT(s.beside != NULL ? try_all(&s, err) : bm_fail_nomem(err, strlen(places->manifest)));
    BM_TRY_OUT(s.n > 0 ? choose(&s, &at, err) : not_found(&s, err));
    *path = s.found[at].path;
    s.found[at].path = NULL;
out:
    for (size_t i = 0; i < s.n; i++)
        bm_free(s.found[i].path);
    bm_free_all(s.other, s.beside);
    return status;
}

/* Limits of the bytes for windows of decoders. WINDOW_LEAST is the window of xz and zstd at usual
 * levels. More than WINDOW_MOST is granted only if the first bytes of the inputs request it. */
#define WINDOW_LEAST ((uint64_t)8 << 20)
#define WINDOW_MOST  ((uint64_t)128 << 20)
#define GROWS_LEAST  ((uint64_t)8 << 20) /* least bytes that windows must leave to documents */

bm_status bm_job_context_open(const bm_settings *settings, bm_job_context *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->settings = settings;
    out->clock.began = bm_clock_seconds();
    out->clock.date = time(NULL);
    bm_meter_init(&out->meter, &settings->callbacks);
    out->callbacks = bm_meter_callbacks(&out->meter);
    bm_status status = bm_budget_make(settings->memory, settings->threads, 0, &out->budget, err);
    out->docs.number_duplicates = bm_input_numbers_ids(&settings->input);
    out->docs.memory = bm_budget_rows(&out->budget);
    out->docs.memory_all = out->budget.total;
    out->docs.files = &out->inputs.names;
    if (status == BM_OK)
        status = bm_pool_open(settings->threads, &out->pool, err);
    if (status != BM_OK)
        bm_job_context_close(out);
    return status;
}

void bm_job_context_close(bm_job_context *job)
{
    if (job->devices.open)
        bm_device_set_close(&job->devices.set);
    bm_device_pick_reset(&job->devices.pick);
    if (job->settings->parts == NULL) { /* with `parts`, the outer job owns the inputs */
        bm_batch_source_close(job->inputs.source);
        bm_input_set_close(job->inputs.set);
        bm_free_all(job->inputs.names.names, job->inputs.names.from_records);
    }
    bm_doc_table_reset(&job->docs);
    bm_df_table_close(job->frequencies);
    bm_keep_keys_close(&job->keep);
    bm_pool_close(job->pool);
    bm_meter_reset(&job->meter);
}

/* --- memory --- */

/* Set budget.ahead. If memory is limited, add job->taken to budget.fixed, but leave at least one
 * byte to documents. */
static void reserve_taken(bm_job_context *job)
{
    job->budget.ahead = job->ahead;
    if (job->budget.total == 0)
        return;
    const uint64_t rows = bm_budget_rows(&job->budget);
    job->budget.fixed += job->taken < rows ? job->taken : rows - 1; /* 0 would mean no limit */
    job->docs.memory = bm_budget_rows(&job->budget);
}

void bm_job_context_reserve(bm_job_context *job, uint64_t bytes)
{
    const uint64_t before = job->taken;
    job->taken = bytes;
    reserve_taken(job);
    job->taken += before;
}

/* A decoder of xz or Zstandard keeps a window in memory. The windows of the first frames are known.
 * Later frames are limited to the largest of three: the known windows, WINDOW_LEAST, and a
 * sixteenth of the memory (at most WINDOW_MOST). Only bytes above WINDOW_LEAST are reserved. */
bm_status bm_job_context_windows(bm_job_context *job, bm_input_set *set, bm_error *err)
{
    const uint64_t total = job->budget.total, ahead = job->ahead;
    const uint32_t threads = job->settings->threads;
    uint64_t known;
    size_t largest;
    bm_input_set_assign(set, &(bm_input_resources){.threads = threads,
                                                   .memory = total,
                                                   .temp_dir = job->settings->temp_dir});
    if (set->remotes != NULL) {
        BM_TRY(bm_remotes_grant(set->remotes, threads, total, &known, err));
        bm_job_context_reserve(job, known + set->listed);
    }
    job->ahead = bm_input_ahead_grant(set, threads, bm_budget_ahead(&job->budget, threads));
    job->budget.ahead = job->ahead = job->ahead > ahead ? job->ahead : ahead;
    if (total == 0 || !bm_input_set_windows(set, &known, &largest))
        return BM_OK;
    uint64_t bytes = total / 16 < WINDOW_MOST ? total / 16 : WINDOW_MOST;
    bytes = bytes > known ? bytes : known;
    bytes = bytes > WINDOW_LEAST ? bytes : WINDOW_LEAST;
    const uint64_t taken = bytes - WINDOW_LEAST, needed = taken + GROWS_LEAST;
    const bm_source *source = bm_input_set_source(set, largest);
    if (taken > 0 && needed > bm_budget_rows(&job->budget))
        return bm_fail_at(err, BM_ERR_NOMEM, source->name, 0,
                          "the compressed data asks for a window of %llu bytes, which does not fit "
                          "into `memory` of %lluM (at least %lluM)",
                          (unsigned long long)source->window, (unsigned long long)(total >> 20),
                          (unsigned long long)(bm_budget_least(&job->budget, needed) >> 20) + 1);
    bm_job_context_reserve(job, taken);
    bm_input_set_limit_windows(set, bytes);
    return BM_OK;
}

/* --- inputs --- */

typedef struct path_list {
    const char *const *paths;
    size_t n;
} path_list;

/* What the job may do with an existing output. With `resume`, an existing output is allowed here:
 * whether it belongs to the same job is checked later. Jobs that add to an index need an existing
 * index. */
static bm_out_existing existing_of(const bm_settings *settings, bool is_dir)
{
    bm_out_existing existing = bm_out_existing_within(settings->output.force, settings->memory);
    existing.kind = settings->index.kind;
    return (settings->results.resume && !settings->output.force) ||
                   (is_dir && bm_job_does(settings, BM_JOB_ADDS))
               ? BM_OUT_LOOK
               : existing;
}

static bool reads_texts_twice(const bm_settings *s)
{
    return s->recorded.read_twice || bm_settings_weigh(s) || s->pairs.stop_shingles > 0 ||
           s->pairs.unit == BM_UNIT_SPAN || bm_settings_pair_units(s);
}

/* Are the inputs read more than once? */
static bool reads_twice(const bm_settings *s)
{
    return (bm_job_does(s, BM_JOB_GROUPS) && s->results.kept != BM_RECORDS_NOT_WRITTEN) ||
           bm_settings_write_removed(s) || reads_texts_twice(s);
}

/* Check each output against the other outputs, and each output directory against the requested
 * directory for temporary files. */
static bm_status check_apart(const bm_settings *settings, const bm_out_named *outputs, size_t n,
                             bm_error *err)
{
    const char *temp_dir = settings->resources.temp_dir;
    BM_TRY(bm_out_apart(outputs, n, err));
    for (size_t i = 0; temp_dir != NULL && i < n; i++) {
        if (outputs[i].is_dir)
            BM_TRY(bm_out_apart_from_temp(outputs[i].path, temp_dir, err));
    }
    return BM_OK;
}

/* Check each output against the inputs. */
static bm_status check_against(const bm_settings *settings, const bm_out_named *outputs, size_t n,
                               const path_list *inputs, bm_error *err)
{
    for (size_t i = 0; i < n; i++)
        BM_TRY((outputs[i].is_dir ? bm_out_dir_check : bm_out_file_check)(
            outputs[i].path, existing_of(settings, outputs[i].is_dir), inputs->paths, inputs->n,
            err));
    return BM_OK;
}

/* Check that each output can be written, and that its file system has some free space. An existing
 * index to which the job adds is not checked, since it may have free space inside. */
static bm_status check_space(const bm_settings *settings, const bm_out_named *outputs, size_t n,
                             bm_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!outputs[i].is_dir || !bm_job_does(settings, BM_JOB_ADDS))
            BM_TRY(bm_out_space_check(outputs[i].path, outputs[i].is_dir, err));
    return BM_OK;
}

bm_status bm_job_context_check_outputs(const bm_settings *settings, const char *const *inputs,
                                       size_t n, bm_error *err)
{
    const char *targets[] = {settings->output.path, settings->output.report,
                             settings->results.histogram, settings->results.histogram_svg};
    const char *lists[] = {settings->input.files_from, settings->input.offsets_path,
                           settings->stop.path};
    const bm_pair_settings *known = &settings->pairs;
    const size_t n_lists = sizeof lists / sizeof lists[0];
    bm_out_named outputs[sizeof targets / sizeof targets[0]];
    size_t n_outputs = 0;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (targets[i] != NULL && bm_is_address(targets[i]))
            return bm_fail_field_at(err, "output", targets[i], 0,
                                    "is an address (outputs are files "
                                    "of this machine)");
    const char **paths;
    BM_TRY(bm_new(&paths, n + n_lists + known->n_against, err));
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (targets[i] != NULL)
            outputs[n_outputs++] =
                (bm_out_named){targets[i], i == 0 && bm_job_does(settings, BM_JOB_WRITES_DIR)};
    for (size_t i = 0; i < n; i++)
        paths[i] = inputs[i];
    for (size_t i = 0; i < n_lists; i++)
        if (lists[i] != NULL)
            paths[n++] = lists[i];
    for (size_t i = 0; i < known->n_against; i++)
        paths[n++] = known->against[i];
    bm_status status = BM_OK;
    BM_TRY_OUT(check_against(settings, outputs, n_outputs, &(path_list){paths, n}, err));
    BM_TRY_OUT(check_apart(settings, outputs, n_outputs, err));
    status = check_space(settings, outputs, n_outputs, err);
out:
    bm_free(paths);
    return status;
}

/* Open job->inputs.set: a table in memory, or files. If the job has a share of the inputs, cut the
 * set to that share. */
static bm_status open_set(bm_job_context *job, bm_error *err)
{
    const bm_settings *s = job->settings;
    bm_input_options table = s->input;
    if (table.stream == NULL) {
        bm_meter_stage(&job->meter, "list",
                       "names"); /* not in the plan, but listing remote folders takes time */
        BM_TRY(bm_input_set_open(&s->input, reads_twice(s) ? s->temp_dir : NULL, s->memory,
                                 &job->callbacks, &job->inputs.set, err));
        return s->results.n_shards == 0 ? BM_OK
                                        : bm_input_set_shard(job->inputs.set, s->results.shard,
                                                             s->results.n_shards, err);
    }
    table.format = BM_FORMAT_ARROW;
    return bm_input_set_open_stream(&table,
                                    table.stream_name != NULL ? table.stream_name : BM_TABLE_NAME,
                                    &job->inputs.set, err);
}

/* Check the outputs again, now also against the files in input directories. */
static bm_status check_against_files(const bm_job_context *job, bm_error *err)
{
    const bm_input_options *input = &job->settings->input;
    size_t n_sources = bm_input_set_count(job->inputs.set), n = 0;
    const char **paths;
    BM_TRY(bm_new(&paths, n_sources + input->n_paths, err));
    for (size_t i = 0; i < input->n_paths; i++)
        paths[n++] = input->paths[i];
    for (size_t i = 0; i < n_sources && input->stream == NULL; i++)
        paths[n++] = bm_input_set_source(job->inputs.set, i)->path;
    bm_status status = bm_job_context_check_outputs(job->settings, paths, n, err);
    bm_free(paths);
    return status;
}

/* Tables keep their internal compression. So for tables, refuse all values of the field except
 * `same` and `no`. */
static bm_status check_kept(const bm_job_context *job, const char *field, bm_records kept,
                            bm_error *err)
{
    if (!bm_format_is_table(bm_input_set_format(job->inputs.set)) || kept == BM_RECORDS_SAME ||
        kept == BM_RECORDS_NOT_WRITTEN)
        return BM_OK;
    return bm_fail_field(err, field, "`%s` %s of tables (same, or no)", field,
                         bm_option_name(BM_OPTION_KEPT, kept));
}

/* If removed records are written, check that the format has records to copy, and that `removed` is
 * possible for tables. */
static bm_status check_removed(const bm_job_context *job, bm_error *err)
{
    const bm_format format = bm_input_set_format(job->inputs.set);
    if (!bm_settings_write_removed(job->settings))
        return BM_OK;
    if (bm_input_set_is_stream(job->inputs.set))
        return bm_fail_field(err, "removed", "`removed` of a table in memory (no)");
    if (format == BM_FORMAT_FILES || format == BM_FORMAT_HASHES)
        return bm_fail_field(err, "removed", "`removed` of `format` %s, which has no records (no)",
                             bm_option_name(BM_OPTION_FORMAT, format));
    return check_kept(job, "removed", job->settings->results.removed, err);
}

/* If kept records are written as one stream, check that this is possible: tables, for instance,
 * must all have the same schema. */
static bm_status check_stream(const bm_job_context *job, bm_error *err)
{
    const bool streams =
        bm_job_does(job->settings, BM_JOB_GROUPS) && job->settings->results.write != NULL;
    return streams ? bm_kept_writer_check_stream(job->inputs.set, err) : BM_OK;
}

static bm_status list_names(bm_job_context *job, bm_error *err)
{
    size_t n = bm_input_set_count(job->inputs.set);
    bm_file_names *names = &job->inputs.names;
    BM_TRY(bm_new(&names->names, n, err));
    names->n = n;
    if (job->settings->results.n_shards > 0)
        BM_TRY(bm_new(&names->from_records, n, err));
    for (size_t i = 0; i < n; i++) {
        const bm_source *source = bm_input_set_source(job->inputs.set, i);
        names->names[i] = source->name;
        if (names->from_records != NULL)
            names->from_records[i] = source->cut.records;
    }
    return BM_OK;
}

/* Count the directory entries that are not read. Of the entries that are not hidden, log the first
 * ones. */
static void report_left_out(bm_job_context *job)
{
    const bm_left_out_path *left;
    job->counts.hidden_files = bm_input_set_hidden(job->inputs.set);
    job->counts.left_out = bm_input_set_left_out(job->inputs.set);
    for (size_t i = 0; (left = bm_input_set_left_out_path(job->inputs.set, i)) != NULL; i++)
        bm_meter_log(&job->meter, BM_LOG_WARNING, "%s: left out: %s", left->path, left->what);
}

bm_status bm_job_context_inputs(bm_job_context *job, bm_error *err)
{
    const bm_settings *s = job->settings;
    if (s->parts != NULL) {
        job->inputs = s->parts->of->inputs;
        bm_job_context_reserve(job, s->parts->of->taken + bm_doc_table_bytes(&s->parts->of->docs));
        return BM_OK;
    }
    /* Check the outputs before anything is read. check_against_files does it again, with the files
     * in input directories. */
    BM_TRY(bm_job_context_check_outputs(s, s->input.paths, s->input.n_paths, err));
    BM_TRY(open_set(job, err));
    BM_TRY(bm_job_context_windows(job, job->inputs.set, err));
    BM_TRY(check_against_files(job, err));
    BM_TRY(check_kept(job, "kept", s->results.kept, err));
    BM_TRY(check_stream(job, err));
    BM_TRY(check_removed(job, err));
    BM_TRY(bm_input_set_rank(job->inputs.set, &s->keep, err));
    BM_TRY(bm_batch_source_open(job->inputs.set, &job->inputs.source, err));
    job->inputs.source->begun_twice = reads_texts_twice(s);
    if (s->pairs.candidates == BM_CANDIDATES_LSH && !bm_scheme_whole_hashes(s->sketch.scheme))
        job->inputs.source->low_halves = &s->sketch.scheme;
    if (s->recorded.names != NULL && s->recorded.n_names == bm_input_set_count(job->inputs.set))
        bm_input_set_rename(job->inputs.set, s->recorded.names, s->recorded.offsets_name);
    else if (s->input.names != NULL && s->input.n_paths == bm_input_set_count(job->inputs.set))
        bm_input_set_rename(job->inputs.set, s->input.names, NULL);
    else if (s->input.names != NULL)
        return bm_fail_field(err, "names", "names for other files than there are (one for each)");
    BM_TRY(list_names(job, err));
    report_left_out(job);
    return BM_OK;
}

bm_format bm_job_context_format(const bm_job_context *job)
{
    return job->inputs.set != NULL ? bm_input_set_format(job->inputs.set)
                                   : job->settings->input.format;
}

/* --- devices --- */

bm_status bm_job_context_pick(bm_job_context *job, bm_error *err)
{
    const bm_callbacks callbacks = bm_meter_callbacks(&job->meter);
    bm_job_devices *devices = &job->devices;
    if (devices->pick.devices != NULL)
        return BM_OK;
    return bm_device_pick_open(&job->settings->device, &callbacks, &devices->pick, err);
}

bool bm_job_context_makes_again(const bm_job_context *job)
{
    const bm_settings *s = job->settings;
    return job->inputs.source != NULL && job->inputs.source->reads_again &&
           bm_job_does(s, BM_JOB_MATCHES) && bm_verify_reads_sets(s->pairs.verify) &&
           s->pairs.candidates == BM_CANDIDATES_LSH && s->pairs.n_against == 0 &&
           s->parts == NULL && s->pairs.sample == 0 && s->text.weights == BM_WEIGHTS_NONE;
}

bm_status bm_job_context_devices(bm_job_context *job, bool keys, bm_error *err)
{
    const bm_settings *s = job->settings;
    bm_job_devices *devices = &job->devices;
    BM_TRY(bm_job_context_pick(job, err));
    if (devices->pick.why[0] != '\0')
        bm_meter_log(&job->meter,
                     devices->pick.broken  ? BM_LOG_WARNING
                     : devices->pick.asked ? BM_LOG_INFO
                                           : BM_LOG_DEBUG,
                     "%s", devices->pick.why);
    /* If the host needs no shingle hashes, devices may receive texts and hash them themselves. */
    const bool no_hashes =
        bm_job_does(s, BM_JOB_SIGNS) ||
        (bm_job_does(s, BM_JOB_FILLS_INDEX) && s->index.store == BM_INDEX_SIGNATURES) ||
        (bm_job_does(s, BM_JOB_MATCHES) && !bm_verify_reads_sets(s->pairs.verify) &&
         s->pairs.sample == 0) ||
        bm_job_context_makes_again(job);
    const bm_batch_source *source = job->inputs.source;
    const bool texts = no_hashes && source->ops->has_text && s->parts == NULL;
    const bm_device_settings settings = bm_device_settings_of(&s->device);
    bm_device_set_cfg cfg = {.pick = &devices->pick,
                             .sketch = s->sketch,
                             .perms_used = s->perms_used,
                             .bands = keys ? s->plan.bands : 0,
                             .rows = keys ? s->plan.rows : 0,
                             .text = texts ? &s->text : NULL,
                             .cut = source->ops->has_text ? &s->text : NULL,
                             .input_bytes = bm_batch_source_total_bytes(source),
                             .threads = s->threads,
                             .cpu = s->device.cpu,
                             .cache_dir = s->device.cache_dir,
                             .settings = &settings,
                             .kept_bytes = bm_budget_kept(s->memory, s->threads),
                             .meter = &job->meter};
    bm_status status = bm_device_set_open(&cfg, &devices->set, err);
    devices->open = status == BM_OK;
    if (status == BM_OK)
        status = bm_budget_make(s->memory, s->threads, (uint32_t)devices->set.n_device_workers,
                                &job->budget, err);
    if (bm_settings_weigh(s))
        job->taken += (uint64_t)cfg.kept_bytes * s->threads;
    if (status == BM_OK)
        reserve_taken(job);
    return status;
}

/* --- stages --- */

void bm_job_context_stage(bm_job_context *job, const char *name, const char *unit)
{
    bm_stage_clock *clock = &job->clock;
    double now = bm_clock_seconds();
    if (clock->stage != NULL && clock->n_stages < BM_STAGES_MAX)
        clock->stages[clock->n_stages++] = (bm_stage){clock->stage, now - clock->stage_began};
    clock->stage = name;
    clock->stage_began = now;
    if (name != NULL)
        bm_meter_stage(&job->meter, name, unit);
}

bm_status bm_job_context_ingest(bm_job_context *job, const bm_ingest_request *request,
                                bm_error *err)
{
    const bm_settings *s = job->settings;
    bm_ingest_cfg cfg = {.input = &s->input,
                         .text = &s->text,
                         .cpu = s->device.cpu,
                         .threads = s->threads,
                         .budget = &job->budget,
                         .batch_docs = s->resources.batch_docs,
                         .source = job->inputs.source,
                         .skip_records = job->skip_records,
                         .places = job->wants_places ? &job->places : NULL,
                         .device_set = job->devices.open ? &job->devices.set : NULL,
                         .want_words = request->words,
                         .want_keys = request->keys,
                         .hashes_of_long = request->hashes_of_long,
                         .meter = &job->meter,
                         .docs = request->no_table ? NULL : &job->docs,
                         .counts = &job->counts,
                         .sink = request->sink,
                         .early = request->early,
                         .in_place = request->in_place,
                         .pause = request->pause,
                         .reclaim = {request->reclaim, request->reclaim_ctx},
                         .weights = job->frequencies,
                         .scan = request->scan,
                         .times = &job->stats.ingest_times};
    bm_status status = bm_ingest_run(&cfg, err);
    bm_meter_log(&job->meter, BM_LOG_DEBUG, "the flow was bound by: %s",
                 bm_ingest_bottleneck(&job->stats.ingest_times));
    return status;
}

/* === job weights ===
 *
 * Counts shingles in an ingest without a table of documents and without devices. The sink of the
 * ingest counts the shingles of a batch, on any thread.
 *
 * Counting may use half of the memory for documents. Afterwards the table may use a quarter. */

/* The sink's `put`. */
static bm_status count_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                             bm_error *err)
{
    (void)first_row;
    return bm_df_count_add(ctx, &batch->shingles, err);
}

/* This pass logs nothing, because the main pass reports skipped records. */
bm_status bm_job_context_count(bm_job_context *job, const bm_ingest_request *request, bm_error *err)
{
    const bm_settings *s = job->settings;
    bm_meter meter;
    bm_counts counts = {0};
    bm_callbacks quiet = job->callbacks;
    quiet.log = NULL;
    bm_meter_init(&meter, &quiet);
    bm_meter_stage(&meter, BM_STAGE_COUNT, "bytes");
    const bm_ingest_cfg cfg = {.input = &s->input,
                               .text = &s->text,
                               .cpu = s->device.cpu,
                               .threads = s->threads,
                               .budget = &job->budget,
                               .batch_docs = s->resources.batch_docs,
                               .source = job->inputs.source,
                               .meter = &meter,
                               .counts = &counts,
                               .sink = request->sink,
                               .scan = request->scan};
    bm_status status = bm_ingest_run(&cfg, err);
    bm_meter_reset(&meter);
    return status;
}

/* Set recorded.weighed to the facts. If it already has a digest, from a manifest, the old values
 * must equal the new ones, else BM_ERR_FORMAT. */
static bm_status check_counted(const bm_job_context *job, const bm_df_facts *facts, bm_error *err)
{
    bm_weighed *weighed = job->settings->recorded.weighed;
    bm_weighed counted = {.n_docs = facts->n_docs};
    bm_hash128_hex(facts->digest, counted.digest);
    if (weighed->digest[0] != '\0' &&
        (weighed->n_docs != counted.n_docs || strcmp(weighed->digest, counted.digest) != 0))
        return bm_fail(err, BM_ERR_FORMAT,
                       "the inputs are not those that were signed: their shingles stand in other "
                       "numbers of documents");
    *weighed = counted;
    return BM_OK;
}

bm_status bm_job_weights_count(bm_job_context *job, bm_error *err)
{
    const bm_settings *s = job->settings;
    const uint64_t rows = bm_budget_rows(&job->budget);
    const bm_df_cfg cfg = {.memory = rows / 2, .table_memory = rows / 4, .temp_dir = s->temp_dir};
    bm_df_count *count = NULL;
    if (!bm_settings_weigh(s))
        return BM_OK;
    bm_job_context_stage(job, BM_STAGE_COUNT, "bytes");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_df_count_open(&cfg, &count, err));
    const bm_ingest_request counting = {.sink = {.put = count_batch, .ctx = count}};
    BM_TRY_OUT(bm_job_context_count(job, &counting, err));
    status = bm_df_count_end(count, &job->frequencies, err);
out:
    bm_df_count_close(count);
    bm_memory_trim();
    if (status != BM_OK)
        return status;
    const bm_df_facts *facts = bm_df_table_facts(job->frequencies);
    bm_job_context_reserve(job, bm_df_table_bytes(job->frequencies));
    bm_meter_log(&job->meter, BM_LOG_DEBUG,
                 "weights: %llu documents, %llu shingles, of which %llu stand in several; %llu MiB "
                 "of temporary files",
                 (unsigned long long)facts->n_docs, (unsigned long long)facts->n_shingles,
                 (unsigned long long)facts->n_listed,
                 (unsigned long long)((facts->file_bytes + ((1 << 20) - 1)) >> 20));
    return check_counted(job, facts, err);
}
