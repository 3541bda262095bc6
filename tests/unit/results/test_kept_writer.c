/* SPDX-License-Identifier: Apache-2.0 */
/* test_kept_writer.c -- names and bytes of kept files. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"
#include "input/tables.h"
#include "results/kept_writer.c"
#include "tests/world/scratch.h"
#include "input/input_set.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_text.h"

/* --- names --- */

static void expect_name(const char *name, bm_compression compression, bm_format format,
                        bm_records kept, const char *expected)
{
    bm_kept_source source = {name, compression};
    char *got = NULL;
    cr_assert_eq(names_of_kept(&source, 1,
                               &(bm_kept_naming){.format = format, .kept = kept, .cwd = "/"}, &got,
                               NULL),
                 BM_OK);
    cr_expect_str_eq(got, expected);
    bm_free(got);
}

Test(kept_names, one_input_is_kept_with_its_own_ending)
{
    const bm_compression none = BM_COMPRESSION_NONE, gz = BM_COMPRESSION_GZ,
                         zst = BM_COMPRESSION_ZST;
    expect_name("a.jsonl", none, BM_FORMAT_JSONL, BM_RECORDS_SAME, "kept.jsonl");
    expect_name("../d.x/a.b.ndjson", none, BM_FORMAT_JSONL, BM_RECORDS_SAME, "kept.ndjson");
    expect_name("a.jsonl.zst", zst, BM_FORMAT_JSONL, BM_RECORDS_SAME, "kept.jsonl.zst");
    expect_name("a.jsonl.zst", zst, BM_FORMAT_JSONL, BM_RECORDS_PLAIN, "kept.jsonl");
    expect_name("a.jsonl.zst", zst, BM_FORMAT_JSONL, BM_RECORDS_GZ, "kept.jsonl.gz");
    expect_name("a.tsv.gz", gz, BM_FORMAT_TSV, BM_RECORDS_GZ, "kept.tsv.gz");
    expect_name("a.tsv.gz", gz, BM_FORMAT_TSV, BM_RECORDS_ZST, "kept.tsv.zst");
    expect_name("a.tsv.XZ", BM_COMPRESSION_XZ, BM_FORMAT_TSV, BM_RECORDS_SAME, "kept.tsv.XZ");
    expect_name("a.tsv.xz", BM_COMPRESSION_XZ, BM_FORMAT_TSV, BM_RECORDS_GZ, "kept.tsv.gz");
    expect_name("a.tsv.bz2", BM_COMPRESSION_BZ2, BM_FORMAT_TSV, BM_RECORDS_PLAIN, "kept.tsv");
    expect_name("a.lz4", BM_COMPRESSION_LZ4, BM_FORMAT_JSONL, BM_RECORDS_SAME, "kept.jsonl.lz4");
    expect_name("-", BM_COMPRESSION_BZ2, BM_FORMAT_JSONL, BM_RECORDS_SAME, "kept.jsonl.bz2");
    expect_name("a.csv", none, BM_FORMAT_CSV, BM_RECORDS_ZST, "kept.csv.zst");
    expect_name("a.log", none, BM_FORMAT_LINES, BM_RECORDS_SAME, "kept.log");
    expect_name("a.jsonl", gz, BM_FORMAT_JSONL, BM_RECORDS_SAME, "kept.jsonl");
}

Test(kept_names, without_an_ending_the_formats_own_is_taken)
{
    const bm_compression none = BM_COMPRESSION_NONE, gz = BM_COMPRESSION_GZ;
    expect_name("-", none, BM_FORMAT_JSONL, BM_RECORDS_SAME, "kept.jsonl");
    expect_name("-", gz, BM_FORMAT_JSONL, BM_RECORDS_SAME, "kept.jsonl.gz");
    expect_name("-", gz, BM_FORMAT_TSV, BM_RECORDS_PLAIN, "kept.tsv");
    expect_name("x.d/README", none, BM_FORMAT_LINES, BM_RECORDS_SAME, "kept.txt");
    expect_name(".hidden", none, BM_FORMAT_CSV, BM_RECORDS_SAME, "kept.csv");
    expect_name("dot.", none, BM_FORMAT_TSV, BM_RECORDS_SAME, "kept.tsv");
    expect_name("data.gz", gz, BM_FORMAT_JSONL, BM_RECORDS_SAME, "kept.jsonl.gz");
    expect_name("data.gz", gz, BM_FORMAT_JSONL, BM_RECORDS_PLAIN, "kept.jsonl");
    expect_name(".gz", none, BM_FORMAT_LINES, BM_RECORDS_SAME, "kept.txt");
}

