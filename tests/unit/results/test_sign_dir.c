/* SPDX-License-Identifier: Apache-2.0 */
/* test_sign_dir.c -- directories of `sign`: read back from any row, refused if a file does not
 * match its manifest. The directories are written by hand here. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdint.h>

#include "results/npy.h"
#include "results/sign_dir.h"
#include "tests/world/file_digests.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_npy.h"

enum { PERMS = 3 };

#define MANIFEST                                                                                   \
    "{\n  \"schema\": 1,\n  \"tool\": \"bandmill\",\n  \"kind\": \"signatures\",\n"                \
    "  \"version\": \"0.1.0\",\n  \"provenance\": {\n    \"scheme\": \"affine32\",\n"              \
    "    \"hash\": \"xxh3\",\n    \"seed\": 1,\n    \"perms\": 3,\n    \"normalize\": "            \
    "\"lower\",\n"                                                                                 \
    "    \"words\": \"alnum\",\n    \"shingle\": \"word:5\",\n    \"short\": \"whole\",\n"         \
    "    \"unicode\": \"15.0.0\",\n    \"utf8proc_unicode\": \"15.0.0\",\n    \"format\": 1,\n"    \
    "    \"input_format\": \"tsv\",\n    \"text_fields\": [\n      \"title\",\n      \"a.b\"\n"    \
    "    ],\n    \"id_field\": null,\n    \"header\": \"yes\",\n"                                  \
    "    \"duplicate_ids\": \"error\",\n    \"on_error\": \"fail\",\n"                             \
    "    \"invalid_utf8\": \"replace\",\n    \"max_doc_bytes\": 1073741824\n  },\n"                \
    "  \"plan\": null,\n  \"counts\": {\"documents\": %d, \"empty\": 0},\n"                        \
    "  \"inputs\": [{\"file\": \"a\\\\tb\\\\xff\", \"bytes\": 123, \"xxh3_128\": "                 \
    "\"00112233445566778899aabbccddeeff\"}],\n"                                                    \
    "  \"outputs\": {},\n  \"run\": {\"seconds\": 0.5}\n}\n"

/* Lists the files next to the manifest in it, as `sign` does; with `all`, also files that do not
 * exist. */
static void list_outputs(scratch *s, bool all)
{
    static const char *const names[] = {"content_hash.npy", "ids.txt", "n_bytes.npy",
                                        "n_shingles.npy", "signatures.npy"};
    char *text = scratch_get(s, "sig/manifest.json", NULL);
    char *begin = strstr(text, "\"outputs\": {"), *changed = malloc(strlen(text) + 1024);
    cr_assert_not_null(begin);
    begin += strlen("\"outputs\": {");
    char *at = changed + sprintf(changed, "%.*s", (int)(begin - text), text);
    const char *comma = "";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[32];
        bm_digests is;
        snprintf(path, sizeof path, "sig/%s", names[i]);
        if (file_digests(scratch_at(s, path), 0, &is) != BM_OK) {
            if (!all)
                continue;
            snprintf(is.sha256, sizeof is.sha256, "00");
        }
        at += sprintf(at, "%s\"%s\": \"%s\"", comma, names[i], is.sha256);
        comma = ", ";
    }
    sprintf(at, "%s", strchr(begin, '}'));
    scratch_put_text(s, "sig/manifest.json", changed);
    free(changed);
    free(text);
}

static void put_array(scratch *s, const char *name, uint64_t n_cols, const uint32_t *cells,
                      uint64_t n)
{
    char *file = malloc(BM_NPY_HEADER_BYTES + n * 4 + 1);
    world_npy_header("<u4", n_cols == 0 ? n : n / n_cols, n_cols, file);
    if (n > 0)
        memcpy(file + BM_NPY_HEADER_BYTES, cells, n * 4);
    scratch_put(s, name, file, BM_NPY_HEADER_BYTES + n * 4);
    free(file);
}

static uint32_t word_of(uint64_t row, int column)
{
    return (uint32_t)(row * 1000003u + (uint64_t)column * 77u);
}

/* Row i has n_shingles i; its id is "id<tab>i" in every third row, otherwise "i" repeated. */
static size_t id_of(uint64_t row, char out[64])
{
    int n = row % 3 == 0 ? snprintf(out, 64, "id\t%" PRIu64, row)
                         : snprintf(out, 64, "%.*s%" PRIu64, (int)(row % 40),
                                    "........................................", row);
    return (size_t)n;
}

