/* SPDX-License-Identifier: Apache-2.0 */
/* job_index.c -- the commands of an index: build, add, remove, compact, check, info.
 *
 * Tests: tests/cli/cases/index_add.sh, tests/cli/cases/index_build.sh,
 *        tests/cli/cases/index_check.sh, tests/cli/cases/index_remove.sh,
 *        tests/unit/jobs/test_public_api_index.c */
#include <bandmill/index.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "base/system.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "index/index_fill.h"
#include "index/index_place.h"
#include "job/job_context.h"
#include "json/json_scan.h"
#include "json/json_write.h"
#include "model/ids.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "store/store_view.h"
#include "store/store_write.h"

/* === index build ===
 *
 * Makes a new index in a work directory beside the output path, and renames it when it is
 * complete. */

/* Make the index in the work directory, commit and close it. */
static bm_status fill(bm_job *job, const bm_index_work *work, const bm_index_signed *dirs,
                      bm_error *err)
{
    bm_buf text = {0};
    bm_store *store = NULL;
    const bm_store_cfg cfg = bm_index_store_cfg(&job->context, BM_STORE_WRITE);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_settings_write(&job->context, &text, err));
    const bm_store_facts facts = bm_index_facts(job->context.settings, &text);
    BM_TRY_OUT(bm_store_create(work->folder, &facts, &cfg, &store, err));
    BM_TRY_OUT(bm_index_fill_run(&(bm_index_fill){.job = job, .store = store, .dirs = dirs}, err));
    status = bm_index_count(store, &job->context, err);
out:
    bm_store_close(store);
    bm_buf_reset(&text);
    return status;
}

static bm_status run_job(const bm_settings *settings, const bm_index_signed *dirs, bm_summary **out,
                         bm_error *err)
{
    bm_job job;
    bm_index_work work = {.old = -1};
    const bool documents = dirs->n == 0;
    BM_TRY(bm_job_open(settings, &job, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(documents ? bm_job_begin(&job, BM_STEP_INPUTS, err)
                         : bm_job_context_check_outputs(settings, settings->input.paths,
                                                        settings->input.n_paths, err));
    BM_TRY_OUT(bm_index_work_open(settings, settings->output.force, true, &work, err));
    BM_TRY_OUT(bm_job_begin(&job, documents ? BM_STEP_DEVICES | BM_STEP_KEYS : 0, err));
    BM_TRY_OUT(fill(&job, &work, dirs, err));
    status = bm_job_finish(&job, &(bm_job_ending){.dir = work.dir}, err);
out:
    bm_index_work_close(&work);
    return bm_job_close(&job, status, out);
}

bm_status bm_job_index_build(const bm_index_build_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    bm_index_signed dirs = {0};
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_index_build(options, &settings, err));
    settings.index.kind = &bm_index_kind;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_signed_open(&settings, NULL, &dirs, err));
    BM_TRY_OUT(bm_settings_plan(&settings, err));
    settings.perms_used = bm_index_perms_used(&settings);
    status = run_job(&settings, &dirs, out, err);
out:
    bm_index_signed_close(&dirs);
    bm_settings_reset(&settings);
    return status;
}

/* === index add ===
 *
 * Adds documents to an index. */

/* Called after a failure, which has left the index in the state of its last commit. If this job
 * committed before, append to the message how to resume. */
static void append_resume_hint(bm_job *job, bm_error *err)
{
    const bm_index_counts *counts = &job->context.counts.results.index;
    if (counts->commits == 0 || err == NULL)
        return;
    char words[200];
    const int len = snprintf(words, sizeof words,
                             "; what was read up to the last commit stays in the index, and the "
                             "same command with `resume` continues from there");
    size_t at = strnlen(err->message, sizeof err->message - 1);
    if (len > 0 && at + (size_t)len >= sizeof err->message)
        at = sizeof err->message - 1 - (size_t)len;
    memcpy(err->message + at, words, (size_t)len + 1);
}

static bm_status add_all(bm_job *job, bm_store *store, const bm_index_signed *dirs, bm_error *err)
{
    const bool documents = dirs->n == 0 && !job->context.settings->index.follow;
    const unsigned steps = BM_STEP_INPUTS | BM_STEP_DEVICES | BM_STEP_KEYS;
    const bm_index_fill fill = {.job = job, .store = store, .dirs = dirs, .commits = true};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_begin(job, documents ? steps : 0, err));
    BM_TRY_OUT(bm_index_fill_run(&fill, err));
    BM_TRY(bm_index_count(store, &job->context, err));
    return bm_job_finish(job, &(bm_job_ending){0}, err);
