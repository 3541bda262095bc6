/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c -- parses manifest.json and report.json into plain tables.
 *
 * The parser of json_scan.h first checks the whole file. Then the fields are read from its text.
 * Anything unexpected is BM_ERR_FORMAT, and the error names the file and the field. All strings are
 * in one list, which bm_manifest_close frees.
 *
 * Tests: tests/cli/cases/bad_output.sh, tests/cli/cases/bounds.sh,
 *        tests/cli/cases/damaged_outputs.sh, tests/unit/jobs/test_inspect.c,
 *        tests/unit/output/test_manifest.c, tests/unit/results/test_sign_dir.c */
#include "output/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/system.h"
#include "json/json_scan.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "model/option_words.h"

#define TEXT_MAX ((size_t)1 << 30)

/* An open manifest takes about twice the size of its file in memory, and three times the size while
 * it is read. It takes more if most of its names have one letter. */
#define USUAL_FOLD    3u
#define GREATEST_FOLD 32u

/* Fail because a file of `bytes` bytes does not fit into memory. `by_strings`: the reason is the
 * number of names in it. */
static bm_status manifest_too_large(const char *path, uint64_t bytes, unsigned share,
                                    bool by_strings, bm_error *err)
{
    const uint64_t needed = bytes * share * (by_strings ? GREATEST_FOLD : USUAL_FOLD);
    return bm_fail_at(err, BM_ERR_NOMEM, path, 0,
                      "%llu bytes are more than fit into `memory` (at least %lluM)",
                      (unsigned long long)bytes, (unsigned long long)(needed >> 20) + 1);
}

#define HEAD_BYTES 4096u

/* Read the first *len bytes of a file; *len is 0 if it is not a regular file. */
static bm_status read_head(const char *path, char head[HEAD_BYTES], size_t *len, bm_error *err)
{
    int fd;
    *len = 0;
    const bm_status status = bm_open_regular(path, BM_ERR_FORMAT, &fd, err);
    if (status != BM_OK)
        return status == BM_ERR_FORMAT ? BM_OK : status;
    const int code = bm_pread_all(fd, head, HEAD_BYTES, 0, len);
    close(fd);
    return code == 0 ? BM_OK : bm_fail_errno(err, code, path, "cannot read");
}

/* Does the head name another tool than bandmill? The name of bandmill may have one or two damaged
 * bytes. */
static bool names_another_tool(const char *head, size_t len)
{
    static const char ours[] = "bandmill";
    const char *at = memmem(head, len, "\"tool\"", 6), *const end = head + len;
    for (at = at != NULL ? at + 6 : end; at < end && (*at == ' ' || *at == ':');)
        at++;
    if ((size_t)(end - at) <= strlen(ours) || *at != '"')
        return false;
    size_t differ = 0;
    for (size_t i = 0; i < strlen(ours); i++)
        differ += at[1 + i] != ours[i];
    return differ > 2;
}

/* Set *begins to whether the file begins like a manifest. It does if "bandmill", in quotes, is in
 * its first HEAD_BYTES bytes. If this name is damaged, it also does if the names of the first four
 * members are there, and no other tool is named. */
static bm_status manifest_begins(const char *path, bool *begins, bm_error *err)
{
    static const char *const members[] = {"\"schema\"", "\"tool\"", "\"kind\"", "\"version\""};
    const size_t n = sizeof members / sizeof members[0];
    char head[HEAD_BYTES];
    size_t len, found = 0;
    BM_TRY(read_head(path, head, &len, err));
    for (size_t i = 0; i < n; i++)
        found += memmem(head, len, members[i], strlen(members[i])) != NULL;
    *begins = (found == n && !names_another_tool(head, len)) ||
              memmem(head, len, "\"bandmill\"", 10) != NULL;
    return BM_OK;
}

/* Check, before a file is read, that it fits into memory. BM_ERR_NOMEM: it does not, and it begins
 * like a manifest of bandmill. BM_ERR_FORMAT: it does not, and it does not begin like one. (A
 * folder of documents may have a large file with the same name.) */
static bm_status manifest_check_size(const char *path, bm_manifest_budget budget, bm_error *err)
{
    struct stat info;
    if (budget.memory == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return BM_OK; /* an error is reported when the file is opened */
    const uint64_t bytes = (uint64_t)info.st_size;
    if (bytes <= budget.memory / budget.share / USUAL_FOLD)
        return BM_OK;
    bool begins;
    BM_TRY(manifest_begins(path, &begins, err));
    return begins ? manifest_too_large(path, bytes, budget.share, false, err)
                  : bm_fail_at(err, BM_ERR_FORMAT, path, 0, "is no report of bandmill");
}

/* Read the whole file, which must be a regular one. */
static bm_status manifest_read(const char *path, bm_buf *out, bm_error *err)
{
    int fd;
    bm_status status = bm_open_regular(path, BM_ERR_FORMAT, &fd, err);
    out->max = TEXT_MAX;
    while (status == BM_OK) {
        status = bm_buf_reserve(out, 65536, err);
        ssize_t n = status == BM_OK ? read(fd, out->data + out->len, 65536) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = bm_fail_errno(err, errno, path, "cannot read");
        if (n <= 0)
            break;
        out->len += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return status;
}

/* === manifest seal ===
 *
 * The seal is the last member with this name; only its value and two brackets follow. */

#define SEAL   "report_xxh3_128"
#define QUOTED "\"" SEAL "\""

void bm_manifest_seal(bm_json *json)
{
    bm_digests before = {0};
    if (bm_digests_bytes(json->buf.data, json->buf.len, BM_DIGEST_XXH3, &before, NULL) != BM_OK)
        json->status = BM_ERR_NOMEM;
    bm_json_key(json, SEAL);
    bm_json_text(json, before.xxh3);
}

/* The offset of the seal's name in quotes; SIZE_MAX: there is no seal. */
static size_t find(bm_str text)
{
    const size_t len = sizeof QUOTED - 1;
    for (size_t at = text.len < len ? 0 : text.len - len + 1; at > 0; at--)
        if (text.data[at - 1] == '"' && memcmp(text.data + at - 1, QUOTED, len) == 0)
            return at - 1;
    return SIZE_MAX;
}

/* Check that the bytes of the report `path` before its seal have the digest in the seal.
 * BM_ERR_FORMAT: they do not. BM_OK if there is no seal. */
static bm_status manifest_seal_check(const char *path, bm_str text, bm_error *err)
{
    bm_digests before;
    size_t at = find(text), end = at;
    if (at == SIZE_MAX)
        return BM_OK;
    while (end > 0 && bm_json_is_space(text.data[end - 1]))
        end--;
    end -= end > 0 && text.data[end - 1] == ',';
    BM_TRY(bm_digests_bytes(text.data, end, BM_DIGEST_XXH3, &before, err));
    for (at += sizeof QUOTED - 1;
         at < text.len && (bm_json_is_space(text.data[at]) || text.data[at] == ':');)
        at++;
    if (text.len - at >= BM_HASH128_HEX + 1 && text.data[at] == '"' &&
        memcmp(text.data + at + 1, before.xxh3, BM_HASH128_HEX - 1) == 0 &&
        text.data[at + BM_HASH128_HEX] == '"')
        return BM_OK;
    return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                      "its bytes are not those that were written: \"run." SEAL
                      "\" should be %s (if you edited it on purpose, remove that member)",
                      before.xxh3);
}

/* === manifest fields ===
 *
 * Reads values from the JSON of a manifest, and makes strings from them. Each field is looked up by
 * name and refused if it has another type. */

/* memory of a string in addition to its bytes: overhead, and its entry in the list */
#define STRING_BYTES 96u

typedef struct manifest_fields {
    char *path; /* path of the manifest, for messages */
    char **strings;
    size_t n_strings, cap_strings;
    const char **text_fields;  /* the strings of the list "text_fields" */
    bm_manifest_budget budget; /* limit for the text and all strings together */
    uint64_t text_bytes;       /* size of the manifest's text */
    uint64_t string_bytes;     /* size of all strings, with their overhead */
} manifest_fields;

static bm_status manifest_field_bad(const manifest_fields *fields, const char *field,
                                    const char *expected, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, fields->path, 0, "\"%s\" is missing or wrong (%s)", field,
                      expected);
}

