/* checkpoint_identity.c -- the lines are made anew for the job at hand, and compared one by one.
 *
 * Tests: tests/unit/jobs/test_checkpoint.c, tests/cli/cases/resume.sh */
#include "job/checkpoint_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bandmill/version.h>

#include "base/error.h"
#include "base/open_file.h"
#include "json/json_write.h"
#include "output/digest.h"
#include "job/report_file.h"

#define END_BYTES ((size_t)64 << 10) /* of each end of an input */

typedef bm_status line_fn(void *ctx, const char *line, bm_error *err);

/* --- inputs --- */

static bm_status hash_ends(int fd, uint64_t size, const char *path, uint64_t *out, bm_error *err)
{
    size_t len = size < END_BYTES ? (size_t)size : END_BYTES;
    char *bytes = bm_alloc(END_BYTES, 1);
    if (bytes == NULL)
        return bm_fail_nomem(err, END_BYTES);
    *out = 0;
    for (int end = 0; end < 2; end++) {
        ssize_t n = pread(fd, bytes, len, end == 0 ? 0 : (off_t)(size - len));
        if (n < 0 || (size_t)n != len) {
            bm_free(bytes);
            return n < 0 ? bm_fail_errno(err, errno, path, "cannot read")
                         : bm_fail_at(err, BM_ERR_IO, path, 0, "changed while it was read");
        }
        *out = XXH3_64bits_withSeed(bytes, len, *out);
    }
    bm_free(bytes);
    return BM_OK;
}

static bm_status input_line(const char *path, const char *name, bm_buf *line, bm_error *err)
{
    struct stat info;
    uint64_t ends = 0;
    int fd;
    BM_TRY(bm_open_given(path, BM_ERR_INPUT, &fd, err));
    const bm_status status = fstat(fd, &info) != 0
                                 ? bm_fail_errno(err, errno, name, "cannot look at")
                                 : hash_ends(fd, (uint64_t)info.st_size, name, &ends, err);
    close(fd);
    BM_TRY(status);
    BM_TRY(bm_buf_add_text(line, "input\t", err));
    BM_TRY(bm_tsv_escape(line, (bm_str){name, strlen(name)}, err));
    return bm_buf_add_format(line, err, "\t%lld\t%lld.%09ld\t%016" PRIx64, (long long)info.st_size,
                             (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec, ends);
}

static bm_status unreadable_line(const char *name, bm_buf *line, bm_error *err)
{
    BM_TRY(bm_buf_add_text(line, "input\t", err));
    BM_TRY(bm_tsv_escape(line, (bm_str){name, strlen(name)}, err));
    return bm_buf_add_text(line, "\tunreadable", err);
}

static bm_status each_input(const bm_job_context *job, line_fn *fn, void *ctx, bm_error *err)
{
    bm_buf line = {0};
    bm_status status = BM_OK;
    const char *extra = job->inputs.source->extra_path;
    size_t n = bm_input_set_count(job->inputs.set);
    for (size_t i = 0; i < n + (extra != NULL); i++) {
        const bm_source *source = i < n ? bm_input_set_source(job->inputs.set, i) : NULL;
        line.len = 0;
        BM_TRY_OUT(source == NULL ? input_line(extra, extra, &line, err)
                   : source->unreadable != NULL
                       ? unreadable_line(source->name, &line, err)
                       : input_line(source->path, source->name, &line, err));
        BM_TRY_OUT(bm_buf_end(&line, err));
        BM_TRY_OUT(fn(ctx, line.data, err));
    }
out:
    bm_buf_reset(&line);
    return status;
}

/* --- settings --- */

/* Lines of settings on their way to `fn`; the first failure ends it. */
typedef struct setting_lines {
    line_fn *fn;
    void *ctx;
    bm_buf line;
    bm_status status;
    bm_error *err;
} setting_lines;

static bm_status give_setting(setting_lines *s, bm_json *json, const bm_setting *setting)
{
    BM_TRY(bm_json_finish(json, s->err));
    s->line.len = 0;
    BM_TRY(bm_buf_add_format(&s->line, s->err, "setting\t\"%s\": ", setting->name));
    /* without the newline */
    BM_TRY(bm_buf_add(&s->line, json->buf.data, strcspn(json->buf.data, "\n"), s->err));
    BM_TRY(bm_buf_end(&s->line, s->err));
    return s->fn(s->ctx, s->line.data, s->err);
}

static void on_setting(void *ctx, const bm_setting *setting)
{
    setting_lines *s = ctx;
    bm_json json = {0};
    if (s->status != BM_OK)
        return;
    bm_report_setting_value(&json, setting);
    s->status = give_setting(s, &json, setting);
    bm_buf_reset(&json.buf);
}

static bm_status each_setting(const bm_job_context *job, line_fn *fn, void *ctx, bm_error *err)
{
    setting_lines lines = {.fn = fn, .ctx = ctx, .err = err};
    bm_settings_list(job->settings, bm_job_context_format(job), on_setting, &lines);
    bm_buf_reset(&lines.line);
    return lines.status;
}

static bm_status each_line(const bm_job_context *job, line_fn *fn, void *ctx, bm_error *err)
{
    const bm_version_info *version = bm_version();
    bm_buf line = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_buf_add_format(&line, err, "program\t%s\t%s", version->version, version->kernels));
    BM_TRY_OUT(bm_buf_end(&line, err));
    BM_TRY_OUT(fn(ctx, line.data, err));
    line.len = 0;
    BM_TRY_OUT(bm_buf_add_format(&line, err, "digests\t%u", BM_DIGESTS_VERSION));
    BM_TRY_OUT(bm_buf_end(&line, err));
    status = fn(ctx, line.data, err);
out:
    bm_buf_reset(&line);
    BM_TRY(status);
    BM_TRY(each_setting(job, fn, ctx, err));
    return each_input(job, fn, ctx, err);
}

