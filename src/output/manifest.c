/* manifest.c -- manifest.json and report.json into plain tables.
 *
 * The parser of json_read.h must accept the file; then json_scan.h walks through its text. Whatever
 * is not as expected is BM_ERR_FORMAT with the file and the field. All strings are on one list,
 * which close frees.
 *
 * Tests: tests/unit/results/test_sign_dir.c, tests/unit/jobs/test_inspect.c
 * Tests: tests/cli/cases/bad_output.sh */
#include "output/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "json/json_read.h"
#include "json/json_scan.h"
#include "output/manifest_text.h"
#include "output/manifest_fields.h"
#include "output/manifest_seal.h"
#include "model/file_names.h"

struct bm_manifest {
    bm_manifest_fields fields;
    bm_buf text;
    bm_str root;
    const char *kind, *version;
    bm_provenance provenance;
    bool has_provenance;
    bm_manifest_input *inputs;
    size_t n_inputs, cap_inputs;
    bm_manifest_part *parts; /* of all inputs */
    size_t n_parts, cap_parts;
    bm_manifest_shard shard; /* of 0: none */
    uint64_t piece_bytes;
    bm_manifest_input offsets;       /* file NULL: none */
    bm_manifest_output_row *outputs; /* sorted by name */
    size_t n_outputs, cap_outputs;
};

static bm_status read_part(bm_manifest *manifest, bm_str item, bm_error *err)
{
    BM_TRY(bm_grow_array(&manifest->parts, &manifest->cap_parts, manifest->n_parts + 1, err));
    bm_manifest_part *part = &manifest->parts[manifest->n_parts++];
    BM_TRY(bm_manifest_field_uint(&manifest->fields, item, BM_INPUT_FROM, &part->from, err));
    BM_TRY(bm_manifest_field_uint(&manifest->fields, item, "bytes", &part->bytes, err));
    return bm_manifest_field_string(&manifest->fields, item, "xxh3_128", &part->xxh3_128, err);
}

/* *is: a part of the file was read, or all of it in parts; the parts are where they are once all are there. */
static bm_status read_parts(bm_manifest *manifest, bm_str item, bm_manifest_input *out, bool *is,
                            bm_error *err)
{
    bm_str value, part;
    const size_t n = manifest->n_parts;
    if (bm_json_scan_find(item, BM_INPUT_FROM, &value)) {
        BM_TRY(
            bm_manifest_field_uint(&manifest->fields, item, BM_INPUT_FILE_BYTES, &out->bytes, err));
        BM_TRY(read_part(manifest, item, err));
    } else if (bm_json_scan_find(item, BM_INPUT_PARTS, &value)) {
        BM_TRY(bm_manifest_field_uint(&manifest->fields, item, "bytes", &out->bytes, err));
        for (size_t at = 0; bm_json_scan_element(value, &at, &part);)
            BM_TRY(read_part(manifest, part, err));
    }
    out->n_parts = manifest->n_parts - n;
    out->xxh3_128 = "";
    *is = out->n_parts > 0;
    return BM_OK;
}

static bm_status read_input(bm_manifest *manifest, bm_str item, bm_manifest_input *out,
                            bm_error *err)
{
    bm_str file;
    bool in_parts;
    if (!bm_json_scan_find(item, "file", &file))
        return bm_manifest_field_bad(&manifest->fields, "inputs", "expected a file in each", err);
    bm_status status = bm_manifest_field_own(&manifest->fields, file, true, &out->file, err);
    if (status == BM_ERR_FORMAT)
        return bm_manifest_field_bad(&manifest->fields, "inputs", "expected a file in each", err);
    BM_TRY(status);
    out->piece_bytes = manifest->piece_bytes;
    BM_TRY(read_parts(manifest, item, out, &in_parts, err));
    if (in_parts)
        return BM_OK;
    BM_TRY(bm_manifest_field_uint(&manifest->fields, item, "bytes", &out->bytes, err));
    return bm_manifest_field_string(&manifest->fields, item, "xxh3_128", &out->xxh3_128, err);
}

static bm_status read_inputs(bm_manifest *manifest, bm_str list, bm_error *err)
{
    bm_str item, offsets;
    size_t at = 0;
    while (bm_json_scan_element(list, &at, &item)) {
        BM_TRY(
            bm_grow_array(&manifest->inputs, &manifest->cap_inputs, manifest->n_inputs + 1, err));
        bm_manifest_input *input = &manifest->inputs[manifest->n_inputs];
        memset(input, 0, sizeof *input);
        BM_TRY(read_input(manifest, item, input, err));
        if (bm_json_scan_find(item, BM_INPUT_OFFSETS, &offsets))
            BM_TRY(read_input(manifest, offsets, &manifest->offsets, err));
        manifest->n_inputs++;
    }
    for (size_t i = 0, part = 0; i < manifest->n_inputs; i++) {
        bm_manifest_input *input = &manifest->inputs[i];
        input->parts = input->n_parts > 0 ? manifest->parts + part : NULL;
        part += input->n_parts;
    }
    return BM_OK;
}

