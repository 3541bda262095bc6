/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_parts.c -- what a checkpoint consists of: its lines, documents, sets and matches.
 *
 * Tests: tests/cli/cases/ownership.sh, tests/cli/cases/resume.sh,
 *        tests/unit/job/test_checkpoint_documents.c, tests/unit/job/test_checkpoint_line.c,
 *        tests/unit/job/test_checkpoint_matches.c, tests/unit/jobs/test_checkpoint.c */
#include <bandmill/version.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "corpus/corpus.h"
#include "job/checkpoint_state.h"
#include "job/job_context.h"
#include "job/report_file.h"
#include "job/sets_holder.h"
#include "json/json_write.h"
#include "lsh/candidates.h"
#include "model/ids.h"
#include "output/digest.h"
#include "spill/spill_saved.h"

/* === checkpoint line ===
 *
 * Each line's fields are listed once; writing and reading go over the same list. */

#define MAX_FIELDS 8u

typedef struct fields {
    const char *word;
    uint64_t *at[MAX_FIELDS];
    size_t n;
} fields;

/* `complete` is a number in between. */
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

/* === checkpoint identity ===
 *
 * The lines are made anew for the job at hand, and compared one by one. */

#define END_BYTES ((size_t)64 << 10) /* of each end of an input */

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

/* Append size, time and digest of a file. `remote` as of bm_stored_open: a file at an address has
 * no time. */
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

/* Lines of settings on their way to `fn`; the first failure ends it. */
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
    s->status = emit_setting(s, &json, setting);
    bm_buf_reset(&json.buf);
}

/* Of what is saved; another form is not resumed. */
#define SAVED_FORM 2u

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
    BM_TRY_OUT(fn(ctx, line.data, err));
    line.len = 0;
    BM_TRY_OUT(bm_buf_add_format(&line, err, "form\t%u", SAVED_FORM));
    BM_TRY_OUT(bm_buf_end(&line, err));
    status = fn(ctx, line.data, err);
out:
    bm_buf_reset(&line);
    BM_TRY(status);
    setting_lines lines = {.fn = fn, .ctx = ctx, .err = err};
    bm_settings_list(job->settings, bm_job_context_format(job), on_setting, &lines);
    bm_buf_reset(&lines.line);
    BM_TRY(lines.status);
    return each_input(job, fn, ctx, err);
}

/* --- journal --- */

static bm_status add_line(void *ctx, const char *line, bm_error *err)
{
    return bm_journal_add(ctx, line, err);
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

/* === checkpoint sets ===
 *
 * OUTPUT.partial/.bandmill-sets, or TEMP/.bandmill-HASH-sets, HASH of the work directory's resolved
 * path. */

#define NAME_BYTES 48u

/* The name that the file has in any --temp-dir. */
static bm_status name_of(const bm_checkpoint *checkpoint, char out[NAME_BYTES], bm_error *err)
{
    const char *work = bm_out_dir_work(checkpoint->dir);
    char *real = realpath(work, NULL);
    if (real == NULL)
        return bm_fail_errno(err, errno, work, "cannot be resolved");
    snprintf(out, NAME_BYTES, BM_OUT_STATE_PREFIX "%016" PRIx64 "-sets",
             (uint64_t)XXH3_64bits(real, strlen(real)));
    free(real);
    return BM_OK;
}

bm_status bm_checkpoint_sets_find(bm_checkpoint *checkpoint, bm_error *err)
{
    char name[NAME_BYTES];
    const char *temp_dir = checkpoint->job->settings->resources.temp_dir;
    checkpoint->sets_beside = temp_dir == NULL;
    if (temp_dir == NULL)
        return bm_out_dir_state_path(checkpoint->dir, BM_CHECKPOINT_SETS, &checkpoint->sets_path,
                                     err);
    BM_TRY(name_of(checkpoint, name, err));
    char *real = realpath(temp_dir, NULL);
    if (real == NULL)
        return bm_fail_errno(err, errno, temp_dir, "cannot hold temporary files");
    bm_status status = bm_string_format(&checkpoint->sets_path, err, "%s/%s",
                                        strcmp(real, "/") == 0 ? "" : real, name);
    free(real);
    return status;
}

static bm_status checkpoint_sets_add_line(bm_checkpoint *checkpoint, bm_error *err)
{
    bm_buf line = {0};
    const char *path = checkpoint->sets_path;
    const bool beside = checkpoint->sets_beside;
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_buf_add_text(&line, beside ? BM_CHECKPOINT_SETS_BESIDE : BM_CHECKPOINT_SETS_AT, err));
    if (!beside)
        BM_TRY_OUT(bm_tsv_escape(&line, (bm_str){path, strlen(path)}, err));
    BM_TRY_OUT(bm_buf_end(&line, err));
    status = bm_journal_add(checkpoint->journal, line.data, err);
out:
    bm_buf_reset(&line);
    return status;
}

/* --- an earlier job's --- */

/* *out: the path in --temp-dir that the line gives, the caller's; NULL: it gives none. */
static bm_status path_in(const char *line, char **out, bm_error *err)
{
    *out = NULL;
    if (strncmp(line, BM_CHECKPOINT_SETS_AT "/", strlen(BM_CHECKPOINT_SETS_AT "/")) != 0)
        return BM_OK;
    char *path;
    BM_TRY(bm_copy_text(line + strlen(BM_CHECKPOINT_SETS_AT), &path, err));
    const size_t len = bm_tsv_unescape(path, strlen(path));
    path[len == SIZE_MAX ? 0 : len] = '\0';
    *out = path;
    return BM_OK;
}

/* Is it the path of a file of sets of this work directory? */
static bm_status is_own(const bm_checkpoint *checkpoint, const char *path, bool *own, bm_error *err)
{
    char name[NAME_BYTES];
    const char *slash = strrchr(path, '/');
    bm_status status = name_of(checkpoint, name, err);
    *own = status == BM_OK && slash != NULL && strcmp(slash + 1, name) == 0 &&
           bm_out_dir_lists_outside(checkpoint->dir, path);
    return status;
}

