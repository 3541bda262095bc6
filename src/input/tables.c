/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c -- see the header.
 *
 * Tests: tests/unit/input/test_tables.c, tests/reference/test_tables.py */
#include "input/tables.h"

#include <bandmill/version.h>
#include <string.h>

#include "base/error.h"
#include "input/table_library.h"

/* --- recognizing tables --- */

static uint32_t read_u32(const char *bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++)
        value |= (uint32_t)(unsigned char)bytes[i] << (8 * i);
    return value;
}

/* Does an IPC stream begin here? A message is four bytes FF, the length of the metadata (a multiple
 * of eight), and the metadata, which begins with the offset of the root table. */
static bool is_stream(const char *head, size_t len)
{
    if (len < 12 || read_u32(head) != UINT32_MAX)
        return false;
    const uint32_t metadata = read_u32(head + 4), root = read_u32(head + 8);
    return metadata > 0 && metadata <= INT32_MAX && metadata % 8 == 0 && root >= 4 &&
           root < metadata;
}

bm_format bm_table_format_of_bytes(const char *head, size_t len)
{
    if (len >= 4 && (memcmp(head, "PAR1", 4) == 0 || memcmp(head, "PARE", 4) == 0))
        return BM_FORMAT_PARQUET;
    if ((len >= 6 && memcmp(head, "ARROW1", 6) == 0) || is_stream(head, len))
        return BM_FORMAT_ARROW;
    return BM_FORMAT_AUTO;
}

bm_format bm_table_format_of_name(const char *name, size_t len)
{
    static const struct {
        const char *ending;
        bm_format format;
    } endings[] = {{".parquet", BM_FORMAT_PARQUET},
                   {".arrow", BM_FORMAT_ARROW},
                   {".arrows", BM_FORMAT_ARROW},
                   {".feather", BM_FORMAT_ARROW}};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t n = strlen(endings[i].ending);
        if (len > n && strncasecmp(name + len - n, endings[i].ending, n) == 0)
            return endings[i].format;
    }
    return BM_FORMAT_AUTO;
}

/* --- reading and writing tables --- */

const char *bm_version_tables(void)
{
    const char *why = NULL;
    const bm_table_module *module = bm_table_module_find(&why);
    return module != NULL ? module->version : NULL;
}

static const bm_table_module *find(const char *name, bool parquet, bm_error *err)
{
    const char *why = NULL;
    const bm_table_module *module = bm_table_module_find(&why);
    if (module == NULL)
        (void)bm_fail_at(err, BM_ERR_INPUT, name, 0,
                         "this is %s file, and its reader cannot be opened: %.300s (install "
                         "bandmill-parquet, or in Python `pip install './python[parquet]'` in "
                         "bandmill's source tree; or write it as JSON Lines first, with DuckDB or "
                         "pandas)",
                         parquet ? "a Parquet" : "an Arrow", why);
    return module;
}

static bm_status read_remote(void *file, void *out, size_t len, uint64_t at, size_t *got,
                             bm_error *err)
{
    return bm_remote_read(file, out, len, at, got, err);
}

bm_table_bytes bm_table_bytes_of(const bm_source *source)
{
    return source->remote == NULL ? (bm_table_bytes){0}
                                  : (bm_table_bytes){.file = source->remote,
                                                     .size = source->size,
                                                     .read = read_remote};
}

/* Report `status` with the library's message. */
static bm_status report(bm_status status, const char *name, const bm_table_words *words,
                        bool parquet, bm_error *err)
{
    return status == BM_OK ? BM_OK
                           : bm_fail_at(err, status, name, 0, "cannot be read as %s: %s",
                                        parquet ? "Parquet" : "Arrow IPC", words->text);
}

bm_status bm_table_open(const char *name, const bm_table_wish *wish, struct ArrowArrayStream *out,
                        bm_error *err)
{
    const bm_table_module *module = find(name, wish->parquet, err);
    bm_table_words words = {.text = ""};
    if (module == NULL)
        return BM_ERR_INPUT;
    return report(module->open(wish, out, &words), name, &words, wish->parquet, err);
}

bm_status bm_table_keep(const char *const *names, const bm_table_kept *kept, bm_error *err)
{
    const bm_table_module *module = find(names[0], kept->parquet, err);
    bm_table_words words = {.text = ""};
    if (module == NULL)
        return BM_ERR_INPUT;
    const bm_status status = module->keep(kept, &words);
    if (status != BM_OK && words.other_schema)
        return bm_fail_field_at(
            err, "paths", names[words.table], 0,
            "the schema is not that of %s: %s (tables of one schema can be one stream)", names[0],
            words.text);
    return report(status, names[words.table], &words, kept->parquet, err);
}

bm_status bm_table_write(const char *name, const bm_table_made *made, bm_error *err)
{
    const char *why = NULL;
    const bm_table_module *module = bm_table_module_find(&why);
    bm_table_words words = {.text = ""};
    if (module == NULL || module->write == NULL) {
        why = module != NULL ? "what reads them here writes none" : why;
        made->stream->release(made->stream);
        return bm_fail(err, BM_ERR_INPUT,
                       "%s needs the writer of tables, which cannot be opened: %.300s (install "
                       "bandmill-parquet)",
                       made->parquet ? "Parquet" : "Arrow", why);
    }
    bm_status status = module->write(made, &words);
    return status == BM_OK ? BM_OK
                           : bm_fail_at(err, status, name, 0, "cannot be written: %s", words.text);
}