out:
    append_resume_hint(job, err);
    return status;
}

static bm_status add_run_job(bm_settings *settings, bm_summary **out, bm_error *err)
{
    bm_job job;
    bm_store *store = NULL;
    bm_index_signed dirs = {0};
    const char *path = settings->output.path;
    BM_TRY(bm_job_open(settings, &job, err));
    const bm_store_cfg cfg = bm_index_store_cfg(&job.context, BM_STORE_WRITE);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_open(path, &cfg, &store, err));
    BM_TRY_OUT(bm_index_settings_load(bm_store_facts_of(store), path, settings, err));
    BM_TRY_OUT(bm_index_signed_open(settings, path, &dirs, err));
    if (settings->input.row_ids != 0) {
        BM_TRY_OUT(bm_store_next_id(store, &settings->input.row_ids, err));
        settings->input.row_ids++;
    }
    status = add_all(&job, store, &dirs, err);
out:
    bm_index_signed_close(&dirs);
    bm_store_close(store);
    return bm_job_close(&job, status, out);
}

bm_status bm_job_index_add(const bm_index_add_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    char path[PATH_MAX];
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_index_add(options, &settings, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_find(settings.output.path, path, sizeof path, err));
    settings.output.path = path;
    status = add_run_job(&settings, out, err);
out:
    bm_settings_reset(&settings);
    return status;
}

/* === index remove ===
 *
 * Removes documents from an index by their ids, with one commit. */

#define READ_BYTES   ((size_t)1 << 20)
#define WARNINGS_MAX 5u
#define SHOWN_ID     200

typedef struct removal {
    bm_job_context *job;
    const bm_store_view *view;
    uint32_t *numbers;
    size_t n, cap;
    bm_index_counts *counts;
} removal;

static bm_status remove_id(removal *r, bm_str id, bm_error *err)
{
    uint32_t number;
    bm_status status = bm_store_view_id(r->view, id, &number, err);
    if (status == BM_NOT_FOUND) {
        r->counts->not_there++;
        if (r->counts->not_there <= WARNINGS_MAX)
            bm_meter_log(&r->job->meter, BM_LOG_WARNING, "the id '%.*s' is not in the index%s",
                         (int)(id.len > SHOWN_ID ? SHOWN_ID : id.len), id.data,
                         r->counts->not_there == WARNINGS_MAX ? "; no more of these are reported"
                                                              : "");
        return BM_OK;
    }
    BM_TRY(status);
    BM_TRY(bm_grow_array(&r->numbers, &r->cap, r->n + 1, err));
    r->numbers[r->n++] = number;
    return BM_OK;
}

/* --- a list of ids --- */

typedef struct id_lines {
    const char *path; /* "-": standard input */
    int fd;
    bm_buf text; /* bytes that were read but are not processed yet */
    uint64_t line;
} id_lines;

/* Read more bytes. *end: no more bytes follow. */
static bm_status read_more(const removal *r, id_lines *lines, bool *end, bm_error *err)
{
    const bm_callbacks callbacks = bm_meter_callbacks(&r->job->meter);
    BM_TRY(bm_buf_reserve(&lines->text, READ_BYTES, err));
    ssize_t n;
    BM_TRY(bm_read_ready(&callbacks, lines->fd, lines->text.data + lines->text.len, READ_BYTES, &n,
                         err));
    if (n < 0)
        return bm_fail_errno(err, errno, lines->path, "cannot be read");
    lines->text.len += (size_t)n;
    *end = n == 0;
    return BM_OK;
}

static bm_status remove_line(removal *r, id_lines *lines, char *id, size_t len, bm_error *err)
{
    const size_t bom = lines->line++ == 0 ? bm_bom_bytes(id, len) : 0;
    id += bom;
    len -= bom;
    if (len > 0 && id[len - 1] == '\r')
        len--;
    if (len == 0)
        return BM_OK;
    len = bm_tsv_unescape(id, len);
    if (len == SIZE_MAX)
        return bm_fail_at(err, BM_ERR_INPUT, lines->path, lines->line,
                          "a broken escape (ids stand as in ids.txt: \\\\ \\t \\n \\r)");
    return remove_id(r, (bm_str){id, len}, err);
}