bm_status bm_checkpoint_sets_accept(bm_checkpoint *checkpoint, const char *line, bm_error *err)
{
    char *path = NULL;
    bool own = false;
    bm_status status;
    const bool beside = strcmp(line, BM_CHECKPOINT_SETS_BESIDE) == 0;
    if (beside) {
        own = true;
        status = bm_out_dir_state_path(checkpoint->dir, BM_CHECKPOINT_SETS, &path, err);
    } else {
        status = path_in(line, &path, err);
        if (status != BM_OK || path == NULL)
            return status; /* another line */
        status = is_own(checkpoint, path, &own, err);
    }
    if (status == BM_OK && !own)
        status = bm_fail_at(err, BM_ERR_FORMAT, bm_out_dir_work(checkpoint->dir), 0,
                            "its journal names a file that this job did not make: %s (start again "
                            "with `force`)",
                            path);
    if (status != BM_OK) {
        bm_free(path);
        return status;
    }
    bm_free(checkpoint->sets_path);
    checkpoint->sets_path = path;
    checkpoint->sets_beside = beside;
    return BM_OK;
}

void bm_checkpoint_sets_hold(bm_checkpoint *checkpoint)
{
    if (checkpoint->sets_beside || checkpoint->holder != NULL)
        return;
    char *work = realpath(bm_out_dir_work(checkpoint->dir), NULL);
    if (work != NULL)
        checkpoint->holder = bm_sets_holder_open(checkpoint->sets_path, work);
    free(work);
}

void bm_checkpoint_sets_remove(bm_checkpoint *checkpoint)
{
    if (checkpoint->sets_beside)
        (void)unlinkat(bm_out_dir_folder(checkpoint->dir), BM_CHECKPOINT_SETS, 0);
    else
        (void)unlink(checkpoint->sets_path);
    bm_sets_holder_close(checkpoint->holder, false);
    checkpoint->holder = NULL;
}

void bm_checkpoint_sets_remove_named(const bm_checkpoint *checkpoint, const bm_journal *journal)
{
    for (size_t i = 0; i < bm_journal_count(journal); i++) {
        bool own = false, there = true;
        char *path = NULL;
        if (path_in(bm_journal_line(journal, i), &path, NULL) == BM_OK && path != NULL &&
            is_own(checkpoint, path, &own, NULL) == BM_OK && own &&
            bm_look_at(AT_FDCWD, path, 0, &there, NULL, NULL) == BM_OK &&
            (!there || bm_spill_is_saved(path, BM_SPILL_SETS)) &&
            (unlink(path) == 0 || errno == ENOENT))
            bm_sets_holder_remove(path);
        bm_free(path);
    }
}

bm_status bm_checkpoint_sets_remove_stale(const bm_checkpoint *checkpoint, bm_error *err)
{
    const char *path = checkpoint->sets_path;
    bool there;
    if (checkpoint->sets_beside)
        return BM_OK;
    BM_TRY(bm_look_at(AT_FDCWD, path, 0, &there, NULL, err));
    if (there && !bm_spill_is_saved(path, BM_SPILL_SETS))
        return bm_fail_field_at(
            err, "temp_dir", path, 0,
            "is in the way and not of bandmill (the job's work would lie there)");
    if (there && unlink(path) != 0 && errno != ENOENT)
        return bm_fail_errno(err, errno, path, "cannot remove");
    bm_sets_holder_remove(path);
    return BM_OK;
}

/* === checkpoint matches ===
 *
 * Edges are loaded by the call with which matching stores those it finds, so that they go to memory
 * or to files as --memory allows now. */

#define BLOCK_DOCS 32768u

typedef struct match_header {
    uint64_t n_docs, n_edges; /* n_edges: that follow */
    uint64_t n_candidates, n_verified, n_edges_found, n_not_compared;
    uint32_t only_groups, earlier; /* are there edges to earlier documents? */
} match_header;

/* --- saving --- */

static bm_status save_groups(bm_match *match, bm_spill_file *file, bm_buf *out, bm_error *err)
{
    size_t n_docs = match->settings.corpus->n;
    for (size_t at = 0; at < n_docs; at += BLOCK_DOCS) {
        size_t n = n_docs - at < BLOCK_DOCS ? n_docs - at : BLOCK_DOCS;
        out->len = 0;
        BM_TRY(bm_buf_reserve(out, n * (2 * sizeof(uint32_t) + sizeof(double)), err));
        bm_column_leave(&match->result.earlier.column);
        for (size_t i = 0; i < n; i++) {
            uint32_t root = bm_union_find_root(&match->result.groups, (uint32_t)(at + i));
            BM_TRY(bm_buf_add(out, &root, sizeof root, err));
        }
        const bm_earlier_edge *edges = match->result.earlier.edges;
        for (size_t i = at; edges != NULL && i < at + n; i++) {
            const uint32_t doc = edges[i].behind - 1; /* BM_NO_DOC: none */
            BM_TRY(bm_buf_add(out, &doc, sizeof doc, err));
        }
        for (size_t i = at; edges != NULL && i < at + n; i++)
            BM_TRY(bm_buf_add(out, &edges[i].similarity, sizeof edges[i].similarity, err));
        BM_TRY(bm_spill_add(file, out->data, out->len, NULL, err));
    }
    return BM_OK;
}

static bm_status save_edges(const bm_match *match, bm_spill_file *file, bm_buf *out, bm_error *err)
{
    bm_pair edge;
    bm_status status = BM_OK;
    out->len = 0;
    BM_TRY(bm_edges_begin(match, err));
    while ((status = bm_edges_next(match, &edge, err)) == BM_OK) {
        BM_TRY(bm_buf_add(out, &edge, sizeof edge, err));
        if (out->len < BLOCK_DOCS * sizeof edge)
            continue;
        BM_TRY(bm_spill_add(file, out->data, out->len, NULL, err));
        out->len = 0;
    }
    return status == BM_NOT_FOUND && out->len > 0
               ? bm_spill_add(file, out->data, out->len, NULL, err)
           : status == BM_NOT_FOUND ? BM_OK
                                    : status;
}

