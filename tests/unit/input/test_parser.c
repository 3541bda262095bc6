/* SPDX-License-Identifier: Apache-2.0 */
/* The records of each format: ids, texts, bad records, repair. */
#include "read_records.h"
#include "tests/world/world_calls.h"

#define READ(format, text) test_read_bytes(format, text, sizeof(text) - 1, NULL)
#define FFFD               "\xEF\xBF\xBD"

static bm_input_options with_fields(const char *const *text, size_t n, const char *id)
{
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    o.text_fields = text;
    o.n_text_fields = n;
    o.id_field = id;
    return o;
}

static bool ends_with(const record *r, const char *ending)
{
    size_t n = strlen(ending);
    return r->id.len >= n && strcmp(r->id.data + r->id.len - n, ending) == 0;
}

Test(parser, jsonl_ids_are_strings_numbers_as_written_or_the_place)
{
    CLEANED records r =
        READ(BM_FORMAT_JSONL, "{\"id\":\"a\\tb\",\"text\":\"\"}\n{\"id\":12,\"text\":\"\"}\n"
                              "{\"id\":1.50,\"text\":\"\"}\n{\"id\":-0,\"text\":\"\"}\n"
                              "{\"id\":0,\"text\":\"\"}\n"
                              "{\"id\":18446744073709551616,\"text\":\"\"}\n"
                              "{\"id\":18446744073709551615,\"text\":\"\"}\n"
                              "{\"id\":-9223372036854775808,\"text\":\"\"}\n"
                              "{\"id\":\"\",\"text\":\"\"}\n\n"
                              "{\"text\":\"\"}\n{\"id\":null,\"text\":\"\"}\n");
    const char *ids[] = {"a\tb",
                         "12",
                         "1.50",
                         "-0",
                         "0",
                         "18446744073709551616",
                         "18446744073709551615",
                         "-9223372036854775808",
                         ""};
    cr_assert_eq(r.n, 11);
    for (size_t i = 0; i < 9; i++)
        assert_id(r.all[i], ids[i]);
    cr_assert(ends_with(&r.all[9], "/in:11"), "%s", r.all[9].id.data);
    cr_assert(ends_with(&r.all[10], "/in:12"));
}

Test(parser, jsonl_ids_of_other_types_are_none_and_bad_records_where_they_are_asked_for)
{
    const char text[] = "{\"id\":true,\"text\":\"\"}\n{\"id\":[1],\"text\":\"\"}\n"
                        "{\"id\":{},\"text\":\"\"}\n";
    CLEANED records none = READ(BM_FORMAT_JSONL, text);
    cr_assert_eq(none.n, 3);
    for (size_t i = 0; i < 3; i++)
        cr_assert(!none.all[i].bad);
    bm_input_options o = with_fields(NULL, 0, "id");
    CLEANED records r = test_read_bytes(BM_FORMAT_JSONL, text, sizeof text - 1, &o);
    cr_assert_eq(r.n, 3);
    assert_bad(r.all[0], "field 'id' is true or false");
    assert_bad(r.all[1], "field 'id' is an array");
    assert_bad(r.all[2], "field 'id' is an object");
}

Test(parser, an_id_field_that_is_given_must_be_there_and_none_means_the_place)
{
    const char text[] = "{\"id\":1,\"k\":{\"v\":\"x\"},\"text\":\"\"}\n{\"id\":2,\"text\":\"\"}\n"
                        "{\"k\":{\"v\":null},\"text\":\"\"}\n";
    bm_input_options o = with_fields(NULL, 0, "k.v");
    CLEANED records r = test_read_bytes(BM_FORMAT_JSONL, text, sizeof text - 1, &o);
    assert_id(r.all[0], "x");
    assert_bad(r.all[1], "no field 'k.v'");
    assert_bad(r.all[2], "field 'k.v' is null");
    o.id_field = "none";
    test_free(&r);
    r = test_read_bytes(BM_FORMAT_JSONL, text, sizeof text - 1, &o);
    for (size_t i = 0; i < 3; i++) {
        char place[8];
        sprintf(place, "/in:%zu", i + 1);
        cr_assert(ends_with(&r.all[i], place));
    }
}

