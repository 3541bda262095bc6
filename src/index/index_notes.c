/* index_notes.c -- lines of text, written whole each time.
 *
 * Of an add: names, settings, records, file, bytes, digest (two numbers), whether the place is known, before; all
 * in hexadecimal.
 *
 * Tests: tests/unit/index/test_index_notes.c, tests/cli/cases/index_resume.sh */
#include "index/index_notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "json/json_write.h"
#include "job/settings_list.h"
#include "job/report_file.h"

#define ADDS_MAX 64u /* lines */
#define N_FIELDS 9u

/* --- inputs --- */

static size_t count_lines(bm_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    return n;
}

static bm_status add_names(const bm_job_context *job, bm_buf *out, bm_error *err)
{
    if (job->settings->index.follow) /* its inputs are not open */
        return bm_buf_add_text(out, "-\n", err);
    for (size_t i = 0; i < job->inputs.names.n; i++) {
        const char *name = job->inputs.names.names[i];
        BM_TRY(bm_tsv_escape(out, (bm_str){name, strlen(name)}, err));
        BM_TRY(bm_buf_add(out, "\n", 1, err));
    }
    return BM_OK;
}

/* Where whole lines of `all` are these lines; SIZE_MAX: nowhere. */
static size_t find_lines(bm_str all, bm_str lines)
{
    for (size_t at = 0; lines.len > 0 && at + lines.len <= all.len;) {
        const char *found = memmem(all.data + at, all.len - at, lines.data, lines.len);
        if (found == NULL)
            return SIZE_MAX;
        if (found == all.data || found[-1] == '\n')
            return (size_t)(found - all.data);
        at = (size_t)(found - all.data) + 1;
    }
    return SIZE_MAX;
}

bm_status bm_index_inputs_list(const bm_job_context *job, const bm_store_view *view, bm_buf *names,
                               uint32_t *first, bm_error *err)
{
    const bm_str listed =
        view != NULL ? bm_store_view_note(view, BM_NOTE_INPUTS) : (bm_str){NULL, 0};
    bm_buf own = {0};
    *first = BM_INDEX_NO_INPUT;
    bm_status status = bm_buf_add(names, listed.data, listed.len, err);
    if (status != BM_OK || bm_job_context_format(job) == BM_FORMAT_FILES)
        return status;
    status = add_names(job, &own, err);
    if (status == BM_OK) {
        const size_t at = find_lines(listed, (bm_str){own.data, own.len});
        *first = (uint32_t)count_lines((bm_str){listed.data, at == SIZE_MAX ? listed.len : at});
        if (at == SIZE_MAX)
            status = bm_buf_add(names, own.data, own.len, err);
    }
    bm_buf_reset(&own);
    return status;
}

bm_status bm_index_input_name(bm_str names, uint32_t input, bm_buf *out, bm_error *err)
{
    const char *at = names.data, *end = names.len > 0 ? at + names.len : at;
    for (uint32_t i = 0; at < end && i < input; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline == NULL ? end : newline + 1;
    }
    out->len = 0;
    if (at == end || at == NULL)
        return bm_buf_end(out, err);
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    BM_TRY(bm_buf_add(out, at, (size_t)((newline == NULL ? end : newline) - at), err));
    const size_t len = bm_tsv_unescape(out->data, out->len);
    out->len = len == SIZE_MAX ? out->len : len;
    return bm_buf_end(out, err);
}

/* --- what an add is --- */

static void hash_setting(void *ctx, const bm_setting *setting)
{
    uint64_t *hash = ctx;
    bm_json json = {0};
    bm_report_setting_value(&json, setting);
    *hash = XXH3_64bits_withSeed(setting->name, strlen(setting->name), *hash);
    *hash = XXH3_64bits_withSeed(json.buf.data, json.buf.len, *hash);
    bm_buf_reset(&json.buf);
}

static void identify(const bm_job_context *job, bm_index_add_note *note)
{
    const bm_file_names *names = &job->inputs.names;
    bm_settings_list(job->settings, bm_job_context_format(job), hash_setting, &note->settings);
    for (size_t i = 0; i < names->n; i++)
        note->names = XXH3_64bits_withSeed(names->names[i], strlen(names->names[i]), note->names);
}

/* Inputs before `n`, which are read to their ends. */
static bm_status hash_before(bm_index_add_note *note, const bm_job_context *job, size_t n,
                             bm_error *err)
{
    for (; note->n_before < n; note->n_before++) {
        const bm_source *source = bm_input_set_source(job->inputs.set, note->n_before);
        struct stat info = {0};
        if (source->unreadable == NULL && stat(source->path, &info) != 0)
            return bm_fail_errno(err, errno, source->name, "cannot look at");
        const uint64_t told[] = {(uint64_t)info.st_size, (uint64_t)info.st_mtim.tv_sec,
                                 (uint64_t)info.st_mtim.tv_nsec};
        note->before = XXH3_64bits_withSeed(told, sizeof told, note->before);
    }
    return BM_OK;
}

/* --- lines --- */