/* Reserve an entry for one more string of `len` bytes. */
static bm_status manifest_field_reserve(manifest_fields *fields, size_t len, bm_error *err)
{
    fields->string_bytes += len + STRING_BYTES;
    if (fields->budget.memory != 0 &&
        fields->text_bytes + fields->string_bytes > fields->budget.memory / fields->budget.share)
        return manifest_too_large(fields->path, fields->text_bytes, fields->budget.share, true,
                                  err);
    return bm_grow_array(&fields->strings, &fields->cap_strings, fields->n_strings + 1, err);
}

/* Convert a JSON string to a C string, *out, which the fields own. If `escaped`, escapes as in TSV
 * are undone too. The message of BM_ERR_FORMAT does not name the field. BM_ERR_NOMEM is also
 * returned if the budget is exceeded. */
static bm_status manifest_field_own(manifest_fields *fields, bm_str value, bool escaped,
                                    const char **out, bm_error *err)
{
    bm_buf text = {0};
    BM_TRY(manifest_field_reserve(fields, value.len, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_scan_string(value, &text, err));
    BM_TRY_OUT(bm_buf_reserve(&text, 1, err));
    if (escaped && text.len > 0) {
        text.len = bm_tsv_unescape(text.data, text.len);
        if (text.len == SIZE_MAX) {
            text.len = 0;
            BM_TRY_OUT(bm_fail(err, BM_ERR_FORMAT, "a name has a broken escape"));
        }
    }
    if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)
        BM_TRY_OUT(bm_fail(err, BM_ERR_FORMAT, "a text holds a NUL"));
    status = bm_buf_end(&text, err);
out:
    if (status != BM_OK) {
        bm_buf_reset(&text);
        return status;
    }
    *out = fields->strings[fields->n_strings++] = text.data;
    return BM_OK;
}

static bm_status own_text(void *context, bm_str quoted, const char **out, bm_error *err)
{
    return manifest_field_own(context, quoted, false, out, err);
}

static bm_status report_bad(void *context, const bm_json_row *row, bm_str value,
                            const char *expected, bm_error *err)
{
    (void)value;
    return manifest_field_bad(context, row->name, expected, err);
}

/* Read members into the struct at `out`; `fields` owns the texts. */
static bm_status read_from(manifest_fields *fields, const bm_json_doc *doc, bm_str object,
                           const bm_json_row *rows, size_t n, void *out, bm_error *err)
{
    const bm_json_reader from = {
        .doc = doc, .object = object, .context = fields, .own = own_text, .bad = report_bad};
    return bm_json_read(&from, rows, n, out, err);
}

static bm_status read_object(manifest_fields *fields, bm_str object, const bm_json_row *rows,
                             size_t n, void *out, bm_error *err)
{
    return read_from(fields, NULL, object, rows, n, out, err);
}

#define N_ROWS(rows) (sizeof(rows) / sizeof *(rows))

static void manifest_fields_reset(manifest_fields *fields)
{
    for (size_t i = 0; i < fields->n_strings; i++)
        bm_free(fields->strings[i]);
    bm_free_all(fields->strings, fields->text_fields, fields->path);
}

/* === manifest provenance ===
 *
 * The provenance records how documents were read and signed. Its fields are the rows of
 * model/field_rows.h, and one loop reads them all. */

#define PROVENANCE (BM_FIELD_SIGNED | BM_FIELD_READ)

static bm_status read_text_fields(manifest_fields *fields, bm_str object, bm_provenance *out,
                                  bm_error *err)
{
    bm_str list, item;
    size_t at = 0, cap = 0, n = 0;
    if (!bm_json_scan_find(object, "text_fields", &list) || list.data[0] != '[')
        return manifest_field_bad(fields, "text_fields", "expected a list of names", err);
    while (bm_json_scan_element(list, &at, &item)) {
        BM_TRY(bm_grow_array(&fields->text_fields, &cap, n + 1, err));
        const bm_status status =
            manifest_field_own(fields, item, false, &fields->text_fields[n], err);
        if (status == BM_ERR_FORMAT)
            return manifest_field_bad(fields, "text_fields", "expected a list of names", err);
        BM_TRY(status);
        n++;
    }
    out->text_fields = fields->text_fields;
    out->n_text_fields = n;
    return BM_OK;
}

