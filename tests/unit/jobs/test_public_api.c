/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions: each is named in some test, so that no new one is forgotten; and functions
 * without options (bandmill/status.h, version.h, words.h) get invalid arguments. Calls with options
 * are tested in test_public_api_job.c, test_public_api_calls.c and tests/unit/inmem. */
#include "tests/unit/jobs/public_api.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

/* --- every public function is named in a test --- */

typedef struct text {
    char *data;
    size_t len;
} text;

static void append_file(text *to, const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s", BM_SOURCE_DIR, folder, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    for (size_t n = 1; n > 0; to->len += n) {
        to->data = realloc(to->data, to->len + 4097);
        cr_assert_not_null(to->data);
        n = fread(to->data + to->len, 1, 4096, file);
    }
    to->data[to->len] = '\0';
    fclose(file);
}

/* Appends all files of a folder whose names have this begin and end. */
static void append_folder(text *all, const char *folder, const char *begin, const char *end)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", BM_SOURCE_DIR, folder);
    DIR *dir = opendir(path);
    cr_assert_not_null(dir, "%s", path);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        const size_t len = strlen(e->d_name);
        if (len >= strlen(begin) + strlen(end) && strncmp(e->d_name, begin, strlen(begin)) == 0 &&
            strcmp(e->d_name + len - strlen(end), end) == 0)
            append_file(all, folder, e->d_name);
    }
    closedir(dir);
    cr_assert_gt(all->len, 0, "%s", path);
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the text has the name as a whole word. */
static bool names(const text *where, const char *name, size_t len)
{
    for (const char *at = where->data; (at = strstr(at, name)) != NULL; at++)
        if ((at == where->data || !is_of_name(at[-1])) && !is_of_name(at[len]))
            return true;
    return false;
}

/* The word before the first bracket after `at`. */
static void name_behind(const char *at, char *name, size_t cap)
{
    const char *end = strchr(at, '(');
    cr_assert_not_null(end);
    while (end[-1] == ' ')
        end--;
    const char *begin = end;
    while (is_of_name(begin[-1]))
        begin--;
    cr_assert_lt((size_t)(end - begin), cap);
    memcpy(name, begin, (size_t)(end - begin));
    name[end - begin] = '\0';
}

/* For a function X_init_sized: whether a test names X, from which a macro makes the full name. */
static bool is_init_named(const text *where, const char *name)
{
    static const char end[] = "_init_sized";
    char type[128];
    const size_t len = strlen(name);
    if (len < sizeof end || strcmp(name + len - (sizeof end - 1), end) != 0)
        return false;
    memcpy(type, name, len - (sizeof end - 1));
    type[len - (sizeof end - 1)] = '\0';
    return names(where, type, strlen(type));
}

/* Functions of sketch.h and of an open index may be named in the tests of other rooms. */
Test(public_api, a_test_names_every_function)
{
    text headers = {0}, tests = {0};
    size_t n = 0;
    append_folder(&headers, "include/bandmill", "", ".h");
    append_folder(&tests, "tests/unit/jobs", "test_public_api", ".c");
    append_folder(&tests, "tests/unit/inmem", "test_", ".c");
    append_folder(&tests, "tests/unit/distributed", "test_", ".c");
    append_folder(&tests, "tests/unit/index", "test_", ".c");
    append_folder(&tests, "tests/unit/sketch", "test_band_keys", ".c");
    append_folder(&tests, "tests/unit/model", "test_scheme_facts", ".c");
    append_folder(&tests, "tests/unit/lsh", "test_band_", ".c");
    for (const char *at = headers.data; (at = strstr(at, "\nBM_API ")) != NULL; at++) {
        char name[128];
        name_behind(at, name, sizeof name);
        cr_expect(names(&tests, name, strlen(name)) || is_init_named(&tests, name),
                  "%s is in no test (tests/unit/jobs/test_public_api*.c, tests/unit/inmem)", name);
        n++;
    }
    cr_expect_geq(n, 40, "%zu functions found: is BM_API still at the beginning of a line?", n);
    free(headers.data);
    free(tests.data);
}

/* --- status.h --- */

/* The values are part of the interface and must never change; they are repeated here by hand. */
Test(public_api, statuses_have_their_values_for_ever)
{
    static const struct {
        bm_status status;
        int value, exit_code;
    } wanted[] = {{BM_OK, 0, 0},
                  {BM_NOT_FOUND, 1, 1},
                  {BM_ERR_USAGE, 2, 2},
                  {BM_ERR_INPUT, 3, 3},
                  {BM_ERR_IO, 4, 4},
                  {BM_ERR_DEVICE, 5, 5},
                  {BM_ERR_NOMEM, 6, 6},
                  {BM_ERR_FORMAT, 7, 7},
                  {BM_ERR_SELFTEST, 8, 8},
                  {BM_ERR_LOCKED, 9, 9},
                  {BM_ERR_CANCELLED, 10, 130},
                  {BM_ERR_PIPE, 11, 141},
                  {BM_ERR_UNSUPPORTED, 12, 2},
                  {BM_ERR_INTERNAL, 13, 70},
                  {BM_ERR_BUSY, 14, 9}};
    for (size_t i = 0; i < N_OF(wanted); i++) {
        cr_expect_eq((int)wanted[i].status, wanted[i].value);
        cr_expect_eq(bm_status_exit_code(wanted[i].status), wanted[i].exit_code);
        cr_expect_neq(bm_status_string(wanted[i].status)[0], '\0');
        cr_expect_str_neq(bm_status_string(wanted[i].status), "unknown status");
    }
    static const unsigned wrong[] = {N_OF(wanted), N_OF(wanted) + 1, 4000, (unsigned)-1};
    for (size_t i = 0; i < N_OF(wrong); i++) {
        cr_expect_str_eq(bm_status_string((bm_status)wrong[i]), "unknown status");
        cr_expect_eq(bm_status_exit_code((bm_status)wrong[i]), 70);
    }
}