static void put_signatures(scratch *s, int n_docs)
{
    char *text = malloc((size_t)n_docs * 64 + 4096), *at = text;
    uint32_t *words = malloc((size_t)n_docs * PERMS * 4 + 4),
             *counts = malloc((size_t)n_docs * 4 + 4);
    scratch_folder(s, "sig");
    for (int i = 0; i < n_docs; i++) {
        if (i % 3 == 0) {
            at += sprintf(at, "id\\t%d\n", i);
        } else {
            at += id_of((uint64_t)i, at);
            *at++ = '\n';
        }
        counts[i] = (uint32_t)i;
        for (int j = 0; j < PERMS; j++)
            words[i * PERMS + j] = word_of((uint64_t)i, j);
    }
    scratch_put(s, "sig/ids.txt", text, (size_t)(at - text));
    put_array(s, "sig/signatures.npy", PERMS, words, (uint64_t)n_docs * PERMS);
    put_array(s, "sig/n_shingles.npy", 0, counts, (uint64_t)n_docs);
    snprintf(text, 4096, MANIFEST, n_docs);
    scratch_put_text(s, "sig/manifest.json", text);
    list_outputs(s, false);
    free(text);
    free(words);
    free(counts);
}

static bool is_ours(const char *path)
{
    bool is = false;
    cr_expect_eq(bm_sign_dir_is(path, 0, &is, NULL), BM_OK);
    return is;
}

Test(sign_dir, rows_and_ids_come_back_from_any_place)
{
    SCRATCH s = scratch_open();
    enum { DOCS = 5000 };
    bm_sign_dir *dir = NULL;
    bm_error err = {0};
    put_signatures(&s, DOCS);
    cr_expect(is_ours(scratch_at(&s, "sig")));
    cr_assert_eq(bm_sign_dir_open(scratch_at(&s, "sig"), 0, &dir, &err), BM_OK, "%s: %s", err.file,
                 err.message);
    cr_expect_eq(bm_sign_dir_docs(dir), (uint64_t)DOCS);
    cr_expect_eq(bm_sign_dir_perms(dir), (uint32_t)PERMS);
    static const uint64_t ranges[][2] = {{0, DOCS}, {0, 1},    {1023, 2},    {1024, 1024},
                                         {4999, 1}, {5000, 0}, {2047, 2050}, {17, 0}};
    for (size_t k = 0; k < sizeof ranges / sizeof ranges[0]; k++) {
        uint64_t first = ranges[k][0];
        size_t n = (size_t)ranges[k][1], begin = 4;
        uint32_t *words = malloc(n * PERMS * 4 + 4), *counts = malloc(n * 4 + 4);
        size_t *ends = malloc(n * sizeof *ends + 8);
        bm_buf text = {0};
        cr_assert_eq(bm_buf_add_text(&text, "head", NULL), BM_OK);
        cr_assert_eq(bm_sign_dir_rows(dir, first, n, words, &err), BM_OK);
        cr_assert_eq(bm_sign_dir_n_shingles(dir, first, n, counts, &err), BM_OK);
        cr_assert_eq(bm_sign_dir_ids(dir, first, n, &(bm_sign_ids){&text, ends}, &err), BM_OK);
        for (size_t i = 0; i < n; i++) {
            char id[64];
            size_t len = id_of(first + i, id);
            cr_assert_eq(counts[i], (uint32_t)(first + i));
            for (int j = 0; j < PERMS; j++)
                cr_assert_eq(words[i * PERMS + (size_t)j], word_of(first + i, j));
            cr_assert(ends[i] - begin == len && memcmp(text.data + begin, id, len) == 0,
                      "row %" PRIu64, first + i);
            begin = ends[i];
        }
        bm_buf_reset(&text);
        free(words);
        free(counts);
        free(ends);
    }
    cr_expect_eq(bm_sign_dir_rows(dir, 4999, 2, NULL, NULL), BM_ERR_INTERNAL);
    cr_expect_eq(bm_sign_dir_rows(dir, UINT64_MAX, 2, NULL, NULL), BM_ERR_INTERNAL);
    bm_sign_dir_close(dir);
    bm_sign_dir_close(NULL);
}