/* Read one field. If a field may be null, it may also be missing, because older manifests lack some
 * fields. */
static bm_status read_field(manifest_fields *fields, bm_str object, const bm_field_row *field,
                            bm_provenance *p, bm_error *err)
{
    const size_t row = (size_t)(field - bm_field_rows);
    const bool number = field->type == BM_FIELD_TYPE_UINT32 || field->type == BM_FIELD_TYPE_UINT64;
    const bool yes_or_no = field->type == BM_FIELD_TYPE_BOOL;
    if (field->type == BM_FIELD_TYPE_TEXTS)
        return read_text_fields(fields, object, p, err);
    const bm_json_row wanted = {
        .name = field->key,
        .type = number || yes_or_no ? BM_MEMBER_UINT : BM_MEMBER_TEXT,
        .offset = number || yes_or_no ? offsetof(bm_provenance, numbers) + row * sizeof *p->numbers
                                      : offsetof(bm_provenance, texts) + row * sizeof *p->texts,
        .presence = field->uses & BM_FIELD_NULLABLE ? BM_MEMBER_NULLABLE : BM_MEMBER_NEEDED,
        .most = yes_or_no,
        .expected = "expected 0 or 1"};
    return read_object(fields, object, &wanted, 1, p, err);
}

/* Check the values of the settings of tables. The header is yes, no or null. A separator is one
 * character or null. If the inputs are not tables, the settings are null. */
static bm_status check_table(const manifest_fields *fields, const bm_provenance *p, bm_error *err)
{
    const char *header = p->texts[BM_ROW_HEADER];
    if (header != NULL && strcmp(header, "yes") != 0 && strcmp(header, "no") != 0)
        return manifest_field_bad(fields, "header", "expected \"yes\", \"no\" or null", err);
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        const char *text = p->texts[i];
        if (bm_field_rows[i].type == BM_FIELD_TYPE_CHARACTER && text != NULL &&
            (strlen(text) > 1 || !bm_field_is_character(text[0])))
            return manifest_field_bad(fields, bm_field_rows[i].key,
                                      "expected one character or null", err);
    }
    return BM_OK;
}

static const bm_json_row unicode_rows[] = {
    {"unicode", BM_MEMBER_TEXT, .offset = offsetof(bm_provenance, unicode)},
    {"utf8proc_unicode", BM_MEMBER_TEXT, .offset = offsetof(bm_provenance, utf8proc_unicode)},
    {"format", BM_MEMBER_UINT, .offset = offsetof(bm_provenance, format)}};

static const bm_json_row weights_rows[] = {
    {"weights_digest", BM_MEMBER_TEXT, .offset = offsetof(bm_provenance, weights_digest)},
    {"weights_documents", BM_MEMBER_UINT, .offset = offsetof(bm_provenance, weights_documents)}};

/* Read the object "provenance". BM_ERR_FORMAT: a field is missing or of another type. */
static bm_status provenance_read(manifest_fields *fields, bm_str object, bm_provenance *p,
                                 bm_error *err)
{
    p->weights_digest = "";
    for (size_t i = 0; i < BM_N_ROWS; i++)
        if (bm_field_rows[i].uses & PROVENANCE)
            BM_TRY(read_field(fields, object, &bm_field_rows[i], p, err));
    BM_TRY(read_object(fields, object, unicode_rows, N_ROWS(unicode_rows), p, err));
    if (p->texts[BM_ROW_WEIGHTS] != NULL)
        BM_TRY(read_object(fields, object, weights_rows, N_ROWS(weights_rows), p, err));
    else
        p->texts[BM_ROW_WEIGHTS] = "none";
    return check_table(fields, p, err);
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* The first key that prevents signatures of `a` and `b` from being used together; NULL: there is
 * none. The weights are compared first, because the scheme depends on them. */
static const char *differing_key(const bm_provenance *a, const bm_provenance *b)
{
    const char *key = !same_text(a->texts[BM_ROW_WEIGHTS], b->texts[BM_ROW_WEIGHTS]) ? "weights"
                      : !same_text(a->weights_digest, b->weights_digest) ? "weights_digest"
                                                                         : NULL;
    for (size_t i = 0; i < BM_N_ROWS && key == NULL; i++)
        if ((bm_field_rows[i].uses & BM_FIELD_SIGNED) &&
            (!same_text(a->texts[i], b->texts[i]) || a->numbers[i] != b->numbers[i]))
            key = bm_field_rows[i].key;
    if (key == NULL && !same_text(a->unicode, b->unicode))
        key = "unicode";
    if (key == NULL && !same_text(a->utf8proc_unicode, b->utf8proc_unicode))
        key = "utf8proc_unicode";
    if (key == NULL && a->format != b->format)
        key = "format";
    return key;
}

/* Does the list of normalisers have the normaliser that older versions lack? */
static bool is_of_later_version(const char *normalize)
{
    uint32_t bits = 0;
    return bm_normalize_value(normalize, &bits) && (bits & BM_NORM_INVISIBLE) != 0;
}

bm_status bm_provenance_differs(const char *key, bm_provenance_side first, bm_provenance_side other,
                                bm_error *err)
{
    if (strcmp(key, bm_field_rows[BM_ROW_NORMALIZE].key) != 0)
        return bm_fail_at(err, BM_ERR_FORMAT, other.path, 0,
                          "provenance.%s differs from that of %s (signatures made alike)", key,
                          first.path);
    const bool other_is_older =
        is_of_later_version(first.normalize) && !is_of_later_version(other.normalize);
    return bm_fail_at(err, BM_ERR_FORMAT, other.path, 0,
                      "provenance.%s differs from that of %s (here %s, there %s; signatures made "
                      "alike: `normalize` %s for both)",
                      key, first.path, other.normalize, first.normalize,
                      other_is_older ? other.normalize : first.normalize);
}

bm_status bm_provenance_check(const char *first_path, const bm_provenance *first, const char *path,
                              const bm_provenance *other, bm_error *err)
{
    const char *key = differing_key(first, other);
    return key == NULL ? BM_OK
                       : bm_provenance_differs(
                             key, (bm_provenance_side){first_path, first->texts[BM_ROW_NORMALIZE]},
                             (bm_provenance_side){path, other->texts[BM_ROW_NORMALIZE]}, err);
}

const char *bm_provenance_reads(const bm_provenance *a, const bm_provenance *b)
{
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        if (!(bm_field_rows[i].uses & BM_FIELD_READ))
            continue;
        /* a missing id field is not the same as an empty name */
        if ((a->texts[i] == NULL) != (b->texts[i] == NULL) ||
            !same_text(a->texts[i], b->texts[i]) || a->numbers[i] != b->numbers[i])
            return bm_field_rows[i].key;
        if (bm_field_rows[i].type != BM_FIELD_TYPE_TEXTS)
            continue;
        bool same = a->n_text_fields == b->n_text_fields;
        for (size_t k = 0; same && k < a->n_text_fields; k++)
            same = strcmp(a->text_fields[k], b->text_fields[k]) == 0;
        if (!same)
            return bm_field_rows[i].key;
    }
    return NULL;
}

