/* manifest.c -- manifest.json and report.json into plain tables.
 *
 * The parser of json_read.h must accept the file; then json_scan.h walks through its text. Whatever
 * is not as expected is BM_ERR_FORMAT with the file and the field. All strings are on one list,
 * which close frees.
 *
 * Tests: tests/unit/io_arrays/test_sign_dir.c, tests/unit/jobs/test_inspect.c
 * Tests: tests/cli/cases/bad_output.sh */
#include "io/output/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/json/json_read.h"
#include "io/json/json_scan.h"
#include "io/output/manifest_text.h"
#include "model/file_names.h"

#define STRING_BYTES 96u /* of a string, and of what names it, beside its own */

struct bm_manifest {
    char *path;
    bm_buf text;
    bm_str root;
    const char *kind, *version;
    bm_provenance provenance;
    const char **text_fields;
    bool has_provenance;
    bm_manifest_input *inputs;
    size_t n_inputs, cap_inputs;
    bm_manifest_input offsets;       /* file NULL: none */
    bm_manifest_output_row *outputs; /* sorted by name */
    size_t n_outputs, cap_outputs;
    char **strings;
    size_t n_strings, cap_strings;
    uint64_t memory;       /* 0: no limit */
    uint64_t string_bytes; /* of the strings, and of what names them */
};

static bm_status bad(const bm_manifest *manifest, const char *field, const char *expected,
                     bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, manifest->path, 0, "\"%s\" is missing or wrong (%s)",
                      field, expected);
}

/* *out: what a JSON string says, as a C string that the manifest owns; with `escaped` it is
 * unescaped as in TSV, too. */
static bm_status own_string(bm_manifest *manifest, bm_str value, bool escaped, const char **out,
                            bm_error *err)
{
    bm_buf text = {0};
    manifest->string_bytes += value.len + STRING_BYTES;
    if (manifest->memory != 0 && bm_manifest_bytes(manifest) > manifest->memory)
        return bm_manifest_too_large(manifest->path, manifest->text.len, true, err);
    bm_status status =
        bm_grow_array(&manifest->strings, &manifest->cap_strings, manifest->n_strings + 1, err);
    if (status == BM_OK)
        status = bm_json_scan_string(value, &text, err);
    if (status == BM_OK)
        status = bm_buf_reserve(&text, 1, err);
    if (status == BM_OK && escaped && text.len > 0) {
        text.len = bm_tsv_unescape(text.data, text.len);
        if (text.len == SIZE_MAX) {
            text.len = 0;
            status = bm_fail(err, BM_ERR_FORMAT, "a name has a broken escape");
        }
    }
    if (status == BM_OK && text.len > 0 && memchr(text.data, '\0', text.len) != NULL)
        status = bm_fail(err, BM_ERR_FORMAT, "a text holds a NUL");
    if (status == BM_OK)
        status = bm_buf_end(&text, err);
    if (status != BM_OK) {
        bm_buf_reset(&text);
        return status;
    }
    *out = manifest->strings[manifest->n_strings++] = text.data;
    return BM_OK;
}

static bm_status member_string(bm_manifest *manifest, bm_str object, const char *key,
                               const char **out, bm_error *err)
{
    bm_str value;
    if (!bm_json_scan_find(object, key, &value) || value.len < 2 || value.data[0] != '"')
        return bad(manifest, key, "expected a string", err);
    bm_status status = own_string(manifest, value, false, out, err);
    return status == BM_ERR_FORMAT ? bad(manifest, key, "expected a string", err) : status;
}

static bm_status member_uint(const bm_manifest *manifest, bm_str object, const char *key,
                             uint64_t *out, bm_error *err)
{
    bm_str value;
    if (!bm_json_scan_find(object, key, &value) || !bm_json_scan_uint(value, out))
        return bad(manifest, key, "expected a whole number", err);
    return BM_OK;
}

static bool is_word(bm_str value, const char *word)
{
    return value.len == strlen(word) && memcmp(value.data, word, value.len) == 0;
}