bm_status bm_checkpoint_matches_save(bm_match *match, bm_spill_file *file, bm_error *err)
{
    match_header h = {.n_docs = match->settings.corpus->n,
                      .n_edges = match->settings.only_groups ? 0 : match->result.counts.edges,
                      .n_candidates = match->result.counts.candidates,
                      .n_verified = match->result.counts.verified,
                      .n_edges_found = match->result.counts.edges,
                      .n_not_compared = match->result.counts.not_compared,
                      .only_groups = match->settings.only_groups,
                      .earlier = match->result.earlier.edges != NULL};
    bm_buf out = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_spill_add(file, &h, sizeof h, NULL, err));
    status = match->settings.only_groups ? save_groups(match, file, &out, err)
                                         : save_edges(match, file, &out, err);
out:
    bm_buf_reset(&out);
    return status == BM_OK ? bm_spill_flush(file, err) : status;
}

/* --- loading --- */

typedef struct matches_loading {
    bm_match *match;
    match_header header;
    bool has_header;
    uint64_t n; /* documents or edges so far */
} matches_loading;

static bm_status damaged(const char *what, bm_error *err)
{
    return bm_fail(err, BM_ERR_FORMAT, "the saved matches are damaged: %s do not fit", what);
}

static bm_status load_header(matches_loading *l, const void *data, size_t len, bm_error *err)
{
    bm_match *match = l->match;
    if (len != sizeof l->header)
        return damaged("lengths", err);
    memcpy(&l->header, data, sizeof l->header);
    l->has_header = true;
    if (l->header.n_docs != match->settings.corpus->n ||
        (l->header.only_groups != 0) != match->settings.only_groups ||
        (l->header.earlier != 0) != (match->result.earlier.edges != NULL))
        return damaged("numbers", err);
    return BM_OK;
}

/* A similarity, or NaN: one that is not known. */
static bool is_similarity(double value)
{
    return !(value < 0) && !(value > 1);
}

/* The edges of n documents from `first` on: false where one does not lead to a document before. */
static bool load_earlier(bm_earlier_edge *edges, size_t first, size_t n, const char *from)
{
    const char *similarities = from + n * sizeof(uint32_t);
    for (size_t i = 0; i < n; i++) {
        bm_earlier_edge *edge = &edges[first + i];
        memcpy(&edge->behind, from + i * sizeof edge->behind, sizeof edge->behind);
        memcpy(&edge->similarity, similarities + i * sizeof edge->similarity,
               sizeof edge->similarity);
        edge->behind++; /* 0: BM_NO_DOC */
        if (edge->behind > first + i || (edge->behind != 0 && !is_similarity(edge->similarity)))
            return false;
    }
    return true;
}

static bm_status load_groups(matches_loading *l, const void *data, size_t len, bm_error *err)
{
    bm_match *match = l->match;
    size_t one = sizeof(uint32_t);
    bm_earlier_edges *earlier = &match->result.earlier;
    if (earlier->edges != NULL)
        one += sizeof earlier->edges->behind + sizeof earlier->edges->similarity;
    size_t n = len / one, at = (size_t)l->n;
    if (n * one != len || n > match->settings.corpus->n - at)
        return damaged("groups", err);
    const char *from = data;
    for (size_t i = 0; i < n; i++, from += sizeof(uint32_t)) {
        uint32_t root;
        memcpy(&root, from, sizeof root);
        if (root > at + i)
            return damaged("labels", err);
        bm_union_find_link(&match->result.groups, (uint32_t)(at + i), root);
    }
    bm_column_leave(&earlier->column);
    if (earlier->edges != NULL && !load_earlier(earlier->edges, at, n, from))
        return damaged("edges", err);
    l->n += n;
    return BM_OK;
}

static bm_status load_edges(matches_loading *l, const void *data, size_t len, bm_error *err)
{
    const bm_pair *edges = data; /* aligned by bm_spill_visit */
    size_t n = len / sizeof *edges;
    if (n * sizeof *edges != len)
        return damaged("edges", err);
    for (size_t i = 0; i < n; i++)
        if (edges[i].a >= edges[i].b || edges[i].b >= l->match->settings.corpus->n ||
            !is_similarity(edges[i].similarity))
            return damaged("edges", err);
    l->n += n;
    return bm_edges_add(l->match, edges, n, err);
}

static bm_status load_block(void *ctx, uint64_t place, const void *data, size_t len, bm_error *err)
{
    matches_loading *l = ctx;
    (void)place;
    if (!l->has_header)
        return load_header(l, data, len, err);
    return l->match->settings.only_groups ? load_groups(l, data, len, err)
                                          : load_edges(l, data, len, err);
}

bm_status bm_checkpoint_matches_load(bm_match *match, const bm_spill_file *file, bm_error *err)
{
    matches_loading l = {.match = match};
    BM_TRY(bm_match_begin(match, err));
    BM_TRY(bm_spill_walk(file, load_block, &l, err));
    uint64_t expected = match->settings.only_groups ? l.header.n_docs : l.header.n_edges;
    if ((!l.has_header || l.n != expected))
        BM_TRY(damaged("counts", err));
    match->result.counts.candidates = l.header.n_candidates;
    match->result.counts.verified = l.header.n_verified;
    match->result.counts.edges = l.header.n_edges_found;
    match->result.counts.not_compared = l.header.n_not_compared;
    if (match->result.counts.not_compared > 0)
        bm_meter_log(match->settings.meter, BM_LOG_WARNING,
                     "up to %llu pairs of crowded buckets were not compared (`pairs` compares all)",
                     (unsigned long long)match->result.counts.not_compared);
    return match->settings.verify == BM_VERIFY_NONE /* grouping asks for common bands */
               ? bm_corpus_keyset(match->settings.corpus, match->settings.pool, &match->result.keys,
                                  err)
               : BM_OK;
}