struct bm_manifest {
    manifest_fields fields;
    bm_buf text;
    bm_json_doc doc; /* parsed `text` */
    const char *kind, *version;
    bm_provenance provenance;
    bool has_provenance;
    bm_manifest_input *inputs;
    size_t n_inputs, cap_inputs;
    bm_manifest_part *parts; /* parts of all inputs */
    size_t n_parts, cap_parts;
    bm_manifest_shard shard; /* `of` is 0: the job read all inputs */
    const char *tool;
    uint64_t schema, digests, piece_bytes;
    bm_manifest_input offsets;       /* `file` is NULL: no file of offsets */
    bm_manifest_output_row *outputs; /* sorted by name */
    size_t n_outputs, cap_outputs;
};

static const bm_json_row part_rows[] = {
    {BM_INPUT_FROM, BM_MEMBER_UINT, .offset = offsetof(bm_manifest_part, from)},
    {"bytes", BM_MEMBER_UINT, .offset = offsetof(bm_manifest_part, bytes)},
    {"xxh3_128", BM_MEMBER_TEXT, .offset = offsetof(bm_manifest_part, xxh3_128)}};

static bm_status read_part(bm_manifest *manifest, bm_str item, bm_error *err)
{
    BM_TRY(bm_grow_array(&manifest->parts, &manifest->cap_parts, manifest->n_parts + 1, err));
    bm_manifest_part *part = &manifest->parts[manifest->n_parts++];
    return read_object(&manifest->fields, item, part_rows, N_ROWS(part_rows), part, err);
}

/* Rows of an input. If only a part of it was read, its size is read by file_bytes_row. If all of it
 * was read in several parts, the first of whole_rows is read; if it was read as a whole, both. */
static const bm_json_row file_bytes_row = {BM_INPUT_FILE_BYTES, BM_MEMBER_UINT,
                                           .offset = offsetof(bm_manifest_input, bytes)};
static const bm_json_row whole_rows[] = {
    {"bytes", BM_MEMBER_UINT, .offset = offsetof(bm_manifest_input, bytes)},
    {"xxh3_128", BM_MEMBER_TEXT, .offset = offsetof(bm_manifest_input, xxh3_128)}};

/* Read the parts of an input, if only a part of it was read, or if all of it was read in several
 * parts. If the input was read as a whole, *is becomes false. out->parts is set later, because the
 * array of parts grows until all inputs are read. */
static bm_status read_parts(bm_manifest *manifest, bm_str item, bm_manifest_input *out, bool *is,
                            bm_error *err)
{
    bm_str value, part;
    const size_t n = manifest->n_parts;
    if (bm_json_scan_find(item, BM_INPUT_FROM, &value)) {
        BM_TRY(read_object(&manifest->fields, item, &file_bytes_row, 1, out, err));
        BM_TRY(read_part(manifest, item, err));
    } else if (bm_json_scan_find(item, BM_INPUT_PARTS, &value)) {
        BM_TRY(read_object(&manifest->fields, item, whole_rows, 1, out, err));
        for (size_t at = 0; bm_json_scan_element(value, &at, &part);)
            BM_TRY(read_part(manifest, part, err));
    }
    out->n_parts = manifest->n_parts - n;
    out->xxh3_128 = "";
    *is = out->n_parts > 0;
    return BM_OK;
}

static bm_status read_ids(bm_manifest *manifest, bm_str item, bm_manifest_input *out, bm_error *err)
{
    static const bm_json_row ids_row = {BM_INPUT_IDS, BM_MEMBER_TEXT,
                                        .presence = BM_MEMBER_OPTIONAL};
    const char *word = NULL;
    BM_TRY(read_object(&manifest->fields, item, &ids_row, 1, &word, err));
    if (word == NULL)
        return BM_OK;
    out->ids = bm_id_kind_of(word);
    return out->ids != BM_IDS_UNTYPED ? BM_OK
                                      : manifest_field_bad(&manifest->fields, BM_INPUT_IDS,
                                                           "expected the type of ids", err);
}

