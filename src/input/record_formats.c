/* record_formats.c -- the rows.
 *
 * Tests: tests/unit/input/test_input_set.c, tests/unit/input/test_parser.c */
#include "input/record_formats.h"

#include <string.h>

#include "input/name_ending.h"
#include "model/option_names.h"

static const bm_record_format formats[] = {
    {.format = BM_FORMAT_JSONL,
     .name = "jsonl",
     .endings = {".jsonl", ".ndjson", ".ldjson"},
     .newline_ends = true,
     .skip_blank = true,
     .json = true,
     .record_end = bm_line_end,
     .parse = bm_parse_jsonl},
    {.format = BM_FORMAT_JSON,
     .name = "json",
     .endings = {".json"},
     .json = true,
     .elements = true,
     .record_end = bm_element_end,
     .parse = bm_parse_jsonl},
    {.format = BM_FORMAT_TSV,
     .name = "tsv",
     .endings = {".tsv"},
     .newline_ends = true,
     .table = true,
     .record_end = bm_line_end,
     .parse = bm_parse_table},
    {.format = BM_FORMAT_CSV,
     .name = "csv",
     .endings = {".csv"},
     .table = true,
     .quoted = true,
     .record_end = bm_csv_end,
     .parse = bm_parse_table},
    {.format = BM_FORMAT_LINES,
     .name = "lines",
     .newline_ends = true,
     .record_end = bm_line_end,
     .parse = bm_parse_line},
    {.format = BM_FORMAT_WET,
     .name = "wet",
     .endings = {".warc.wet"},
     .record_end = bm_wet_end,
     .parse = bm_parse_wet,
     .role = bm_wet_role},
    {.format = BM_FORMAT_FILES,
     .name = "files",
     .whole_file = true,
     .record_end = bm_file_end,
     .parse = bm_parse_file},
};

const bm_record_format *bm_record_format_of(bm_format format)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].format == format)
            return &formats[i];
    return NULL;
}

bm_format bm_format_of_name(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        for (size_t j = 0; j < sizeof formats[i].endings / sizeof formats[i].endings[0]; j++)
            if (formats[i].endings[j] != NULL && bm_name_ends(name, len, formats[i].endings[j]))
                return formats[i].format;
    return BM_FORMAT_FILES;
}

const char *bm_format_name(bm_format format)
{
    const bm_record_format *row = bm_record_format_of(format);
    return row != NULL ? row->name : bm_option_word_or(BM_OPTION_FORMAT, format, "auto");
}