Test(parser, a_path_that_meets_lists_is_told_the_path_through_them)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"{\"a\":[{\"b\":\"x\"},{\"b\":\"y\"}]}\n", "list is on the way (a[].b has"},
        {"{\"a\":[[{\"b\":[\"x\"]}]]}\n", "list is on the way (a[][].b[] has"},
        {"{\"a\":{\"b\":[\"x\",1]}}\n", "field 'a.b' is a list (a.b[] has"},
        {"{\"a\":[{\"c\":\"x\"}]}\n", "no field 'a.b' (a string or null; "},
        {"{\"a\":[\"x\"]}\n", "no field 'a.b' (a string or null; "},
        {"{\"a\":\"x\"}\n", "no field 'a.b' (a string or null; "},
        {"{\"a\":{\"b\":[{\"c\":1}]}}\n", "field 'a.b' is an array (a string or null"},
    };
    static const char *const names[] = {"a.b"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bm_input_options options = with_fields(names, 1, NULL);
        CLEANED records r =
            test_read_bytes(BM_FORMAT_JSONL, cases[i].line, strlen(cases[i].line), &options);
        assert_bad(r.all[0], cases[i].message);
    }
}

Test(parser, jsonl_text_may_be_null_or_empty_and_nothing_but_a_string)
{
    CLEANED records r =
        READ(BM_FORMAT_JSONL, "{\"text\":null}\n{\"text\":\"\"}\n{\"id\":1}\n{\"text\":1}\n"
                              "{\"text\":[\"a\"]}\n{\"text\":{}}\n{\"text\":false}\n"
                              "{\"text\":1,\"text\":\"last\"}\n{\"te\\u0078t\":\"key\"}\n");
    assert_text(r.all[0], "");
    assert_text(r.all[1], "");
    assert_bad(r.all[2], "no field 'text'");
    assert_bad(r.all[3], "field 'text' is a number");
    assert_bad(r.all[4], "field 'text' is a list (text[] has the texts of its elements");
    assert_bad(r.all[5], "field 'text' is an object");
    assert_bad(r.all[6], "field 'text' is true or false");
    assert_text(r.all[7], "last");
    assert_text(r.all[8], "key");
}

Test(parser, every_broken_line_of_jsonl_is_a_bad_record_and_the_others_are_not)
{
    CLEANED records r =
        READ(BM_FORMAT_JSONL, "{\"text\":\"a\",\"x\":tru}\n{\"text\":\"a\",\"x\":[1,2}\n"
                              "{\"text\":\"a\"}{\"text\":\"b\"}\n\xEF\xBB\xBF{\"text\":\"a\"}\n"
                              "{\"text\":\"a\"} x\n{\"text\":\"a\",\"x\":01}\n{\"text\":\"a\tb\"}\n"
                              "[]\n{\"text\":\"a\",}\nnull\n{\"text\":\"fine\"}\n{\"text\":\"a\"");
    cr_assert_eq(r.n, 12);
    const char *reasons[] = {"byte 17: tru (a value",         "byte 21: } (a comma or ]",
                             "byte 13: { (nothing more",      "byte 1: U+FEFF",
                             "byte 14: x (nothing more",      "byte 17: 0 (a number",
                             "byte 11: 0x09 (a control",      "not a JSON object",
                             "byte 13: } (a key in double q", "not a JSON object"};
    for (size_t i = 0; i < 10; i++)
        assert_bad(r.all[i], reasons[i]);
    assert_text(r.all[10], "fine");
    assert_bad(r.all[11], "byte 12: it ends (brackets");
    for (size_t i = 0; i < 12; i++)
        cr_assert_eq(r.all[i].line, i + 1);
}

Test(parser, several_text_fields_are_joined_by_one_newline)
{
    const char *fields[] = {"title", "body.text", "title"};
    bm_input_options o = with_fields(fields, 3, NULL);
    const char json[] =
        "{\"title\":\"T\",\"body\":{\"text\":\"B\"}}\n{\"title\":null,\"body\":{\"text\":\"\"}}\n"
        "{\"title\":\"T\",\"body\":{}}\n{\"title\":\"T\",\"body\":7}\n";
    CLEANED records r = test_read_bytes(BM_FORMAT_JSONL, json, sizeof json - 1, &o);
    assert_text(r.all[0], "T\nB\nT");
    cr_assert_eq(r.all[0].text_bytes, 5);
    assert_text(r.all[1], "\n\n");
    assert_bad(r.all[2], "no field 'body.text'");
    assert_bad(r.all[3], "no field 'body.text'");
    const char *columns[] = {"b", "a"};
    o = with_fields(columns, 2, NULL);
    const char csv[] = "a,b\n\"x\"\"y\",\"p\"\"q\"\n1,2\n";
    test_free(&r);
    r = test_read_bytes(BM_FORMAT_CSV, csv, sizeof csv - 1, &o);
    assert_text(r.all[0], "p\"q\nx\"y");
    assert_text(r.all[1], "2\n1");
}