/* === checkpoint documents ===
 *
 * Blocks of documents, each a record that describes itself: the lengths in its header are compared
 * with the record's own before anything is believed. */

#define BLOCK_BYTES ((size_t)1 << 20) /* of columns, about */
#define BLOCK_LEAST 64u               /* documents */
#define BLOCK_MOST  8192u

/* Columns of the documents that are saved as they are in memory. */
typedef enum column {
    COLUMN_ROWS,
    COLUMN_ID_ENDS,
    COLUMN_CONTENT, /* content hashes; or, when no more documents come, ... */
    COLUMN_REP,     /* ... the document of which each is a copy */
    COLUMN_TEXTS,   /* places of texts, where sets are made again */
    N_COLUMNS
} column;

static const size_t column_bytes[N_COLUMNS] = {
    [COLUMN_ROWS] = sizeof(bm_doc_row),    [COLUMN_ID_ENDS] = sizeof(uint64_t),
    [COLUMN_CONTENT] = sizeof(bm_hash128), [COLUMN_REP] = sizeof(uint32_t),
    [COLUMN_TEXTS] = sizeof(uint64_t),
};

typedef struct block_header {
    uint64_t first, n, id_bytes, n_skipped, n_sources;
    uint32_t bands, columns; /* a bit for each that there is */
    bm_counts counts;        /* with the block's documents and all before it, once the last */
} block_header;

typedef struct saved_skip {
    uint64_t line;
    uint32_t file, len; /* of the reason, which follows */
} saved_skip;

typedef struct saved_source {
    bm_hash128 digest;
    uint64_t bytes_read;
} saved_source;

/* --- saving --- */

/* From the first document on; NULL: the job has none, or no documents. */
static void columns_of(const bm_checkpoint_documents *what, const void *of[N_COLUMNS])
{
    const bm_corpus *corpus = what->corpus;
    memset(of, 0, N_COLUMNS * sizeof *of);
    of[COLUMN_ROWS] = what->docs->rows;
    of[COLUMN_ID_ENDS] = what->docs->ids.ends;
    if (corpus == NULL)
        return;
    of[COLUMN_CONTENT] = corpus->copies.content;
    of[COLUMN_REP] = corpus->copies.content == NULL ? corpus->rep : NULL;
    of[COLUMN_TEXTS] = corpus->sets.state == BM_SETS_AGAIN ? corpus->sets.texts : NULL;
}

/* Of a document. */
static size_t bytes_of_columns(const bm_checkpoint_documents *what)
{
    const void *of[N_COLUMNS];
    size_t bytes = what->corpus != NULL ? what->corpus->cfg.bands * sizeof(uint64_t) : 0;
    columns_of(what, of);
    for (unsigned c = 0; c < N_COLUMNS; c++)
        bytes += of[c] != NULL ? column_bytes[c] : 0;
    return bytes;
}

static uint64_t id_begin(const bm_doc_table *docs, size_t row)
{
    return row == 0 ? 0 : docs->ids.ends[row - 1];
}

/* Bytes that saving the documents from `first` on would write, about. */
static uint64_t checkpoint_documents_unsaved_bytes(const bm_checkpoint_documents *what,
                                                   size_t first)
{
    const bm_doc_table *docs = what->docs;
    return (docs->n - first) * bytes_of_columns(what) + id_begin(docs, docs->n) -
           id_begin(docs, first);
}

/* Columns of 8 bytes begin at multiples of 8. */
static bm_status pad(bm_buf *out, bm_error *err)
{
    static const char zeros[8];
    return bm_buf_add(out, zeros, (8 - out->len % 8) % 8, err);
}

/* Notes in the header which they are. */
static bm_status put_columns(const bm_checkpoint_documents *what, block_header *h, bm_buf *out,
                             bm_error *err)
{
    const void *of[N_COLUMNS];
    columns_of(what, of);
    for (unsigned c = 0; c < N_COLUMNS && h->n > 0; c++) {
        if (of[c] == NULL)
            continue;
        h->columns |= 1u << c;
        BM_TRY(bm_buf_add(out, (const char *)of[c] + h->first * column_bytes[c],
                          (size_t)h->n * column_bytes[c], err));
        BM_TRY(pad(out, err));
    }
    bm_doc_table_leave(what->docs);
    return BM_OK;
}

static bm_status put_ids(const bm_doc_table *docs, const block_header *h, bm_buf *out,
                         bm_error *err)
{
    return h->id_bytes == 0
               ? BM_OK
               : bm_buf_add(out, docs->ids.text.data + id_begin(docs, (size_t)h->first),
                            (size_t)h->id_bytes, err);
}

static bm_status put_keys(const bm_corpus *corpus, const block_header *h, bm_buf *out,
                          bm_error *err)
{
    size_t bytes = (size_t)h->n * h->bands * sizeof(uint64_t);
    if (bytes == 0)
        return BM_OK;
    BM_TRY(bm_buf_reserve(out, bytes, err));
    BM_TRY(bm_corpus_copy_keys(corpus, (size_t)h->first, (size_t)h->n,
                               (uint64_t *)(void *)(out->data + out->len), err));
    out->len += bytes;
    return BM_OK;
}

static bm_status put_skipped(const bm_doc_table *docs, size_t first, bm_buf *out, bm_error *err)
{
    for (size_t i = first; i < docs->n_skipped; i++) {
        const bm_skipped *skipped = &docs->skipped[i];
        saved_skip saved = {skipped->line, skipped->file, (uint32_t)strlen(skipped->reason)};
        BM_TRY(bm_buf_add(out, &saved, sizeof saved, err));
        BM_TRY(bm_buf_add(out, skipped->reason, saved.len, err));
    }
    return BM_OK;
}

/* The inputs, and after them the file that is read beside them. */
static size_t count_sources(bm_input_set *inputs)
{
    return bm_input_set_count(inputs) + (bm_input_set_offsets(inputs) != NULL);
}

