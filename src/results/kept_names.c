/* kept_names.c -- names of kept files: endings, compression, the deepest common directory.
 *
 * A path is made absolute and plain first ("." and ".." taken out by its text, links not followed),
 * so what is left below the common directory can hold no "..": a kept file cannot leave the output
 * whatever its input is called.
 *
 * Tests: tests/unit/results/test_kept_writer.c */
#include "results/kept_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "input/compression_kinds.h"
#include "input/name_ending.h"
#include "model/file_names.h"

static const char *format_ending(bm_format format)
{
    switch (format) {
    case BM_FORMAT_TSV:
        return ".tsv";
    case BM_FORMAT_CSV:
        return ".csv";
    case BM_FORMAT_LINES:
        return ".txt";
    case BM_FORMAT_JSON:
        return ".json";
    case BM_FORMAT_WET:
        return ".warc.wet";
    case BM_FORMAT_PARQUET:
        return ".parquet";
    case BM_FORMAT_ARROW:
        return ".arrow";
    default:
        return ".jsonl";
    }
}

/* The ending of compression that a kept file gets: its own under `same`, in which `own` is what the
 * name has ("" if its bytes are compressed but its name does not say so). */
static const char *compression_ending(bm_kept kept, const char *own)
{
    switch (kept) {
    case BM_KEPT_GZ:
        return bm_compression_ending(BM_COMPRESSION_GZ);
    case BM_KEPT_ZST:
        return bm_compression_ending(BM_COMPRESSION_ZST);
    case BM_KEPT_SAME:
        return own;
    default:
        return "";
    }
}

/* How files are named here; `single` puts `base` for all of a name but the ending. */
typedef struct naming {
    bm_kept_naming asked;
    const char *base;
    bool single;
} naming;

/* Append the file name `name` (a last step, or "-") as it is kept. */
static bm_status add_file_name(bm_buf *out, const char *name, const bm_kept_source *source,
                               const naming *how, bm_error *err)
{
    bool is_stdin = strcmp(source->name, "-") == 0;
    size_t plain = strlen(name);
    (void)bm_compression_of_name(name, &plain);
    if (plain == 0) /* ".gz": all of it is the name */
        plain = strlen(name);
    const char *own = is_stdin ? bm_compression_ending(source->compression) : name + plain;
    const char *ending = format_ending(how->asked.format);
    size_t ending_len = strlen(ending), stem = plain;
    if (!is_stdin) {
        while (stem > 0 && name[stem - 1] != '.')
            stem--;
        if (how->asked.format == BM_FORMAT_WET && bm_name_ends(name, plain, ending))
            stem = plain - ending_len + 1; /* two steps of its name say what it is */
        if (stem > 1 && stem < plain) {    /* "a.b", not ".b" and not "a." */
            ending = name + stem - 1;
            ending_len = plain - (stem - 1);
        }
    }
    if (how->single) {
        BM_TRY(bm_buf_add_text(out, how->base, err));
        BM_TRY(bm_buf_add(out, ending, ending_len, err));
    } else if (is_stdin)
        BM_TRY(bm_buf_add_format(out, err, "stdin%s", ending));
    else
        BM_TRY(bm_buf_add(out, name, plain, err));
    return bm_buf_add_text(out, compression_ending(how->asked.kept, own), err);
}

/* `name` made absolute and plain, appended: "/a/b/c". */
static bm_status add_plain_path(bm_buf *out, const char *cwd, const char *name, bm_error *err)
{
    const char *parts[2] = {name[0] == '/' ? "" : cwd, name};
    for (int i = 0; i < 2; i++) {
        for (const char *c = parts[i]; *c != '\0';) {
            size_t len = strcspn(c, "/");
            if (len == 2 && memcmp(c, "..", 2) == 0) {
                while (out->len > 0 && out->data[--out->len] != '/')
                    ;
            } else if (len > 0 && !(len == 1 && *c == '.')) {
                BM_TRY(bm_buf_add(out, "/", 1, err));
                BM_TRY(bm_buf_add(out, c, len, err));
            }
            c += len;
            c += *c == '/';
        }
    }
    return bm_buf_end(out, err);
}

/* How much of `path` stays in common with the folder path[0 … common-1] of those before. */
static size_t shared_folder(const char *first, const char *path, size_t common)
{
    size_t same = 0;
    while (same < common && first[same] == path[same])
        same++;
    while (same > 0 && first[same - 1] != '/')
        same--;
    return same; /* with its last slash */
}

/* Paths made plain, and what they have in common. */
typedef struct plain_list {
    char **paths; /* NULL: standard input */
    size_t n, common;
} plain_list;