Test(parser, invalid_utf8_and_lone_surrogates_are_replaced_and_counted)
{
    CLEANED records r =
        READ(BM_FORMAT_JSONL, "{\"text\":\"a\xFF\\ud800z\"}\n{\"id\":\"\xC3\",\"text\":\"ok\"}\n"
                              "{\"text\":\"\\udc00\"}\n{\"other\":\"\xFF\",\"text\":\"\xC3\xA9\"}\n"
                              "{\"text\":\"\xEF\xBF\xBD\xED\x95\x9C\"}\n");
    assert_text(r.all[0], "a" FFFD FFFD "z");
    cr_assert_eq(r.all[0].n_invalid, 2);
    cr_assert_eq(r.all[0].text_bytes, 6);
    assert_id(r.all[1], FFFD);
    cr_assert_eq(r.all[1].n_invalid, 1);
    assert_text(r.all[2], FFFD);
    cr_assert_eq(r.all[2].n_invalid, 1);
    assert_text(r.all[3], "\xC3\xA9");
    cr_assert_eq(r.all[3].n_invalid, 0);
    assert_text(r.all[4], "\xEF\xBF\xBD\xED\x95\x9C"); /* a U+FFFD of the document's own */
    cr_assert_eq(r.all[4].n_invalid, 0);
    test_free(&r);
    r = READ(BM_FORMAT_TSV, "id\ttext\n\xFF\ta\xE2\x82z\n1\t\xC3\xA9\n");
    assert_id(r.all[0], FFFD);
    assert_text(r.all[0], "a" FFFD "z");
    cr_assert_eq(r.all[0].n_invalid, 2);
    cr_assert_eq(r.all[0].text_bytes, 4);
    assert_text(r.all[1], "\xC3\xA9");
    test_free(&r);
    r = READ(BM_FORMAT_LINES, "\xF0\x9F\x98\n\xC0\x80\n");
    assert_text(r.all[0], FFFD);
    assert_text(r.all[1], FFFD FFFD);
}

Test(parser, invalid_utf8_can_be_made_an_error_of_the_record)
{
    bm_input_options o = test_options(NULL, 0, BM_FORMAT_AUTO);
    o.invalid_utf8 = BM_INVALID_UTF8_ERROR;
    const char json[] =
        "{\"text\":\"a\xFF\"}\n{\"id\":\"\\ud800\",\"text\":\"\"}\n{\"text\":\"fine\"}\n";
    CLEANED records r = test_read_bytes(BM_FORMAT_JSONL, json, sizeof json - 1, &o);
    assert_bad(r.all[0], "invalid UTF-8 in the text, 1 times");
    assert_bad(r.all[1], "invalid UTF-8 in the id");
    assert_text(r.all[2], "fine");
    const char lines[] = "\xFF\nfine\n";
    test_free(&r);
    r = test_read_bytes(BM_FORMAT_LINES, lines, sizeof lines - 1, &o);
    assert_bad(r.all[0], "invalid UTF-8");
    assert_text(r.all[1], "fine");
}

Test(parser, lines_are_documents_empty_ones_too)
{
    CLEANED records r = READ(BM_FORMAT_LINES, "\xEF\xBB\xBF"
                                              "one\r\n\n\r\na\rb\n\0nul\0\nend\r");
    cr_assert_eq(r.n, 6);
    assert_text(r.all[0], "one");
    cr_assert_eq(r.all[0].raw.len, 8); /* as read: BOM, CR, LF */
    assert_text(r.all[1], "");
    assert_text(r.all[2], "");
    assert_text(r.all[3], "a\rb");
    assert_text(r.all[4], "\0nul\0");
    assert_text(r.all[5], "end\r"); /* no LF after it */
    cr_assert(ends_with(&r.all[5], "/in:6"));
}

Test(parser, a_file_is_a_document_byte_for_byte_but_for_its_bom)
{
    CLEANED records r = READ(BM_FORMAT_FILES, "\xEF\xBB\xBFline\r\nline\n\n");
    cr_assert_eq(r.n, 1);
    assert_text(r.all[0], "line\r\nline\n\n");
    cr_assert(ends_with(&r.all[0], "/in"));
    test_free(&r);
    r = READ(BM_FORMAT_FILES, "");
    cr_assert_eq(r.n, 1);
    assert_text(r.all[0], "");
}

