/* json_read.c -- paths as text, for the one parser (json_exact.c). Of a small document only the text
 * is kept, and the parser runs again for each field that is asked for: microseconds, for a report of
 * a few kilobytes. */
#include "io/json/json_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "io/json/json_exact.h"
#include "io/json/json_simd.h"

#define DOC_MAX_BYTES ((size_t)256 << 20)

/* Paths taken apart: one block of text, one of parts. */
typedef struct path_set {
    bm_json_path *paths;
    size_t n;
    bm_str *parts;
    char *text;
} path_set;

static void free_paths(path_set *set)
{
    bm_free(set->paths);
    bm_free(set->parts);
    bm_free(set->text);
    *set = (path_set){0};
}

/* One part of a path, "name" or "name[][]…", as parts from `part` on; returns one past them. A part
 * of nothing but brackets is a name. */
static bm_str *split_part(bm_str text, bm_str *part)
{
    size_t n_arrays = 0;
    for (; text.len > 2 && memcmp(text.data + text.len - 2, "[]", 2) == 0; n_arrays++)
        text.len -= 2;
    *part++ = text;
    for (; n_arrays > 0; n_arrays--)
        *part++ = (bm_str){NULL, 0};
    return part;
}

static bm_status split_paths(const char *const *paths, size_t n, path_set *out, bm_error *err)
{
    size_t n_parts = 0, n_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        n_bytes += strlen(paths[i]);
        n_parts++;
        for (const char *p = paths[i]; *p != '\0'; p++)
            n_parts += *p == '.' || *p == '[';
    }
    path_set set = {.paths = bm_alloc(n, sizeof *set.paths),
                    .n = n,
                    .parts = bm_alloc(n_parts, sizeof *set.parts),
                    .text = bm_alloc(n_bytes, 1)};
    if (set.paths == NULL || set.parts == NULL || set.text == NULL) {
        free_paths(&set);
        return bm_fail_nomem(err, n_bytes + n_parts * sizeof *set.parts);
    }
    char *text = set.text;
    bm_str *part = set.parts;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(paths[i]);
        memcpy(text, paths[i], len);
        set.paths[i].parts = part;
        char *begin = text, *end = text + len;
        for (char *p = text; p <= end; p++)
            if (p == end || *p == '.') {
                part = split_part((bm_str){.data = begin, .len = (size_t)(p - begin)}, part);
                begin = p + 1;
            }
        set.paths[i].n_parts = (size_t)(part - set.paths[i].parts);
        text = end;
    }
    *out = set;
    return BM_OK;
}

struct bm_json_line {
    path_set paths;
    bm_json_exact *exact;
};

bm_status bm_json_line_open(const char *const *paths, size_t n, bm_json_line **out, bm_error *err)
{
    bm_json_line *line = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new_zero(&line, 1, err));
    BM_TRY_OUT(split_paths(paths, n, &line->paths, err));
    BM_TRY_OUT(bm_json_exact_open(line->paths.paths, n, &line->exact, err));
    *out = line;
    return BM_OK;
out:
    bm_json_line_close(line);
    return status;
}

void bm_json_line_close(bm_json_line *line)
{
    if (line == NULL)
        return;
    bm_json_exact_close(line->exact);
    free_paths(&line->paths);
    bm_free(line);
}

void bm_json_line_give_back(bm_json_line *line, size_t keep)
{
    bm_json_exact_give_back(line->exact, keep);
}

bm_status bm_json_line_run(bm_json_line *line, bm_str text, bm_json_field *fields,
                           const char **broken, bm_error *err)
{
    return bm_json_exact_run(line->exact, text, fields, broken, err);
}

struct bm_json_doc {
    char *path;
    bm_buf text;
    char **strings; /* those given out, owned */
    size_t n_strings, cap_strings;
};

static bm_status read_file(const char *path, bm_buf *text, bm_error *err)
{
    int fd;
    BM_TRY(bm_open_regular(path, BM_ERR_FORMAT, &fd, err));
    FILE *file = fdopen(fd, "r");
    bm_status status = BM_OK;
    if (file == NULL) {
        status = bm_fail_errno(err, errno, path, "cannot open");
        close(fd);
        return status;
    }
    size_t got = 1;
    while (status == BM_OK && got > 0) {
        status = bm_buf_reserve(text, (size_t)64 << 10, err);
        if (status != BM_OK)
            break;
        errno = 0;
        got = fread(text->data + text->len, 1, (size_t)64 << 10, file);
        text->len += got;
        if (ferror(file))
            status = bm_fail_errno(err, errno, path, "cannot read");
        else if (text->len > DOC_MAX_BYTES)
            status = bm_fail_at(err, BM_ERR_FORMAT, path, 0, "too large for a document of ours");
    }
    fclose(file);
    return status;
}