static void expect_names(size_t n, const char *const *inputs, bm_records kept, const char *cwd,
                         const char *const *expected)
{
    bm_kept_source sources[8];
    char *names[8];
    bm_error err = {0};
    for (size_t i = 0; i < n; i++)
        sources[i] = (bm_kept_source){inputs[i], BM_COMPRESSION_NONE};
    cr_assert_eq(
        names_of_kept(sources, n,
                      &(bm_kept_naming){.format = BM_FORMAT_JSONL, .kept = kept, .cwd = cwd}, names,
                      &err),
        BM_OK, "%s", err.message);
    for (size_t i = 0; i < n; i++) {
        cr_expect_str_eq(names[i], expected[i]);
        bm_free(names[i]);
    }
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__})

static void expect_written(bm_written written, const char *input, bm_format format, bm_records kept,
                           const char *expected)
{
    const bm_kept_source source = {input, BM_COMPRESSION_NONE};
    const bm_kept_naming naming = {.format = format, .kept = kept, .cwd = "/", .written = written};
    char *got = NULL;
    cr_assert_eq(names_of_kept(&source, 1, &naming, &got, NULL), BM_OK);
    cr_expect_str_eq(got, expected, "%s", input);
    bm_free(got);
}

static void expect_removed(const char *input, bm_format format, bm_records kept,
                           const char *expected)
{
    expect_written(BM_WRITTEN_REMOVED, input, format, kept, expected);
}

Test(kept_names, removed_records_leave_the_name_of_the_table_of_removed_documents)
{
    expect_removed("x/a.jsonl", BM_FORMAT_JSONL, BM_RECORDS_SAME, "removed.jsonl");
    expect_removed("x/a.jsonl", BM_FORMAT_JSONL, BM_RECORDS_ZST, "removed.jsonl.zst");
    expect_removed("x/a.tsv", BM_FORMAT_TSV, BM_RECORDS_GZ, "removed.tsv.gz");
    expect_removed("x/a.tsv", BM_FORMAT_TSV, BM_RECORDS_SAME, "removed/a.tsv");
    expect_removed("x/a.tsv.gz", BM_FORMAT_TSV, BM_RECORDS_PLAIN, "removed/a.tsv");
    expect_removed("a.tsv", BM_FORMAT_LINES, BM_RECORDS_SAME, "removed/a.tsv");
    expect_removed("x/rows", BM_FORMAT_TSV, BM_RECORDS_SAME, "removed/rows");
    expect_removed("-", BM_FORMAT_TSV, BM_RECORDS_SAME, "removed/stdin.tsv");
}

Test(kept_names, records_with_their_groups_are_called_annotated)
{
    expect_written(BM_WRITTEN_ANNOTATED, "x/a.jsonl", BM_FORMAT_JSONL, BM_RECORDS_GZ,
                   "annotated.jsonl.gz");
    expect_written(BM_WRITTEN_ANNOTATED, "x/a.tsv", BM_FORMAT_TSV, BM_RECORDS_SAME,
                   "annotated.tsv");
    expect_written(BM_WRITTEN_ANNOTATED, "-", BM_FORMAT_CSV, BM_RECORDS_SAME, "annotated.csv");
}

Test(kept_names, several_inputs_lie_below_their_deepest_common_directory)
{
    expect_names(2, NAMES("data/a.jsonl", "data/b.jsonl"), BM_RECORDS_SAME, "/w",
                 NAMES("kept/a.jsonl", "kept/b.jsonl"));
    expect_names(2, NAMES("data/x/a.jsonl", "data/y/a.jsonl"), BM_RECORDS_SAME, "/w",
                 NAMES("kept/x/a.jsonl", "kept/y/a.jsonl"));
    expect_names(3, NAMES("data/x/a.jsonl", "data/x/b.jsonl", "data/c.jsonl"), BM_RECORDS_SAME,
                 "/w", NAMES("kept/x/a.jsonl", "kept/x/b.jsonl", "kept/c.jsonl"));
    expect_names(2, NAMES("data/xa/1", "data/xb/2"), BM_RECORDS_SAME, "/w",
                 NAMES("kept/xa/1", "kept/xb/2"));
    expect_names(2, NAMES("a.jsonl", "./sub//b.jsonl"), BM_RECORDS_SAME, "/w",
                 NAMES("kept/a.jsonl", "kept/sub/b.jsonl"));
    expect_names(2, NAMES("-", "data/b.jsonl"), BM_RECORDS_SAME, "/w",
                 NAMES("kept/stdin.jsonl", "kept/b.jsonl"));
}