/* Process the complete lines of the bytes read so far. At the end of the input, also process a last
 * line that has no newline. */
static bm_status remove_lines(removal *r, id_lines *lines, bool end, bm_error *err)
{
    bm_status status = BM_OK;
    char *at = lines->text.data, *stop = lines->text.data + lines->text.len;
    while (status == BM_OK && at != stop) {
        char *newline = memchr(at, '\n', (size_t)(stop - at));
        if (newline == NULL && !end)
            break;
        status = remove_line(r, lines, at, (size_t)((newline != NULL ? newline : stop) - at), err);
        at = newline != NULL ? newline + 1 : stop;
    }
    const size_t left = (size_t)(stop - at);
    if (left > 0)
        memmove(lines->text.data, at, left);
    lines->text.len = left;
    return status;
}

static bm_status remove_listed(removal *r, const char *path, bm_error *err)
{
    id_lines lines = {.path = path, .fd = STDIN_FILENO};
    const bool is_stdin = strcmp(path, "-") == 0;
    bool end = false;
    bm_status status = BM_OK;
    BM_TRY_OUT(is_stdin ? BM_OK : bm_open_given(path, BM_ERR_INPUT, &lines.fd, err));
    while (!end) {
        BM_TRY_OUT(read_more(r, &lines, &end, err));
        BM_TRY_OUT(remove_lines(r, &lines, end, err));
    }
out:
    if (!is_stdin && lines.fd >= 0)
        close(lines.fd);
    bm_buf_reset(&lines.text);
    return status;
}

/* --- the job --- */

/* Sort the numbers and drop repeats, because an id may be given twice. */
static void sort_numbers(removal *r)
{
    size_t n = 0;
    if (r->n > 1)
        qsort(r->numbers, r->n, sizeof *r->numbers, bm_order_u32);
    for (size_t i = 0; i < r->n; i++)
        if (n == 0 || r->numbers[n - 1] != r->numbers[i])
            r->numbers[n++] = r->numbers[i];
    r->n = n;
}

static bm_status find_all(removal *r, const bm_index_remove_options *o, bm_store *store,
                          bm_error *err)
{
    bm_store_view *view = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_view_open(store, &view, err));
    r->view = view;
    for (size_t i = 0; i < o->n_ids; i++)
        BM_TRY_OUT(remove_id(r, (bm_str){o->ids[i], strlen(o->ids[i])}, err));
    if (o->ids_from != NULL)
        BM_TRY_OUT(remove_listed(r, o->ids_from, err));
out:
    bm_store_view_close(view);
    return status;
}

static bm_status remove_all(bm_job *job, const bm_index_remove_options *o, bm_store *store,
                            bm_error *err)
{
    bm_job_context *context = &job->context;
    removal r = {.job = context, .counts = &context->counts.results.index};
    bm_job_context_stage(context, BM_STAGE_READ, "documents");
    bm_status status = BM_OK;
    BM_TRY_OUT(find_all(&r, o, store, err));
    BM_TRY_OUT(bm_meter_check(&context->meter, err));
    sort_numbers(&r);
    bm_job_context_stage(context, BM_STAGE_WRITE, "documents");
    if (r.n > 0) {
        BM_TRY_OUT(bm_store_remove(store, r.numbers, r.n, err));
        BM_TRY_OUT(bm_store_commit(store, err));
    }
out:
    r.counts->removed = r.n;
    bm_free(r.numbers);
    return status;
}

static bm_status remove_run_job(bm_settings *settings, const bm_index_remove_options *o,
                                bm_summary **out, bm_error *err)
{
    bm_job job;
    bm_store *store = NULL;
    BM_TRY(bm_job_open(settings, &job, err));
    const bm_store_cfg cfg = bm_index_store_cfg(&job.context, BM_STORE_WRITE);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_open(settings->output.path, &cfg, &store, err));
    BM_TRY_OUT(
        bm_index_settings_load(bm_store_facts_of(store), settings->output.path, settings, err));
    BM_TRY_OUT(bm_job_begin(&job, 0, err));
    BM_TRY_OUT(remove_all(&job, o, store, err));
    BM_TRY_OUT(bm_index_count(store, &job.context, err));
    status = bm_job_finish(&job, &(bm_job_ending){0}, err);