static bm_status read_shard(bm_manifest *manifest, bm_error *err)
{
    bm_manifest_fields *fields = &manifest->fields;
    bm_manifest_shard *shard = &manifest->shard;
    bm_str value;
    if (!bm_json_scan_find(manifest->root, BM_MANIFEST_SHARD, &value))
        return BM_OK;
    BM_TRY(bm_manifest_field_uint(fields, value, BM_SHARD_INDEX, &shard->index, err));
    BM_TRY(bm_manifest_field_uint(fields, value, BM_SHARD_OF, &shard->of, err));
    BM_TRY(bm_manifest_field_string(fields, value, BM_SHARD_WHOLE, &shard->whole, err));
    return shard->index >= 1 && shard->index <= shard->of
               ? BM_OK
               : bm_manifest_field_bad(fields, BM_MANIFEST_SHARD "." BM_SHARD_INDEX,
                                       "expected a number from 1 to that of all shares", err);
}

/* Paths of the inputs, or null: in their order, the offsets last. `field`: the place in bm_manifest_input. */
static bm_status read_paths(bm_manifest *manifest, const char *name, size_t field, bm_error *err)
{
    bm_str run, list, item;
    size_t at = 0, n = 0;
    bm_status status = BM_OK;
    if (!bm_json_scan_find(manifest->root, "run", &run) || !bm_json_scan_find(run, name, &list))
        return BM_OK;
    for (; bm_json_scan_element(list, &at, &item); n++) {
        bm_manifest_input *input =
            n < manifest->n_inputs ? &manifest->inputs[n] : &manifest->offsets;
        if (!bm_json_scan_is(item, "null"))
            BM_TRY_OUT(bm_manifest_field_own(&manifest->fields, item, true,
                                             (const char **)(void *)((char *)input + field), err));
    }
out:
    return status == BM_ERR_FORMAT
               ? bm_manifest_field_bad(&manifest->fields, name, "expected names", err)
               : status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const bm_manifest_output_row *)a)->name,
                  ((const bm_manifest_output_row *)b)->name);
}

/* A name and its digest. */
static bm_status own_both(bm_manifest_fields *fields, bm_str key, bm_str value, const char **name,
                          const char **hex, bm_error *err)
{
    BM_TRY(bm_manifest_field_own(fields, key, true, name, err));
    return bm_manifest_field_own(fields, value, false, hex, err);
}

static bm_status read_outputs(bm_manifest *manifest, bm_str object, bm_error *err)
{
    bm_str key, value;
    size_t at = 0;
    while (bm_json_scan_member(object, &at, &key, &value)) {
        BM_TRY(bm_grow_array(&manifest->outputs, &manifest->cap_outputs, manifest->n_outputs + 1,
                             err));
        bm_manifest_output_row *row = &manifest->outputs[manifest->n_outputs];
        const bm_status status =
            own_both(&manifest->fields, key, value, &row->name, &row->sha256, err);
        if (status == BM_ERR_FORMAT)
            return bm_manifest_field_bad(&manifest->fields, BM_MANIFEST_OUTPUTS,
                                         "expected names and SHA-256 digests", err);
        BM_TRY(status);
        row->xxh3_128 = NULL;
        row->pieces = (bm_str){NULL, 0};
        manifest->n_outputs++;
    }
    if (manifest->n_outputs > 1)
        qsort(manifest->outputs, manifest->n_outputs, sizeof *manifest->outputs, by_name);
    return BM_OK;
}

static bm_manifest_output_row *find_output(const bm_manifest *manifest, const char *name)
{
    const bm_manifest_output_row wanted = {.name = name};
    return manifest->n_outputs == 0 ? NULL
                                    : bsearch(&wanted, manifest->outputs, manifest->n_outputs,
                                              sizeof *manifest->outputs, by_name);
}

/* The second digest of outputs that are read. */
static bm_status read_outputs_xxh3(bm_manifest *manifest, bm_str object, bm_error *err)
{
    bm_str key, value;
    size_t at = 0;
    while (bm_json_scan_member(object, &at, &key, &value)) {
        const char *name = NULL, *hex = NULL;
        const bm_status status = own_both(&manifest->fields, key, value, &name, &hex, err);
        if (status != BM_ERR_FORMAT)
            BM_TRY(status);
        bm_manifest_output_row *row = status == BM_OK ? find_output(manifest, name) : NULL;
        if (row == NULL)
            return bm_manifest_field_bad(&manifest->fields, BM_MANIFEST_OUTPUTS_XXH3,
                                         "expected the outputs' XXH3 digests", err);
        row->xxh3_128 = hex;
    }
    return BM_OK;
}