static bm_status plain_paths(const bm_kept_source *sources, const char *cwd, plain_list *out,
                             bm_error *err)
{
    const char *first = NULL;
    for (size_t i = 0; i < out->n; i++) {
        if (strcmp(sources[i].name, "-") == 0)
            continue;
        bm_buf path = {0};
        bm_status status = add_plain_path(&path, cwd, sources[i].name, err);
        if (status != BM_OK) {
            bm_buf_reset(&path);
            return status;
        }
        out->paths[i] = path.data;
        const char *slash = strrchr(path.data, '/');
        if (first == NULL)
            out->common = slash != NULL ? (size_t)(slash - path.data) + 1 : 0;
        else
            out->common = shared_folder(first, path.data, out->common);
        first = first != NULL ? first : path.data;
    }
    return BM_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One name twice, or once as a file and once as a directory. Sorted by bytes, what begins with
 * NAME/ need not follow NAME at once ("a", "a.b", "a/c"): so each folder of each name is looked up.
 */
static bm_status check_distinct(char *const *names, size_t n, const bm_kept_naming *asked,
                                bm_error *err)
{
    bm_status status = BM_OK;
    const char *clash = NULL;
    char **sorted = bm_alloc(n, sizeof *sorted);
    if (sorted == NULL)
        return bm_fail_nomem(err, n * sizeof *sorted);
    memcpy(sorted, names, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_text);
    for (size_t i = 1; i < n && clash == NULL; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            clash = sorted[i];
    for (size_t i = 0; i < n && clash == NULL && status == BM_OK; i++) {
        char *folder = bm_strdup(names[i]), *slash;
        if (folder == NULL)
            status = bm_fail_nomem(err, strlen(names[i]) + 1);
        while (clash == NULL && folder != NULL && (slash = strrchr(folder, '/')) != NULL) {
            *slash = '\0';
            char **hit = bsearch(&folder, sorted, n, sizeof *sorted, by_text);
            clash = hit != NULL ? *hit : NULL;
        }
        bm_free(folder);
    }
    if (clash != NULL)
        status =
            bm_fail(err, BM_ERR_USAGE,
                    "two inputs would both be %s as %s (leave one out, or use `%s` %sno)",
                    asked->removed ? "written" : "kept", clash, asked->removed ? "removed" : "kept",
                    asked->kept != BM_KEPT_SAME ? "same, or " : "");
    bm_free(sorted);
    return status;
}

/* `below`: the path below the common folder, "-" for standard input. */
static bm_status make_name(const bm_kept_source *source, const char *below, const naming *how,
                           char **out, bm_error *err)
{
    bm_buf name = {0};
    const char *slash = strrchr(below, '/');
    const char *last = slash != NULL ? slash + 1 : below;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_add_format(&name, err, "%s/", how->base));
    BM_TRY_OUT(bm_buf_add(&name, below, (size_t)(last - below), err));
    BM_TRY_OUT(add_file_name(&name, last, source, how, err));
    status = bm_buf_end(&name, err);
out:
    if (status != BM_OK)
        bm_buf_reset(&name);
    else
        *out = name.data;
    return status;
}

/* The records that are removed from one .tsv leave the name removed.tsv to the table that is called so: they lie where
 * those of several inputs would. */
static bm_status single_name(const bm_kept_source *source, const naming *how, char **out,
                             bm_error *err)
{
    bm_buf name = {0};
    const char *slash = strrchr(source->name, '/');
    const char *last = slash != NULL ? slash + 1 : source->name;
    bm_status status = BM_OK;
    BM_TRY_OUT(add_file_name(&name, last, source, how, err));
    BM_TRY_OUT(bm_buf_end(&name, err));
    if (strcmp(name.data, BM_FILE_REMOVED) == 0) {
        const naming within = {.asked = how->asked, .base = how->base};
        bm_buf_reset(&name);
        return make_name(source, last, &within, out, err);
    }
out:
    if (status != BM_OK)
        bm_buf_reset(&name);
    else
        *out = name.data;
    return status;
}

bm_status bm_kept_names(const bm_kept_source *sources, size_t n, const bm_kept_naming *asked,
                        char **names, bm_error *err)
{
    const naming how = {.asked = *asked,
                        .base = asked->removed ? BM_FILE_REMOVED_RECORDS : BM_FILE_KEPT,
                        .single = n == 1};
    for (size_t i = 0; i < n; i++)
        names[i] = NULL;
    if (n == 0)
        return BM_OK;
    if (n == 1)
        return single_name(&sources[0], &how, &names[0], err);
    plain_list plain = {.paths = bm_alloc_zero(n, sizeof *plain.paths), .n = n};
    if (plain.paths == NULL)
        return bm_fail_nomem(err, n * sizeof *plain.paths);
    bm_status status = BM_OK;
    BM_TRY_OUT(plain_paths(sources, asked->cwd, &plain, err));
    for (size_t i = 0; i < n; i++) {
        const char *below = plain.paths[i] != NULL ? plain.paths[i] + plain.common : "-";
        BM_TRY_OUT(make_name(&sources[i], below, &how, &names[i], err));
    }
    status = check_distinct(names, n, asked, err);
out:
    for (size_t i = 0; i < n; i++) {
        bm_free(plain.paths[i]);
        if (status != BM_OK) {
            bm_free(names[i]);
            names[i] = NULL;
        }
    }
    bm_free(plain.paths);
    return status;
}