Test(sign_dir, provenance_and_inputs_are_read)
{
    SCRATCH s = scratch_open();
    put_signatures(&s, 2);
    bm_sign_dir *dir = world_open(bm_sign_dir, scratch_at(&s, "sig"), 0);
    const bm_provenance *p = bm_sign_dir_provenance(dir);
    cr_expect_str_eq(p->texts[BM_ROW_SCHEME], "affine32");
    cr_expect_str_eq(p->texts[BM_ROW_SHINGLE], "word:5");
    cr_expect_eq(p->numbers[BM_ROW_SEED], 1u);
    cr_expect_eq(p->n_text_fields, 2u);
    cr_expect_str_eq(p->text_fields[1], "a.b");
    cr_expect_null(p->texts[BM_ROW_ID_FIELD]);
    cr_expect_str_eq(p->texts[BM_ROW_HEADER], "yes");
    cr_expect_eq(p->numbers[BM_ROW_MAX_DOC_BYTES], 1073741824u);
    const bm_manifest *manifest = bm_sign_dir_manifest(dir);
    cr_assert_eq(bm_manifest_n_inputs(manifest), 1u);
    cr_expect_str_eq(bm_manifest_input_at(manifest, 0)->file, "a\tb\xff");
    cr_expect_eq(bm_manifest_input_at(manifest, 0)->bytes, 123u);
    cr_expect_str_eq(bm_manifest_input_at(manifest, 0)->xxh3_128,
                     "00112233445566778899aabbccddeeff");
    bm_sign_dir_close(dir);
}

/* Replaces `from` by `to` in the manifest. */
static void change_manifest(scratch *s, const char *from, const char *to)
{
    char *text = scratch_get(s, "sig/manifest.json", NULL), *hit = strstr(text, from);
    cr_assert_not_null(hit, "%s", from);
    char *changed = malloc(strlen(text) + strlen(to) + 1);
    sprintf(changed, "%.*s%s%s", (int)(hit - text), text, to, hit + strlen(from));
    scratch_put_text(s, "sig/manifest.json", changed);
    free(changed);
    free(text);
}

static void expect_refused(scratch *s, const char *file, const char *words)
{
    bm_sign_dir *dir = NULL;
    bm_error err = {0};
    cr_expect_eq(bm_sign_dir_open(scratch_at(s, "sig"), 0, &dir, &err), BM_ERR_FORMAT, "%s: %s",
                 words, err.message);
    cr_expect(strstr(err.file, file) != NULL, "%s: %s", words, err.file);
    cr_expect(strstr(err.message, words) != NULL, "%s", err.message);
    cr_expect_null(dir);
    bm_sign_dir_close(dir);
}