Test(kept_names, absolute_paths_and_dots_stay_below_kept)
{
    expect_names(2, NAMES("/etc/a", "/var/b"), BM_RECORDS_SAME, "/w",
                 NAMES("kept/etc/a", "kept/var/b"));
    expect_names(2, NAMES("../../etc/a", "b"), BM_RECORDS_SAME, "/home/me/w",
                 NAMES("kept/etc/a", "kept/me/w/b"));
    expect_names(2, NAMES("../../../../../a", "../b"), BM_RECORDS_SAME, "/x/y",
                 NAMES("kept/a", "kept/x/b"));
    expect_names(2, NAMES("q/../../a", "b"), BM_RECORDS_SAME, "/x/y", NAMES("kept/a", "kept/y/b"));
    expect_names(2, NAMES("...", "..a"), BM_RECORDS_SAME, "/x", NAMES("kept/...", "kept/..a"));
}

Test(kept_names, paths_and_addresses_have_no_directory_in_common)
{
    expect_names(3, NAMES("/data/x/a.jsonl", "/data/y/b.jsonl", "https://h/p/a.jsonl"),
                 BM_RECORDS_SAME, "/home/me",
                 NAMES("kept/x/a.jsonl", "kept/y/b.jsonl", "kept/https:/h/p/a.jsonl"));
    expect_names(3, NAMES("s3://b/c/a.jsonl", "in.jsonl", "s3://b/c/d.jsonl"), BM_RECORDS_SAME,
                 "/home/me",
                 NAMES("kept/s3:/b/c/a.jsonl", "kept/in.jsonl", "kept/s3:/b/c/d.jsonl"));
    expect_names(3, NAMES("s3://b/c/a.jsonl", "-", "s3://b/c/e/d.jsonl"), BM_RECORDS_SAME,
                 "/home/me", NAMES("kept/a.jsonl", "kept/stdin.jsonl", "kept/e/d.jsonl"));
}

Test(kept_names, compression_changes_the_ending_of_each)
{
    expect_names(3, NAMES("a.jsonl.gz", "b.jsonl", "c.zst"), BM_RECORDS_ZST, "/",
                 NAMES("kept/a.jsonl.zst", "kept/b.jsonl.zst", "kept/c.zst"));
    expect_names(3, NAMES("a.jsonl.gz", "b.jsonl", "c.zst"), BM_RECORDS_PLAIN, "/",
                 NAMES("kept/a.jsonl", "kept/b.jsonl", "kept/c"));
    expect_names(3, NAMES("a.jsonl.gz", "b.jsonl", "c.zst"), BM_RECORDS_SAME, "/",
                 NAMES("kept/a.jsonl.gz", "kept/b.jsonl", "kept/c.zst"));
}

Test(kept_names, two_inputs_of_one_name_are_refused)
{
    static const struct {
        const char *a, *b;
        bm_records kept;
    } cases[] = {
        {"a.jsonl", "a.jsonl.gz", BM_RECORDS_PLAIN}, {"a.jsonl.zst", "a.jsonl.gz", BM_RECORDS_GZ},
        {"a.jsonl", "a.jsonl", BM_RECORDS_SAME},     {"a.jsonl", "./x/../a.jsonl", BM_RECORDS_SAME},
        {"stdin.jsonl", "-", BM_RECORDS_SAME},       {"a.gz", "a/b", BM_RECORDS_PLAIN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bm_kept_source sources[3] = {{cases[i].a, BM_COMPRESSION_NONE},
                                     {"a.b", BM_COMPRESSION_NONE},
                                     {cases[i].b, BM_COMPRESSION_NONE}};
        char *names[3];
        bm_error err = {0};
        cr_expect_eq(
            names_of_kept(
                sources, 3,
                &(bm_kept_naming){.format = BM_FORMAT_JSONL, .kept = cases[i].kept, .cwd = "/w"},
                names, &err),
            BM_ERR_USAGE, "%s and %s", cases[i].a, cases[i].b);
        cr_expect(strstr(err.message, "kept/") != NULL, "%s", err.message);
        cr_expect(names[0] == NULL && names[1] == NULL && names[2] == NULL);
    }
}

/* --- bytes --- */

static bm_input_set *open_set(const char *const *paths, size_t n, bm_format format)
{
    static const char *const fields[] = {"text"};
    bm_input_options options = {.paths = paths,
                                .n_paths = n,
                                .format = format,
                                .text_fields = fields,
                                .n_text_fields = 1,
                                .header = BM_HEADER_BY_FIELDS,
                                .max_errors = UINT64_MAX,
                                .max_doc_bytes = 1u << 30};
    bm_input_set *set = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_input_set_open(&options, NULL, 0, NULL, &set, &err), BM_OK, "%s: %s", err.file,
                 err.message);
    return set;
}

