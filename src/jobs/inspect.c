/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.c -- describes a file or directory that Bandmill wrote, as one JSON object:
 *
 *     a directory      kind, version, provenance, plan, counts, its files with bytes and shapes,
 *                      and "digests":"ok" if the digests of all listed outputs are right
 *     an index         as bm_index_inspect
 *     a manifest       as a directory, but without files and digests
 *     .npy             type and shape
 *     groups.jsonl     number of groups and of their documents, size of the largest group
 *     other tables     recognised by their header line: kind, columns, rows; for pairs.tsv also the
 *                      least and greatest similarity
 *     ids.txt, kept_ids.txt   recognised by name: number of ids
 *
 * The kind of a file is recognised by its bytes if possible, else by its name. Any other file is
 * BM_ERR_FORMAT. Text is read line by line. A row of more than 64 MiB is refused, since no table of
 * Bandmill has such rows; but the row of a group may have as many documents as memory allows. A
 * manifest and its description are in memory. Their size is checked before the description is
 * written.
 *
 * Tests: tests/unit/jobs/test_inspect.c, tests/cli/cases/bounds.sh */
#include <bandmill/index.h>
#include <bandmill/job.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/files.h"
#include "json/json_scan.h"
#include "json/json_write.h"
#include "output/manifest.h"
#include "results/npy.h"
#include "results/sign_dir.h"
#include "results/pair_file.h"
#include "results/line_file.h"
#include "results/result_tables.h"
#include "model/file_names.h"
#include "job/settings.h"
#include "store/store.h"

typedef struct target {
    const char *path;
    int fd;
    uint64_t bytes;
    uint64_t memory;
    bm_json *json;
} target;

/* --- lines --- */

/* Called for each line. `line` does not include the newline. Any status except BM_OK ends the
 * reading. */
typedef bm_status (*line_fn)(void *ctx, uint64_t number, bm_str line, bm_error *err);

typedef struct bound {
    size_t longest;     /* most bytes of a line */
    bm_status too_long; /* status for a longer line */
} bound;

static const bound row = {BM_TABLE_ROW_MAX, BM_ERR_FORMAT};

static bm_status each_line(const target *t, bound b, line_fn fn, void *ctx, bm_error *err)
{
    bm_line_file lines = {
        .fd = t->fd, .name = t->path, .longest = b.longest, .too_long = b.too_long};
    bool more = true;
    bm_status status = BM_OK;
    if (lseek(t->fd, 0, SEEK_SET) != 0)
        return bm_fail_errno(err, errno, t->path, "cannot read");
    for (;;) {
        BM_TRY_OUT(bm_line_file_next(&lines, &more, err));
        if (!more)
            break;
        BM_TRY_OUT(!lines.ended ? bm_fail_at(err, BM_ERR_FORMAT, t->path, lines.number,
                                             "the last line has no newline")
                                : fn(ctx, lines.number, (bm_str){lines.text, lines.len}, err));
    }
out:
    bm_line_file_reset(&lines);
    return status;
}

typedef struct table {
    const target *t;
    size_t columns;
    bool pairs;
    const char *measure; /* name of the measure of similarity */
    uint64_t rows, with_value;
    double least, greatest;
} table;

static bm_status count_row(void *ctx, uint64_t number, bm_str line, bm_error *err)
{
    table *rows = ctx;
    size_t columns = 1, third = 0, end = line.len;
    for (size_t i = 0; i < line.len; i++) {
        if (line.data[i] == '\t') {
            columns++;
            third = columns == 3 ? i + 1 : third;
            end = columns == 4 ? i : end;
        }
    }
    if (number == 1) {
        rows->columns = columns;
        return BM_OK;
    }
    if (columns != rows->columns)
        return bm_fail_at(err, BM_ERR_FORMAT, rows->t->path, number,
                          "%zu columns (expected %zu, as in the header)", columns, rows->columns);
    rows->rows++;
    if (!rows->pairs || third == end)
        return BM_OK;
    uint32_t millionths;
    if (!bm_table_jaccard((bm_str){line.data + third, end - third}, &millionths))
        return bm_fail_at(err, BM_ERR_FORMAT, rows->t->path, number,
                          "%s is no number of six decimals", rows->measure);
    const double value = millionths / 1e6;
    rows->least = rows->with_value == 0 ? value : fmin(rows->least, value);
    rows->greatest = rows->with_value == 0 ? value : fmax(rows->greatest, value);
    rows->with_value++;
    return BM_OK;
}