static bm_source *source_at(bm_input_set *inputs, size_t i)
{
    return i < bm_input_set_count(inputs) ? bm_input_set_source(inputs, i)
                                          : bm_input_set_offsets(inputs);
}

static bm_status save_block(const bm_checkpoint_documents *what, block_header *h,
                            size_t first_skipped, bm_unsaved_reader *keys, bm_buf *out,
                            bm_error *err)
{
    out->len = 0;
    BM_TRY(bm_buf_add(out, h, sizeof *h, err));
    BM_TRY(put_columns(what, h, out, err));
    memcpy(out->data, h, sizeof *h); /* with the columns that there are */
    BM_TRY(put_keys(what->corpus, h, out, err));
    BM_TRY(put_ids(what->docs, h, out, err));
    BM_TRY(pad(out, err));
    for (size_t i = 0; i < h->n_sources; i++) {
        const bm_source *source = source_at(what->inputs, i);
        saved_source saved = {source->digest, source->bytes_read};
        BM_TRY(bm_buf_add(out, &saved, sizeof saved, err));
    }
    if (h->n_skipped > 0)
        BM_TRY(put_skipped(what->docs, first_skipped, out, err));
    if (what->keep == NULL)
        return BM_OK;
    return bm_keep_keys_copy_unsaved(what->keep, keys, (size_t)h->n, out, err);
}

/* The number of inputs with known digests, from the first on: all before the input of the last
 * document, since the reader may still be reading that one. */
static uint64_t sources_read(const bm_checkpoint_documents *what)
{
    const bm_doc_table *docs = what->docs;
    if (what->complete)
        return count_sources(what->inputs);
    return docs->n > 0 ? bm_doc_table_row(docs, docs->n - 1)->file : 0;
}

bm_status bm_checkpoint_documents_save(const bm_checkpoint_documents *what, size_t first_doc,
                                       size_t first_skipped, bm_spill_file *file, bm_error *err)
{
    const bm_doc_table *docs = what->docs;
    size_t most = BLOCK_BYTES / bytes_of_columns(what), at = first_doc;
    bm_unsaved_reader keys = {0};
    bm_buf out = {0};
    bm_status status = BM_OK;
    most = most > BLOCK_MOST ? BLOCK_MOST : most < BLOCK_LEAST ? BLOCK_LEAST : most;
    do { /* one block at least, for the counts */
        size_t n = docs->n - at < most ? docs->n - at : most;
        bool last = at + n == docs->n;
        block_header h = {.first = at,
                          .n = n,
                          .id_bytes = id_begin(docs, at + n) - id_begin(docs, at),
                          .n_skipped = last ? docs->n_skipped - first_skipped : 0,
                          .n_sources = last ? sources_read(what) : 0,
                          .bands = what->corpus != NULL ? what->corpus->cfg.bands : 0,
                          .counts = *what->counts};
        status = save_block(what, &h, first_skipped, &keys, &out, err);
        if (status == BM_OK)
            status = bm_spill_add(file, out.data, out.len, NULL, err);
        at += n;
    } while (status == BM_OK && at < docs->n);
    bm_buf_reset(&keys.block);
    bm_buf_reset(&out);
    return status == BM_OK ? bm_spill_flush(file, err) : status;
}

/* --- loading --- */

typedef struct documents_loading {
    const bm_checkpoint_documents *what;
    const char *data; /* of the record at hand */
    size_t len, at;
    const void *of[N_COLUMNS]; /* in it; NULL: it has no such column */
} documents_loading;

/* The next `len` bytes of the record; NULL where there are not so many. */
static const void *next(documents_loading *l, uint64_t len, bool aligned)
{
    if (aligned)
        l->at += (8 - l->at % 8) % 8;
    if (l->at > l->len || len > l->len - l->at)
        return NULL;
    const void *data = l->data + l->at;
    l->at += (size_t)len;
    return data;
}

static bm_status not_saved(uint64_t place, const char *what, bm_error *err)
{
    return bm_fail(err, BM_ERR_FORMAT,
                   "the saved documents are damaged: %s do not fit (block at byte %llu)", what,
                   (unsigned long long)place);
}

/* Rows and ids. */
static bm_status load_rows(documents_loading *l, const block_header *h, const char *ids,
                           bm_error *err)
{
    bm_doc_table *docs = l->what->docs;
    const bm_doc_row *rows = l->of[COLUMN_ROWS];
    const uint64_t *ends = l->of[COLUMN_ID_ENDS],
                   begin = h->n > 0 ? ends[h->n - 1] - h->id_bytes : 0;
    uint64_t at = begin;
    for (size_t i = 0; i < h->n; i++) {
        if (ends[i] < at || ends[i] - begin > h->id_bytes)
            return bm_fail(err, BM_ERR_FORMAT, "the saved documents are damaged: ids do not fit");
        const bm_str id = {ids + (at - begin), (size_t)(ends[i] - at)};
        if (rows[i].file >= bm_input_set_count(l->what->inputs))
            return bm_fail(err, BM_ERR_FORMAT, "the saved documents are of other inputs");
        const bm_doc_id hashed = {id, XXH3_64bits(id.data, id.len)};
        BM_TRY(bm_doc_table_add(docs, &rows[i], hashed,
                                bm_input_set_source(l->what->inputs, rows[i].file)->name, err));
        at = ends[i];
    }
    return BM_OK;
}

