/* SPDX-License-Identifier: Apache-2.0 */
/* From paths to files, formats and compression, by the rules of docs/inputs.md. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "read_records.h"
#include "tests/world/world_calls.h"

static bm_status open_paths(const char *const *paths, size_t n, bm_input_set **set, bm_error *err)
{
    bm_input_options o = test_options(paths, n, BM_FORMAT_AUTO);
    *set = NULL;
    return bm_input_set_open(&o, NULL, 0, NULL, set, err);
}

/* The names of the set's files below dir, joined by spaces. */
static void names(const bm_input_set *set, const char *dir, char *out)
{
    *out = '\0';
    for (size_t i = 0; i < bm_input_set_count(set); i++) {
        const char *name = bm_input_set_source(set, i)->name;
        cr_assert_eq(strncmp(name, dir, strlen(dir)), 0, "%s", name);
        sprintf(out + strlen(out), "%s%s", i > 0 ? " " : "", name + strlen(dir) + 1);
    }
}

Test(input_set, a_directory_is_its_regular_files_in_byte_order_of_their_paths)
{
    SCRATCH dir = scratch_open();
    char list[1000];
    scratch_folder(&dir, "a");
    scratch_folder(&dir, "a/deep");
    scratch_folder(&dir, ".git");
    scratch_folder(&dir, "_build");
    scratch_put_text(&dir, "a/z.txt", "");
    scratch_put_text(&dir, "a/deep/x.txt", "");
    scratch_put_text(&dir, "a.txt", "");
    scratch_put_text(&dir, "a-b.txt", "");
    scratch_put_text(&dir, "B.txt", "");
    scratch_put_text(&dir, "\xC3\xA9.txt", "");
    scratch_put_text(&dir, ".hidden", "");
    scratch_put_text(&dir, "_hidden", "");
    scratch_put_text(&dir, "a/.hidden", "");
    scratch_put_text(&dir, ".git/config", "");
    scratch_put_text(&dir, "_build/out", "");
    cr_assert_eq(symlink("a.txt", scratch_at(&dir, "link.txt")), 0);
    cr_assert_eq(symlink("a", scratch_at(&dir, "link_to_dir")), 0);
    cr_assert_eq(symlink("nowhere", scratch_at(&dir, "dangling")), 0);
    cr_assert_eq(mkfifo(scratch_at(&dir, "pipe"), 0600), 0);
    for (int slash = 0; slash < 2; slash++) {
        const char *paths[] = {slash ? scratch_at(&dir, "") : dir.root};
        bm_input_set *set;
        cr_assert_eq(open_paths(paths, 1, &set, NULL), BM_OK);
        names(set, dir.root, list);
        /* '-' 2D, '.' 2E, '/' 2F; capitals before small letters */
        cr_assert_str_eq(list, "B.txt a-b.txt a.txt a/deep/x.txt a/z.txt link.txt \xC3\xA9.txt");
        cr_assert_eq(bm_input_set_hidden(set), 5);
        cr_assert_eq(bm_input_set_format(set), BM_FORMAT_FILES);
        bm_input_set_close(set);
    }
}

Test(input_set, paths_stand_in_the_order_given_and_a_hidden_name_can_be_given)
{
    SCRATCH dir = scratch_open();
    char list[1000];
    scratch_put_text(&dir, "b", "1");
    scratch_put_text(&dir, ".a", "22");
    const char *b = scratch_put(&dir, "b", "1", 1), *a = scratch_put(&dir, ".a", "22", 2);
    const char *paths[] = {b, a};
    bm_input_set *set;
    cr_assert_eq(open_paths(paths, 2, &set, NULL), BM_OK);
    names(set, dir.root, list);
    cr_assert_str_eq(list, "b .a");
    cr_assert_eq(bm_input_set_total_bytes(set), 3);
    bm_input_set_close(set);
}