out:;
    const uint64_t not_there = job.context.counts.results.index.not_there;
    bm_store_close(store);
    status = bm_job_close(&job, status, out);
    if (status != BM_OK || not_there == 0)
        return status;
    return bm_fail_at(err, BM_NOT_FOUND, o->path, 0, "%" PRIu64 " of the ids %s not in the index",
                      not_there, not_there == 1 ? "is" : "are");
}

bm_status bm_job_index_remove(const bm_index_remove_options *options, bm_summary **out,
                              bm_error *err)
{
    bm_settings settings;
    bm_index_remove_options taken;
    char path[PATH_MAX];
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_index_remove(options, &settings, &taken, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_find(settings.output.path, path, sizeof path, err));
    settings.output.path = path;
    status = remove_run_job(&settings, &taken, out, err);
out:
    bm_settings_reset(&settings);
    return status;
}

/* === index compact ===
 *
 * Copies the documents that were not removed into a new index, which replaces the old one.
 *
 * Readers that have the old index open keep using it; its file is freed when the last of them
 * closes it. */

static bm_status copy(bm_job_context *job, bm_store *old, const bm_index_work *work, bm_error *err)
{
    bm_store *made = NULL;
    const bm_store_cfg cfg = bm_index_store_cfg(job, BM_STORE_WRITE);
    bm_job_context_stage(job, BM_STAGE_WRITE, "documents");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_create(work->folder, bm_store_facts_of(old), &cfg, &made, err));
    BM_TRY_OUT(bm_store_copy(old, made, err));
    BM_TRY_OUT(bm_store_commit(made, err));
    status = bm_index_count(made, job, err);
out:
    bm_store_close(made);
    return status;
}

static bm_status compact_run_job(bm_settings *settings, bm_summary **out, bm_error *err)
{
    bm_job job;
    bm_store *old = NULL;
    bm_index_work work = {.old = -1};
    BM_TRY(bm_job_open(settings, &job, err));
    const bm_store_cfg cfg = bm_index_store_cfg(&job.context, BM_STORE_WRITE);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_open(settings->output.path, &cfg, &old, err));
    BM_TRY_OUT(
        bm_index_settings_load(bm_store_facts_of(old), settings->output.path, settings, err));
    BM_TRY_OUT(bm_job_begin(&job, 0, err));
    BM_TRY_OUT(bm_index_work_open(settings, true, false, &work, err));
    BM_TRY_OUT(copy(&job.context, old, &work, err));
    status = bm_job_finish(&job, &(bm_job_ending){.dir = work.dir}, err);
out:
    bm_index_work_close(&work);
    bm_store_close(old);
    return bm_job_close(&job, status, out);
}

bm_status bm_job_index_compact(const bm_index_compact_options *options, bm_summary **out,
                               bm_error *err)
{
    bm_settings settings;
    char path[PATH_MAX];
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_index_compact(options, &settings, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_find(settings.output.path, path, sizeof path, err));
    settings.output.path = path;
    status = compact_run_job(&settings, out, err);
out:
    bm_settings_reset(&settings);
    return status;
}

/* === index check ===
 *
 * Checks the whole file (bm_store_check), and the settings in it. */

BM_OPTIONS_INIT(index_check, .resources = BM_RESOURCE_DEFAULTS)

static bm_status accept_options(const bm_index_check_options *options, bm_index_check_options *o,
                                bm_error *err)
{
    *o = index_check_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_index_check_options, callbacks), o, err));
    const bm_option_parts parts = {.resources = &o->resources, .callbacks = &o->callbacks};
    BM_TRY(bm_option_parts_check(&parts, err));
    if (o->path == NULL)
        return bm_fail_field(err, "path", "no index given");
    return BM_OK;
}

static void report_wrong(void *ctx, const char *what)
{
    const bm_index_check_options *o = ctx;
    if (o->wrong != NULL)
        o->wrong(o->wrong_ctx, what);
}

/* Check that this version can load the settings of the index. BM_ERR_FORMAT is also reported as a
 * finding. */
static bm_status check_settings(const bm_index_check_options *o, const char *path, bm_error *err)
{
    bm_store *store = NULL;
    bm_settings settings = {BM_DOCUMENT_DEFAULTS};
    const bm_store_cfg cfg = {.mode = BM_STORE_READ};
    bm_error why = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_open(path, &cfg, &store, &why));
    status = bm_index_settings_load(bm_store_facts_of(store), path, &settings, &why);