/* Numbers of a line, in their order. */
static bool read_line(const char *line, uint64_t fields[N_FIELDS])
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        char *end;
        fields[i] = strtoull(line, &end, 16);
        if (end == line || *end != (i + 1 < N_FIELDS ? '\t' : '\n'))
            return false;
        line = end + 1;
    }
    return true;
}

/* Part the lines of other adds from this one's. `text` ends with a NUL behind it. */
static bm_status part(const char *text, bm_index_add_note *note, uint64_t fields[N_FIELDS],
                      bool *found, bm_error *err)
{
    uint64_t line[N_FIELDS];
    *found = false;
    for (const char *next; *text != '\0'; text = next) {
        const char *newline = strchr(text, '\n');
        next = newline == NULL ? text + strlen(text) : newline + 1;
        /* of a later version, maybe */
        if (newline == NULL || !read_line(text, line))
            continue;
        if (line[0] == note->names) {
            memcpy(fields, line, sizeof line);
            *found = true;
            continue;
        }
        BM_TRY(bm_buf_add(&note->others, text, (size_t)(next - text), err));
    }
    return BM_OK;
}

static bm_status go_on(bm_index_add_note *note, const bm_job_context *job,
                       const uint64_t fields[N_FIELDS], bm_index_add_place *place, bm_error *err)
{
    const char *path = job->settings->output.path;
    const size_t n = bm_input_set_count(job->inputs.set);
    if (fields[1] != note->settings)
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                          "the interrupted add of these inputs had other options (the same ones, "
                          "or without `resume`)");
    *place = (bm_index_add_place){.records = fields[2],
                                  .place = {.file = fields[3],
                                            .bytes = fields[4],
                                            .digest = {.lo = fields[5], .hi = fields[6]},
                                            .known = fields[7] != 0}};
    BM_TRY(place->place.known && place->place.file < n
               ? hash_before(note, job, (size_t)place->place.file, err)
               : hash_before(note, job, n, err));
    if (note->before != fields[8])
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                          "inputs have changed since the add of them was interrupted (sizes or "
                          "times of those that were read)");
    return BM_OK;
}

bm_status bm_index_add_note_open(const bm_job_context *job, const bm_store_view *view,
                                 bm_index_add_note *note, bm_index_add_place *place, bm_error *err)
{
    const bm_str noted = bm_store_view_note(view, BM_NOTE_ADDS);
    uint64_t fields[N_FIELDS];
    bool found;
    bm_buf text = {0};
    *place = (bm_index_add_place){0};
    if (job->inputs.set == NULL) /* standard input that is followed, or signatures */
        return BM_OK;
    note->noted = bm_input_set_stays(job->inputs.set);
    if (job->settings->results.resume && !note->noted)
        return bm_fail_field(err, "resume",
                             "`resume` needs inputs that can be read again (regular files, not "
                             "standard input or a pipe)");
    identify(job, note);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_add(&text, noted.data, noted.len, err));
    BM_TRY_OUT(bm_buf_end(&text, err));
    BM_TRY_OUT(part(text.data, note, fields, &found, err));
    if (found && job->settings->results.resume)
        BM_TRY_OUT(go_on(note, job, fields, place, err));
out:
    bm_buf_reset(&text);
    return status;
}

void bm_index_add_note_reset(bm_index_add_note *note)
{
    bm_buf_reset(&note->others);
    *note = (bm_index_add_note){0};
}

/* Without the first of too many lines. */
static bm_str last_lines(const bm_buf *lines)
{
    bm_str text = {lines->data, lines->len};
    for (size_t n = count_lines(text); n >= ADDS_MAX; n--) {
        const size_t len =
            (size_t)((const char *)memchr(text.data, '\n', text.len) - text.data) + 1;
        text = (bm_str){text.data + len, text.len - len};
    }
    return text;
}

bm_status bm_index_add_note_save(bm_index_add_note *note, const bm_job_context *job,
                                 const bm_index_add_place *place, bm_store *store, bm_error *err)
{
    const bm_content_place *p = &place->place;
    bm_buf text = {0};
    if (!note->noted)
        return BM_OK;
    const size_t n = bm_input_set_count(job->inputs.set);
    bm_status status = BM_OK;
    BM_TRY_OUT(hash_before(note, job, p->known && p->file < n ? (size_t)p->file : n, err));
    const bm_str others = last_lines(&note->others);
    BM_TRY_OUT(bm_buf_add(&text, others.data, others.len, err));
    BM_TRY_OUT(bm_buf_add_format(&text, err,
                                 "%016" PRIx64 "\t%016" PRIx64 "\t%" PRIx64 "\t%" PRIx64
                                 "\t%" PRIx64 "\t%016" PRIx64 "\t%016" PRIx64 "\t%d\t%016" PRIx64
                                 "\n",
                                 note->names, note->settings, place->records, p->file, p->bytes,
                                 p->digest.lo, p->digest.hi, p->known, note->before));
    status = bm_store_note(store, BM_NOTE_ADDS, (bm_str){text.data, text.len}, err);
out:
    bm_buf_reset(&text);
    return status;
}
