/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_journal.c -- writes, reads and compares the journal lines that record the identity and
 * the progress of a job.
 *
 * Tests: tests/cli/cases/resume.sh, tests/unit/job/test_checkpoint_line.c,
 *        tests/unit/jobs/test_checkpoint.c */
#include <bandmill/version.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/files.h"
#include "job/checkpoint_state.h"
#include "job/job_context.h"
#include "job/report_file.h"
#include "json/json_write.h"
#include "output/digest.h"

/* === progress ===
 *
 * fields_of lists the fields of each kind of line. Both writing and reading use it. */

#define MAX_FIELDS 8u

/* The fields of a line: its first word, and pointers to the numbers that follow. */
typedef struct fields {
    const char *word;
    uint64_t *at[MAX_FIELDS];
    size_t n;
} fields;

/* The fields of a line. They point into *s, into *sums for the checksums, and to *complete, which
 * the caller copies, because s->complete is no uint64_t. */
static fields fields_of(bm_checkpoint_line line, bm_checkpoint_saved *s, bm_array_sums *sums,
                        uint64_t *complete)
{
    bm_content_place *place = &s->place;
    bm_hash128 *of = sums->of;
    switch (line) {
    case BM_LINE_DOCUMENTS:
        return (fields){"documents",
                        {&s->docs, &s->skipped, complete, &s->docs_bytes, &s->docs_records,
                         &s->sets_bytes, &s->sets_records},
                        7};
    case BM_LINE_ARRAYS:
        return (fields){"arrays",
                        {&of[BM_ARRAY_SIGNATURES].lo, &of[BM_ARRAY_SIGNATURES].hi,
                         &of[BM_ARRAY_CONTENT].lo, &of[BM_ARRAY_CONTENT].hi,
                         &of[BM_ARRAY_BAND_KEYS].lo, &of[BM_ARRAY_BAND_KEYS].hi},
                        6};
    case BM_LINE_PLACE:
        return (fields){
            "place", {&place->file, &place->bytes, &place->digest.lo, &place->digest.hi}, 4};
    default:
        return (fields){"matched", {&s->match_bytes, &s->match_records}, 2};
    }
}

static bool read_fields(const char *line, const fields *f)
{
    size_t len = strlen(f->word);
    if (strncmp(line, f->word, len) != 0)
        return false;
    const char *at = line + len;
    for (size_t i = 0; i < f->n; i++) {
        char *end;
        if (at[0] != '\t' || at[1] < '0' || at[1] > '9')
            return false;
        errno = 0;
        *f->at[i] = strtoull(at + 1, &end, 10);
        if (errno != 0)
            return false;
        at = end;
    }
    return *at == '\0';
}

void bm_checkpoint_line_write(bm_checkpoint_line line, const bm_checkpoint_saved *saved,
                              char out[BM_CHECKPOINT_LINE_BYTES])
{
    bm_checkpoint_saved s = *saved;
    uint64_t complete = s.complete;
    const fields f = fields_of(line, &s, &s.sums, &complete);
    int len = snprintf(out, BM_CHECKPOINT_LINE_BYTES, "%s", f.word);
    for (size_t i = 0; i < f.n; i++)
        len += snprintf(out + len, BM_CHECKPOINT_LINE_BYTES - (size_t)len, "\t%" PRIu64, *f.at[i]);
}

bool bm_checkpoint_line_read(const char *line, bm_checkpoint_saved *saved)
{
    bm_checkpoint_saved s = *saved;
    uint64_t complete = 0;
    bm_checkpoint_line kind = 0;
    for (; kind < BM_N_LINES; kind++) {
        const fields f = fields_of(kind, &s, &s.next_sums, &complete);
        if (read_fields(line, &f))
            break;
    }
    if (kind == BM_LINE_DOCUMENTS) {
        s.complete = complete != 0;
        s.matched = s.broken = s.place.known = false;
        s.sums = s.next_sums;
        s.next_sums.known = false;
    } else if (kind == BM_LINE_ARRAYS) {
        s.next_sums.known = true;
    } else if (kind == BM_LINE_PLACE) {
        s.place.known = true;
    } else if (kind == BM_LINE_MATCH) {
        s.matched = true;
    } else if (strcmp(line, BM_CHECKPOINT_BROKEN) == 0) {
        s.broken = true;
    } else {
        return false;
    }
    *saved = s;
    return true;
}