Test(public_api, an_error_is_written_into_what_room_there_is)
{
    const bm_error err = {.file = "f", .line = 3, .message = "words"};
    char out[16];
    memset(out, 'x', sizeof out);
    bm_error_format(&err, out, 0);
    cr_expect_eq(out[0], 'x');
    bm_error_format(&err, NULL, 16);
    bm_error_format(&err, out, 1);
    cr_expect_str_eq(out, "");
    bm_error_format(&err, out, 6);
    cr_expect_str_eq(out, "f:3: ");
    bm_error_format(&err, out, sizeof out);
    cr_expect_str_eq(out, "f:3: words");
    bm_error_format(NULL, out, sizeof out);
    cr_expect_str_eq(out, "");
    bm_string_free(NULL);
}

/* --- version.h --- */

/* tests/unit/base/test_address.c lists what is hidden. */
Test(public_api, texts_hide_what_addresses_in_them_hold)
{
    char message[] = "no file https://me:secret@host/a.jsonl?key=1 (what?)";
    bm_text_hide(message);
    cr_expect_str_eq(message, "no file https://host/a.jsonl (what?)");
}

/* tests/unit/base/test_plain_text.c lists the hidden characters. */
Test(public_api, text_is_walked_by_characters)
{
    const char sample[] = "a\xC3\xA9\x1B\xFF";
    uint32_t code = 0;
    bool hidden = true;
    cr_expect_eq(bm_text_next(sample, 5, &code, &hidden), 1);
    cr_expect(code == 'a' && !hidden);
    cr_expect_eq(bm_text_next(sample + 1, 4, &code, &hidden), 2);
    cr_expect(code == 0xE9 && !hidden);
    cr_expect_eq(bm_text_next(sample + 3, 2, &code, &hidden), 1);
    cr_expect(code == 0x1B && hidden);
    cr_expect_eq(bm_text_next(sample + 4, 1, &code, &hidden), 1);
    cr_expect(code == BM_NO_CHARACTER && hidden);
}

Test(public_api, the_version_is_that_of_the_headers)
{
    const bm_version_info *info = bm_version();
    unsigned part[3] = {0};
    cr_assert_eq(sscanf(info->version, "%u.%u.%u", &part[0], &part[1], &part[2]), 3);
    cr_expect_eq(bm_version_number(), part[0] * 10000 + part[1] * 100 + part[2]);
    cr_expect_eq(bm_version_number(), BM_VERSION_NUMBER);
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%d.%d.%d", BM_VERSION_MAJOR, BM_VERSION_MINOR,
             BM_VERSION_PATCH);
    cr_expect_str_eq(info->version, wanted);
    cr_expect(info->compiler[0] != '\0' && info->kernels[0] != '\0' && info->unicode[0] != '\0');
    const char *tables = bm_version_tables(); /* NULL: nothing reads tables */
    cr_expect(tables == NULL || tables[0] != '\0');
    cr_expect_eq(tables, bm_version_tables());
    cr_expect(!bm_version_reads_address("file:///a"));
    cr_expect(!bm_version_reads_address("a/b"));
    cr_expect_eq(bm_version_reads_address("hf://a/b/c"), bm_version_reads_address("HTTPS://a/b"));
}

/* --- words.h --- */

Test(public_api, options_and_values_that_there_are_not_have_no_word)
{
    static const unsigned wrong[] = {BM_N_OPTIONS, BM_N_OPTIONS + 1, 4000, (unsigned)-1};
    unsigned value = 99;
    for (size_t i = 0; i < N_OF(wrong); i++) {
        cr_expect_null(bm_option_name((bm_option)wrong[i], 0));
        cr_expect_not(bm_option_value((bm_option)wrong[i], "first", 5, &value));
        cr_expect_null(bm_option_name(BM_OPTION_KEEP, BM_KEEP_NONE + 1 + i));
    }
    cr_expect_null(bm_option_name(BM_OPTION_KEEP, 4000));
    cr_expect_null(bm_option_name(BM_OPTION_KEEP, (unsigned)-1));
    cr_expect_not(bm_option_value(BM_OPTION_KEEP, NULL, 5, &value));
    cr_expect_not(bm_option_value(BM_OPTION_KEEP, "first", 0, &value));
    cr_expect_not(bm_option_value(BM_OPTION_KEEP, "first", 5, NULL));
    cr_expect_eq(value, 99);
    cr_expect(bm_option_value(BM_OPTION_KEEP, "first and more", 5, &value));
    cr_expect_eq(value, (unsigned)BM_KEEP_FIRST);
}
