/* SPDX-License-Identifier: Apache-2.0 */
/* test_source_columns.c -- rows of Arrow streams made by hand (arrow_table.h) become the right
 * documents; also covers table_stream.c. */
#include "sources/source_columns.c"

#include "arrow_table.h"
#include "input/input_set.h"
#include "tests/unit/input/read_records.h"
#include "tests/world/world_calls.h"

static const test_array two_arrays[] = {
    {.n_rows = 4,
     .lead = 3,
     .table_lead = 1,
     .columns =
         {{"id", "u", {{.text = "a"}, {.text = "b"}, {.text = NULL}, {.text = "d"}}},
          {"text", "u", {{.text = "one"}, {.text = NULL}, {.text = "tw\xC3\xB6"}, {.text = ""}}},
          {"n", "l", {{.number = 7}, {.number = -8}, {.null = true}, {.number = INT64_MIN}}}}},
    {.n_rows = 0, .columns = {{"id", "u", {{0}}}, {"text", "u", {{0}}}, {"n", "l", {{0}}}}},
    {.n_rows = 2,
     .lead = 9,
     .columns = {{"id", "u", {{.text = "e"}, {.text = "f"}}},
                 {"text", "u", {{.text = "x\xFFy"}, {.text = "last"}}},
                 {"n", "l", {{.number = 0}, {.number = INT64_MAX}}}}},
};

/* Collects every record of a source, in batches with these limits, after skipping the first `skip`.
 */
static records collect(bm_batch_source *source, const bm_batch_limits *limits, uint64_t skip)
{
    records out = {0};
    bm_batch_parser *parser = NULL;
    bm_batch_next next = {.got = BM_BATCH_PASSED};
    out.status = bm_batch_source_begin(source, limits, skip, &out.err);
    if (out.status == BM_OK)
        out.status = bm_batch_parser_open(source, &parser, &out.err);
    while (out.status == BM_OK) {
        out.status = bm_batch_source_next(source, &next, &out.err);
        if (out.status != BM_OK || next.got == BM_BATCH_END)
            break;
        if (next.got == BM_BATCH_READ) {
            size_t before = out.n;
            out.status = bm_batch_parser_run(parser, next.batch, test_collect, &out, &out.err);
            if (limits->docs != 0)
                cr_assert_leq(out.n - before, limits->docs);
            bm_batch_source_free_batch(source, next.batch);
            out.n_batches++;
        }
    }
    bm_batch_parser_close(parser);
    bm_batch_source_end(source);
    return out;
}

static bm_batch_source *open_stream(const test_array *arrays, size_t n_arrays, size_t n_columns,
                                    const bm_input_options *options, atomic_int *alive)
{
    struct ArrowArrayStream stream = test_stream(arrays, n_arrays, n_columns, alive);
    bm_batch_source *source = NULL;
    bm_error err = {0};
    world_ok(columns_open_stream(&stream, "table", options, &source, &err), &err);
    cr_assert_null(stream.release, "taken");
    return source;
}

static records read_stream(const test_array *arrays, size_t n_arrays, size_t n_columns,
                           const bm_input_options *options)
{
    atomic_int alive = 0;
    bm_batch_source *source = open_stream(arrays, n_arrays, n_columns, options, &alive);
    const bm_batch_limits limits = {.bytes = 1 << 20};
    records out = collect(source, &limits, 0);
    bm_batch_source_close(source);
    cr_assert_eq(atomic_load(&alive), 0, "everything was released");
    return out;
}

static void check_two_arrays(const records *r, size_t first)
{
    static const struct {
        const char *id, *text;
        uint64_t text_bytes, n_invalid;
    } right[] = {{"a", "one", 3, 0},
                 {"b", "", 0, 0},
                 {"table:3", "tw\xC3\xB6", 4, 0},
                 {"d", "", 0, 0},
                 {"e", "x\xEF\xBF\xBDy", 3, 1},
                 {"f", "last", 4, 0}};
    world_ok(r->status, &r->err);
    cr_assert_eq(r->n, 6 - first);
    for (size_t i = 0; i < r->n; i++) {
        const record *got = &r->all[i];
        cr_assert_str_eq(got->id.data, right[first + i].id);
        cr_assert_str_eq(got->text.data, right[first + i].text);
        cr_assert_eq(got->text_bytes, right[first + i].text_bytes);
        cr_assert_eq(got->n_invalid, right[first + i].n_invalid);
        cr_assert_eq(got->line, first + i + 1);
        cr_assert_eq(got->file, 0);
        cr_assert_eq(got->raw.len, 0);
    }
}