static bm_status read_text_fields(bm_manifest *manifest, bm_str object, bm_error *err)
{
    bm_str list, item;
    size_t at = 0, cap = 0, n = 0;
    if (!bm_json_scan_find(object, "text_fields", &list) || list.data[0] != '[')
        return bad(manifest, "text_fields", "expected a list of names", err);
    while (bm_json_scan_element(list, &at, &item)) {
        bm_status status = bm_grow_array(&manifest->text_fields, &cap, n + 1, err);
        if (status == BM_OK)
            status = own_string(manifest, item, false, &manifest->text_fields[n], err);
        if (status == BM_ERR_FORMAT)
            return bad(manifest, "text_fields", "expected a list of names", err);
        if (status != BM_OK)
            return status;
        n++;
    }
    manifest->provenance.text_fields = manifest->text_fields;
    manifest->provenance.n_text_fields = n;
    return BM_OK;
}

static bm_status read_provenance(bm_manifest *manifest, bm_str object, bm_error *err)
{
    bm_provenance *p = &manifest->provenance;
    const struct {
        const char *key, **to;
    } texts[] = {
        {"scheme", &p->scheme},
        {"hash", &p->hash},
        {"normalize", &p->normalize},
        {"words", &p->words},
        {"shingle", &p->shingle},
        {"short", &p->short_rule},
        {"unicode", &p->unicode},
        {"utf8proc_unicode", &p->utf8proc_unicode},
        {"input_format", &p->input_format},
        {"duplicate_ids", &p->duplicate_ids},
        {"on_error", &p->on_error},
        {"invalid_utf8", &p->invalid_utf8},
    };
    const struct {
        const char *key;
        uint64_t *to;
    } numbers[] = {{"seed", &p->seed},
                   {"perms", &p->perms},
                   {"format", &p->format},
                   {"max_doc_bytes", &p->max_doc_bytes}};
    bm_status status = BM_OK;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == BM_OK; i++)
        status = member_string(manifest, object, texts[i].key, texts[i].to, err);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == BM_OK; i++)
        status = member_uint(manifest, object, numbers[i].key, numbers[i].to, err);
    if (status == BM_OK)
        status = read_text_fields(manifest, object, err);
    if (status != BM_OK)
        return status;
    bm_str value;
    if (bm_json_scan_find(object, "id_field", &value) && !is_word(value, "null"))
        status = member_string(manifest, object, "id_field", &p->id_field, err);
    p->table.header = -1;
    if (status == BM_OK && bm_json_scan_find(object, "header", &value) && !is_word(value, "null")) {
        if (!is_word(value, "\"yes\"") && !is_word(value, "\"no\""))
            return bad(manifest, "header", "expected \"yes\", \"no\" or null", err);
        p->table.header = value.len == 5;
    }
    const char *delimiter = "";
    if (status == BM_OK && bm_json_scan_find(object, "delimiter", &value) &&
        !is_word(value, "null"))
        status = member_string(manifest, object, "delimiter", &delimiter, err);
    if (status == BM_OK && strlen(delimiter) > 1)
        status = bad(manifest, "delimiter", "expected one character or null", err);
    p->table.delimiter = delimiter[0];
    return status;
}

static bm_status read_input(bm_manifest *manifest, bm_str item, bm_manifest_input *out,
                            bm_error *err)
{
    bm_str file;
    if (!bm_json_scan_find(item, "file", &file))
        return bad(manifest, "inputs", "expected a file in each", err);
    bm_status status = own_string(manifest, file, true, &out->file, err);
    if (status == BM_ERR_FORMAT)
        return bad(manifest, "inputs", "expected a file in each", err);
    if (status == BM_OK)
        status = member_uint(manifest, item, "bytes", &out->bytes, err);
    return status == BM_OK ? member_string(manifest, item, "xxh3_128", &out->xxh3_128, err)
                           : status;
}

static bm_status read_inputs(bm_manifest *manifest, bm_str list, bm_error *err)
{
    bm_str item, offsets;
    size_t at = 0;
    while (bm_json_scan_element(list, &at, &item)) {
        bm_status status =
            bm_grow_array(&manifest->inputs, &manifest->cap_inputs, manifest->n_inputs + 1, err);
        if (status != BM_OK)
            return status;
        bm_manifest_input *input = &manifest->inputs[manifest->n_inputs];
        memset(input, 0, sizeof *input);
        status = read_input(manifest, item, input, err);
        if (status == BM_OK && bm_json_scan_find(item, BM_INPUT_OFFSETS, &offsets))
            status = read_input(manifest, offsets, &manifest->offsets, err);
        if (status != BM_OK)
            return status;
        manifest->n_inputs++;
    }
    return BM_OK;
}