static bm_status show_table(const target *t, bm_str header, bm_error *err)
{
    const bm_table kind = bm_table_of_header(header);
    const bool contained = kind == BM_TABLE_CONTAINED || kind == BM_TABLE_CONTAINED_EDIT;
    const char *measure = contained ? "containment" : "jaccard";
    char key[32];
    table rows = {.t = t,
                  .pairs = contained || kind == BM_TABLE_PAIRS || kind == BM_TABLE_PAIRS_EDIT,
                  .measure = measure};
    BM_TRY(each_line(t, row, count_row, &rows, err));
    bm_json_key_array(t->json, "columns");
    for (size_t at = 0; at <= header.len;) {
        const char *tab = memchr(header.data + at, '\t', header.len - at);
        size_t end = tab != NULL ? (size_t)(tab - header.data) : header.len;
        bm_json_string(t->json, (bm_str){header.data + at, end - at});
        at = end + 1;
    }
    bm_json_end_array(t->json);
    bm_json_key_uint(t->json, "rows", rows.rows);
    if (rows.with_value > 0) {
        snprintf(key, sizeof key, "least_%s", measure);
        bm_json_key_double(t->json, key, rows.least);
        snprintf(key, sizeof key, "greatest_%s", measure);
        bm_json_key_double(t->json, key, rows.greatest);
    }
    return BM_OK;
}

typedef struct group_count {
    const target *t;
    uint64_t groups, documents, largest;
} group_count;

static bm_status count_group(void *ctx, uint64_t number, bm_str line, bm_error *err)
{
    group_count *groups = ctx;
    bm_group_file file = {0};
    bm_str member;
    uint64_t members = 0;
    if (!bm_group_file_parse(&file, line) || file.group != number)
        return bm_fail_at(err, BM_ERR_FORMAT, groups->t->path, number,
                          "is no group (expected group, kept, size, members)");
    while (bm_json_scan_element(file.members, &file.next, &member))
        members++;
    if (members != file.size)
        return bm_fail_at(err, BM_ERR_FORMAT, groups->t->path, number,
                          "size and the number of members differ");
    groups->groups++;
    groups->documents += file.size;
    groups->largest = file.size > groups->largest ? file.size : groups->largest;
    return BM_OK;
}

/* Most bytes of a line of groups.jsonl: those of the file, but at most two thirds of the memory.
 * For a longer line, the error message names a sufficient `memory`. */
static size_t longest_group(const target *t)
{
    const uint64_t most = t->memory / 3 * 2;
    return (size_t)(t->bytes < most ? t->bytes : most);
}

static bm_status show_groups(const target *t, bm_error *err)
{
    group_count groups = {.t = t};
    BM_TRY(each_line(t, (bound){longest_group(t), BM_ERR_NOMEM}, count_group, &groups, err));
    bm_json_key_uint(t->json, "groups", groups.groups);
    bm_json_key_uint(t->json, "documents", groups.documents);
    bm_json_key_uint(t->json, "largest", groups.largest);
    return BM_OK;
}

static bm_status count_id(void *ctx, uint64_t number, bm_str line, bm_error *err)
{
    (void)line;
    (void)err;
    *(uint64_t *)ctx = number;
    return BM_OK;
}

static bm_status show_ids(const target *t, bm_error *err)
{
    uint64_t n = 0;
    BM_TRY(each_line(t, row, count_id, &n, err));
    bm_json_key_uint(t->json, "ids", n);
    return BM_OK;
}

/* --- .npy --- */

static bm_status show_npy(const target *t, bm_error *err)
{
    bm_npy_header header;
    bm_status status = bm_npy_header_read(t->fd, t->path, &header, err);
    if (status == BM_ERR_INPUT) { /* the file is an argument of the call, not an input of a job */
        if (err != NULL)
            err->status = BM_ERR_FORMAT;
        return BM_ERR_FORMAT;
    }
    BM_TRY(status);
    bm_json_key_text(t->json, "type", header.type);
    bm_json_key_array(t->json, "shape");
    for (uint32_t i = 0; i < header.n_dims; i++)
        bm_json_uint(t->json, header.shape[i]);
    bm_json_end_array(t->json);
    return BM_OK;
}

/* --- manifests and directories --- */

static const char *const members[] = {"provenance",      "plan",   "counts",
                                      BM_MANIFEST_SHARD, "inputs", "outputs"};

/* Bytes of a member's value when it is pretty-printed. */
static uint64_t pretty_bytes(bm_str value)
{
    uint64_t bytes = value.len, depth = 1;
    bool in_string = false;
    for (size_t i = 0; i < value.len; i++) {
        const char c = value.data[i];
        if (in_string && c == '\\') {
            i++;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string) {
            depth += c == '{' || c == '[';
            depth -= (c == '}' || c == ']') && depth > 0;
            bytes += strchr("{}[],", c) != NULL ? 1 + 2 * depth : c == ':';
        }
    }
    return bytes;
}