#define WET(type, more, length, body)                                                              \
    "WARC/1.0\r\nWARC-Type: " type "\r\n" more "Content-Length: " length "\r\n\r\n" body
#define WET_ID  "WARC-Record-ID: <urn:a>\r\n"
#define WET_END "\r\n\r\n"

Test(parser, records_of_type_conversion_are_the_documents_of_wet)
{
    CLEANED records r =
        READ(BM_FORMAT_WET,
             WET("warcinfo", "", "3", "x\r\n" WET_END)
                 WET("conversion", WET_ID, "6", "a\r\n\r\nb" WET_END "\r\n")
                     WET("metadata", "", "1", "x" WET_END) WET("Conversion", "", "0", WET_END)
                         WET("conversion", WET_ID, "1", "\n"));
    cr_assert_eq(r.n, 3);
    assert_id(r.all[0], "<urn:a>");
    assert_text(r.all[0], "a\r\n\r\nb");
    cr_assert(ends_with(&r.all[1], "/in:24"), "%s", r.all[1].id.data);
    assert_text(r.all[1], "");
    assert_text(r.all[2], "\n");
}

Test(parser, a_file_of_records_that_are_no_documents_is_named_with_their_types)
{
    bm_record_types types = {0}, part = {0};
    bm_error err = {0};
    cr_assert_eq(bm_record_types_check(&types, "a", &err), BM_OK, "of no records");
    bm_record_types_add(&part, (bm_str){"Request", 7});
    bm_record_types_join(&types, &part);
    for (unsigned i = 0; i < 40; i++)
        bm_record_types_add(&part, (bm_str){"response and what follows it", 28});
    bm_record_types_join(&types, &part);
    cr_assert_eq(types.n_other, 42);
    cr_assert_eq(bm_record_types_check(&types, "a", &err), BM_ERR_INPUT);
    cr_assert_str_eq(err.file, "a");
    cr_assert_not_null(
        strstr(err.message, "conversion, 40 of response?and?what?follo, 2 of request:"), "%s",
        err.message);
    types.n_documents = 1;
    cr_assert_eq(bm_record_types_check(&types, "a", &err), BM_OK);
    for (unsigned i = 0; i < 30; i++) { /* more than are counted separately */
        const char name[] = {'t', (char)('a' + i), '\0'};
        bm_record_types_add(&types, (bm_str){name, 2});
    }
    cr_assert_eq(types.n_other, 72);
    cr_assert_leq(types.n_types, BM_RECORD_TYPES_MOST);
}

Test(parser, a_record_of_wet_that_ends_within_a_character_is_repaired_whatever_stands_beside_it)
{
    CLEANED records r = READ(BM_FORMAT_WET, WET("conversion", WET_ID, "4", "ab\xE2\x82\xAC" WET_END)
                                                WET("conversion", WET_ID, "2", "ab" WET_END));
    cr_assert_eq(r.n, 3);
    assert_text(r.all[0], "ab" FFFD);
    cr_assert_eq(r.all[0].n_invalid, 1);
    assert_bad(r.all[1], "it does not begin with \"WARC/\"");
    assert_text(r.all[2], "ab");
    cr_assert_eq(r.all[2].n_invalid, 0);
}

Test(parser, a_record_of_wet_without_bounds_is_bad_and_reading_goes_on_behind_an_empty_line)
{
    CLEANED records r =
        READ(BM_FORMAT_WET, "garbage\r\n" WET_END WET("conversion", WET_ID, "x", "")
                                WET("conversion", WET_ID, "1", "a" WET_END)
                                    WET("conversion", WET_ID, "1", "longer" WET_END)
                                        WET("conversion", WET_ID, "99", "cut short\n"));
    cr_assert_eq(r.n, 6);
    assert_bad(r.all[0], "it does not begin with \"WARC/\"");
    assert_bad(r.all[1], "no Content-Length in its header that is a number");
    assert_text(r.all[2], "a");
    assert_text(r.all[3], "l");
    assert_bad(r.all[4], "it does not begin with");
    assert_bad(r.all[5], "Content-Length is more than there is");
}