static bm_status load_skipped(documents_loading *l, const block_header *h, bm_error *err)
{
    bm_status status = BM_OK;
    for (uint64_t i = 0; status == BM_OK && i < h->n_skipped; i++) {
        saved_skip saved;
        const void *head = next(l, sizeof saved, false);
        if (head == NULL)
            return bm_fail(err, BM_ERR_FORMAT, "the saved list of skipped records is damaged");
        memcpy(&saved, head, sizeof saved);
        const char *reason = next(l, saved.len, false);
        if (reason == NULL || saved.file >= bm_input_set_count(l->what->inputs))
            return bm_fail(err, BM_ERR_FORMAT, "the saved list of skipped records is damaged");
        bm_skipped skipped = {
            .line = saved.line, .file = saved.file, .reason = bm_strndup(reason, saved.len)};
        status = skipped.reason == NULL ? bm_fail_nomem(err, saved.len)
                                        : bm_doc_table_skip(l->what->docs, &skipped, err);
        if (status != BM_OK)
            bm_free(skipped.reason);
    }
    return status;
}

static bm_status load_corpus(documents_loading *l, const block_header *h, const uint64_t *keys,
                             uint64_t place, bm_error *err)
{
    bm_corpus *corpus = l->what->corpus;
    const uint32_t of_corpus = h->columns >> COLUMN_CONTENT, copies = of_corpus & 3;
    const bm_corpus_rows rows = {.n = (size_t)h->n,
                                 .docs = l->of[COLUMN_ROWS],
                                 .content = l->of[COLUMN_CONTENT],
                                 .rep = l->of[COLUMN_REP],
                                 .keys = keys,
                                 .texts = l->of[COLUMN_TEXTS]};
    if (corpus == NULL)
        return of_corpus == 0 && h->bands == 0 ? BM_OK : not_saved(place, "columns", err);
    if (h->n == 0)
        return BM_OK;
    if (copies == 0 || copies == 3 || h->bands != corpus->cfg.bands)
        return not_saved(place, "columns", err);
    return bm_corpus_restore_rows(corpus, &rows, err);
}

/* Where the columns are in the record. */
static bm_status find_columns(documents_loading *l, const block_header *h, uint64_t place,
                              bm_error *err)
{
    for (unsigned c = 0; c < N_COLUMNS; c++) {
        const bool has = (h->columns >> c & 1) != 0;
        l->of[c] = has ? next(l, h->n * column_bytes[c], true) : NULL;
        if (l->of[c] == NULL && (has || (c < COLUMN_CONTENT && h->n > 0)))
            return not_saved(place, "columns", err);
    }
    return BM_OK;
}

static bm_status load_sources(documents_loading *l, const block_header *h, uint64_t place,
                              bm_error *err)
{
    const saved_source *saved = next(l, h->n_sources * sizeof *saved, true);
    if (saved == NULL || h->n_sources > count_sources(l->what->inputs))
        return not_saved(place, "inputs", err);
    for (size_t i = 0; i < h->n_sources; i++) {
        bm_source *source = source_at(l->what->inputs, i);
        source->digest = saved[i].digest;
        source->bytes_read = saved[i].bytes_read;
    }
    return BM_OK;
}

static bm_status load_keep_keys(documents_loading *l, const block_header *h, uint64_t place,
                                bm_error *err)
{
    bm_keep_keys *keys = l->what->keep;
    for (uint64_t i = 0; i < h->n; i++) {
        uint32_t len;
        const void *head = next(l, sizeof len, false);
        if (head == NULL)
            return not_saved(place, "keys of the order of keeping", err);
        memcpy(&len, head, sizeof len);
        const char *key = next(l, len, false);
        if (key == NULL || len < keys->rules->n_by_field)
            return not_saved(place, "keys of the order of keeping", err);
        BM_TRY(bm_keep_keys_add(keys, (bm_str){key, len}, err));
    }
    return BM_OK;
}

static bool is_more(const void *data, size_t len)
{
    uint64_t first = 0;
    if (len >= sizeof first)
        memcpy(&first, data, sizeof first);
    return first == BM_CHECKPOINT_MORE;
}

static bm_status documents_load_block(void *ctx, uint64_t place, const void *data, size_t len,
                                      bm_error *err)
{
    documents_loading *l = ctx;
    block_header h;
    l->data = data;
    l->len = len;
    l->at = 0;
    if (is_more(data, len))
        return l->what->more->save == NULL
                   ? not_saved(place, "records of another job", err)
                   : l->what->more->load(l->what->more->ctx, data, len, err);
    const void *head = next(l, sizeof h, false);
    if (head == NULL)
        return not_saved(place, "its header", err);
    memcpy(&h, head, sizeof h);
    if (h.first != l->what->docs->n || h.n > BM_DOCS_MAX || h.bands > BM_PERMS_MAX ||
        h.n_sources > UINT32_MAX || h.columns >> N_COLUMNS != 0)
        return not_saved(place, "numbers", err);
    BM_TRY(find_columns(l, &h, place, err));
    const void *keys = next(l, h.n * h.bands * sizeof(uint64_t), true);
    const void *ids = next(l, h.id_bytes, false);
    if (keys == NULL || ids == NULL)
        return not_saved(place, "rows", err);
    bm_status status = BM_OK;
    BM_TRY_OUT(load_rows(l, &h, ids, err));
    BM_TRY_OUT(load_corpus(l, &h, keys, place, err));
    BM_TRY_OUT(load_sources(l, &h, place, err));
    BM_TRY_OUT(load_skipped(l, &h, err));
    if (l->what->keep != NULL)
        status = load_keep_keys(l, &h, place, err);
out:
    *l->what->counts = h.counts;
    return status;
}

bm_status bm_checkpoint_documents_load(const bm_checkpoint_documents *what,
                                       const bm_spill_file *file, bm_error *err)
{
    documents_loading l = {.what = what};
    const bool saves = what->keep != NULL && what->keep->saves;
    if (saves)
        what->keep->saves = false; /* these are saved */
    const bm_status status = bm_spill_walk(file, documents_load_block, &l, err);
    if (saves)
        what->keep->saves = true;
    BM_TRY(status);
    return what->corpus != NULL ? bm_corpus_restore_end(what->corpus, err) : BM_OK;
}

/* === checkpoint save ===
 *
 * When a stage is saved, and the order of writing: data first, the line last. */