/* An upper bound of the bytes that show_output writes for a file. Escaping turns a byte of the name
 * into up to five bytes. */
static uint64_t output_bytes(const char *name)
{
    uint64_t bytes = 160;
    for (; *name != '\0'; name++)
        bytes += *name >= ' ' && *name <= '~' && *name != '"' && *name != '\\' ? 1 : 5;
    return bytes;
}

/* Check that the description of a manifest fits into memory. */
static bm_status check_budget(const target *t, const bm_manifest *manifest, bm_error *err)
{
    uint64_t bytes = bm_manifest_bytes(manifest);
    bm_str value;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (bm_manifest_member(manifest, members[i], &value))
            bytes += pretty_bytes(value);
    for (size_t i = 0; i < bm_manifest_n_outputs(manifest); i++)
        bytes += output_bytes(bm_manifest_output_at(manifest, i)->name);
    return bytes <= t->memory
               ? BM_OK
               : bm_fail_at(err, BM_ERR_NOMEM, bm_manifest_path(manifest), 0,
                            "what it says does not fit into `memory` (at least %lluM)",
                            (unsigned long long)(bytes >> 20) + 1);
}

static void show_manifest(const bm_manifest *manifest, bm_json *json)
{
    bm_str value;
    bm_json_key_text(json, "kind", bm_manifest_kind(manifest));
    bm_json_key_text(json, "version", bm_manifest_version(manifest));
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (bm_manifest_member(manifest, members[i], &value)) {
            bm_json_key(json, members[i]);
            bm_json_scan_copy(value, json);
        }
    }
}

static bm_status open_target(const char *path, target *t, bm_error *err)
{
    struct stat info;
    t->path = path;
    BM_TRY(bm_open_regular(path, BM_ERR_FORMAT, &t->fd, err));
    if (fstat(t->fd, &info) != 0)
        return bm_fail_errno(err, errno, path, "cannot open");
    t->bytes = (uint64_t)info.st_size;
    return BM_OK;
}

/* Write a key and a path. The path is escaped as in TSV files. */
static bm_status show_path(bm_json *json, const char *key, const char *path, bm_error *err)
{
    bm_buf shown = {0};
    const bm_status status = bm_tsv_escape(&shown, (bm_str){path, strlen(path)}, err);
    bm_json_key_string(json, key, (bm_str){shown.data, shown.len});
    bm_buf_reset(&shown);
    return status;
}

static bm_status show_output(const char *folder, const char *name, bm_json *json, bm_error *err)
{
    bm_buf path = {0};
    target t = {.fd = -1, .json = json};
    const size_t len = strlen(name);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_add_format(&path, err, "%s/%s", folder, name));
    BM_TRY_OUT(bm_buf_end(&path, err));
    BM_TRY_OUT(open_target(path.data, &t, err));
    bm_json_begin_object(json);
    BM_TRY_OUT(show_path(json, "file", name, err));
    bm_json_key_uint(json, "bytes", t.bytes);
    if (len > 4 && strcmp(name + len - 4, ".npy") == 0)
        BM_TRY_OUT(show_npy(&t, err));
    bm_json_end_object(json);
out:
    if (t.fd >= 0)
        close(t.fd);
    bm_buf_reset(&path);
    return status;
}

/* Set *out to the manifest of the directory. If the directory has signatures, *signatures owns
 * *out, and the shapes of the arrays are checked. Otherwise, *own owns *out. The caller closes
 * *signatures and *own; the one that does not own *out is NULL. */
static bm_status open_folder(const target *t, bm_manifest **own, bm_sign_dir **signatures,
                             const bm_manifest **out, bm_error *err)
{
    BM_TRY(bm_manifest_open_dir(t->path, t->memory, own, err));
    *out = *own;
    if (strcmp(bm_manifest_kind(*own), "signatures") != 0)
        return BM_OK;
    bm_manifest_close(*own);
    *own = NULL;
    BM_TRY(bm_sign_dir_open(t->path, t->memory, signatures, err));
    *out = bm_sign_dir_manifest(*signatures);
    return BM_OK;
}