Test(kept_writer, bytes_are_kept_as_they_came_even_without_a_last_newline)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "a.jsonl", "{\"text\":\"x\"}\r\n{\"text\":\"y\"}");
    const char *path = scratch_at(&s, "a.jsonl");
    bm_input_set *set = open_set(&path, 1, BM_FORMAT_AUTO);
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    bm_kept_writer *writer =
        world_open(bm_kept_writer, &(bm_kept_cfg){.dir = dir, .set = set, .kept = BM_RECORDS_SAME});
    cr_expect_not(bm_kept_writer_wants_ids(writer));
    cr_expect_eq(bm_kept_writer_write(writer, world_str("too early"), NULL), BM_ERR_INTERNAL);
    cr_assert_eq(bm_kept_writer_begin_file(writer, 0, NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_write(writer, world_str("{\"text\":\"x\"}\r\n"), NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_write(writer, world_str("{\"text\":\"y\"}"), NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_id(writer, world_str("id"), NULL), BM_OK, "does nothing here");
    cr_assert_eq(bm_kept_writer_end_file(writer, NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_finish(writer, NULL), BM_OK);
    bm_kept_writer_close(writer);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    bm_input_set_close(set);
    cr_expect(scratch_holds(&s, "out/kept.jsonl", "{\"text\":\"x\"}\r\n{\"text\":\"y\"}"));
}

Test(kept_writer, each_input_gets_its_file_in_its_compression)
{
    SCRATCH s = scratch_open();
    char packed[256], back[256];
    const char *paths[3];
    scratch_put_text(&s, "a.jsonl", "{\"text\":\"a\"}\n");
    size_t len = ZSTD_compress(packed, sizeof packed, "{\"text\":\"b\"}\n", 13, 1);
    scratch_put(&s, "b.jsonl.zst", packed, len);
    gzFile gz = gzopen(scratch_at(&s, "c.jsonl.gz"), "wb");
    gzputs(gz, "{\"text\":\"c\"}\n");
    gzclose(gz);
    paths[0] = scratch_at(&s, "a.jsonl");
    paths[1] = scratch_at(&s, "b.jsonl.zst");
    paths[2] = scratch_at(&s, "c.jsonl.gz");
    bm_input_set *set = open_set(paths, 3, BM_FORMAT_AUTO);
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    bm_kept_writer *writer =
        world_open(bm_kept_writer, &(bm_kept_cfg){.dir = dir, .set = set, .kept = BM_RECORDS_SAME});
    cr_assert_eq(bm_kept_writer_begin_file(writer, 1, NULL), BM_OK, "the first is left out");
    cr_assert_eq(bm_kept_writer_write(writer, world_str("kept b\n"), NULL), BM_OK);
    cr_expect_eq(bm_kept_writer_begin_file(writer, 2, NULL), BM_ERR_INTERNAL, "one at a time");
    cr_assert_eq(bm_kept_writer_end_file(writer, NULL), BM_OK);
    cr_expect_eq(bm_kept_writer_begin_file(writer, 0, NULL), BM_ERR_INTERNAL, "rising order");
    cr_assert_eq(bm_kept_writer_finish(writer, NULL), BM_OK);
    bm_kept_writer_close(writer);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    bm_input_set_close(set);
    cr_expect(scratch_holds(&s, "out/kept/a.jsonl", ""), "an empty file for what was left out");
    char *bytes = scratch_get(&s, "out/kept/b.jsonl.zst", &len);
    size_t got = ZSTD_decompress(back, sizeof back, bytes, len);
    cr_expect(got == 7 && memcmp(back, "kept b\n", 7) == 0);
    free(bytes);
    gz = gzopen(scratch_at(&s, "out/kept/c.jsonl.gz"), "rb");
    cr_expect_eq(gzread(gz, back, sizeof back), 0);
    cr_expect_eq(gzdirect(gz), 0, "an empty gz stream, not an empty file");
    gzclose(gz);
}

Test(kept_writer, formats_without_records_keep_ids)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "doc.txt", "text");
    const char *path = scratch_at(&s, "doc.txt");
    bm_input_set *set = open_set(&path, 1, BM_FORMAT_FILES);
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    bm_kept_writer *writer =
        world_open(bm_kept_writer, &(bm_kept_cfg){.dir = dir, .set = set, .kept = BM_RECORDS_GZ});
    cr_expect(bm_kept_writer_wants_ids(writer));
    cr_assert_eq(bm_kept_writer_begin_file(writer, 0, NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_write(writer, world_str("not kept"), NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_id(writer, world_str("a\tb\\"), NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_id(writer, world_str(""), NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_end_file(writer, NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_finish(writer, NULL), BM_OK);
    cr_expect_eq(bm_kept_writer_id(writer, world_str("late"), NULL), BM_ERR_INTERNAL);
    bm_kept_writer_close(writer);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    bm_input_set_close(set);
    cr_expect(scratch_holds(&s, "out/kept_ids.txt", "a\\tb\\\\\n\n"));
    cr_expect_eq(scratch_count(&s, "out"), 1u);
}

Test(kept_writer, kept_no_writes_nothing)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "a.jsonl", "{}\n");
    const char *path = scratch_at(&s, "a.jsonl");
    bm_input_set *set = open_set(&path, 1, BM_FORMAT_AUTO);
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    bm_kept_writer *writer = world_open(
        bm_kept_writer, &(bm_kept_cfg){.dir = dir, .set = set, .kept = BM_RECORDS_NOT_WRITTEN});
    cr_assert_eq(bm_kept_writer_begin_file(writer, 0, NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_write(writer, world_str("{}\n"), NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_id(writer, world_str("x"), NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_end_file(writer, NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_finish(writer, NULL), BM_OK);
    bm_kept_writer_close(writer);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    bm_input_set_close(set);
    cr_expect_eq(scratch_count(&s, "out"), 0u);
}

Test(kept_writer, a_writer_closed_early_leaves_nothing)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "a.jsonl", "{}\n");
    const char *path = scratch_at(&s, "a.jsonl");
    bm_input_set *set = open_set(&path, 1, BM_FORMAT_AUTO);
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    bm_kept_writer *writer =
        world_open(bm_kept_writer, &(bm_kept_cfg){.dir = dir, .set = set, .kept = BM_RECORDS_ZST});
    cr_assert_eq(bm_kept_writer_begin_file(writer, 0, NULL), BM_OK);
    cr_assert_eq(bm_kept_writer_write(writer, world_str("{}\n"), NULL), BM_OK);
    bm_kept_writer_close(writer);
    bm_out_dir_close(dir);
    bm_input_set_close(set);
    cr_expect_eq(scratch_count(&s, "."), 1u);
}

/* --- the memory of tables --- */

/* A writer that finishes while a table of another, unrelated writer is being written. */
static struct {
    bm_kept_writer *inner;
    bool again; /* its table got the full memory */
} nested;

bm_status __real_bm_table_keep(const char *const *names, const bm_table_kept *kept, bm_error *err);
bm_status __wrap_bm_table_keep(const char *const *names, const bm_table_kept *kept, bm_error *err);
bm_status __wrap_bm_table_keep(const char *const *names, const bm_table_kept *kept, bm_error *err)
{
    bm_kept_writer *inner = nested.inner;
    if (strstr(names[0], "nested-") == NULL)
        return __real_bm_table_keep(names, kept, err);
    nested.inner = NULL;
    if (inner != NULL)
        return bm_kept_writer_finish(inner, err);
    nested.again = nested.again || kept->memory == 1000;
    return kept->memory == 1000 ? BM_OK : BM_ERR_NOMEM;
}

Test(kept_writer, waits_for_no_table_of_a_stranger, .timeout = 60)
{
    SCRATCH s = scratch_open();
    const char *paths[2];
    scratch_put_text(&s, "nested-a.parquet", "PAR1");
    scratch_put_text(&s, "nested-b.parquet", "PAR1");
    paths[0] = scratch_at(&s, "nested-a.parquet");
    paths[1] = scratch_at(&s, "nested-b.parquet");
    bm_input_set *set = open_set(paths, 2, BM_FORMAT_AUTO);
    bm_input_set_assign(set, &(bm_input_resources){.threads = 4, .memory = 1000});
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    cr_assert_eq(
        bm_kept_writer_open(&(bm_kept_cfg){.dir = dir, .set = set, .kept = BM_RECORDS_SAME},
                            &nested.inner, NULL),
        BM_OK);
    bm_kept_writer *inner = nested.inner;
    bm_kept_writer *outer = world_open(
        bm_kept_writer,
        &(bm_kept_cfg){.write = world_write_nothing, .set = set, .kept = BM_RECORDS_SAME});
    cr_expect_eq(bm_kept_writer_finish(outer, NULL), BM_OK);
    cr_expect(nested.again);
    bm_kept_writer_close(outer);
    bm_kept_writer_close(inner);
    bm_out_dir_close(dir);
    bm_input_set_close(set);
}