Test(sign_dir, a_manifest_that_is_not_ours_or_lacks_a_field_is_refused)
{
    static const char *const changes[][3] = {
        {"bandmill", "other", "tool"},
        {"\"schema\": 1", "\"schema\": 2", "schema"},
        {"\"format\": 1", "\"format\": 2", "format"},
        {"\"signatures\"", "\"dedup\"", "kind"},
        {"\"affine32\"", "\"affine128\"", "scheme"},
        {"\"perms\": 3", "\"perms\": 0", "perms"},
        {"\"perms\": 3", "\"perms\": 1025", "perms"},
        {"\"perms\": 3", "\"perms\": \"3\"", "perms"},
        {"\"seed\": 1", "\"seed\": -1", "seed"},
        {"\"seed\"", "\"sead\"", "seed"},
        {"\"words\": \"alnum\"", "\"words\": 7", "words"},
        {"\"documents\"", "\"doc\"", "documents"},
        {"\"counts\"", "\"count\"", "counts"},
        {"\"provenance\"", "\"prov\"", "provenance"},
        {"\"header\": \"yes\"", "\"header\": \"maybe\"", "header"},
        {"\"title\"", "5", "text_fields"},
        {"\"bytes\": 123", "\"bytes\": 1.5", "bytes"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        SCRATCH s = scratch_open();
        put_signatures(&s, 2);
        change_manifest(&s, changes[i][0], changes[i][1]);
        expect_refused(&s, "manifest.json", changes[i][2]);
    }
}

/* The scheme tells that words have 64 bits; an array of 32-bit words does not match such a
 * manifest. */
Test(sign_dir, signatures_of_a_scheme_with_words_of_64_bits_have_that_type)
{
    SCRATCH s = scratch_open();
    put_signatures(&s, 2);
    change_manifest(&s, "\"affine32\"", "\"affine64\"");
    expect_refused(&s, "signatures.npy", "<u4 (expected <u8)");
}

Test(sign_dir, files_that_do_not_fit_the_manifest_are_refused)
{
    const uint32_t cells[12] = {0};
    SCRATCH s = scratch_open();
    put_signatures(&s, 4);
    put_array(&s, "sig/signatures.npy", PERMS, cells, 3 * PERMS);
    expect_refused(&s, "signatures.npy", "3 rows");
    put_array(&s, "sig/signatures.npy", 2, cells, 8);
    expect_refused(&s, "signatures.npy", "width");
    put_array(&s, "sig/signatures.npy", 0, cells, 4);
    expect_refused(&s, "signatures.npy", "width");
    scratch_put_text(&s, "sig/signatures.npy", "");
    expect_refused(&s, "signatures.npy", "too short");
    put_array(&s, "sig/signatures.npy", PERMS, cells, 4 * PERMS);
    put_array(&s, "sig/n_shingles.npy", 0, cells, 5);
    expect_refused(&s, "n_shingles.npy", "5 rows");
    put_array(&s, "sig/n_shingles.npy", 0, cells, 4);
    list_outputs(&s, false);
    scratch_put_text(&s, "sig/ids.txt", "a\nb\nc\n");
    expect_refused(&s, "ids.txt", "3 lines");
    scratch_put_text(&s, "sig/ids.txt", "a\nb\nc\nd\ne\n");
    expect_refused(&s, "ids.txt", "5 lines");
    scratch_put_text(&s, "sig/ids.txt", "a\nb\nc\nd");
    expect_refused(&s, "ids.txt", "newline");
    cr_assert_eq(unlink(scratch_at(&s, "sig/ids.txt")), 0);
    expect_refused(&s, "ids.txt", "missing");
}

static void put_wide_array(scratch *s, const char *name, uint64_t n_cols, const uint64_t *cells,
                           uint64_t n)
{
    char *file = malloc(BM_NPY_HEADER_BYTES + n * 8);
    world_npy_header("<u8", n_cols == 0 ? n : n / n_cols, n_cols, file);
    memcpy(file + BM_NPY_HEADER_BYTES, cells, n * 8);
    scratch_put(s, name, file, BM_NPY_HEADER_BYTES + n * 8);
    free(file);
}

Test(sign_dir, bytes_and_content_hashes_come_back_where_the_manifest_lists_them)
{
    const uint64_t cells[8] = {1, UINT64_MAX, 3, 4, 5, 6, 7, 8};
    uint64_t bytes[2];
    bm_hash128 content[2];
    SCRATCH s = scratch_open();
    put_signatures(&s, 4);
    put_wide_array(&s, "sig/n_bytes.npy", 0, cells, 4);
    put_wide_array(&s, "sig/content_hash.npy", 2, cells, 8);
    bm_sign_dir *dir = world_open(bm_sign_dir, scratch_at(&s, "sig"), 0);
    cr_expect_not(bm_sign_dir_has_bytes(dir), "an older manifest does not list it");
    cr_expect_not(bm_sign_dir_has_content(dir));
    bm_sign_dir_close(dir);
    list_outputs(&s, false);
    cr_assert_eq(bm_sign_dir_open(scratch_at(&s, "sig"), 0, &dir, NULL), BM_OK);
    cr_assert(bm_sign_dir_has_bytes(dir) && bm_sign_dir_has_content(dir));
    cr_assert_eq(bm_sign_dir_n_bytes(dir, 1, 2, bytes, NULL), BM_OK);
    cr_expect_arr_eq(bytes, cells + 1, sizeof bytes);
    cr_assert_eq(bm_sign_dir_content(dir, 2, 2, content, NULL), BM_OK);
    cr_expect_arr_eq(content, cells + 4, sizeof content);
    cr_expect_eq(bm_sign_dir_content(dir, 3, 2, content, NULL), BM_ERR_INTERNAL);
    bm_sign_dir_close(dir);
}

Test(sign_dir, bytes_and_content_hashes_that_do_not_fit_are_refused)
{
    const uint64_t cells[10] = {0};
    const uint32_t narrow[8] = {0};
    SCRATCH s = scratch_open();
    put_signatures(&s, 4);
    list_outputs(&s, true);
    expect_refused(&s, "n_bytes.npy", "missing");
    put_array(&s, "sig/n_bytes.npy", 0, narrow, 4);
    expect_refused(&s, "n_bytes.npy", "<u8");
    put_wide_array(&s, "sig/n_bytes.npy", 0, cells, 5);
    expect_refused(&s, "n_bytes.npy", "5 rows");
    put_wide_array(&s, "sig/n_bytes.npy", 0, cells, 4);
    list_outputs(&s, true);
    expect_refused(&s, "content_hash.npy", "missing");
    put_wide_array(&s, "sig/content_hash.npy", 0, cells, 4);
    expect_refused(&s, "content_hash.npy", "width");
    put_wide_array(&s, "sig/content_hash.npy", 2, cells, 10);
    expect_refused(&s, "content_hash.npy", "5 rows");
}

Test(sign_dir, a_broken_escape_in_an_id_names_its_line)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    bm_buf text = {0};
    size_t ends[3];
    put_signatures(&s, 3);
    scratch_put_text(&s, "sig/ids.txt", "a\n\nb\\q\n");
    list_outputs(&s, false);
    bm_sign_dir *dir = world_open(bm_sign_dir, scratch_at(&s, "sig"), 0);
    cr_expect_eq(bm_sign_dir_ids(dir, 0, 2, &(bm_sign_ids){&text, ends}, &err), BM_OK);
    cr_expect(ends[0] == 1 && ends[1] == 1, "an empty id is an id");
    cr_expect_eq(bm_sign_dir_ids(dir, 2, 1, &(bm_sign_ids){&text, ends}, &err), BM_ERR_FORMAT);
    cr_expect_eq(err.line, 3u);
    bm_buf_reset(&text);
    bm_sign_dir_close(dir);
}