Test(parser, tsv_has_a_header_unless_all_fields_given_are_numbers)
{
    CLEANED records r = READ(BM_FORMAT_TSV, "text\tid\tx\none\t1\t\ntwo\t2\n");
    cr_assert_eq(r.n, 2);
    assert_text(r.all[0], "one");
    assert_id(r.all[0], "1");
    cr_assert_eq(r.all[0].line, 2);
    const char *two[] = {"2"}, *name[] = {"b"};
    bm_input_options o = with_fields(two, 1, NULL);
    const char rows[] = "a\tb\n1\t2\n";
    test_free(&r);
    r = test_read_bytes(BM_FORMAT_TSV, rows, sizeof rows - 1, &o);
    cr_assert_eq(r.n, 2);
    assert_text(r.all[0], "b");
    cr_assert(ends_with(&r.all[0], "/in:1"));
    o.header = BM_HEADER_YES; /* a number may be used with a header too */
    test_free(&r);
    r = test_read_bytes(BM_FORMAT_TSV, rows, sizeof rows - 1, &o);
    cr_assert_eq(r.n, 1);
    assert_text(r.all[0], "2");
    o = with_fields(name, 1, "1"); /* one of the fields is a name: a header */
    test_free(&r);
    r = test_read_bytes(BM_FORMAT_TSV, rows, sizeof rows - 1, &o);
    cr_assert_eq(r.n, 1);
    assert_id(r.all[0], "1");
}

Test(parser, a_header_without_the_field_or_with_it_twice_is_an_error_at_line_1)
{
    const char *fields[] = {"body"};
    const char *heads[] = {"id\ttext\n1\t2\n", "body\tid\tid\n", "body\tx\tbody\n", "body\n"};
    const char *ids[] = {NULL, NULL, NULL, "key"};
    const char *words[] = {"'body'", "'id' occurs twice", "'body' occurs twice", "'key'"};
    for (size_t i = 0; i < 4; i++) {
        bm_input_options o = with_fields(fields, 1, ids[i]);
        CLEANED records r = test_read_bytes(BM_FORMAT_TSV, heads[i], strlen(heads[i]), &o);
        cr_assert_eq(r.status, BM_ERR_INPUT);
        cr_assert_eq(r.err.line, 1);
        cr_assert(strstr(r.err.file, "/in"));
        cr_assert(strstr(r.err.message, words[i]), "%s", r.err.message);
    }
}

Test(parser, a_header_name_goes_before_a_number_and_a_number_must_be_a_column)
{
    const char *fields[] = {"1"};
    bm_input_options o = with_fields(fields, 1, NULL);
    o.header = BM_HEADER_YES;
    const char rows[] = "a\t1\nx\ty\n";
    CLEANED records r = test_read_bytes(BM_FORMAT_TSV, rows, sizeof rows - 1, &o);
    assert_text(r.all[0], "y");
    fields[0] = "3";
    test_free(&r);
    r = test_read_bytes(BM_FORMAT_TSV, rows, sizeof rows - 1, &o);
    cr_assert_eq(r.status, BM_ERR_INPUT);
}

Test(parser, tsv_has_no_quoting_and_an_empty_row_has_one_empty_field)
{
    CLEANED records r = READ(BM_FORMAT_TSV, "text\tn\n\"a\t1\"\n\n\"\"\n");
    cr_assert_eq(r.n, 3);
    assert_text(r.all[0], "\"a");
    assert_text(r.all[1], "");
    assert_text(r.all[2], "\"\"");
    test_free(&r);
    r = READ(BM_FORMAT_TSV, "n\ttext\nx\n\n1\t2\n");
    assert_bad(r.all[0], "no field 'text': the row has 1 field");
    assert_bad(r.all[1], "no field 'text'");
    assert_text(r.all[2], "2");
}

Test(parser, a_row_too_short_for_its_id_is_bad_only_if_the_id_field_was_given)
{
    const char rows[] = "text\tid\none\n";
    bm_input_options o = with_fields(NULL, 0, NULL);
    CLEANED records r = test_read_bytes(BM_FORMAT_TSV, rows, sizeof rows - 1, &o);
    cr_assert(ends_with(&r.all[0], "/in:2"));
    o.id_field = "id";
    test_free(&r);
    r = test_read_bytes(BM_FORMAT_TSV, rows, sizeof rows - 1, &o);
    assert_bad(r.all[0], "no field 'id'");
}