/* === identity ===
 *
 * each_line generates the lines for the present job and passes them to a function. This function
 * writes each line to a new journal, or compares it with a line of an existing journal. */

#define END_BYTES  ((size_t)64 << 10) /* bytes hashed at each end of an input */
#define LINE_BYTES 256u               /* most bytes of a line about the program */

typedef bm_status line_fn(void *ctx, const char *line, bm_error *err);

/* --- inputs --- */

static bm_status hash_ends(const bm_stored_file *file, uint64_t size, uint64_t *out, bm_error *err)
{
    size_t len = size < END_BYTES ? (size_t)size : END_BYTES;
    char *bytes;
    BM_TRY(bm_new(&bytes, END_BYTES, err));
    bm_status status = BM_OK;
    *out = 0;
    for (int end = 0; end < 2; end++) {
        size_t n;
        BM_TRY_OUT(bm_stored_read(file, bytes, len, end == 0 ? 0 : size - len, &n, err));
        if (n != len)
            BM_TRY_OUT(bm_fail_at(err, BM_ERR_IO, file->name, 0, "changed while it was read"));
        *out = XXH3_64bits_withSeed(bytes, len, *out);
    }
out:
    bm_free(bytes);
    return status;
}

/* Append the size of a file, the time of its last change, and the hash of its first and last 64
 * KiB. `remote`: see bm_stored_open. The time of a remote file is 0. */
static bm_status add_facts(const char *path, const char *name, bm_remote *remote, bm_buf *line,
                           bm_error *err)
{
    struct stat info = {0};
    uint64_t ends = 0;
    bm_stored_file file = {.name = name, .fd = -1, .remote = remote};
    if (remote != NULL)
        info.st_size = (off_t)bm_remote_size(remote);
    else
        BM_TRY(bm_open_given(path, BM_ERR_INPUT, &file.fd, err));
    const bm_status status = remote == NULL && fstat(file.fd, &info) != 0
                                 ? bm_fail_errno(err, errno, name, "cannot look at")
                                 : hash_ends(&file, (uint64_t)info.st_size, &ends, err);
    if (remote == NULL)
        close(file.fd);
    BM_TRY(status);
    return bm_buf_add_format(line, err, "\t%lld\t%lld.%09ld\t%016" PRIx64, (long long)info.st_size,
                             (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec, ends);
}

static bm_status each_input(const bm_job_context *job, line_fn *fn, void *ctx, bm_error *err)
{
    bm_buf line = {0};
    bm_status status = BM_OK;
    const char *extra = job->inputs.source->extra_path;
    size_t n = bm_input_set_count(job->inputs.set);
    for (size_t i = 0; i < n + (extra != NULL); i++) {
        const bm_source *source = i < n ? bm_input_set_source(job->inputs.set, i) : NULL;
        const char *name = source != NULL ? source->name : extra;
        line.len = 0;
        BM_TRY_OUT(bm_buf_add_text(&line, "input\t", err));
        BM_TRY_OUT(bm_tsv_escape(&line, (bm_str){name, strlen(name)}, err));
        BM_TRY_OUT(source == NULL ? add_facts(extra, name, NULL, &line, err)
                   : source->unreadable != NULL
                       ? bm_buf_add_text(&line, "\tunreadable", err)
                       : add_facts(source->path, name, source->remote, &line, err));
        BM_TRY_OUT(bm_buf_end(&line, err));
        BM_TRY_OUT(fn(ctx, line.data, err));
    }
out:
    bm_buf_reset(&line);
    return status;
}

/* --- settings --- */

/* State of a walk over the settings: passes a line per setting to `fn`, up to the first failure. */
typedef struct setting_lines {
    line_fn *fn;
    void *ctx;
    bm_buf line;
    bm_status status;
    bm_error *err;
} setting_lines;

static bm_status emit_setting(setting_lines *s, bm_json *json, const bm_setting *setting)
{
    BM_TRY(bm_json_finish(json, s->err));
    s->line.len = 0;
    BM_TRY(bm_buf_add_format(&s->line, s->err, "setting\t\"%s\": ", setting->name));
    /* Add the value, without the newline at the end of the JSON text. */
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
    s->status = emit_setting(s, &json, setting);
    bm_buf_reset(&json.buf);
}

/* --- all lines --- */

/* Version of the format of the saved state. State in another format is not resumed. */
#define SAVED_FORM 3u

static bm_status each_line(const bm_job_context *job, line_fn *fn, void *ctx, bm_error *err)
{
    const bm_version_info *version = bm_version();
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "program\t%s\t%s", version->version, version->kernels);
    BM_TRY(fn(ctx, line, err));
    snprintf(line, sizeof line, "digests\t%u", BM_DIGESTS_VERSION);
    BM_TRY(fn(ctx, line, err));
    snprintf(line, sizeof line, "form\t%u", SAVED_FORM);
    BM_TRY(fn(ctx, line, err));
    setting_lines lines = {.fn = fn, .ctx = ctx, .err = err};
    bm_settings_list(job->settings, bm_job_context_format(job), on_setting, &lines);
    bm_buf_reset(&lines.line);
    BM_TRY(lines.status);
    return each_input(job, fn, ctx, err);
}