Test(sign_dir, no_documents_are_a_signature_directory_too)
{
    SCRATCH s = scratch_open();
    put_signatures(&s, 0);
    bm_sign_dir *dir = world_open(bm_sign_dir, scratch_at(&s, "sig"), 0);
    cr_expect_eq(bm_sign_dir_docs(dir), 0u);
    bm_sign_dir_close(dir);
}

Test(sign_dir, directories_without_a_manifest_of_ours_are_documents)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "sig");
    cr_expect_not(is_ours(scratch_at(&s, "sig")));
    scratch_put_text(&s, "sig/manifest.json", "{\"tool\":\"another\"}");
    cr_expect_not(is_ours(scratch_at(&s, "sig")));
    cr_expect_not(is_ours(scratch_at(&s, "nowhere")));
}

Test(sign_dir, provenance_that_differs_is_named)
{
    static const char *const changes[][3] = {
        {"\"seed\": 1", "\"seed\": 2", "seed"},
        {"\"hash\": \"xxh3\"", "\"hash\": \"sha1\"", "hash"},
        {"\"normalize\": \"lower\"", "\"normalize\": \"none\"", "normalize"},
        {"\"words\": \"alnum\"", "\"words\": \"space\"", "words"},
        {"\"shingle\": \"word:5\"", "\"shingle\": \"word:4\"", "shingle"},
        {"\"short\": \"whole\"", "\"short\": \"skip\"", "short"},
        {"\"unicode\": \"15.0.0\"", "\"unicode\": \"15.1.0\"", "unicode"},
        {"\"title\"", "\"body\"", NULL}, /* the source of the text may differ */
    };
    SCRATCH one = scratch_open();
    put_signatures(&one, 1);
    bm_sign_dir *a = NULL, *b = NULL;
    cr_assert_eq(bm_sign_dir_open(scratch_at(&one, "sig"), 0, &a, NULL), BM_OK);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        SCRATCH two = scratch_open();
        bm_error err = {0};
        put_signatures(&two, 1);
        change_manifest(&two, changes[i][0], changes[i][1]);
        cr_assert_eq(bm_sign_dir_open(scratch_at(&two, "sig"), 0, &b, NULL), BM_OK);
        const bm_status status = bm_provenance_check("one", bm_sign_dir_provenance(a), "two",
                                                     bm_sign_dir_provenance(b), &err);
        cr_expect_eq(status, changes[i][2] == NULL ? BM_OK : BM_ERR_FORMAT);
        cr_expect(changes[i][2] == NULL || strstr(err.message, changes[i][2]) != NULL, "%s",
                  err.message);
        bm_sign_dir_close(b);
    }
    bm_sign_dir_close(a);
}