Test(input_set, files_from_reads_a_path_a_line_or_a_path_a_nul)
{
    SCRATCH dir = scratch_open();
    char text[3000], got[1000];
    const char *a = scratch_put(&dir, "with\nnewline", "", 0), *b = scratch_put(&dir, "b", "", 0);
    size_t n = (size_t)sprintf(text, "%s%c%s", a, 0, b); /* no NUL at the end */
    const char *nul = scratch_put(&dir, "nul", text, n);
    n = (size_t)sprintf(text, "%s\n\n%s\n", b, dir.root);
    const char *lines = scratch_put(&dir, ".lines", text, n);
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    o.files_from = nul;
    o.files_from_nul = true;
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    names(set, dir.root, got);
    cr_assert_str_eq(got, "with\nnewline b");
    bm_input_set_close(set);
    o.files_from = lines;
    o.files_from_nul = false;
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, NULL), BM_OK);
    names(set, dir.root, got);
    cr_assert_str_eq(got, "b b nul with\nnewline");
    bm_input_set_close(set);
    bm_error err = {0};
    n = (size_t)sprintf(text, "%s\n%s%c%s\n", b, b, 0, b);
    const char *mixed = scratch_put(&dir, "mixed", text, n);
    o.files_from = mixed;
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, &err), BM_ERR_INPUT);
    cr_assert_str_eq(err.file, mixed);
    cr_assert_eq(err.line, 2);
}

Test(input_set, no_input_is_a_usage_error_and_no_files_an_input_error)
{
    SCRATCH dir = scratch_open();
    bm_input_set *set;
    bm_error err = {0};
    cr_assert_eq(open_paths(NULL, 0, &set, &err), BM_ERR_USAGE);
    scratch_put_text(&dir, ".only_hidden", "");
    const char *paths[] = {dir.root};
    cr_assert_eq(open_paths(paths, 1, &set, &err), BM_ERR_INPUT);
    cr_assert_str_eq(err.file, dir.root);
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    const char *empty = scratch_put(&dir, "list", "", 0);
    o.files_from = empty;
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, &err), BM_ERR_INPUT);
}

Test(input_set, what_cannot_be_read_is_named)
{
    SCRATCH dir = scratch_open();
    char path[1024];
    snprintf(path, sizeof path, "%s/missing", dir.root);
    const char *paths[] = {path};
    bm_input_set *set;
    bm_error err = {0};
    cr_assert_eq(open_paths(paths, 1, &set, &err), BM_ERR_IO);
    cr_assert_str_eq(err.file, path);
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    o.files_from = path;
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, &err), BM_ERR_IO);
    if (geteuid() != 0) { /* root reads everything */
        const char *closed = scratch_put(&dir, "closed", "x", 1);
        chmod(closed, 0);
        paths[0] = closed;
        err = (bm_error){0};
        cr_assert_eq(open_paths(paths, 1, &set, &err), BM_ERR_IO);
        cr_assert_str_eq(err.file, closed);
    }
}