/* The pieces of outputs that are read. */
static bm_status read_outputs_pieces(bm_manifest *manifest, bm_str object, bm_error *err)
{
    bm_str key, value;
    size_t at = 0;
    while (bm_json_scan_member(object, &at, &key, &value)) {
        const char *name = NULL;
        const bm_status status = bm_manifest_field_own(&manifest->fields, key, true, &name, err);
        if (status != BM_ERR_FORMAT)
            BM_TRY(status);
        bm_manifest_output_row *row = status == BM_OK ? find_output(manifest, name) : NULL;
        if (row == NULL || value.len == 0 || value.data[0] != '[')
            return bm_manifest_field_bad(&manifest->fields, BM_MANIFEST_OUTPUTS_PIECES,
                                         "expected an array for each of some outputs", err);
        row->pieces = value;
    }
    return BM_OK;
}

/* By which pieces are files digested? */
static bm_status read_digests(bm_manifest *manifest, bm_error *err)
{
    bm_manifest_fields *fields = &manifest->fields;
    uint64_t version = 0;
    bm_str value;
    if (!bm_json_scan_find(manifest->root, BM_MANIFEST_DIGESTS, &value))
        return BM_OK;
    BM_TRY(bm_manifest_field_uint(fields, manifest->root, BM_MANIFEST_DIGESTS, &version, err));
    if (version != BM_DIGESTS_VERSION)
        return bm_manifest_field_bad(fields, BM_MANIFEST_DIGESTS,
                                     "expected 2; a later version of bandmill reads it", err);
    BM_TRY(bm_manifest_field_uint(fields, manifest->root, BM_MANIFEST_PIECE_BYTES,
                                  &manifest->piece_bytes, err));
    return manifest->piece_bytes != 0 ? BM_OK
                                      : bm_manifest_field_bad(fields, BM_MANIFEST_PIECE_BYTES,
                                                              "expected a number above 0", err);
}

static bm_status read_members(bm_manifest *manifest, bm_error *err)
{
    bm_manifest_fields *fields = &manifest->fields;
    const bm_str root = manifest->root;
    const char *tool = NULL;
    uint64_t schema = 0;
    bm_str value;
    BM_TRY(bm_manifest_field_string(fields, root, "tool", &tool, err));
    if (strcmp(tool, "bandmill") != 0)
        return bm_manifest_field_bad(fields, "tool", "expected \"bandmill\"", err);
    BM_TRY(bm_manifest_field_uint(fields, root, "schema", &schema, err));
    if (schema != 1)
        return bm_manifest_field_bad(fields, "schema",
                                     "expected 1; a later version of bandmill reads it", err);
    BM_TRY(bm_manifest_field_string(fields, root, "kind", &manifest->kind, err));
    BM_TRY(bm_manifest_field_string(fields, root, "version", &manifest->version, err));
    if (bm_json_scan_find(root, "provenance", &value)) {
        BM_TRY(bm_provenance_read(fields, value, &manifest->provenance, err));
        if (manifest->provenance.format != BM_MANIFEST_FORMAT)
            return bm_manifest_field_bad(fields, "provenance.format", "expected 1", err);
        manifest->has_provenance = true;
    }
    BM_TRY(read_digests(manifest, err));
    BM_TRY(read_shard(manifest, err));
    if (bm_json_scan_find(root, "inputs", &value))
        BM_TRY(read_inputs(manifest, value, err));
    BM_TRY(read_paths(manifest, BM_RUN_FOUND, offsetof(bm_manifest_input, found), err));
    BM_TRY(read_paths(manifest, BM_RUN_FROM_HERE, offsetof(bm_manifest_input, here), err));
    if (bm_json_scan_find(root, BM_MANIFEST_OUTPUTS, &value))
        BM_TRY(read_outputs(manifest, value, err));
    if (bm_json_scan_find(root, BM_MANIFEST_OUTPUTS_XXH3, &value))
        BM_TRY(read_outputs_xxh3(manifest, value, err));
    if (bm_json_scan_find(root, BM_MANIFEST_OUTPUTS_PIECES, &value))
        BM_TRY(read_outputs_pieces(manifest, value, err));
    return BM_OK;
}