Test(sign_dir, a_changed_or_missing_output_fails_the_check_of_digests)
{
    SCRATCH s = scratch_open();
    bm_manifest *manifest = NULL;
    bm_error err = {0};
    put_signatures(&s, 1);
    scratch_put_text(&s, "sig/ids.txt", "abc");
    list_outputs(&s, false);
    char *text = scratch_get(&s, "sig/manifest.json", NULL);
    cr_expect_not_null(
        strstr(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    free(text);
    cr_assert_eq(bm_manifest_open_dir(scratch_at(&s, "sig"), 0, &manifest, &err), BM_OK);
    cr_expect_eq(bm_manifest_check(manifest, scratch_at(&s, "sig"), &err), BM_OK, "%s",
                 err.message);
    scratch_put_text(&s, "sig/ids.txt", "abd");
    cr_expect_eq(bm_manifest_check(manifest, scratch_at(&s, "sig"), &err), BM_ERR_FORMAT);
    cr_expect(strstr(err.message, "SHA-256") != NULL && strstr(err.file, "ids.txt") != NULL);
    cr_assert_eq(unlink(scratch_at(&s, "sig/ids.txt")), 0);
    cr_expect_eq(bm_manifest_check(manifest, scratch_at(&s, "sig"), &err), BM_ERR_FORMAT);
    bm_manifest_close(manifest);
}

/* A damaged file is detected when it is opened, or at the last of its rows. */
Test(sign_dir, files_that_are_not_those_listed_are_refused)
{
    static const char *const names[] = {"ids.txt", "n_shingles.npy", "n_bytes.npy"};
    const uint64_t cells[4] = {1, 2, 3, 4};
    SCRATCH s = scratch_open();
    put_signatures(&s, 4);
    put_wide_array(&s, "sig/n_bytes.npy", 0, cells, 4);
    list_outputs(&s, false);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len;
        char path[32];
        snprintf(path, sizeof path, "sig/%s", names[i]);
        char *bytes = scratch_get(&s, path, &len);
        bytes[len - 3] ^= 1;
        scratch_put(&s, path, bytes, len);
        expect_refused(&s, names[i], "SHA-256");
        bytes[len - 3] ^= 1;
        scratch_put(&s, path, bytes, len);
        free(bytes);
    }
}

Test(sign_dir, rows_that_are_not_those_listed_are_refused_once_all_were_read_in_order)
{
    enum { DOCS = 10 };
    uint32_t words[DOCS * PERMS];
    SCRATCH s = scratch_open();
    bm_error err = {0};
    size_t len;
    put_signatures(&s, DOCS);
    char *bytes = scratch_get(&s, "sig/signatures.npy", &len);
    bytes[BM_NPY_HEADER_BYTES + 5] ^= 4;
    scratch_put(&s, "sig/signatures.npy", bytes, len);
    free(bytes);
    bm_sign_dir *dir = world_open(bm_sign_dir, scratch_at(&s, "sig"), 0);
    for (int round = 0; round < 2; round++) {
        cr_expect_eq(bm_sign_dir_rows(dir, 0, 6, words, &err), BM_OK);
        cr_expect_eq(bm_sign_dir_rows(dir, 6, 4, words, &err), BM_ERR_FORMAT);
        cr_expect(strstr(err.file, "signatures.npy") != NULL, "%s", err.file);
        cr_expect_eq(bm_sign_dir_rows(dir, 6, 4, words, NULL), BM_OK, "not from the first on");
    }
    cr_expect_eq(bm_sign_dir_rows(dir, 0, DOCS, words, NULL), BM_ERR_FORMAT);
    bm_sign_dir_close(dir);
}

Test(sign_dir, a_damaged_manifest_beside_signatures_is_no_directory_of_documents)
{
    SCRATCH s = scratch_open();
    bool is = false;
    put_signatures(&s, 1);
    scratch_put_text(&s, "sig/manifest.json", "");
    cr_expect_eq(bm_sign_dir_is(scratch_at(&s, "sig"), 0, &is, NULL), BM_ERR_FORMAT);
}