/* Where the inputs were read, those that were elsewhere: in their order, the offsets last. */
static bm_status read_found(bm_manifest *manifest, bm_error *err)
{
    bm_str run, list, item;
    size_t at = 0, n = 0;
    bm_status status = BM_OK;
    if (!bm_json_scan_find(manifest->root, "run", &run) ||
        !bm_json_scan_find(run, BM_RUN_FOUND, &list))
        return BM_OK;
    for (; status == BM_OK && bm_json_scan_element(list, &at, &item); n++) {
        bm_manifest_input *input =
            n < manifest->n_inputs ? &manifest->inputs[n] : &manifest->offsets;
        if (!is_word(item, "null"))
            status = own_string(manifest, item, true, &input->found, err);
    }
    return status == BM_ERR_FORMAT ? bad(manifest, BM_RUN_FOUND, "expected names", err) : status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const bm_manifest_output_row *)a)->name,
                  ((const bm_manifest_output_row *)b)->name);
}

static bm_status read_outputs(bm_manifest *manifest, bm_str object, bm_error *err)
{
    bm_str key, value;
    size_t at = 0;
    while (bm_json_scan_member(object, &at, &key, &value)) {
        bm_status status =
            bm_grow_array(&manifest->outputs, &manifest->cap_outputs, manifest->n_outputs + 1, err);
        if (status != BM_OK)
            return status;
        bm_manifest_output_row *row = &manifest->outputs[manifest->n_outputs];
        status = own_string(manifest, key, true, &row->name, err);
        if (status == BM_OK)
            status = own_string(manifest, value, false, &row->sha256, err);
        if (status == BM_ERR_FORMAT)
            return bad(manifest, "outputs", "expected names and SHA-256 digests", err);
        if (status != BM_OK)
            return status;
        manifest->n_outputs++;
    }
    if (manifest->n_outputs > 1)
        qsort(manifest->outputs, manifest->n_outputs, sizeof *manifest->outputs, by_name);
    return BM_OK;
}

static bm_status read_members(bm_manifest *manifest, bm_error *err)
{
    const char *tool = NULL;
    uint64_t schema = 0;
    bm_str value;
    bm_status status = member_string(manifest, manifest->root, "tool", &tool, err);
    if (status == BM_OK && strcmp(tool, "bandmill") != 0)
        return bad(manifest, "tool", "expected \"bandmill\"", err);
    if (status == BM_OK)
        status = member_uint(manifest, manifest->root, "schema", &schema, err);
    if (status == BM_OK && schema != 1)
        return bad(manifest, "schema", "expected 1; a later version of bandmill reads it", err);
    if (status == BM_OK)
        status = member_string(manifest, manifest->root, "kind", &manifest->kind, err);
    if (status == BM_OK)
        status = member_string(manifest, manifest->root, "version", &manifest->version, err);
    if (status == BM_OK && bm_json_scan_find(manifest->root, "provenance", &value)) {
        status = read_provenance(manifest, value, err);
        if (status == BM_OK && manifest->provenance.format != BM_MANIFEST_FORMAT)
            return bad(manifest, "provenance.format", "expected 1", err);
        manifest->has_provenance = status == BM_OK;
    }
    if (status == BM_OK && bm_json_scan_find(manifest->root, "inputs", &value))
        status = read_inputs(manifest, value, err);
    if (status == BM_OK)
        status = read_found(manifest, err);
    if (status == BM_OK && bm_json_scan_find(manifest->root, "outputs", &value))
        status = read_outputs(manifest, value, err);
    return status;
}

bm_status bm_manifest_open(const char *path, uint64_t memory, bm_manifest **out, bm_error *err)
{
    bm_json_doc *doc = NULL;
    bm_status status = bm_manifest_check_size(path, memory, err);
    if (status == BM_OK)
        status = bm_json_doc_open(path, &doc, err);
    if (status != BM_OK)
        return status;
    bm_json_doc_close(doc);
    bm_manifest *manifest = bm_alloc_zero(1, sizeof *manifest);
    if (manifest == NULL)
        return bm_fail_nomem(err, sizeof *manifest);
    manifest->memory = memory;
    manifest->path = bm_strdup(path);
    status = manifest->path == NULL ? bm_fail_nomem(err, strlen(path)) : BM_OK;
    if (status == BM_OK)
        status = bm_manifest_read(path, &manifest->text, err);
    if (status == BM_OK) {
        size_t at = 0;
        while (at < manifest->text.len && manifest->text.data[at] != '{')
            at++;
        manifest->root = (bm_str){manifest->text.data + at, manifest->text.len - at};
        status = read_members(manifest, err);
    }
    if (status != BM_OK) {
        bm_manifest_close(manifest);
        return status;
    }
    *out = manifest;
    return BM_OK;
}