/* `text` is taken. */
static bm_status open_text(const char *path, bm_manifest_room room, bm_buf *text, bm_manifest **out,
                           bm_error *err)
{
    bm_manifest *manifest = bm_alloc_zero(1, sizeof *manifest);
    if (manifest == NULL) {
        bm_buf_reset(text);
        return bm_fail_nomem(err, sizeof *manifest);
    }
    manifest->text = *text;
    manifest->fields.room = room;
    manifest->fields.text_bytes = text->len;
    manifest->fields.path = bm_strdup(path);
    bm_status status = BM_OK;
    if (manifest->fields.path == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, strlen(path)));
    size_t at = 0;
    while (at < manifest->text.len && manifest->text.data[at] != '{')
        at++;
    manifest->root = (bm_str){manifest->text.data + at, manifest->text.len - at};
    BM_TRY_OUT(read_members(manifest, err));
    status = bm_manifest_seal_check(path, (bm_str){manifest->text.data, manifest->text.len}, err);
out:
    if (status == BM_OK)
        *out = manifest;
    else
        bm_manifest_close(manifest);
    return status;
}

static bm_status open_within(const char *path, bm_manifest_room room, bm_manifest **out,
                             bm_error *err)
{
    BM_TRY(bm_manifest_check_size(path, room, err));
    bm_buf text = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_manifest_read(path, &text, err));
    BM_TRY_OUT(bm_json_doc_check(&(bm_json_doc){path, {text.data, text.len}}, err));
    return open_text(path, room, &text, out, err);
out:
    bm_buf_reset(&text);
    return status;
}

bm_status bm_manifest_of_text(const char *path, bm_str text, bm_manifest **out, bm_error *err)
{
    bm_buf copy = {0};
    BM_TRY(bm_buf_add(&copy, text.data, text.len, err));
    return open_text(path, (bm_manifest_room){0, 1}, &copy, out, err);
}

bm_status bm_manifest_open(const char *path, uint64_t memory, bm_manifest **out, bm_error *err)
{
    return open_within(path, (bm_manifest_room){memory, 1}, out, err);
}

bm_status bm_manifest_open_dir(const char *folder, uint64_t memory, bm_manifest **out,
                               bm_error *err)
{
    return bm_manifest_open_share(folder, (bm_manifest_room){memory, 1}, out, err);
}

bm_status bm_manifest_open_share(const char *folder, bm_manifest_room room, bm_manifest **out,
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
                status = open_within(path, room, out, err);
            else if (errno != ENOENT && errno != ENOTDIR)
                status = bm_fail_errno(err, errno, path, "cannot be looked at");
        }
        bm_free(path);
        if (there || status != BM_OK)
            return status;
    }
    struct stat info;
    if (stat(folder, &info) != 0)
        return bm_fail_errno(err, errno, folder, "cannot open");
    return bm_fail_at(err, BM_ERR_FORMAT, folder, 0,
                      "no " BM_FILE_MANIFEST " and no " BM_FILE_REPORT " in it");
}

uint64_t bm_manifest_bytes(const bm_manifest *manifest)
{
    return manifest->text.len + manifest->fields.string_bytes;
}

void bm_manifest_close(bm_manifest *manifest)
{
    if (manifest == NULL)
        return;
    bm_free(manifest->inputs);
    bm_free(manifest->parts);
    bm_free(manifest->outputs);
    bm_buf_reset(&manifest->text);
    bm_manifest_fields_reset(&manifest->fields);
    bm_free(manifest);
}

const char *bm_manifest_path(const bm_manifest *manifest)
{
    return manifest->fields.path;
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
        return bm_manifest_field_bad(&manifest->fields, "provenance", "expected an object", err);
    *out = &manifest->provenance;
    return BM_OK;
}

bm_str bm_manifest_text(const bm_manifest *manifest)
{
    return (bm_str){manifest->text.data, manifest->text.len};
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
        return bm_manifest_field_bad(&manifest->fields, "counts", "expected an object", err);
    return bm_manifest_field_uint(&manifest->fields, counts, name, out, err);
}

const bm_manifest_shard *bm_manifest_shard_of(const bm_manifest *manifest)
{
    return manifest->shard.of > 0 ? &manifest->shard : NULL;
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

uint64_t bm_manifest_piece_bytes(const bm_manifest *manifest)
{
    return manifest->piece_bytes;
}

size_t bm_manifest_n_outputs(const bm_manifest *manifest)
{
    return manifest->n_outputs;
}

const bm_manifest_output_row *bm_manifest_output_at(const bm_manifest *manifest, size_t index)
{
    return &manifest->outputs[index];
}

const bm_manifest_output_row *bm_manifest_output_find(const bm_manifest *manifest, const char *name)
{
    return find_output(manifest, name);
}

const char *bm_manifest_output(const bm_manifest *manifest, const char *name)
{
    const bm_manifest_output_row *row = find_output(manifest, name);
    return row != NULL ? row->sha256 : NULL;
}
