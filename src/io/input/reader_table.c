/* reader_table.c -- the rows of the table of readers. */
#include "io/input/reader_table.h"

#include <string.h>

#include "io/input/input_set_private.h"

static const bm_reader_ops readers[] = {
    {.format = BM_FORMAT_JSONL,
     .name = "jsonl",
     .endings = {".jsonl", ".ndjson", ".json"},
     .newline_ends = true,
     .skip_blank = true,
     .record_end = bm_line_end,
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
     .record_end = bm_csv_end,
     .parse = bm_parse_table},
    {.format = BM_FORMAT_LINES,
     .name = "lines",
     .newline_ends = true,
     .record_end = bm_line_end,
     .parse = bm_parse_line},
    {.format = BM_FORMAT_FILES,
     .name = "files",
     .whole_file = true,
     .record_end = bm_file_end,
     .parse = bm_parse_file},
};

const bm_reader_ops *bm_reader_ops_of(bm_format format)
{
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (readers[i].format == format)
            return &readers[i];
    return NULL;
}

bm_format bm_format_of_name(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        for (size_t j = 0; j < sizeof readers[i].endings / sizeof readers[i].endings[0]; j++)
            if (readers[i].endings[j] != NULL && bm_name_ends(name, len, readers[i].endings[j]))
                return readers[i].format;
    return BM_FORMAT_FILES;
}

const char *bm_format_name(bm_format format)
{
    const bm_reader_ops *ops = bm_reader_ops_of(format);
    if (ops != NULL)
        return ops->name;
    return format == BM_FORMAT_HASHES ? "hashes" : "auto";
}
