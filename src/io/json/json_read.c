/* json_read.c -- paths as text, for the one parser (json_exact.c), and fields of a document of ours. */
#include "io/json/json_read.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/json/json_exact.h"
#include "io/json/json_scan.h"
#include "io/json/json_simd.h"

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

bm_status bm_json_doc_check(const bm_json_doc *doc, bm_error *err)
{
    bm_json_exact *exact = NULL;
    const char *broken = NULL;
    BM_TRY(bm_json_exact_open(NULL, 0, &exact, err));
    bm_status status = bm_json_exact_run(exact, doc->text, NULL, &broken, err);
    if (status == BM_OK && broken != NULL)
        status = bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0, "%s", broken);
    bm_json_exact_close(exact);
    return status;
}

static bm_status lacks(const bm_json_doc *doc, const char *type, const char *field, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0, "no %s in field '%s'", type, field);
}

/* The text of the number at a field. */
static bm_status find_number(const bm_json_doc *doc, const char *field, bm_str *out, bm_error *err)
{
    if (!bm_json_scan_path(doc->text, field, out) ||
        (out->data[0] != '-' && (out->data[0] < '0' || out->data[0] > '9')))
        return lacks(doc, "number", field, err);
    return BM_OK;
}

bm_status bm_json_doc_string(const bm_json_doc *doc, const char *field, bm_buf *out, bm_error *err)
{
    bm_str quoted;
    if (!bm_json_scan_path(doc->text, field, &quoted) || quoted.data[0] != '"')
        return lacks(doc, "string", field, err);
    BM_TRY(bm_json_scan_string(quoted, out, err));
    return bm_buf_end(out, err);
}

bm_status bm_json_doc_uint(const bm_json_doc *doc, const char *field, uint64_t *out, bm_error *err)
{
    bm_str text;
    BM_TRY(find_number(doc, field, &text, err));
    if (bm_json_scan_uint(text, out))
        return BM_OK;
    return bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0,
                      "field '%s' is no whole number from 0 to 2^64-1", field);
}

bm_status bm_json_doc_double(const bm_json_doc *doc, const char *field, double *out, bm_error *err)
{
    bm_str text;
    BM_TRY(find_number(doc, field, &text, err));
    if (bm_simd_double(text, out))
        return BM_OK;
    return bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0, "field '%s' is out of range", field);
}
