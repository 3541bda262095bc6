/* index_remove.c -- documents out of an index, by their ids, with one commit.
 *
 * Tests: tests/cli/cases/index_remove.sh, tests/unit/jobs/test_public_api_index.c */
#include <bandmill/index.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "base/utf8.h"
#include "base/wait_readable.h"
#include "json/json_write.h"
#include "job/job_stages.h"
#include "index/index_fill.h"
#include "index/index_place.h"
#include "index/index_settings.h"
#include "store/store_write.h"

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
    if (status == BM_OK)
        status = bm_grow_array(&r->numbers, &r->cap, r->n + 1, err);
    if (status == BM_OK)
        r->numbers[r->n++] = number;
    return status;
}

/* --- a list of ids --- */

typedef struct id_lines {
    const char *path; /* "-": standard input */
    int fd;
    bm_buf text; /* what is not yet given */
    uint64_t line;
} id_lines;

/* More bytes; *end: there are none. */
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

static bm_status take_line(removal *r, id_lines *lines, char *id, size_t len, bm_error *err)
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

/* The whole lines of what was read; at the end the last one too. */
static bm_status take_lines(removal *r, id_lines *lines, bool end, bm_error *err)
{
    bm_status status = BM_OK;
    char *at = lines->text.data, *stop = lines->text.data + lines->text.len;
    while (status == BM_OK && at != stop) {
        char *newline = memchr(at, '\n', (size_t)(stop - at));
        if (newline == NULL && !end)
            break;
        status = take_line(r, lines, at, (size_t)((newline != NULL ? newline : stop) - at), err);
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
        BM_TRY_OUT(take_lines(r, &lines, end, err));
    }
out:
    if (!is_stdin && lines.fd >= 0)
        close(lines.fd);
    bm_buf_reset(&lines.text);
    return status;
}

/* --- the job --- */

static int by_number(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

/* An id that was given twice is removed once. */
static void sort_numbers(removal *r)
{
    size_t n = 0;
    if (r->n > 1)
        qsort(r->numbers, r->n, sizeof *r->numbers, by_number);
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

static bm_status run_job(bm_settings *settings, const bm_index_remove_options *o, bm_summary **out,
                         bm_error *err)
{
    bm_job job;
    bm_store *store = NULL;
    BM_TRY(bm_job_open(settings, &job, err));
    const bm_store_cfg cfg = bm_index_store_cfg(&job.context, BM_STORE_WRITE);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_open(settings->output.path, &cfg, &store, err));
    BM_TRY_OUT(
        bm_index_settings_take(bm_store_facts_of(store), settings->output.path, settings, err));
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
    bm_status status = bm_index_find(settings.output.path, path, sizeof path, err);
    settings.output.path = path;
    if (status == BM_OK)
        status = run_job(&settings, &taken, out, err);
    bm_settings_reset(&settings);
    return status;
}