#define SAVE_FOLD   20.0                 /* seconds of work for one of saving */
#define SAVE_LEAST  10.0                 /* seconds */
#define EDGE_BYTES  16u                  /* of an edge, or of a document's group */
#define TIMED_BYTES (UINT64_C(32) << 20) /* fewer bytes say nothing of the rate */

bm_checkpoint_documents bm_checkpoint_docs(const bm_checkpoint *checkpoint)
{
    bm_job_context *job = checkpoint->job;
    return (bm_checkpoint_documents){.docs = &job->docs,
                                     .counts = &job->counts,
                                     .corpus = checkpoint->corpus,
                                     .keep = job->keep.rules != NULL ? &job->keep : NULL,
                                     .inputs = job->inputs.set,
                                     .complete = checkpoint->read_all,
                                     .more = &checkpoint->more};
}

/* --- documents --- */

/* Between two batches everything speaks of the same documents. */
static bool is_consistent(const bm_checkpoint *checkpoint)
{
    const bm_job_context *job = checkpoint->job;
    return job->docs.n == job->counts.documents && job->docs.n_skipped == job->counts.skipped &&
           (checkpoint->corpus == NULL || checkpoint->corpus->n == job->docs.n);
}

static bool docs_saved(const bm_checkpoint *checkpoint)
{
    const bm_checkpoint_saved *s = &checkpoint->saved;
    return s->docs_records > 0 && s->docs == checkpoint->job->docs.n &&
           s->skipped == checkpoint->job->docs.n_skipped && s->complete == checkpoint->read_all;
}

static bm_status open_state(bm_checkpoint *checkpoint, const char *name, bm_spill_kind kind,
                            bm_spill_file **out, bm_error *err)
{
    char *path = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_dir_state_path(checkpoint->dir, name, &path, err));
    BM_TRY_OUT(
        bm_spill_open(bm_out_dir_beside(checkpoint->dir), kind, BM_CHECKPOINT_BUFFER, out, err));
    status = bm_spill_save_in(*out, bm_out_dir_folder(checkpoint->dir), path, err);
out:
    bm_free(path);
    return status;
}

/* The journal and the file of documents, at the first time. */
static bm_status open_files(bm_checkpoint *checkpoint, bm_error *err)
{
    char *path = NULL;
    bm_status status = BM_OK;
    if (checkpoint->docs_file == NULL)
        BM_TRY(
            open_state(checkpoint, BM_CHECKPOINT_DOCS, BM_SPILL_ROWS, &checkpoint->docs_file, err));
    if (checkpoint->journal != NULL)
        return BM_OK;
    BM_TRY_OUT(bm_out_dir_state_path(checkpoint->dir, BM_OUT_JOURNAL, &path, err));
    BM_TRY_OUT(
        bm_journal_create_in(bm_out_dir_folder(checkpoint->dir), path, &checkpoint->journal, err));
    BM_TRY_OUT(each_line(checkpoint->job, add_line, checkpoint->journal, err));
    status = checkpoint_sets_add_line(checkpoint, err);
out:
    bm_free(path);
    return status;
}

static bm_status write_documents(bm_checkpoint *checkpoint, bm_checkpoint_saved *s, bm_error *err)
{
    bm_checkpoint_documents what = bm_checkpoint_docs(checkpoint);
    if (checkpoint->flush != NULL)
        BM_TRY(checkpoint->flush(checkpoint->flush_ctx, &s->sums, err));
    if (checkpoint->corpus != NULL)
        BM_TRY(checkpoint->sets_beside /* list that path in the marker, before the file is made */
                   ? BM_OK
                   : bm_out_dir_list_outside(checkpoint->dir, checkpoint->sets_path, err));
    if (checkpoint->corpus != NULL) {
        bm_checkpoint_sets_hold(checkpoint);
        BM_TRY(bm_corpus_save_sets(checkpoint->corpus, checkpoint->sets_path, err));
    }
    BM_TRY(bm_checkpoint_documents_save(&what, (size_t)checkpoint->saved.docs,
                                        (size_t)checkpoint->saved.skipped, checkpoint->docs_file,
                                        err));
    if (checkpoint->more.save != NULL) {
        BM_TRY(checkpoint->more.save(checkpoint->more.ctx, checkpoint->docs_file, err));
        BM_TRY(bm_spill_flush(checkpoint->docs_file, err));
    }
    s->docs = checkpoint->job->docs.n;
    s->skipped = checkpoint->job->docs.n_skipped;
    s->complete = checkpoint->read_all;
    s->docs_bytes = bm_spill_bytes(checkpoint->docs_file);
    s->docs_records = bm_spill_records(checkpoint->docs_file);
    if (checkpoint->corpus != NULL) {
        s->sets_bytes = checkpoint->corpus->sets.saved.bytes;
        s->sets_records = checkpoint->corpus->sets.saved.records;
    }
    return BM_OK;
}

static bm_status save_documents(bm_checkpoint *checkpoint, bm_error *err)
{
    char line[BM_CHECKPOINT_LINE_BYTES];
    bm_checkpoint_saved s = checkpoint->saved;
    BM_TRY(open_files(checkpoint, err));
    BM_TRY(write_documents(checkpoint, &s, err));
    s.place = checkpoint->read_all ? (bm_content_place){0} : checkpoint->job->places.last;
    s.broken = false;
    if (checkpoint->flush != NULL) { /* first: documents without their sums would not be compared */
        bm_checkpoint_line_write(BM_LINE_ARRAYS, &s, line);
        BM_TRY(bm_journal_add(checkpoint->journal, line, err));
    }
    bm_checkpoint_line_write(BM_LINE_DOCUMENTS, &s, line);
    BM_TRY(bm_journal_add(checkpoint->journal, line, err));
    if (s.place.known) {
        bm_checkpoint_line_write(BM_LINE_PLACE, &s, line);
        BM_TRY(bm_journal_add(checkpoint->journal, line, err));
    }
    checkpoint->saved = s;
    bm_keep_keys_forget(&checkpoint->job->keep);
    return BM_OK;
}