static bm_status show_folder(const target *t, bm_error *err)
{
    const char *path = t->path;
    bm_json *json = t->json;
    bm_manifest *own = NULL;
    bm_sign_dir *signatures = NULL;
    const bm_manifest *manifest = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_folder(t, &own, &signatures, &manifest, err));
    BM_TRY_OUT(check_budget(t, manifest, err));
    BM_TRY_OUT(bm_manifest_check(manifest, path, err));
    show_manifest(manifest, json);
    bm_json_key_array(json, "files");
    for (size_t i = 0; i < bm_manifest_n_outputs(manifest); i++)
        BM_TRY_OUT(show_output(path, bm_manifest_output_at(manifest, i)->name, json, err));
    bm_json_end_array(json);
    bm_json_key_text(json, "digests", "ok");
out:
    bm_sign_dir_close(signatures);
    bm_manifest_close(own);
    return status;
}

/* --- recognising a file --- */

static void begin_kind(const target *t, const char *kind)
{
    bm_json_key_text(t->json, "kind", kind);
    bm_json_key_uint(t->json, "bytes", t->bytes);
}

static bm_status show_file(const target *t, bm_error *err)
{
    char head[256];
    ssize_t got = pread(t->fd, head, sizeof head, 0);
    if (got < 0)
        return bm_fail_errno(err, errno, t->path, "cannot read");
    size_t n = (size_t)got;
    const char *newline = n > 0 ? memchr(head, '\n', n) : NULL;
    bm_str first = {head, newline != NULL ? (size_t)(newline - head) : n};
    const bm_table kind = newline != NULL ? bm_table_of_header(first) : BM_N_TABLES;
    const char *slash = strrchr(t->path, '/'), *name = slash != NULL ? slash + 1 : t->path;
    if (kind != BM_N_TABLES) {
        begin_kind(t, bm_table_kind(kind));
        return show_table(t, first, err);
    }
    if (n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0) {
        begin_kind(t, "array");
        return show_npy(t, err);
    }
    if ((n >= 9 && memcmp(head, "{\"" BM_GROUP_NUMBER "\":", 9) == 0) ||
        (n == 0 && bm_file_kind_of(name) == BM_FILE_KIND_GROUPS)) {
        begin_kind(t, "groups");
        return show_groups(t, err);
    }
    if (bm_file_kind_of(name) == BM_FILE_KIND_IDS) {
        begin_kind(t, "ids");
        return show_ids(t, err);
    }
    bm_manifest *manifest = NULL;
    /* If the name is not that of a manifest, look for "tool", the second member of a manifest. An
     * opening brace is not enough, since kept documents may begin with one too. */
    if (bm_file_kind_of(name) != BM_FILE_KIND_REPORT &&
        (n == 0 || head[0] != '{' || memmem(head, n, "\"tool\"", 6) == NULL))
        return bm_fail_at(err, BM_ERR_FORMAT, t->path, 0,
                          "is no file that inspect knows (reports, tables, groups, ids and arrays "
                          "of bandmill)");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_manifest_open(t->path, t->memory, &manifest, err));
    BM_TRY_OUT(check_budget(t, manifest, err));
    show_manifest(manifest, t->json);
out:
    bm_manifest_close(manifest);
    return status;
}

bm_status bm_inspect(const char *path, char **json, bm_error *err)
{
    return bm_inspect_within(path, 0, json, err);
}

bm_status bm_inspect_within(const char *path, uint64_t memory, char **json, bm_error *err)
{
    if (path == NULL || json == NULL)
        return bm_fail_field(err, path == NULL ? "path" : "json",
                             "no path, or no place for the text");
    bm_json out = {.pretty = true};
    target t = {
        .path = path, .fd = -1, .memory = memory != 0 ? memory : bm_default_memory(), .json = &out};
    struct stat info;
    bm_status status = BM_OK;
    if (stat(path, &info) != 0)
        return bm_fail_errno(err, errno, path, "cannot open");
    bool is_index = false;
    if (S_ISDIR(info.st_mode))
        BM_TRY(bm_store_is(path, &is_index, err));
    if (is_index)
        return bm_index_inspect(path, json, err);
    bm_json_begin_object(&out);
    bm_json_key_uint(&out, "schema", 1);
    bm_json_key_text(&out, "tool", "bandmill");
    BM_TRY_OUT(show_path(&out, "path", path, err));
    if (S_ISDIR(info.st_mode)) {
        BM_TRY_OUT(show_folder(&t, err));
    } else {
        BM_TRY_OUT(open_target(path, &t, err));
        BM_TRY_OUT(show_file(&t, err));
    }
    bm_json_end_object(&out);
    status = bm_json_finish(&out, err);
out:
    if (t.fd >= 0)
        close(t.fd);
    if (status == BM_OK)
        *json = out.buf.data; /* the caller can use free, because bm_alloc uses malloc */
    else
        bm_buf_reset(&out.buf);
    return status;
}