Test(input_set, format_follows_the_name_without_its_compression)
{
    static const struct {
        const char *name, *head;
        bm_format format;
        bm_compression compression;
    } cases[] = {
        {"a.jsonl", "{}", BM_FORMAT_JSONL, BM_COMPRESSION_NONE},
        {"a.ndjson", "{}", BM_FORMAT_JSONL, BM_COMPRESSION_NONE},
        {"a.json", "\x1F\x8B\x08", BM_FORMAT_JSONL, BM_COMPRESSION_GZ}, /* first bytes decide */
        {"a.jsonl.gz", "\x1F\x8B\x08", BM_FORMAT_JSONL, BM_COMPRESSION_GZ},
        {"a.tsv.zst", "\x28\xB5\x2F\xFD", BM_FORMAT_TSV, BM_COMPRESSION_ZST},
        {"b.tsv.zst", "\x50\x2A\x4D\x18", BM_FORMAT_TSV, BM_COMPRESSION_ZST}, /* skippable frame */
        {"a.csv", "", BM_FORMAT_CSV, BM_COMPRESSION_NONE},
        {"a.txt", "", BM_FORMAT_FILES, BM_COMPRESSION_NONE},
        {"jsonl", "", BM_FORMAT_FILES, BM_COMPRESSION_NONE},
        {"a.zst", "\x28\xB5\x2F\xFD", BM_FORMAT_FILES, BM_COMPRESSION_ZST},
        {"a.tsv.xz",
         "\xFD"
         "7zXZ\0",
         BM_FORMAT_TSV, BM_COMPRESSION_XZ},
        {"a.csv.bz2", "BZh91AY&SY", BM_FORMAT_CSV, BM_COMPRESSION_BZ2},
        {"a.jsonl.lz4", "\x04\x22\x4D\x18", BM_FORMAT_JSONL, BM_COMPRESSION_LZ4},
        {"skip.jsonl.lz4", "\x50\x2A\x4D\x18", BM_FORMAT_JSONL, BM_COMPRESSION_LZ4},
        {"A.TSV.GZ", "\x1F\x8B\x08", BM_FORMAT_TSV, BM_COMPRESSION_GZ},
        {"a.JSONL", "{}", BM_FORMAT_JSONL, BM_COMPRESSION_NONE},
        {"short", "\x1F", BM_FORMAT_FILES, BM_COMPRESSION_NONE},
    };
    SCRATCH dir = scratch_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path =
            scratch_put(&dir, cases[i].name, cases[i].head,
                        strlen(cases[i].head) + (cases[i].compression == BM_COMPRESSION_XZ));
        const char *paths[] = {path};
        bm_input_set *set;
        cr_assert_eq(open_paths(paths, 1, &set, NULL), BM_OK, "%s", cases[i].name);
        cr_assert_eq(bm_input_set_format(set), cases[i].format, "%s", cases[i].name);
        cr_assert_eq(bm_input_set_source(set, 0)->compression, cases[i].compression);
        bm_input_set_close(set);
    }
}

Test(input_set, a_name_in_gz_or_zst_over_other_bytes_is_an_input_error)
{
    static const char *const names_[] = {"a.gz", "a.jsonl.gz", "a.zst", "b.zst", "empty.gz"};
    static const char *const heads[] = {"text", "\x28\xB5\x2F\xFD", "{}", "\x1F\x8B\x08", ""};
    SCRATCH dir = scratch_open();
    for (size_t i = 0; i < 5; i++) {
        const char *path = scratch_put(&dir, names_[i], heads[i], strlen(heads[i]));
        const char *paths[] = {path};
        bm_input_set *set;
        bm_error err = {0};
        cr_assert_eq(open_paths(paths, 1, &set, &err), BM_ERR_INPUT, "%s", names_[i]);
        cr_assert_str_eq(err.file, path);
    }
}

Test(input_set, formats_that_differ_are_refused_unless_one_is_given)
{
    SCRATCH dir = scratch_open();
    const char *a = scratch_put(&dir, "a.jsonl", "", 0),
               *b = scratch_put(&dir, "b.tsv.gz", "\x1F\x8B\x08", 3);
    const char *paths[] = {a, b};
    bm_input_set *set;
    bm_error err = {0};
    cr_assert_eq(open_paths(paths, 2, &set, &err), BM_ERR_USAGE);
    cr_assert(strstr(err.message, a) && strstr(err.message, b), "%s", err.message);
    cr_assert(strstr(err.message, "jsonl") && strstr(err.message, "tsv"), "%s", err.message);
    bm_input_options o = test_options(paths, 2, BM_FORMAT_LINES);
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, NULL), BM_OK);
    cr_assert_eq(bm_input_set_format(set), BM_FORMAT_LINES);
    bm_input_set_close(set);
}