static bm_status read_input(bm_manifest *manifest, bm_str item, bm_manifest_input *out,
                            bm_error *err)
{
    bm_str file;
    bool in_parts;
    if (!bm_json_scan_find(item, "file", &file))
        return manifest_field_bad(&manifest->fields, "inputs", "expected a file in each", err);
    bm_status status = manifest_field_own(&manifest->fields, file, true, &out->file, err);
    if (status == BM_ERR_FORMAT)
        return manifest_field_bad(&manifest->fields, "inputs", "expected a file in each", err);
    BM_TRY(status);
    out->piece_bytes = manifest->piece_bytes;
    BM_TRY(read_ids(manifest, item, out, err));
    BM_TRY(read_parts(manifest, item, out, &in_parts, err));
    if (in_parts)
        return BM_OK;
    return read_object(&manifest->fields, item, whole_rows, N_ROWS(whole_rows), out, err);
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

static const bm_json_row shard_rows[] = {
    {BM_SHARD_INDEX, BM_MEMBER_UINT, .offset = offsetof(bm_manifest_shard, index)},
    {BM_SHARD_OF, BM_MEMBER_UINT, .offset = offsetof(bm_manifest_shard, of)},
    {BM_SHARD_WHOLE, BM_MEMBER_TEXT, .offset = offsetof(bm_manifest_shard, whole)}};

static bm_status read_shard(bm_manifest *manifest, bm_error *err)
{
    manifest_fields *fields = &manifest->fields;
    bm_manifest_shard *shard = &manifest->shard;
    bm_str value;
    if (!bm_json_doc_find(&manifest->doc, BM_MANIFEST_SHARD, &value))
        return BM_OK;
    BM_TRY(read_object(fields, value, shard_rows, N_ROWS(shard_rows), shard, err));
    return shard->index >= 1 && shard->index <= shard->of
               ? BM_OK
               : manifest_field_bad(fields, BM_MANIFEST_SHARD "." BM_SHARD_INDEX,
                                    "expected a number from 1 to that of all shares", err);
}

/* Set `here` of all inputs. The path of an input is its name, in which the common beginning of all
 * names is replaced by the common beginning of all paths. */
static bm_status read_heads(bm_manifest *manifest, bm_str object, bm_error *err)
{
    manifest_fields *fields = &manifest->fields;
    const char *names = NULL, *paths = NULL;
    bm_str value;
    const bool there = bm_json_scan_find(object, BM_FROM_HERE_NAMES, &value);
    BM_TRY(there ? manifest_field_own(fields, value, true, &names, err)
                 : bm_fail(err, BM_ERR_FORMAT, "no names"));
    BM_TRY(bm_json_scan_find(object, BM_FROM_HERE_PATHS, &value)
               ? manifest_field_own(fields, value, true, &paths, err)
               : bm_fail(err, BM_ERR_FORMAT, "no paths"));
    const size_t n = strlen(names);
    for (size_t i = 0; i < manifest->n_inputs; i++) {
        bm_manifest_input *input = &manifest->inputs[i];
        char *path = NULL;
        if (strncmp(input->file, names, n) != 0)
            return bm_fail(err, BM_ERR_FORMAT, "another name");
        BM_TRY(manifest_field_reserve(fields, strlen(paths) + strlen(input->file + n), err));
        BM_TRY(bm_string_format(&path, err, "%s%s", paths, input->file + n));
        input->here = fields->strings[fields->n_strings++] = path;
    }
    return BM_OK;
}

/* Read run.`name`, if there is one. It is a list with an entry for each input, in order, and then
 * one for the file of offsets. An entry is a path or null. For `here` it may be an object instead
 * (read_heads). `field` is the offset of the member of bm_manifest_input to set. */
static bm_status read_paths(bm_manifest *manifest, const char *name, size_t field, bm_error *err)
{
    bm_str list, item;
    char path[64];
    size_t at = 0, n = 0;
    bm_status status = BM_OK;
    snprintf(path, sizeof path, "run.%s", name);
    if (!bm_json_doc_find(&manifest->doc, path, &list))
        return BM_OK;
    if (list.data[0] == '{' && field == offsetof(bm_manifest_input, here))
        BM_TRY_OUT(read_heads(manifest, list, err));
    for (; list.data[0] == '[' && bm_json_scan_element(list, &at, &item); n++) {
        bm_manifest_input *input =
            n < manifest->n_inputs ? &manifest->inputs[n] : &manifest->offsets;
        if (!bm_json_scan_is(item, "null"))
            BM_TRY_OUT(manifest_field_own(&manifest->fields, item, true,
                                          (const char **)(void *)((char *)input + field), err));
    }
out:
    return status == BM_ERR_FORMAT
               ? manifest_field_bad(&manifest->fields, name, "expected names", err)
               : status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const bm_manifest_output_row *)a)->name,
                  ((const bm_manifest_output_row *)b)->name);
}

/* Read a name and its digest. */
static bm_status own_both(manifest_fields *fields, bm_str key, bm_str value, const char **name,
                          const char **hex, bm_error *err)
{
    BM_TRY(manifest_field_own(fields, key, true, name, err));
    return manifest_field_own(fields, value, false, hex, err);
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
            return manifest_field_bad(&manifest->fields, BM_MANIFEST_OUTPUTS,
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

/* Set the XXH3 128 digests in the rows of the outputs. */
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
            return manifest_field_bad(&manifest->fields, BM_MANIFEST_OUTPUTS_XXH3,
                                      "expected the outputs' XXH3 digests", err);
        row->xxh3_128 = hex;
    }
    return BM_OK;
}

/* Set the lists of pieces in the rows of the outputs. */
static bm_status read_outputs_pieces(bm_manifest *manifest, bm_str object, bm_error *err)
{
    bm_str key, value;
    size_t at = 0;
    while (bm_json_scan_member(object, &at, &key, &value)) {
        const char *name = NULL;
        const bm_status status = manifest_field_own(&manifest->fields, key, true, &name, err);
        if (status != BM_ERR_FORMAT)
            BM_TRY(status);
        bm_manifest_output_row *row = status == BM_OK ? find_output(manifest, name) : NULL;
        if (row == NULL || value.len == 0 || value.data[0] != '[')
            return manifest_field_bad(&manifest->fields, BM_MANIFEST_OUTPUTS_PIECES,
                                      "expected an array for each of some outputs", err);
        row->pieces = value;
    }
    return BM_OK;
}

/* Read top-level members into the manifest. */
static bm_status read_top(bm_manifest *manifest, const bm_json_row *rows, size_t n, bm_error *err)
{
    return read_from(&manifest->fields, &manifest->doc, (bm_str){0}, rows, n, manifest, err);
}

/* Read the version of the digests and, with it, the size of the pieces by which files are digested.
 * Without a version, files are digested as wholes. */
static bm_status read_digests(bm_manifest *manifest, bm_error *err)
{
    static const bm_json_row rows[] = {
        {BM_MANIFEST_DIGESTS, BM_MEMBER_UINT, .offset = offsetof(bm_manifest, digests),
         .presence = BM_MEMBER_OPTIONAL, .least = BM_DIGESTS_VERSION, .most = BM_DIGESTS_VERSION,
         .expected = "expected 2; a later version of bandmill reads it"},
        {BM_MANIFEST_PIECE_BYTES, BM_MEMBER_UINT, .offset = offsetof(bm_manifest, piece_bytes),
         .least = 1, .expected = "expected a number above 0"}};
    BM_TRY(read_top(manifest, rows, 1, err));
    return manifest->digests == 0 ? BM_OK : read_top(manifest, rows + 1, 1, err);
}