Test(parser, csv_is_rfc_4180)
{
    CLEANED records r =
        READ(BM_FORMAT_CSV, "id,text,x\r\n1,\"a,b\r\nc\"\"d\"\"\",\"\"\r\n\"2\",,\n3, \"x\" ,\n"
                            "4,\"a\"b,\n5,fine,\"x\n6,open,\n");
    cr_assert_eq(r.n, 5);
    assert_id(r.all[0], "1");
    assert_text(r.all[0], "a,b\r\nc\"d\"");
    cr_assert_eq(r.all[0].line, 2);
    assert_id(r.all[1], "2");
    assert_text(r.all[1], "");
    cr_assert_eq(r.all[1].line, 4);
    assert_bad(r.all[2], "a quote inside a field without quotes");
    assert_bad(r.all[3], "text after a closing quote");
    assert_bad(r.all[4], "never closed");
    cr_assert_eq(r.all[4].line, 7);
}

Test(parser, csv_header_names_may_be_quoted_and_repaired_text_keeps_its_quotes)
{
    CLEANED records r = READ(BM_FORMAT_CSV, "\"text\",\"i\"\"d\"\n\"a\"\"\xFF\",1\n");
    cr_assert_eq(r.n, 1);
    assert_text(r.all[0], "a\"" FFFD);
    cr_assert_eq(r.all[0].n_invalid, 1);
}

Test(parser, each_file_has_its_own_header)
{
    SCRATCH dir = scratch_open();
    const char *a = scratch_put(&dir, "a.tsv", "id\ttext\n1\tA\n", 12);
    const char *b = scratch_put(&dir, "b.tsv", "text\tx\tid\nB\t\t2\n", 15);
    const char *c = scratch_put(&dir, "c.tsv", "", 0);
    const char *paths[] = {a, c, b, a};
    bm_input_options o = test_options(paths, 4, BM_FORMAT_AUTO);
    for (size_t size = 1; size < 60; size++) {
        CLEANED records r = test_read(&o, size, 0, false);
        cr_assert_eq(r.n, 3);
        assert_text(r.all[0], "A");
        assert_text(r.all[1], "B");
        assert_text(r.all[2], "A");
        assert_id(r.all[1], "2");
        test_free(&r);
        test_free(&r);
        r = test_read(&o, size, 0, true);
        cr_assert_eq(r.n, 6);
        for (size_t i = 0; i < 6; i++)
            cr_assert_eq(r.all[i].is_header, i % 2 == 0);
        test_free(&r);
    }
}

Test(parser, split_gives_back_every_byte_that_belongs_to_a_record)
{
    const char text[] = "\xEF\xBB\xBF{\"text\":\"a\"}\r\n{broken\n\n{\"text\":1}";
    SCRATCH dir = scratch_open();
    const char *path = scratch_put(&dir, "a.jsonl", text, sizeof text - 1);
    const char *paths[] = {path};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_AUTO);
    CLEANED records r = test_read(&o, 7, 0, true);
    cr_assert_eq(r.n, 3); /* the blank line is no record; a broken one is */
    cr_assert_str_eq(r.all[0].raw.data, "\xEF\xBB\xBF{\"text\":\"a\"}\r\n");
    cr_assert_str_eq(r.all[1].raw.data, "{broken\n");
    cr_assert_str_eq(r.all[2].raw.data, "{\"text\":1}");
    cr_assert(!r.all[1].bad);
    cr_assert_eq(r.all[2].line, 4);
    test_free(&r);
}

static bm_status stop(void *ctx, const bm_record *r, bm_error *err)
{
    (void)r;
    (void)err;
    return ++*(int *)ctx == 2 ? BM_ERR_CANCELLED : BM_OK;
}

Test(parser, a_callback_that_fails_ends_the_run_with_its_status)
{
    SCRATCH dir = scratch_open();
    const char *path = scratch_put(&dir, "a", "1\n2\n3\n", 6);
    const char *paths[] = {path};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    bm_batch_source *reader;
    bm_raw_batch *batch;
    int n = 0;
    bm_input_set *set = world_open(bm_input_set, &o, NULL, 0, NULL);
    cr_assert_eq(world_reader_open(set, 100, 0, &reader, NULL), BM_OK);
    bm_parser *parser = world_open(bm_parser, set);
    cr_assert_eq(world_reader_next(reader, &batch, NULL), BM_OK);
    cr_assert_eq(bm_parser_run(parser, batch, stop, &n, NULL), BM_ERR_CANCELLED);
    cr_assert_eq(n, 2);
    bm_raw_batch_free(batch);
    bm_parser_close(parser);
    world_reader_close(reader);
    bm_input_set_close(set);
}