bm_status bm_manifest_open_dir(const char *folder, uint64_t memory, bm_manifest **out,
                               bm_error *err)
{
    static const char *const names[] = {BM_FILE_MANIFEST, BM_FILE_REPORT};
    for (int i = 0; i < 2; i++) {
        struct stat info;
        char *path = NULL;
        bool there = false;
        bm_status status = bm_string_format(&path, err, "%s/%s", folder, names[i]);
        if (status == BM_OK) {
            there = stat(path, &info) == 0;
            if (there)
                status = bm_manifest_open(path, memory, out, err);
            else if (errno != ENOENT && errno != ENOTDIR)
                status = bm_fail_errno(err, errno, path, "cannot be looked at");
        }
        bm_free(path);
        if (there || status != BM_OK)
            return status;
    }
    return bm_fail_at(err, BM_ERR_FORMAT, folder, 0,
                      "no " BM_FILE_MANIFEST " and no " BM_FILE_REPORT " in it");
}

uint64_t bm_manifest_bytes(const bm_manifest *manifest)
{
    return manifest->text.len + manifest->string_bytes;
}

void bm_manifest_close(bm_manifest *manifest)
{
    if (manifest == NULL)
        return;
    for (size_t i = 0; i < manifest->n_strings; i++)
        bm_free(manifest->strings[i]);
    bm_free(manifest->strings);
    bm_free(manifest->text_fields);
    bm_free(manifest->inputs);
    bm_free(manifest->outputs);
    bm_buf_reset(&manifest->text);
    bm_free(manifest->path);
    bm_free(manifest);
}

const char *bm_manifest_path(const bm_manifest *manifest)
{
    return manifest->path;
}

const char *bm_manifest_kind(const bm_manifest *manifest)
{
    return manifest->kind;
}

const char *bm_manifest_version(const bm_manifest *manifest)
{
    return manifest->version;
}

bm_status bm_manifest_provenance(const bm_manifest *manifest, const bm_provenance **out,
                                 bm_error *err)
{
    if (!manifest->has_provenance)
        return bad(manifest, "provenance", "expected an object", err);
    *out = &manifest->provenance;
    return BM_OK;
}

bool bm_manifest_member(const bm_manifest *manifest, const char *name, bm_str *out)
{
    return bm_json_scan_find(manifest->root, name, out);
}

bm_status bm_manifest_count(const bm_manifest *manifest, const char *name, uint64_t *out,
                            bm_error *err)
{
    bm_str counts;
    if (!bm_json_scan_find(manifest->root, "counts", &counts))
        return bad(manifest, "counts", "expected an object", err);
    return member_uint(manifest, counts, name, out, err);
}

size_t bm_manifest_n_inputs(const bm_manifest *manifest)
{
    return manifest->n_inputs;
}

const bm_manifest_input *bm_manifest_input_at(const bm_manifest *manifest, size_t index)
{
    return &manifest->inputs[index];
}

const bm_manifest_input *bm_manifest_offsets(const bm_manifest *manifest)
{
    return manifest->offsets.file != NULL ? &manifest->offsets : NULL;
}

size_t bm_manifest_n_outputs(const bm_manifest *manifest)
{
    return manifest->n_outputs;
}

const bm_manifest_output_row *bm_manifest_output_at(const bm_manifest *manifest, size_t index)
{
    return &manifest->outputs[index];
}

const char *bm_manifest_output(const bm_manifest *manifest, const char *name)
{
    bm_manifest_output_row wanted = {name, NULL};
    if (manifest->n_outputs == 0)
        return NULL;
    const bm_manifest_output_row *row = bsearch(&wanted, manifest->outputs, manifest->n_outputs,
                                                sizeof *manifest->outputs, by_name);
    return row != NULL ? row->sha256 : NULL;
}