Test(source_columns, rows_of_several_arrays_with_offsets_and_nulls_are_the_documents)
{
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    CLEANED records r = read_stream(two_arrays, 3, 3, &o);
    check_two_arrays(&r, 0);
    cr_assert_eq(r.n_batches, 2, "an array without rows is none");
}

Test(source_columns, batches_of_any_size_and_any_number_passed_over_give_the_same_rows)
{
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    for (uint32_t docs = 0; docs <= 5; docs++)
        for (size_t bytes = 0; bytes <= 9; bytes += 3)
            for (uint64_t skip = 0; skip <= 6; skip++) {
                atomic_int alive = 0;
                bm_batch_source *source = open_stream(two_arrays, 3, 3, &o, &alive);
                const bm_batch_limits limits = {.bytes = bytes, .docs = docs};
                CLEANED records r = collect(source, &limits, skip);
                check_two_arrays(&r, (size_t)skip);
                bm_batch_source_close(source);
                cr_assert_eq(atomic_load(&alive), 0);
            }
    atomic_int alive = 0;
    bm_batch_source *source = open_stream(two_arrays, 3, 3, &o, &alive);
    const bm_batch_limits limits = {.bytes = 1};
    CLEANED records r = collect(source, &limits, 7);
    world_refused(r.status, BM_ERR_FORMAT, &r.err, "(6 of 7)");
    bm_batch_source_close(source);
}

Test(source_columns, a_stream_that_is_begun_twice_is_held_and_another_is_read_once)
{
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    const bm_batch_limits limits = {.bytes = 5}, again = {.bytes = 1 << 20};
    for (int twice = 0; twice < 2; twice++) {
        atomic_int alive = 0;
        bm_batch_source *source = open_stream(two_arrays, 3, 3, &o, &alive);
        source->begun_twice = twice == 1;
        CLEANED records first = collect(source, &limits, 0), second = collect(source, &again, 1);
        check_two_arrays(&first, 0);
        cr_assert_eq(second.status, twice == 1 ? BM_OK : BM_ERR_IO);
        if (twice == 1) {
            CLEANED records third = collect(source, &limits, 0);
            check_two_arrays(&second, 1);
            check_two_arrays(&third, 0);
        }
        bm_batch_source_close(source);
        cr_assert_eq(atomic_load(&alive), 0, "everything was released");
    }
}

Test(source_columns, every_type_of_text_is_read)
{
    static const char *const formats[] = {"u", "U", "z", "Z"};
    for (size_t f = 0; f < 4; f++) {
        const test_array array = {
            .n_rows = 2,
            .lead = f,
            .columns = {{"body", formats[f], {{.text = "first"}, {.text = "second"}}},
                        {"key", formats[f], {{.text = "k\xFE"}, {.text = ""}}}}};
        const char *fields[] = {"body"};
        bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
        o.text_fields = fields;
        o.n_text_fields = 1;
        o.id_field = "key";
        CLEANED records r = read_stream(&array, 1, 2, &o);
        cr_assert_eq(r.n, 2, "%s", r.err.message);
        assert_text(r.all[0], "first");
        assert_text(r.all[1], "second");
        assert_id(r.all[0], "k\xEF\xBF\xBD");
        assert_id(r.all[1], "");
    }
}

