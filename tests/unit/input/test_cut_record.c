/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of text are cut out of records of every format. Expected records are written by hand, or
 * have the text without the range. */
#include "input/parser.h"

#include "read_records.h"

typedef struct cutting {
    bm_parser *parser;
    const bm_text_range *ranges;
    size_t n, n_seen;
    char out[4096], text[4096];
    size_t len, text_len, n_parts;
    bm_text_part parts[8];
} cutting;

static bm_status cut_first(void *ctx, const bm_record *r, bm_error *err)
{
    cutting *c = ctx;
    const bm_record_edit *edits;
    const bm_text_part *parts;
    size_t n_edits, at = 0;
    if (c->n_seen++ > 0)
        return BM_OK;
    cr_assert(!r->bad, "%s", r->reason);
    const bm_str text = r->as_read.data != NULL ? r->as_read : r->text;
    memcpy(c->text, text.data, c->text_len = text.len);
    BM_TRY(bm_parser_text_parts(c->parser, r, &parts, &c->n_parts, err));
    memcpy(c->parts, parts, c->n_parts * sizeof *parts);
    cr_assert_eq(c->parts[c->n_parts - 1].range.to, text.len);
    BM_TRY(bm_parser_cut(c->parser, r, c->ranges, c->n, &edits, &n_edits, err));
    c->len = 0;
    for (size_t i = 0; i < n_edits; i++) {
        cr_assert(at <= edits[i].from && edits[i].from <= edits[i].to && edits[i].to <= r->raw.len);
        memcpy(c->out + c->len, r->raw.data + at, edits[i].from - at);
        c->len += edits[i].from - at;
        memcpy(c->out + c->len, edits[i].with, edits[i].n_with);
        c->len += edits[i].n_with;
        at = edits[i].to;
    }
    memcpy(c->out + c->len, r->raw.data + at, r->raw.len - at);
    c->len += r->raw.len - at;
    return BM_OK;
}

/* Cuts the ranges out of the first record of these bytes. */
static void cut(bm_format format, bm_str bytes, const char *const *fields, size_t n_fields,
                cutting *c)
{
    SCRATCH dir = scratch_open();
    const char *paths[] = {scratch_put(&dir, "in", bytes.data, bytes.len)};
    bm_input_options options = {.paths = paths,
                                .n_paths = 1,
                                .format = format,
                                .text_fields = fields,
                                .n_text_fields = n_fields,
                                .id_field = "none"};
    bm_input_set *set = NULL;
    bm_batch_source *reader = NULL;
    bm_raw_batch *batch = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_input_set_open(&options, NULL, 0, NULL, &set, &err), BM_OK, "%s", err.message);
    cr_assert_eq(world_reader_open(set, 1 << 20, 0, &reader, &err), BM_OK);
    cr_assert_eq(bm_parser_open(set, &c->parser, &err), BM_OK);
    cr_assert_eq(world_reader_next(reader, &batch, &err), BM_OK);
    c->n_seen = 0;
    cr_assert_eq(bm_parser_run(c->parser, batch, cut_first, c, &err), BM_OK, "%s", err.message);
    bm_raw_batch_free(batch);
    bm_parser_close(c->parser);
    world_reader_close(reader);
    bm_input_set_close(set);
}

#define STR(s) ((bm_str){s, sizeof(s) - 1})

typedef struct one {
    bm_format format;
    const char *fields[3];
    bm_str record, becomes;
    bm_text_range ranges[3];
} one;