/* One field (NULL: none, only look whether the document is whole); its value is copied to `copy`
 * where that is not NULL. */
static bm_status look_up(const bm_json_doc *doc, const char *field, bm_json_field *out,
                         bm_buf *copy, bm_error *err)
{
    path_set paths;
    bm_json_exact *exact = NULL;
    const char *broken = NULL;
    BM_TRY(split_paths(&field, field == NULL ? 0 : 1, &paths, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_exact_open(paths.paths, paths.n, &exact, err));
    BM_TRY_OUT(bm_json_exact_run(exact, (bm_str){.data = doc->text.data, .len = doc->text.len}, out,
                                 &broken, err));
    if (broken != NULL)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0, "%s", broken));
    if (copy != NULL)
        BM_TRY_OUT(bm_buf_add(copy, out->value.data, out->value.len, err));
    if (copy != NULL)
        BM_TRY_OUT(bm_buf_end(copy, err));
out:
    bm_json_exact_close(exact);
    free_paths(&paths);
    return status;
}

bm_status bm_json_doc_open(const char *path, bm_json_doc **out, bm_error *err)
{
    bm_json_doc *doc = NULL;
    BM_TRY(bm_new_zero(&doc, 1, err));
    bm_json_field none;
    bm_status status = BM_OK;
    if ((doc->path = bm_strdup(path)) == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, strlen(path)));
    BM_TRY_OUT(read_file(path, &doc->text, err));
    status = look_up(doc, NULL, &none, NULL, err);
out:
    if (status != BM_OK) {
        bm_json_doc_close(doc);
        return status;
    }
    *out = doc;
    return BM_OK;
}

void bm_json_doc_close(bm_json_doc *doc)
{
    if (doc == NULL)
        return;
    for (size_t i = 0; i < doc->n_strings; i++)
        bm_free(doc->strings[i]);
    bm_free(doc->strings);
    bm_buf_reset(&doc->text);
    bm_free(doc->path);
    bm_free(doc);
}

/* The value of a field, which is of this kind; `out` ({0}) stays so on failure. */
static bm_status get(const bm_json_doc *doc, const char *field, bm_json_kind kind, bm_buf *out,
                     bm_error *err)
{
    bm_json_field found;
    bm_status status = BM_OK;
    BM_TRY_OUT(look_up(doc, field, &found, out, err));
    if (found.kind != kind)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0, "no %s in field '%s'",
                              kind == BM_JSON_STRING ? "string" : "number", field));
out:
    if (status != BM_OK)
        bm_buf_reset(out);
    return status;
}

bm_status bm_json_doc_string(const bm_json_doc *doc, const char *field, bm_str *out, bm_error *err)
{
    bm_json_doc *own = (bm_json_doc *)doc; /* what was looked up stays with the document */
    bm_buf value = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(get(doc, field, BM_JSON_STRING, &value, err));
    status = bm_grow_array(&own->strings, &own->cap_strings, own->n_strings + 1, err);
out:
    if (status != BM_OK) {
        bm_buf_reset(&value);
        return status;
    }
    own->strings[own->n_strings++] = value.data;
    *out = (bm_str){value.data, value.len};
    return BM_OK;
}

bm_status bm_json_doc_uint(const bm_json_doc *doc, const char *field, uint64_t *out, bm_error *err)
{
    bm_buf text = {0};
    BM_TRY(get(doc, field, BM_JSON_NUMBER, &text, err));
    uint64_t value = 0;
    bool ok = true;
    for (size_t i = 0; i < text.len && ok; i++) {
        unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';
        ok = digit <= 9 && !__builtin_mul_overflow(value, UINT64_C(10), &value) &&
             !__builtin_add_overflow(value, (uint64_t)digit, &value);
    }
    bm_buf_reset(&text);
    if (!ok)
        return bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0,
                          "field '%s' is no whole number from 0 to 2^64-1", field);
    *out = value;
    return BM_OK;
}

bm_status bm_json_doc_double(const bm_json_doc *doc, const char *field, double *out, bm_error *err)
{
    bm_buf text = {0};
    BM_TRY(get(doc, field, BM_JSON_NUMBER, &text, err));
    double value;
    bool ok = bm_simd_double((bm_str){text.data, text.len}, &value);
    bm_buf_reset(&text);
    if (!ok)
        return bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0, "field '%s' is out of range", field);
    *out = value;
    return BM_OK;
}