/* --- journal --- */

static bm_status add_line(void *ctx, const char *line, bm_error *err)
{
    return bm_journal_add(ctx, line, err);
}

bm_status bm_checkpoint_identity_add(const bm_job_context *job, bm_journal *journal, bm_error *err)
{
    return each_line(job, add_line, journal, err);
}

#define REPAIRED "repaired\t"

typedef struct comparing {
    const bm_journal *journal;
    const bm_checkpoint_saved *saved;
    size_t n, n_inputs;
    bm_buf repaired; /* lines for the journal, ended by NUL */
} comparing;

static bool is_kind(const char *line, const char *kind)
{
    size_t len = strlen(kind);
    return strncmp(line, kind, len) == 0 && line[len] == '\t';
}

/* Lines of inputs that have the same name. */
static bool same_name(const char *x, const char *y)
{
    size_t len = strlen("input\t");
    len += strcspn(x + len, "\t");
    return strncmp(x, y, len + 1) == 0;
}

static bm_status say_input(const char *was, const char *is, bm_error *err)
{
    const char *name = is + strlen("input\t");
    int len = (int)strcspn(name, "\t");
    if (!is_kind(was, "input") || !same_name(was, is))
        return bm_fail(err, BM_ERR_FORMAT,
                       "the input %.*s is not that of the interrupted job, or has another place "
                       "in the list (the same inputs, or start again with `force`)",
                       len, name);
    return bm_fail(err, BM_ERR_FORMAT,
                   "the input %.*s has changed since the job was interrupted (size, time and ends "
                   "of the file were%s; start again with `force`)",
                   len, name, was + strlen("input\t") + len);
}

static bm_status say_difference(const char *was, const char *is, bm_error *err)
{
    if (is_kind(is, "setting") && is_kind(was, "setting"))
        return bm_fail(err, BM_ERR_FORMAT,
                       "the interrupted job had %s, this one has %s (the same options, or start "
                       "again with `force`)",
                       was + strlen("setting\t"), is + strlen("setting\t"));
    if (is_kind(is, "digests"))
        return bm_fail(err, BM_ERR_FORMAT,
                       "another version saved the work of the interrupted job: it digests whole "
                       "files, this one pieces of 64 MiB (start again with `force`)");
    return bm_fail(err, BM_ERR_FORMAT,
                   "the interrupted job was another: it had '%s', this one has '%s' (start again "
                   "with `force`)",
                   was, is);
}

/* The line of input `index`, as it was when the job last went on; NULL: as it was at first. */
static const char *repaired_line(const bm_journal *journal, size_t index)
{
    for (size_t i = bm_journal_count(journal); i > 0; i--) {
        const char *line = bm_journal_line(journal, i - 1);
        char *end;
        if (strncmp(line, REPAIRED, strlen(REPAIRED)) == 0 &&
            strtoull(line + strlen(REPAIRED), &end, 10) == index && *end == '\t')
            return end + 1;
    }
    return NULL;
}

/* An input is another one than it was: may it be? */
static bm_status compare_input(comparing *c, size_t index, const char *was, const char *is,
                               bm_error *err)
{
    const bm_checkpoint_saved *saved = c->saved;
    const bool may = saved->broken && saved->place.known && index >= saved->place.file;
    if (!may || !is_kind(was, "input") || !same_name(was, is))
        return say_input(was, is, err);
    BM_TRY(bm_buf_add_format(&c->repaired, err, REPAIRED "%zu\t%s", index, is));
    return bm_buf_add(&c->repaired, "", 1, err);
}

static bm_status compare_line(void *ctx, const char *line, bm_error *err)
{
    comparing *c = ctx;
    const bool input = is_kind(line, "input");
    const char *was =
        c->n < bm_journal_count(c->journal) ? bm_journal_line(c->journal, c->n) : "nothing";
    const char *later = input ? repaired_line(c->journal, c->n_inputs) : NULL;
    was = later != NULL && is_kind(was, "input") ? later : was;
    c->n++;
    c->n_inputs += input;
    if (strcmp(was, line) == 0)
        return BM_OK;
    return input ? compare_input(c, c->n_inputs - 1, was, line, err)
                 : say_difference(was, line, err);
}

/* Inputs that are others from now on. */
static bm_status note_repaired(const bm_buf *lines, bm_journal *journal, bm_error *err)
{
    for (size_t at = 0; at < lines->len; at += strlen(lines->data + at) + 1)
        BM_TRY(bm_journal_add(journal, lines->data + at, err));
    return BM_OK;
}

bm_status bm_checkpoint_identity_check(const bm_job_context *job, bm_journal *journal,
                                       const bm_checkpoint_saved *saved, size_t *n_lines,
                                       bm_error *err)
{
    comparing c = {.journal = journal, .saved = saved};
    bm_status status = BM_OK;
    BM_TRY_OUT(each_line(job, compare_line, &c, err));
    *n_lines = c.n;
    if (c.n < bm_journal_count(journal)) {
        const char *more = bm_journal_line(journal, c.n);
        if (is_kind(more, "input"))
            BM_TRY_OUT(bm_fail(err, BM_ERR_FORMAT,
                               "the interrupted job had one more input: %s (the same inputs, or "
                               "start again with `force`)",
                               more + strlen("input\t")));
    }
    status = note_repaired(&c.repaired, journal, err);
out:
    bm_buf_reset(&c.repaired);
    return status;
}