Test(input_set, tables_are_told_by_their_bytes_and_names_keep_their_promise)
{
    static const struct {
        const char *name, *head;
        size_t len;
        bm_format asked, found;
        const char *refused;
    } cases[] = {{"x.jsonl", "PAR1\x15\x04", 6, BM_FORMAT_AUTO, BM_FORMAT_PARQUET, NULL},
                 {"x.parquet", "PAR1\x15\x04", 6, BM_FORMAT_PARQUET, BM_FORMAT_PARQUET, NULL},
                 {"x.arrow", "ARROW1\0\0", 8, BM_FORMAT_AUTO, BM_FORMAT_ARROW, NULL},
                 {"x.parquet", "{}\n", 3, BM_FORMAT_AUTO, BM_FORMAT_AUTO, "parquet"},
                 {"x.jsonl", "{}\n", 3, BM_FORMAT_PARQUET, BM_FORMAT_AUTO, "parquet"},
                 {"x.jsonl", "PAR1\x15\x04", 6, BM_FORMAT_JSONL, BM_FORMAT_AUTO, "parquet"},
                 {"x.parquet", "ARROW1\0\0", 8, BM_FORMAT_AUTO, BM_FORMAT_AUTO, "parquet"}};
    SCRATCH dir = scratch_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = scratch_put(&dir, cases[i].name, cases[i].head, cases[i].len);
        const char *paths[] = {path};
        bm_input_options o = test_options(paths, 1, cases[i].asked);
        bm_input_set *set = NULL;
        bm_error err = {0};
        const bm_status status = bm_input_set_open(&o, NULL, 0, NULL, &set, &err);
        cr_assert_eq(status, cases[i].refused == NULL ? BM_OK : BM_ERR_INPUT, "%zu: %s", i,
                     err.message);
        if (status == BM_OK)
            cr_expect_eq(bm_input_set_format(set), cases[i].found, "%zu", i);
        else
            cr_expect(strstr(err.message, cases[i].refused), "%s", err.message);
        bm_input_set_close(set);
        unlink(path);
    }
}

Test(input_set, formats_that_are_not_read_are_refused_with_a_hint)
{
    char tar[512] = "name";
    memcpy(tar + 257, "ustar", 6);
    const struct {
        const char *head;
        size_t len;
        const char *what;
    } cases[] = {
        {"\x02\x21\x4C\x18", 4, "old format"},
        {"PK\x03\x04", 4, "zip"},
        {tar, 512, "tar"},
    };
    SCRATCH dir = scratch_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = scratch_put(&dir, "x.jsonl", cases[i].head, cases[i].len);
        const char *paths[] = {path};
        bm_input_set *set;
        bm_error err = {0};
        cr_assert_eq(open_paths(paths, 1, &set, &err), BM_ERR_INPUT, "%s", cases[i].what);
        cr_assert(strstr(err.message, cases[i].what), "%s", err.message);
        cr_assert_str_eq(err.file, path);
    }
    /* "BZh" alone is text, not bzip2 */
    const char *path = scratch_put(&dir, "bz.txt", "BZhello world", 13);
    const char *paths[] = {path};
    bm_input_set *set;
    cr_assert_eq(open_paths(paths, 1, &set, NULL), BM_OK);
    bm_input_set_close(set);
}

Test(input_set, hashes_are_listed_and_not_looked_at)
{
    SCRATCH dir = scratch_open();
    const char *path = scratch_put(&dir, "hashes.gz", "PAR1", 4);
    const char *paths[] = {path};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_HASHES);
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    cr_assert_eq(bm_input_set_count(set), 1);
    bm_input_set_close(set);
}

Test(input_set, standard_input_can_be_named_once)
{
    const char *paths[] = {"-", "-"};
    bm_input_set *set;
    cr_assert_eq(open_paths(paths, 2, &set, NULL), BM_ERR_USAGE);
    bm_input_options o = test_options(paths, 1, BM_FORMAT_AUTO);
    o.files_from = "-";
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, NULL), BM_ERR_USAGE);
}

Test(input_set, a_table_without_header_takes_numbers_only)
{
    SCRATCH dir = scratch_open();
    const char *path = scratch_put(&dir, "a.tsv", "1\t2\n", 4);
    const char *paths[] = {path}, *two[] = {"2"}, *name[] = {"body"}, *zero[] = {"0"};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_AUTO);
    bm_input_set *set;
    bm_error err = {0};
    o.header = BM_HEADER_NO;
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, &err),
                 BM_ERR_USAGE); /* "text" is a name */
    o.n_text_fields = 1;
    o.text_fields = name;
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, &err), BM_ERR_USAGE);
    o.text_fields = zero;
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, &err), BM_ERR_USAGE);
    o.text_fields = two;
    o.id_field = "id";
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, &err), BM_ERR_USAGE);
    o.id_field = "none";
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, &err), BM_OK);
    bm_input_set_close(set);
}