static const bm_json_row tool_row = {"tool", BM_MEMBER_TEXT, .offset = offsetof(bm_manifest, tool)};
static const bm_json_row head_rows[] = {
    {"schema", BM_MEMBER_UINT, .offset = offsetof(bm_manifest, schema), .least = 1, .most = 1,
     .expected = "expected 1; a later version of bandmill reads it"},
    {"kind", BM_MEMBER_TEXT, .offset = offsetof(bm_manifest, kind)},
    {"version", BM_MEMBER_TEXT, .offset = offsetof(bm_manifest, version)}};

static bm_status read_members(bm_manifest *manifest, bm_error *err)
{
    manifest_fields *fields = &manifest->fields;
    bm_str value;
    BM_TRY(read_top(manifest, &tool_row, 1, err));
    if (strcmp(manifest->tool, "bandmill") != 0)
        return manifest_field_bad(fields, "tool", "expected \"bandmill\"", err);
    BM_TRY(read_top(manifest, head_rows, N_ROWS(head_rows), err));
    if (bm_json_doc_find(&manifest->doc, "provenance", &value)) {
        BM_TRY(provenance_read(fields, value, &manifest->provenance, err));
        if (manifest->provenance.format != BM_MANIFEST_FORMAT)
            return manifest_field_bad(fields, "provenance.format", "expected 1", err);
        manifest->has_provenance = true;
    }
    BM_TRY(read_digests(manifest, err));
    BM_TRY(read_shard(manifest, err));
    if (bm_json_doc_find(&manifest->doc, "inputs", &value))
        BM_TRY(read_inputs(manifest, value, err));
    BM_TRY(read_paths(manifest, BM_RUN_FOUND, offsetof(bm_manifest_input, found), err));
    BM_TRY(read_paths(manifest, BM_RUN_FROM_HERE, offsetof(bm_manifest_input, here), err));
    if (bm_json_doc_find(&manifest->doc, BM_MANIFEST_OUTPUTS, &value))
        BM_TRY(read_outputs(manifest, value, err));
    if (bm_json_doc_find(&manifest->doc, BM_MANIFEST_OUTPUTS_XXH3, &value))
        BM_TRY(read_outputs_xxh3(manifest, value, err));
    if (bm_json_doc_find(&manifest->doc, BM_MANIFEST_OUTPUTS_PIECES, &value))
        BM_TRY(read_outputs_pieces(manifest, value, err));
    return BM_OK;
}

/* Open a manifest from its text. Takes ownership of `text`, whatever the status. */
static bm_status open_text(const char *path, bm_manifest_budget budget, bm_buf *text,
                           bm_manifest **out, bm_error *err)
{
    bm_manifest *manifest = bm_alloc_zero(1, sizeof *manifest);
    if (manifest == NULL) {
        bm_buf_reset(text);
        return bm_fail_nomem(err, sizeof *manifest);
    }
    manifest->text = *text;
    manifest->fields.budget = budget;
    manifest->fields.text_bytes = text->len;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_copy_text(path, &manifest->fields.path, err));
    BM_TRY_OUT(bm_json_doc_open(manifest->fields.path,
                                (bm_str){manifest->text.data, manifest->text.len}, &manifest->doc,
                                err));
    BM_TRY_OUT(read_members(manifest, err));
    status = manifest_seal_check(path, (bm_str){manifest->text.data, manifest->text.len}, err);
out:
    if (status == BM_OK)
        *out = manifest;
    else
        bm_manifest_close(manifest);
    return status;
}

static bm_status open_within(const char *path, bm_manifest_budget budget, bm_manifest **out,
                             bm_error *err)
{
    BM_TRY(manifest_check_size(path, budget, err));
    bm_buf text = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(manifest_read(path, &text, err));
    BM_TRY_OUT(bm_json_doc_check(path, (bm_str){text.data, text.len}, err));
    return open_text(path, budget, &text, out, err);
out:
    bm_buf_reset(&text);
    return status;
}

bm_status bm_manifest_of_text(const char *path, bm_str text, bm_manifest **out, bm_error *err)
{
    bm_buf copy = {0};
    BM_TRY(bm_buf_add(&copy, text.data, text.len, err));
    return open_text(path, (bm_manifest_budget){0, 1}, &copy, out, err);
}

bm_status bm_manifest_open_items(const bm_manifest *report, bm_manifest **out, bm_error *err)
{
    bm_str items;
    return bm_manifest_member(report, BM_MANIFEST_ITEMS, &items)
               ? bm_manifest_of_text(bm_manifest_path(report), items, out, err)
               : manifest_field_bad(&report->fields, BM_MANIFEST_ITEMS,
                                    "expected how the items were read", err);
}

bm_status bm_manifest_open(const char *path, uint64_t memory, bm_manifest **out, bm_error *err)
{
    return open_within(path, (bm_manifest_budget){memory, 1}, out, err);
}

bm_status bm_manifest_find(const char *path, uint64_t memory, bm_manifest **out, bm_error *err)
{
    bm_error why = {0};
    *out = NULL;
    const bm_status status = bm_manifest_open(path, memory, out, &why);
    if (bm_is_absent(status, &why))
        return BM_OK;
    if (status == BM_ERR_FORMAT) {
        bool begins;
        BM_TRY(manifest_begins(path, &begins, err));
        if (!begins)
            return BM_OK;
    }
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

bm_status bm_manifest_open_dir(const char *folder, uint64_t memory, bm_manifest **out,
                               bm_error *err)
{
    return bm_manifest_open_share(folder, (bm_manifest_budget){memory, 1}, out, err);
}

static bm_status open_if_there(const char *folder, const char *name, bm_manifest_budget budget,
                               bm_manifest **out, bool *there, bm_error *err)
{
    char *path = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&path, err, "%s/%s", folder, name));
    BM_TRY_OUT(bm_look_at(AT_FDCWD, path, 0, there, NULL, err));
    if (*there)
        status = open_within(path, budget, out, err);
out:
    bm_free(path);
    return status;
}