/* --- matches --- */

static bm_status save_match(bm_checkpoint *checkpoint, bm_error *err)
{
    char line[BM_CHECKPOINT_LINE_BYTES];
    bm_spill_file *file = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_state(checkpoint, BM_CHECKPOINT_MATCH, BM_SPILL_RUN, &file, err));
    BM_TRY_OUT(bm_checkpoint_matches_save(checkpoint->match, file, err));
    checkpoint->saved.match_bytes = bm_spill_bytes(file);
    checkpoint->saved.match_records = bm_spill_records(file);
    bm_checkpoint_line_write(BM_LINE_MATCH, &checkpoint->saved, line);
    status = bm_journal_add(checkpoint->journal, line, err);
    checkpoint->saved.matched = status == BM_OK;
out:
    bm_spill_close(file);
    return status;
}

/* --- when --- */

static bool anything_to_save(const bm_checkpoint *checkpoint)
{
    bool docs = !docs_saved(checkpoint) &&
                (checkpoint->corpus == NULL || bm_corpus_can_save(checkpoint->corpus)) &&
                is_consistent(checkpoint);
    bool match = checkpoint->match != NULL && !checkpoint->saved.matched &&
                 (docs || docs_saved(checkpoint)) && checkpoint->read_all;
    return checkpoint->can_save && (docs || match) && checkpoint->job->docs.n > 0;
}

static uint64_t bytes_to_write(const bm_checkpoint *checkpoint)
{
    bm_checkpoint_documents what = bm_checkpoint_docs(checkpoint);
    uint64_t bytes = 0;
    if (!docs_saved(checkpoint)) {
        bytes += checkpoint_documents_unsaved_bytes(&what, (size_t)checkpoint->saved.docs);
        if (checkpoint->corpus != NULL)
            bytes += bm_corpus_unsaved_bytes(checkpoint->corpus);
        if (checkpoint->more.save != NULL)
            bytes += checkpoint->more.unsaved_bytes(checkpoint->more.ctx);
    }
    if (checkpoint->match != NULL)
        bytes += EDGE_BYTES * (checkpoint->match->settings.only_groups
                                   ? checkpoint->job->docs.n
                                   : checkpoint->match->result.counts.edges);
    return bytes;
}

bool bm_checkpoint_is_due(const bm_checkpoint *checkpoint)
{
    const double seconds = bm_clock_seconds() - checkpoint->last;
    if (!checkpoint->can_save)
        return false;
    if (checkpoint->every >= 0)
        return seconds >= checkpoint->every;
    return seconds >= SAVE_LEAST &&
           seconds >= SAVE_FOLD * (double)bytes_to_write(checkpoint) / checkpoint->rate;
}

static bm_status save(bm_checkpoint *checkpoint, bm_error *err)
{
    BM_TRY(bm_out_dir_check_claim(checkpoint->dir, err));
    if (!docs_saved(checkpoint))
        BM_TRY(save_documents(checkpoint, err));
    if (checkpoint->match != NULL && !checkpoint->saved.matched)
        BM_TRY(save_match(checkpoint, err));
    return BM_OK;
}

void bm_checkpoint_save_now(bm_checkpoint *checkpoint)
{
    bm_error err = {0};
    if (!anything_to_save(checkpoint))
        return;
    uint64_t bytes = bytes_to_write(checkpoint);
    double began = bm_clock_seconds();
    bm_meter_detour(&checkpoint->job->meter, BM_STAGE_SEAL, checkpoint->job->docs.n);
    bm_status status = save(checkpoint, &err);
    checkpoint->last = bm_clock_seconds();
    if (bytes >= TIMED_BYTES)
        checkpoint->rate = (double)bytes / (checkpoint->last - began + 1e-6);
    if (status == BM_OK) {
        bm_meter_log(
            &checkpoint->job->meter, BM_LOG_DEBUG, "saved %" PRIu64 " document%s%s in %.2f s",
            checkpoint->saved.docs, checkpoint->saved.docs == 1 ? "" : "s",
            checkpoint->saved.matched ? " and their matches" : "", checkpoint->last - began);
        return;
    }
    checkpoint->can_save = checkpoint->job->keep.saves = false;
    bm_keep_keys_forget(&checkpoint->job->keep);
    bm_meter_log(&checkpoint->job->meter, BM_LOG_WARNING,
                 "the work cannot be saved, so it could not be resumed from here: %s%s%s", err.file,
                 err.file[0] != '\0' ? ": " : "", err.message);
}

void bm_checkpoint_save_if_due(bm_checkpoint *checkpoint)
{
    if (bm_checkpoint_is_due(checkpoint))
        bm_checkpoint_save_now(checkpoint);
}

void bm_checkpoint_note_broken(bm_checkpoint *checkpoint, bm_status status)
{
    bm_checkpoint_saved *s = &checkpoint->saved;
    const bool input = status == BM_ERR_INPUT || status == BM_ERR_IO;
    if (input && checkpoint->reading && !checkpoint->job->places.sink_failed && s->place.known &&
        !s->complete && !s->broken && checkpoint->journal != NULL)
        s->broken = bm_journal_add(checkpoint->journal, BM_CHECKPOINT_BROKEN, NULL) == BM_OK;
}

void bm_checkpoint_save_ended(bm_checkpoint *checkpoint, bm_status status)
{
    const bool mendable = status == BM_ERR_INPUT || status == BM_ERR_IO || status == BM_ERR_NOMEM;
    if (status == BM_ERR_CANCELLED ||
        (mendable && checkpoint->reading && !checkpoint->job->places.sink_failed &&
         (checkpoint->saved.docs_records > 0 || /* worth it though nobody has asked */
          bm_clock_seconds() - checkpoint->last >=
              (checkpoint->every >= 0 ? checkpoint->every : SAVE_LEAST))))
        bm_checkpoint_save_now(checkpoint);
    bm_checkpoint_note_broken(checkpoint, status);
}