static const one cases[] = {
    {BM_FORMAT_JSONL,
     {"text"},
     STR("{\"a\":[1],\"text\":\"one\\ntwo\\n\" , \"b\":\"x\"}\r\n"),
     STR("{\"a\":[1],\"text\":\"two\\n\" , \"b\":\"x\"}\r\n"),
     {{0, 4}}},
    /* a surrogate pair is four bytes of text, another escape one to three */
    {BM_FORMAT_JSONL,
     {"text"},
     STR("{\"text\":\"\\ud83d\\ude00\\u00e9\\u20ac\\/\\\"\\\\x\"}\n"),
     STR("{\"text\":\"\\ud83d\\ude00\\/x\"}\n"),
     {{4, 9}, {10, 12}}},
    {BM_FORMAT_JSONL,
     {"text"},
     STR("{\"text\":\"a\\ud83d\\ude00b\"}\n"),
     STR("{\"text\":\"a\\ud83d\\ude00\"}\n"),
     {{2, 3}, {5, 6}}},
    /* a lone surrogate counts as three bytes, an invalid byte as one */
    {BM_FORMAT_JSONL,
     {"text"},
     STR("{\"text\":\"\\ud83dab\xFF"
         "c\\udc00d\"}\n"),
     STR("{\"text\":\"bcd\"}\n"),
     {{0, 4}, {5, 6}, {7, 10}}},
    /* the last of equal keys, the path, and a byte order mark */
    {BM_FORMAT_JSONL,
     {"m.text"},
     STR("\xEF\xBB\xBF{\"m\":{\"text\":\"xyz\"},\"m\":{\"text\":\"a\\tbc\"}}\n"),
     STR("\xEF\xBB\xBF{\"m\":{\"text\":\"xyz\"},\"m\":{\"text\":\"ac\"}}\n"),
     {{1, 3}}},
    {BM_FORMAT_JSONL,
     {"m.t"},
     STR("{\"m\":{\"t\":\"abc\"},\"m.t\":\"def\"}\n"),
     STR("{\"m\":{\"t\":\"abc\"},\"m.t\":\"f\"}\n"),
     {{0, 2}}},
    /* fields in another order, one twice; the newline between fields is not in the record */
    {BM_FORMAT_JSONL,
     {"b", "a", "b"},
     STR("{\"a\":\"12\\n3\",\"b\":\"xy\"}\n"),
     STR("{\"a\":\"3\",\"b\":\"x\"}\n"),
     {{1, 6}, {7, 8}}},
    /* elements; null is empty, a number stays */
    {BM_FORMAT_JSONL,
     {"m[].t"},
     STR("{\"m\":[{\"t\":\"ab\"},{\"t\":null},{\"t\":\"c\\\"d\"}]}\n"),
     STR("{\"m\":[{\"t\":\"a\"},{\"t\":null},{\"t\":\"d\"}]}\n"),
     {{1, 6}}},
    {BM_FORMAT_JSONL,
     {"m[]"},
     STR("{\"m\":[\"ab\",17,\"\",\"c\"]}\n"),
     STR("{\"m\":[\"\",17,\"\",\"\"]}\n"),
     {{0, 8}}},
    {BM_FORMAT_JSON,
     {"text"},
     STR("[ {\"text\":\"a\\nb\"} , {\"text\":\"c\"}]"),
     STR("{\"text\":\"b\"}"),
     {{0, 2}}},
    {BM_FORMAT_CSV,
     {"text"},
     STR("text,n\n\"say \"\"hi\"\"\r\nyou\",1\r\n"),
     STR("\"say \"\"\"\"\",1\r\n"),
     {{5, 7}, {8, 13}}},
    {BM_FORMAT_CSV,
     {"n", "text"},
     STR("text,n\nabc,\"d\"\"e\"\n"),
     STR("ac,\"\"\"\"\n"),
     {{0, 1}, {2, 3}, {5, 6}}},
    {BM_FORMAT_TSV, {"2"}, STR("x\tab\"\"c\ty\r\n"), STR("x\ta\"c\ty\r\n"), {{1, 2}, {3, 4}}},
    {BM_FORMAT_LINES,
     {NULL},
     STR("\xEF\xBB\xBFsome text\r\n"),
     STR("\xEF\xBB\xBF text\r\n"),
     {{0, 4}}},
    {BM_FORMAT_WET,
     {NULL},
     STR("WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 12\r\nX: y\r\n\r\n"
         "one\ntwo\nend\n\r\n\r\n"),
     STR("WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 8\r\nX: y\r\n\r\n"
         "one\nend\n\r\n\r\n"),
     {{4, 8}}},
};

Test(cut_record, exactly_the_bytes_that_encode_the_cut_text_go)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const one *o = &cases[i];
        cutting c = {.ranges = o->ranges};
        size_t n_fields = 0;
        while (n_fields < 3 && o->fields[n_fields] != NULL)
            n_fields++;
        while (c.n < 3 && o->ranges[c.n].to > 0)
            c.n++;
        cut(o->format, o->record, o->fields, n_fields, &c);
        cr_assert(c.len == o->becomes.len && memcmp(c.out, o->becomes.data, c.len) == 0,
                  "case %zu: %.*s (%s)", i, (int)c.len, c.out, o->becomes.data);
    }
}

/* A record with a range cut out, read again, has the text without that range. */
Test(cut_record, a_record_that_was_cut_reads_as_its_text_without_the_range)
{
    static const char *const field[] = {"text"};
    static const struct {
        bm_format format;
        bm_str record;
    } inputs[] = {
        {BM_FORMAT_JSONL,
         STR("{\"text\":\"a\\n\\u00e9\\ud83d\\ude00\xC3\xA9\\\\\\\"z\",\"b\":1}\n")},
        {BM_FORMAT_CSV, STR("text\n\"a\"\"\"\"b\nc,\"\"d\"\n")},
    };
    for (size_t r = 0; r < sizeof inputs / sizeof inputs[0]; r++) {
        cutting whole = {0};
        cut(inputs[r].format, inputs[r].record, field, 1, &whole);
        for (size_t from = 0; from < whole.text_len; from++)
            for (size_t to = from + 1; to <= whole.text_len; to++) {
                if (((unsigned char)whole.text[from] & 0xC0) == 0x80 ||
                    (to < whole.text_len && ((unsigned char)whole.text[to] & 0xC0) == 0x80))
                    continue; /* within a character */
                cutting c = {.ranges = &(bm_text_range){from, to}, .n = 1}, again = {0};
                cut(inputs[r].format, inputs[r].record, field, 1, &c);
                char bytes[4200] = "text\n";
                const size_t head = inputs[r].format == BM_FORMAT_CSV ? 5 : 0;
                memcpy(bytes + head, c.out, c.len);
                cut(inputs[r].format, (bm_str){bytes, head + c.len}, field, 1, &again);
                cr_assert_eq(again.text_len, whole.text_len - (to - from));
                cr_assert(memcmp(again.text, whole.text, from) == 0 &&
                              memcmp(again.text + from, whole.text + to, whole.text_len - to) == 0,
                          "record %zu, %zu to %zu", r, from, to);
            }
    }
}