bm_status bm_manifest_open_share(const char *folder, bm_manifest_budget budget, bm_manifest **out,
                                 bm_error *err)
{
    static const char *const names[] = {BM_FILE_MANIFEST, BM_FILE_REPORT};
    for (int i = 0; i < 2; i++) {
        bool there = false;
        BM_TRY(open_if_there(folder, names[i], budget, out, &there, err));
        if (there)
            return BM_OK;
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
    bm_free_all(manifest->inputs, manifest->parts, manifest->outputs);
    bm_json_doc_close(&manifest->doc);
    bm_buf_reset(&manifest->text);
    manifest_fields_reset(&manifest->fields);
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
        return manifest_field_bad(&manifest->fields, "provenance", "expected an object", err);
    *out = &manifest->provenance;
    return BM_OK;
}

bm_str bm_manifest_text(const bm_manifest *manifest)
{
    return (bm_str){manifest->text.data, manifest->text.len};
}

const bm_json_doc *bm_manifest_doc(const bm_manifest *manifest)
{
    return &manifest->doc;
}

bool bm_manifest_member(const bm_manifest *manifest, const char *name, bm_str *out)
{
    return bm_json_doc_find(&manifest->doc, name, out);
}

bm_status bm_manifest_count(const bm_manifest *manifest, const char *name, uint64_t *out,
                            bm_error *err)
{
    bm_str value;
    char path[64];
    if (!bm_json_doc_find(&manifest->doc, "counts", &value))
        return manifest_field_bad(&manifest->fields, "counts", "expected an object", err);
    snprintf(path, sizeof path, "counts.%s", name);
    return bm_json_doc_find(&manifest->doc, path, &value) && bm_json_scan_uint(value, out)
               ? BM_OK
               : manifest_field_bad(&manifest->fields, name, "expected a whole number", err);
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

bm_id_kind bm_manifest_ids(const bm_manifest *manifest)
{
    bm_id_kind ids = manifest->n_inputs > 0 ? manifest->inputs[0].ids : BM_IDS_UNTYPED;
    for (size_t i = 1; i < manifest->n_inputs; i++)
        ids = manifest->inputs[i].ids == ids ? ids : BM_IDS_UNTYPED;
    return ids;
}

uint64_t bm_manifest_row_ids(const bm_manifest *manifest)
{
    return bm_manifest_ids(manifest) == BM_IDS_ROWS;
}

const bm_manifest_input *bm_manifest_offsets(const bm_manifest *manifest)
{
    return manifest->offsets.file != NULL ? &manifest->offsets : NULL;
}

/* Size of the pieces by which outputs and inputs were digested; 0: an earlier version digested
 * whole files. */
static uint64_t manifest_piece_bytes(const bm_manifest *manifest)
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

/* === manifest check ===
 *
 * Compares the outputs with an open manifest. */

/* if there are fewer bytes of outputs than this, the caller's thread hashes them alone */
#define THREADS_FROM ((uint64_t)8 << 20)

/* The file name in the manifest's path, for messages. */
static const char *shown(const bm_manifest *manifest)
{
    const char *path = bm_manifest_path(manifest), *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bm_status bm_manifest_beside(const bm_manifest *manifest, const char *name, char **out,
                             bm_error *err)
{
    const char *path = bm_manifest_path(manifest), *last = shown(manifest);
    return bm_string_format(out, err, "%.*s%s", (int)(last - path), path, name);
}

bm_status bm_manifest_compare_count(const bm_manifest *manifest, const char *name, uint64_t n,
                                    const char *file, bm_error *err)
{
    uint64_t counted = 0;
    bm_status status = bm_manifest_count(manifest, name, &counted, err);
    return status != BM_OK || counted == n
               ? status
               : bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                            "counts.%s is %" PRIu64 " (%s has %" PRIu64 ")", name, counted, file,
                            n);
}

/* The index of the first piece that differs from the listed piece; SIZE_MAX: none differs. `listed`
 * becomes the listed digest of that piece. */
static size_t find_piece(const bm_manifest_output_row *row, const bm_manifest_found *is,
                         char listed[BM_HASH128_HEX])
{
    char hex[BM_HASH128_HEX];
    bm_str item;
    size_t at = 0, i = 0;
    for (; i < is->n_pieces && bm_json_scan_element(row->pieces, &at, &item); i++) {
        bm_hash128_hex(is->pieces[i].xxh3, hex);
        if (item.len != BM_HASH128_HEX + 1 || memcmp(item.data + 1, hex, BM_HASH128_HEX - 1) == 0)
            continue;
        memcpy(listed, item.data + 1, BM_HASH128_HEX - 1);
        listed[BM_HASH128_HEX - 1] = '\0';
        return i;
    }
    return SIZE_MAX;
}

static bm_status changed(const bm_manifest *manifest, const char *path, const char *place,
                         const char *kind, const char *is, const char *listed, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                      "the file has changed since it was written: %s%s is %s (%s lists %s)", place,
                      kind, is, shown(manifest), listed);
}

/* Fail because the digest of piece `index` of a file differs from the listed one. */
static bm_status changed_piece(const bm_manifest *manifest, const bm_manifest_found *found,
                               size_t index, const char *listed, bm_error *err)
{
    const uint64_t size = manifest_piece_bytes(manifest);
    char is[BM_HASH128_HEX], place[96];
    bm_hash128_hex(found->pieces[index].xxh3, is);
    snprintf(place, sizeof place, "of piece %zu of %zu (from byte %" PRIu64 " on) ", index + 1,
             found->n_pieces, index * size);
    return changed(manifest, found->path, place, "XXH3 128", is, listed, err);
}

/* Compare a file with its row. Only digests that both `found` and the row have are compared.
 * BM_ERR_FORMAT names the path and, if the row lists pieces, the first piece that differs. */
static bm_status manifest_compare(const bm_manifest *manifest, const bm_manifest_output_row *row,
                                  const bm_manifest_found *found, bm_error *err)
{
    const bm_digests *is = found->digests;
    const struct {
        const char *name, *is, *listed;
    } kinds[] = {{"SHA-256", is->sha256, row->sha256}, {"XXH3 128", is->xxh3, row->xxh3_128}};
    char piece[BM_HASH128_HEX];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].is[0] == '\0' || kinds[i].listed == NULL ||
            strcmp(kinds[i].is, kinds[i].listed) == 0)
            continue;
        const size_t index = is->xxh3[0] != '\0' ? find_piece(row, found, piece) : SIZE_MAX;
        return index != SIZE_MAX ? changed_piece(manifest, found, index, piece, err)
                                 : changed(manifest, found->path, "", kinds[i].name, kinds[i].is,
                                           kinds[i].listed, err);
    }
    return BM_OK;
}

/* --- all outputs --- */