/* --- comparing --- */

#define REPAIRED "repaired\t"

typedef struct comparing {
    const bm_journal *journal;
    const bm_checkpoint_saved *saved;
    size_t n, n_inputs; /* lines compared so far; how many of these are input lines */
    bm_buf repaired;    /* `repaired` lines to add to the journal, each with a NUL */
} comparing;

static bool is_kind(const char *line, const char *kind)
{
    size_t len = strlen(kind);
    return strncmp(line, kind, len) == 0 && line[len] == '\t';
}

/* Do two lines of inputs name the same input? */
static bool same_name(const char *x, const char *y)
{
    size_t len = strlen("input\t");
    len += strcspn(x + len, "\t");
    return strncmp(x, y, len + 1) == 0;
}

static bm_status fail_input(const char *was, const char *is, bm_error *err)
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

static bm_status fail_difference(const char *was, const char *is, bm_error *err)
{
    if (is_kind(is, "setting") && is_kind(was, "setting"))
        return bm_fail(err, BM_ERR_FORMAT,
                       "the interrupted job had %s, this one has %s (the same options, or start "
                       "again with `force`)",
                       was + strlen("setting\t"), is + strlen("setting\t"));
    if (is_kind(is, "form"))
        return bm_fail(err, BM_ERR_FORMAT,
                       "another version saved the work of the interrupted job, in another form "
                       "(start again with `force`)");
    if (is_kind(is, "digests"))
        return bm_fail(err, BM_ERR_FORMAT,
                       "another version saved the work of the interrupted job: it digests whole "
                       "files, this one pieces of 64 MiB (start again with `force`)");
    return bm_fail(err, BM_ERR_FORMAT,
                   "the interrupted job was another: it had '%s', this one has '%s' (start again "
                   "with `force`)",
                   was, is);
}

/* The input line that the journal recorded after the last repair of input `index`; NULL: the input
 * was never repaired. */
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

/* Handle an input that has changed. If the user may have repaired it (checkpoint_state.h), accept
 * it, else fail. `was`: the line in the journal; `is`: the present line. */
static bm_status compare_input(comparing *c, size_t index, const char *was, const char *is,
                               bm_error *err)
{
    const bm_checkpoint_saved *saved = c->saved;
    const bool may = saved->broken && saved->place.known && index >= saved->place.file;
    if (!may || !is_kind(was, "input") || !same_name(was, is))
        return fail_input(was, is, err);
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
                 : fail_difference(was, line, err);
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
    for (size_t at = 0; at < c.repaired.len; at += strlen(c.repaired.data + at) + 1)
        BM_TRY_OUT(bm_journal_add(journal, c.repaired.data + at, err));
out:
    bm_buf_reset(&c.repaired);
    return status;
}

/* --- writing --- */

static bm_status add_line(void *ctx, const char *line, bm_error *err)
{
    return bm_journal_add(ctx, line, err);
}

bm_status bm_checkpoint_identity_write(const bm_job_context *job, bm_journal *journal,
                                       bm_error *err)
{
    return each_line(job, add_line, journal, err);
}