out:
    bm_store_close(store);
    bm_settings_reset(&settings);
    if (status == BM_ERR_FORMAT)
        report_wrong((void *)(uintptr_t)o, why.message);
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

bm_status bm_job_index_check(const bm_index_check_options *options, bm_error *err)
{
    bm_index_check_options o;
    bm_pool *pool = NULL;
    char path[PATH_MAX];
    bm_status status = BM_OK;
    BM_TRY_OUT(accept_options(options, &o, err));
    BM_TRY_OUT(bm_index_find(o.path, path, sizeof path, err));
    BM_TRY_OUT(
        bm_pool_open(o.resources.threads != 0 ? o.resources.threads : bm_cpu_count(), &pool, err));
    bool linked = false;
    const bm_store_check_cfg cfg = {
        .pool = pool, .report = report_wrong, .ctx = &o, .linked = &linked};
    BM_TRY_OUT(bm_store_check(path, &cfg, err));
    status = check_settings(&o, path, err);
    if (status == BM_OK && linked && o.callbacks.log != NULL)
        o.callbacks.log(o.callbacks.ctx, BM_LOG_WARNING,
                        "the data file of the index has another name too, as in a copy by hard "
                        "links (cp -al): it can be read, and is not written to");
out:
    bm_pool_close(pool);
    return status;
}

/* === index info ===
 *
 * Prints the settings of an index as they are stored, and its counts. */

/* Copy the members of the settings, which are a JSON object, into the output, in its layout. */
static void write_settings(bm_json *json, bm_str settings)
{
    bm_str key, value;
    size_t at = 0;
    while (bm_json_scan_member(settings, &at, &key, &value)) {
        char name[64];
        if (key.len < 2 || key.len - 2 >= sizeof name)
            continue;
        memcpy(name, key.data + 1, key.len - 2);
        name[key.len - 2] = '\0';
        bm_json_key(json, name);
        bm_json_scan_copy(value, json);
    }
}

static void write_counts(bm_json *json, const bm_store_counts *counts)
{
    bm_json_key_object(json, "counts");
    bm_json_key_uint(json, "documents", counts->documents);
    bm_json_key_uint(json, "removed", counts->removed);
    bm_json_key_uint(json, "empty", counts->empty - counts->unreadable - counts->short_docs);
    bm_json_key_uint(json, "short", counts->short_docs);
    bm_json_key_uint(json, "unreadable", counts->unreadable);
    bm_json_key_uint(json, "shingles", counts->shingles);
    bm_json_key_uint(json, "text_bytes", counts->text_bytes);
    bm_json_end_object(json);
    bm_json_key_text(json, "ids", bm_id_kind_word(counts->ids)); /* null if the type is not
                                                                    recorded */
    bm_json_key_object(json, "file");
    bm_json_key_uint(json, "format", BM_STORE_VERSION);
    bm_json_key_uint(json, "runs", counts->runs);
    bm_json_key_uint(json, "bytes", counts->file_bytes);
    bm_json_key_uint(json, "free_bytes", counts->free_bytes);
    bm_json_end_object(json);
}

static bm_status describe(bm_store *store, char **out, bm_error *err)
{
    bm_json json = {.pretty = true};
    bm_store_view *view = NULL;
    BM_TRY(bm_store_view_open(store, &view, err));
    const bm_store_counts counts = bm_store_view_counts(view);
    bm_json_begin_object(&json);
    write_settings(&json, bm_store_facts_of(store)->settings);
    write_counts(&json, &counts);
    bm_json_end_object(&json);
    bm_store_view_close(view);
    bm_status status = bm_json_finish(&json, err);
    if (status == BM_OK)
        *out = json.buf.data;
    else
        bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_index_inspect(const char *path, char **json, bm_error *err)
{
    char found[PATH_MAX];
    bm_store *store = NULL;
    const bm_store_cfg cfg = {.mode = BM_STORE_READ};
    if (path == NULL)
        return bm_fail_field(err, "path", "no index given");
    if (json == NULL)
        return bm_fail_field(err, "json", "no place for the text given");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_find(path, found, sizeof found, err));
    BM_TRY_OUT(bm_store_open(found, &cfg, &store, err));
    status = describe(store, json, err);
out:
    bm_store_close(store);
    return status;
}