typedef struct checking {
    const bm_manifest *manifest;
    char **paths;          /* the path of each output */
    bm_digest_file *files; /* the request to hash each output */
    size_t n;              /* number of outputs */
} checking;

static bm_status open_output(void *ctx, size_t index, int *fd, bool *owned, bm_error *err)
{
    const checking *c = ctx;
    *owned = true;
    return bm_open_regular(c->paths[index], BM_ERR_FORMAT, fd, err);
}

/* Find the path and the size of an output. */
static bm_status stat_output(checking *c, const char *folder, size_t index, bm_error *err)
{
    const char *name = bm_manifest_output_at(c->manifest, index)->name;
    bm_digest_file *file = &c->files[index];
    struct stat info;
    bm_error inner = {0};
    int fd = -1;
    BM_TRY(bm_string_format(&c->paths[index], err, "%s/%s", folder, name));
    bm_status status = bm_open_regular(c->paths[index], BM_ERR_FORMAT, &fd, &inner);
    if (bm_is_absent(status, &inner))
        return bm_fail_at(err, BM_ERR_FORMAT, c->paths[index], 0,
                          "is missing (the manifest lists it)");
    if (status != BM_OK && err != NULL)
        *err = inner;
    BM_TRY(status);
    if (fstat(fd, &info) != 0)
        status = bm_fail_errno(err, errno, c->paths[index], "cannot look at the file");
    close(fd);
    BM_TRY(status);
    *file = (bm_digest_file){.shown = c->paths[index], .bytes = (uint64_t)info.st_size};
    return bm_new_zero(&file->pieces,
                       bm_digest_count_pieces(file->bytes, manifest_piece_bytes(c->manifest)), err);
}

static bm_status check_output(const checking *c, size_t index, bm_error *err)
{
    const bm_digest_file *file = &c->files[index];
    const size_t n = bm_digest_count_pieces(file->bytes, manifest_piece_bytes(c->manifest));
    bm_digests whole;
    BM_TRY(bm_digests_join(file->pieces, n, BM_DIGEST_BOTH, &whole, err));
    return manifest_compare(c->manifest, bm_manifest_output_at(c->manifest, index),
                            &(bm_manifest_found){c->paths[index], &whole, file->pieces, n}, err);
}

static bm_status digest_outputs(const checking *c, bm_error *err)
{
    uint64_t bytes = 0;
    bm_pool *pool = NULL;
    bm_status status = BM_OK;
    for (size_t i = 0; i < c->n; i++)
        bytes += c->files[i].bytes;
    if (bytes >= THREADS_FROM)
        BM_TRY_OUT(bm_pool_open(bm_cpu_count(), &pool, err));
    const bm_digest_work work = {.files = c->files,
                                 .n = c->n,
                                 .piece_bytes = manifest_piece_bytes(c->manifest),
                                 .kinds = BM_DIGEST_BOTH,
                                 .open = open_output,
                                 .ctx = (void *)c,
                                 .pool = pool};
    status = bm_digest_files(&work, err);
out:
    bm_pool_close(pool);
    return status;
}

bm_status bm_manifest_check(const bm_manifest *manifest, const char *folder, bm_error *err)
{
    checking c = {.manifest = manifest, .n = bm_manifest_n_outputs(manifest)};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&c.paths, c.n + 1, err));
    BM_TRY_OUT(bm_new_zero(&c.files, c.n + 1, err));
    for (size_t i = 0; i < c.n; i++)
        BM_TRY_OUT(stat_output(&c, folder, i, err));
    BM_TRY_OUT(digest_outputs(&c, err));
    for (size_t i = 0; i < c.n; i++)
        BM_TRY_OUT(check_output(&c, i, err));
out:
    for (size_t i = 0; i < c.n; i++) {
        if (c.paths != NULL)
            bm_free(c.paths[i]);
        if (c.files != NULL)
            bm_free(c.files[i].pieces);
    }
    bm_free_all(c.paths, c.files);
    return status;
}

/* === listed ===
 *
 * Keeps a digest of the bytes read so far, and the row with the expected digest. */

struct bm_listed {
    const bm_manifest *manifest;
    const bm_manifest_output_row *row;
    const char *path;
    bm_digest *digest;
    bool ended;
};

bm_status bm_listed_open(const bm_manifest *manifest, const char *name, const char *path,
                         bm_listed **out, bm_error *err)
{
    const bm_manifest_output_row *row = bm_manifest_output_find(manifest, name);
    if (row == NULL)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                          "it lists no %s among its outputs", name);
    bm_listed *listed = NULL;
    BM_TRY(bm_new_zero(&listed, 1, err));
    *listed = (bm_listed){.manifest = manifest, .row = row, .path = path};
    const unsigned kind = row->xxh3_128 != NULL ? BM_DIGEST_XXH3 : BM_DIGEST_SHA256;
    bm_status status = bm_digest_open(kind, manifest_piece_bytes(manifest), &listed->digest, err);
    if (status == BM_OK)
        *out = listed;
    else
        bm_listed_close(listed);
    return status;
}

void bm_listed_close(bm_listed *listed)
{
    if (listed == NULL)
        return;
    bm_digest_close(listed->digest);
    bm_free(listed);
}

bm_status bm_listed_add(bm_listed *listed, const void *data, size_t len, bm_error *err)
{
    return listed == NULL || listed->ended ? BM_OK : bm_digest_add(listed->digest, data, len, err);
}

bm_status bm_listed_end(bm_listed *listed, bm_error *err)
{
    bm_digests whole;
    if (listed == NULL || listed->ended)
        return BM_OK;
    listed->ended = true;
    BM_TRY(bm_digest_end(listed->digest, &whole, err));
    bm_manifest_found is = {.path = listed->path, .digests = &whole};
    is.pieces = bm_digest_pieces(listed->digest, &is.n_pieces);
    return manifest_compare(listed->manifest, listed->row, &is, err);
}

bm_status bm_listed_check(const bm_manifest *manifest, const char *name, const bm_file_range *whole,
                          bm_error *err)
{
    bm_listed *listed = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_listed_open(manifest, name, whole->shown, &listed, err));
    BM_TRY_OUT(bm_digest_add_file(listed->digest, whole, err));
    status = bm_listed_end(listed, err);
out:
    bm_listed_close(listed);
    return status;
}