Test(source_columns, ids_of_every_integer_type_are_written_in_decimal)
{
    static const struct {
        const char *format;
        int64_t value;
        const char *id;
    } cases[] = {{"c", -128, "-128"},
                 {"C", 255, "255"},
                 {"s", -32768, "-32768"},
                 {"S", 65535, "65535"},
                 {"i", INT32_MIN, "-2147483648"},
                 {"I", UINT32_MAX, "4294967295"},
                 {"l", INT64_MIN, "-9223372036854775808"},
                 {"L", -1, "18446744073709551615"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const test_array array = {
            .n_rows = 2,
            .lead = 1,
            .columns = {{"id", cases[i].format, {{.number = cases[i].value}, {.null = true}}},
                        {"text", "u", {{.text = "x"}, {.text = "y"}}}}};
        bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
        CLEANED records r = read_stream(&array, 1, 2, &o);
        cr_assert_eq(r.n, 2, "%s", r.err.message);
        assert_id(r.all[0], cases[i].id);
        assert_id(r.all[1], "table:2");
    }
}

Test(source_columns, rows_without_ids_have_their_numbers_where_that_is_asked)
{
    const test_array array = {
        .n_rows = 3,
        .columns = {{"id", "l", {{.number = 7}, {.null = true}, {.number = 8}}},
                    {"text", "u", {{.text = "x"}, {.text = "y"}, {.text = "z"}}}}};
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    o.row_ids = 41;
    CLEANED records with_ids = read_stream(&array, 1, 2, &o);
    cr_assert_eq(with_ids.n, 3, "%s", with_ids.err.message);
    assert_id(with_ids.all[0], "7");
    assert_bad(with_ids.all[1], "column 'id' is null");
    o.id_field = "none";
    CLEANED records without = read_stream(&array, 1, 2, &o);
    cr_assert_eq(without.n, 3, "%s", without.err.message);
    assert_id(without.all[0], "40");
    assert_id(without.all[2], "42");
}

Test(source_columns, several_texts_are_joined_by_newlines_and_null_is_empty)
{
    const char *fields[] = {"b", "a", "b"};
    const test_array array = {
        .n_rows = 3,
        .columns = {{"a", "u", {{.text = "1"}, {.text = NULL}, {.text = NULL}}},
                    {"b", "U", {{.text = "2"}, {.text = "3"}, {.text = NULL}}}}};
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    o.text_fields = fields;
    o.n_text_fields = 3;
    o.id_field = "none";
    CLEANED records r = read_stream(&array, 1, 2, &o);
    cr_assert_eq(r.n, 3);
    assert_text(r.all[0], "2\n1\n2");
    assert_text(r.all[1], "3\n\n3");
    assert_text(r.all[2], "\n\n");
    assert_id(r.all[2], "table:3");
}

Test(source_columns, bad_records_are_told_with_their_rows)
{
    const test_array array = {
        .n_rows = 4,
        .columns = {
            {"id", "u", {{.text = NULL}, {.text = "b"}, {.text = "c"}, {.text = "d"}}},
            {"text", "u", {{.text = "x"}, {.text = "123456"}, {.text = "\xFF"}, {.text = "y"}}}}};
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    o.id_field = "id";
    o.max_doc_bytes = 5;
    o.invalid_utf8 = BM_INVALID_UTF8_ERROR;
    CLEANED records r = read_stream(&array, 1, 2, &o);
    cr_assert_eq(r.n, 4);
    assert_bad(r.all[0], "column 'id' is null");
    assert_bad(r.all[1], "longer than 5 bytes");
    assert_bad(r.all[2], "invalid UTF-8 in the text");
    assert_text(r.all[3], "y");
    cr_assert_eq(r.all[2].line, 3);
}

Test(source_columns, columns_that_do_not_fit_are_refused_by_name)
{
    static const char *const wanted[] = {"text", "n", "twice"};
    static const struct {
        size_t text; /* the text column, as an index into `wanted` */
        const char *id, *words;
    } cases[] = {{0, "key", "no column 'key' (it has: n, twice, twice, text)"},
                 {1, NULL, "column 'n' has the type int64"},
                 {2, NULL, "two columns 'twice'"}};
    const test_array array = {.n_rows = 1,
                              .columns = {{"n", "l", {{.number = 1}}},
                                          {"twice", "u", {{.text = ""}}},
                                          {"twice", "u", {{.text = ""}}},
                                          {"text", "u", {{.text = ""}}}}};
    for (size_t i = 0; i < 3; i++) {
        bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
        o.text_fields = &wanted[cases[i].text];
        o.n_text_fields = 1;
        o.id_field = cases[i].id;
        CLEANED records r = read_stream(&array, 1, 4, &o);
        world_refused(r.status, BM_ERR_INPUT, &r.err, cases[i].words);
        cr_assert_str_eq(r.err.file, "table");
    }
}

Test(source_columns, a_stream_that_fails_ends_the_reading_with_its_words)
{
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    for (int nomem = 0; nomem < 2; nomem++) {
        atomic_int alive = 0;
        struct ArrowArrayStream stream = test_stream(two_arrays, 3, 3, &alive);
        test_table *table = stream.private_data;
        table->fail_at = 2;
        table->fail_code = nomem ? ENOMEM : EIO;
        bm_batch_source *source = NULL;
        cr_assert_eq(columns_open_stream(&stream, "table", &o, &source, NULL), BM_OK);
        const bm_batch_limits limits = {.bytes = 1};
        CLEANED records r = collect(source, &limits, 0);
        cr_assert_eq(r.status, nomem ? BM_ERR_NOMEM : BM_ERR_INPUT);
        cr_assert(nomem || strstr(r.err.message, "the table is torn") != NULL, "%s", r.err.message);
        cr_assert_eq(r.n, 4, "what came before");
        bm_batch_source_close(source);
        cr_assert_eq(atomic_load(&alive), 0);
    }
}

Test(source_columns, a_stream_is_read_once_and_one_that_is_not_read_is_released)
{
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    atomic_int alive = 0;
    bm_batch_source *source = open_stream(two_arrays, 3, 3, &o, &alive);
    const bm_batch_limits limits = {.bytes = 1};
    CLEANED records first = collect(source, &limits, 0);
    cr_assert_eq(first.status, BM_OK);
    CLEANED records again = collect(source, &limits, 0);
    cr_assert_eq(again.status, BM_ERR_IO);
    bm_batch_source_close(source);
    source = open_stream(two_arrays, 3, 3, &o, &alive);
    bm_batch_source_close(source);
    cr_assert_eq(atomic_load(&alive), 0);
}

Test(source_columns, a_batch_outlives_the_stream_that_it_came_from)
{
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    atomic_int alive = 0;
    bm_batch_source *source = open_stream(two_arrays, 3, 3, &o, &alive);
    const bm_batch_limits limits = {.bytes = 1 << 20};
    bm_batch_next next;
    records r = {0};
    cr_assert_eq(bm_batch_source_begin(source, &limits, 0, NULL), BM_OK);
    bm_batch_parser *parser = world_open(bm_batch_parser, source);
    cr_assert_eq(bm_batch_source_next(source, &next, NULL), BM_OK);
    bm_batch_source_end(source);
    cr_assert_eq(atomic_load(&alive), 1, "the array of the batch");
    cr_assert_eq(bm_batch_parser_run(parser, next.batch, test_collect, &r, NULL), BM_OK);
    assert_text(r.all[0], "one");
    test_free(&r);
    bm_batch_source_free_batch(source, next.batch);
    cr_assert_eq(atomic_load(&alive), 0);
    bm_batch_parser_close(parser);
    bm_batch_source_close(source);
}

/* --- files, through a provider --- */

static bm_status open_file(void *ctx, const bm_table_asked *asked, struct ArrowArrayStream *out,
                           bm_error *err)
{
    (void)err;
    const bool second = strstr(asked->file->path, "b.table") != NULL;
    *out = second ? test_stream(two_arrays + 2, 1, 3, ctx) : test_stream(two_arrays, 1, 3, ctx);
    return BM_OK;
}

Test(source_columns, files_come_through_their_provider_and_may_be_read_again)
{
    SCRATCH dir = scratch_open();
    const char *a = scratch_put(&dir, "a.table", "1234", 4),
               *b = scratch_put(&dir, "b.table", "567", 3);
    const char *paths[] = {a, b};
    bm_input_options o = test_options(paths, 2, BM_FORMAT_FILES);
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    atomic_int alive = 0;
    const bm_arrow_column_provider provider = {.ctx = &alive, .name = "tables", .open = open_file};
    bm_batch_source *source = NULL;
    cr_assert_eq(columns_open_files(set, &provider, &source, NULL), BM_OK);
    cr_assert(source->ops->has_text && !source->copies);
    cr_assert_eq(bm_batch_source_total_bytes(source), 7);
    for (int time = 0; time < 2; time++) {
        const bm_batch_limits limits = {.docs = 3};
        CLEANED records r = collect(source, &limits, 0);
        cr_assert_eq(r.n, 6, "%s", r.err.message);
        assert_id(r.all[0], "a");
        assert_id(r.all[4], "e");
        cr_assert(r.all[3].file == 0 && r.all[3].line == 4 && r.all[4].file == 1 &&
                  r.all[4].line == 1);
        cr_assert_eq(strncmp(r.all[2].id.data, a, strlen(a)), 0, "the name of its file");
        cr_assert_eq(atomic_load(&alive), 0);
    }
    bm_batch_source_close(source);
    bm_input_set_close(set);
}
