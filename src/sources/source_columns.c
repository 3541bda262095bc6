/* SPDX-License-Identifier: Apache-2.0 */
/* source_columns.c -- makes batches of rows from streams of Arrow arrays.
 *
 *     stream -> chunk (an array and its columns) -> batch: rows first … first + n - 1 of a chunk
 *
 * The producer decides the size of a chunk, so a batch is a range of its rows. The chunk is shared
 * by its batches and the source, with a reference count.
 *
 * If several threads get batches, batches of a file that can be cut are handed out unread, as parts
 * of ranges (table_ranges.h). Before the source reads in order again, it waits until all such
 * batches are finished. If parts of ranges could not be read, it continues with the first of them.
 *
 * If bad records are skipped, a file that cannot be opened counts as one bad record, in a batch of
 * its own. A file that breaks off after it was opened ends the job, because its kept rows could not
 * be written.
 *
 * Tests: tests/reference/test_tables.py, tests/unit/sources/test_row_digest.c,
 *        tests/unit/sources/test_source_columns.c */
#include "sources/source_columns.h"

#include <bandmill/version.h>

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "input/input_bytes.h"
#include "input/input_digest.h"
#include "input/parser.h"
#include "input/record_format.h"
#include "input/tables.h"
#include "model/option_words.h"
#include "sources/table_ranges.h"
#include "sources/table_stream.h"

/* === row digest ===
 *
 * Digests the rows of a stream while a reader of the stream gets them. Each array passes through
 * here, and a table stream borrows it on the way.
 *
 *     inner  ->  array  ->  reader
 *                  |  on its way
 *                table stream  ->  chunk  ->  hashes of its rows
 *
 * If hashing fails (a missing column, no memory), the reader is not told, but there is no digest.
 * Threads: one at a time. The handle and the passed stream are freed independently, in any
 * order. */

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "model/stream_hash.h"

#define NO_ID UINT64_C(0)

struct bm_row_digest {
    struct ArrowArrayStream inner;
    bm_record_rules rules;
    bm_table_stream table; /* table.stream delivers `passing` */
    struct ArrowArray passing;
    bm_stream_hash *hash;
    bm_buf joined;
    uint64_t *texts, *ids;
    size_t cap_texts, cap_ids, n_rows;
    bool each, has_ids, begun, failed, ended;
    unsigned users; /* the users are the handle and the passed stream */
};

static void drop(bm_row_digest *rows)
{
    if (--rows->users > 0)
        return;
    if (rows->inner.release != NULL)
        rows->inner.release(&rows->inner);
    rows->table.stream.release = NULL; /* the stream is part of `rows` */
    bm_table_stream_close(&rows->table);
    bm_stream_hash_close(rows->hash);
    bm_buf_reset(&rows->joined);
    bm_free(rows->texts);
    bm_free(rows->ids);
    bm_free(rows);
}

void bm_row_digest_close(bm_row_digest *rows)
{
    if (rows != NULL)
        drop(rows);
}

bm_status bm_row_digest_open(const bm_input_options *input, struct ArrowArrayStream *stream,
                             bool each, bm_row_digest **out, bm_error *err)
{
    bm_row_digest *rows = NULL;
    BM_TRY(bm_new_zero(&rows, 1, err));
    rows->users = 1;
    rows->each = each;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_record_rules_init(input, BM_FORMAT_AUTO, &rows->rules, err));
    rows->rules.id_given = false;
    BM_TRY_OUT(bm_stream_hash_open(bm_isa_best(), &rows->hash, err));
    rows->inner = *stream;
    stream->release = NULL; /* moved */
    *out = rows;
    return BM_OK;
out:
    drop(rows);
    return status;
}

bm_row_facts bm_row_digest_facts(const bm_row_digest *rows)
{
    const bm_hash128 digest = bm_stream_hash_end(rows->hash);
    return (bm_row_facts){.n_rows = rows->n_rows,
                          .digest = {digest.lo, digest.hi},
                          .ids = rows->has_ids ? rows->ids : NULL,
                          .texts = rows->each ? rows->texts : NULL,
                          .whole = rows->ended && !rows->failed};
}

/* --- hashes --- */

static uint64_t hash_of(bm_str data)
{
    const uint64_t hash = XXH3_64bits(data.data, data.len);
    return hash != NO_ID ? hash : 1;
}

static bm_status hash_id(const bm_table_chunk *c, size_t row, bm_buf *texts, uint64_t *out,
                         bm_error *err)
{
    bm_str id;
    *out = NO_ID;
    if (bm_arrow_column_is_null(&c->columns[0], row))
        return BM_OK;
    BM_TRY(bm_arrow_column_id(&c->columns[0], row, texts, &id, err));
    *out = hash_of(id);
    return BM_OK;
}

static bm_status add_rows(bm_row_digest *rows, const bm_table_chunk *c, bm_error *err)
{
    const size_t before = rows->n_rows, first = rows->each ? before : 0;
    BM_TRY(bm_grow_array(&rows->texts, &rows->cap_texts, first + c->n_rows, err));
    if (c->has_id)
        BM_TRY(bm_grow_array(&rows->ids, &rows->cap_ids, before + c->n_rows, err));
    for (size_t row = 0; row < c->n_rows; row++) {
        const bm_text_request wish = {rows->rules.n_text, row, &rows->joined, NULL};
        bm_str text;
        BM_TRY(bm_chunk_text(c, &wish, &text, err));
        rows->texts[first + row] = hash_of(text);
        if (c->has_id)
            BM_TRY(hash_id(c, row, &rows->joined, &rows->ids[before + row], err));
    }
    if (c->n_rows > 0)
        bm_stream_hash_add(rows->hash, rows->texts + first, c->n_rows * sizeof *rows->texts);
    rows->has_ids = c->has_id;
    rows->n_rows += c->n_rows;
    return BM_OK;
}

/* --- the stream of the table stream --- */

static int inner_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    bm_row_digest *rows = stream->private_data;
    return rows->inner.get_schema(&rows->inner, out);
}

static int inner_array(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    bm_row_digest *rows = stream->private_data;
    *out = rows->passing;
    rows->passing.release = NULL;
    return 0;
}

static const char *inner_error(struct ArrowArrayStream *stream)
{
    bm_row_digest *rows = stream->private_data;
    return rows->inner.get_last_error(&rows->inner);
}

static bm_status begin(bm_row_digest *rows, const char *name, bm_error *err)
{
    if (rows->begun)
        return BM_OK;
    rows->begun = true;
    rows->table = (bm_table_stream){.rules = &rows->rules,
                                    .name = name,
                                    .stream = {.get_schema = inner_schema,
                                               .get_next = inner_array,
                                               .get_last_error = inner_error,
                                               .private_data = rows}};
    return bm_table_stream_begin(&rows->table, err);
}

static void release_not(struct ArrowArray *array)
{
    array->release = NULL;
}

/* Digest an array that still belongs to its producer. */
static bm_status digest_array(bm_row_digest *rows, const struct ArrowArray *array, const char *name,
                              bm_error *err)
{
    bm_table_chunk *chunk = NULL;
    BM_TRY(begin(rows, name, err));
    rows->passing = *array;
    rows->passing.release = release_not;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_table_stream_next(&rows->table, &chunk, err));
    status = add_rows(rows, chunk, err);
out:
    bm_table_chunk_release(chunk);
    return status;
}

bm_status bm_row_digest_read(bm_row_digest *rows, const char *name, bm_error *err)
{
    bm_status status = begin(rows, name, err);
    while (status == BM_OK && !rows->ended) {
        struct ArrowArray array = {0};
        const int code = rows->inner.get_next(&rows->inner, &array);
        if (code != 0) {
            const char *why = rows->inner.get_last_error(&rows->inner);
            return bm_fail_at(err, BM_ERR_INPUT, name, 0, "the table cannot be read: %s",
                              why != NULL ? why : strerror(code));
        }
        rows->ended = array.release == NULL;
        if (!rows->ended)
            status = digest_array(rows, &array, name, err);
        if (array.release != NULL)
            array.release(&array);
    }
    return status;
}

/* --- the passed stream --- */

static int next_array(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    bm_row_digest *rows = stream->private_data;
    const int code = rows->inner.get_next(&rows->inner, out);
    if (code != 0)
        rows->failed = true;
    else if (out->release == NULL)
        rows->ended = true;
    else if (!rows->failed)
        rows->failed = digest_array(rows, out, "", NULL) != BM_OK;
    return code;
}

static void outer_release(struct ArrowArrayStream *stream)
{
    drop(stream->private_data);
    stream->release = NULL;
}

void bm_row_digest_pass(bm_row_digest *rows, struct ArrowArrayStream *out)
{
    rows->users++;
    *out = (struct ArrowArrayStream){.get_schema = inner_schema,
                                     .get_next = next_array,
                                     .get_last_error = inner_error,
                                     .release = outer_release,
                                     .private_data = rows};
}

/* Open a table file with the columns that the rules name. If there are no rules, its rows have no
 * columns. */
static bm_status open_table(void *ctx, const bm_table_asked *asked, struct ArrowArrayStream *out,
                            bm_error *err)
{
    (void)ctx;
    const bm_record_rules *rules = asked->rules;
    const size_t n = rules != NULL ? bm_columns_count(rules) : 0;
    const char **names;
    BM_TRY(bm_new(&names, n + 1, err));
    bm_table_wish wish = {.path = bm_source_place(asked->file),
                          .bytes = bm_table_bytes_of(asked->file),
                          .parquet = asked->format == BM_FORMAT_PARQUET,
                          .columns = names,
                          .threads = asked->resources.threads,
                          .batch_bytes = asked->batch_bytes,
                          .memory = asked->resources.memory,
                          .range_bytes = asked->range_bytes,
                          .cut = asked->cut,
                          .first_row = asked->file->cut.records,
                          .n_rows = asked->file->cut.rows};
    for (size_t i = 0; rules != NULL && i < rules->n_text; i++)
        names[wish.n_columns++] = rules->text[i];
    wish.n_needed = wish.n_columns;
    if (rules != NULL && rules->id != NULL)
        names[wish.n_columns++] = rules->id;
    if (rules != NULL && rules->id_given)
        wish.n_needed = wish.n_columns;
    for (size_t i = 0; rules != NULL && i < bm_rules_n_keep(rules); i++)
        names[wish.n_columns++] = rules->keep->fields[i];
    bm_status status = bm_table_open(asked->file->name, &wish, out, err);
    bm_free(names);
    return status;
}

const bm_arrow_column_provider bm_table_files = {.name = "tables", .open = open_table};

/* Is a file that failed to open with this status skipped as a bad record? Only if bad records are
 * skipped, the status is BM_ERR_INPUT, and the module that reads tables is there. */
static bool may_be_lost(const bm_input_set *inputs, bm_status status)
{
    return status == BM_ERR_INPUT && bm_input_skips_bad_records(&inputs->options) &&
           bm_version_tables() != NULL;
}

/* Open the file as `out`. If the file cannot be read and bad records are skipped, returns BM_OK,
 * puts the reason in `lost` and marks the source as `lost`. BM_ERR_INPUT: bad records are not
 * skipped, or the module that reads tables is missing. BM_ERR_IO, BM_ERR_NOMEM. */
static bm_status table_file_open(const bm_table_file *file, struct ArrowArrayStream *out,
                                 bm_error *lost, bm_error *err)
{
    bm_source *source = bm_input_set_source(file->inputs, file->index);
    const bm_table_asked asked = {.file = source,
                                  .rules = file->rules,
                                  .batch_bytes = file->batch_bytes,
                                  .range_bytes = file->range_bytes,
                                  .cut = file->cut,
                                  .resources = bm_input_set_resources(file->inputs),
                                  .format = bm_input_set_format(file->inputs)};
    bm_error why = {0};
    bm_status status = BM_OK;
    if (source->unreadable != NULL)
        BM_TRY_OUT(bm_fail_at(&why, BM_ERR_INPUT, source->name, 0, "%s", source->unreadable));
    else
        BM_TRY_OUT(bm_input_copy(file->inputs, file->index, &why));
    status = file->provider->open(file->provider->ctx, &asked, out, &why);
out:
    source->lost = may_be_lost(file->inputs, status);
    if (source->lost)
        *lost = why;
    else if (status != BM_OK && err != NULL)
        *err = why;
    return source->lost ? BM_OK : status;
}

/* Set `names` to all columns of the file. Called if the table lacks a column of `keep`. It opens
 * another stream, since the open stream has only the columns that are read. */
static bm_status name_all_columns(const bm_table_file *file, bm_name_list *names, bm_error *err)
{
    const char *absent[] = {"\x01"}; /* no table has this column, so the module gives all columns */
    bm_record_rules rules = *file->rules;
    rules.text = absent;
    rules.n_text = 1;
    rules.id = NULL;
    rules.keep = NULL;
    bm_table_cut cut = {0};
    bm_table_file whole = *file;
    whole.rules = &rules;
    whole.range_bytes = 0;
    whole.cut = &cut;
    struct ArrowArrayStream stream = {0};
    struct ArrowSchema schema = {0};
    bm_error lost = {0};
    BM_TRY(table_file_open(&whole, &stream, &lost, err));
    if (stream.release == NULL)
        return BM_OK;
    if (stream.get_schema(&stream, &schema) == 0) {
        *names = (bm_name_list){0};
        bm_table_names(&schema, names);
        schema.release(&schema);
    }
    stream.release(&stream);
    return BM_OK;
}

/* texts up to range_bytes / LONG_FOLD bytes are read without asking the gate */
#define LONG_FOLD 6u

typedef struct columns {
    bm_batch_source base;
    const bm_arrow_column_provider *provider; /* NULL: there is one stream, in memory */
    bm_record_rules rules;
    bm_batch_limits limits;
    /* the stream in memory, until it is begun; used if provider is NULL */
    struct ArrowArrayStream in_memory;
    bm_table_chunk **held; /* chunks of a stream in memory that is begun twice */
    size_t n_held, cap_held, next_held;
    bool all_held;
    bool numbers_ids;       /* repeated ids are numbered, so all ids become texts */
    bm_shared_table *table; /* NULL: no table is open, or the chunks of the table are held */
    bool inside;            /* a table is open, or the chunks of a table are held */
    size_t file;            /* index of the open table's file, or of the next file to open */
    bool begun;
    bm_range_turns turns;
    bm_row_range *range; /* the range whose parts are being handed out; NULL: none */
    uint32_t part;       /* number of the next part of `range` */
    uint64_t in_order;   /* rows before this row number are read in order */
    /* the chunk whose rows are delivered; NULL: the next chunk has to be read */
    bm_table_chunk *chunk;
    uint32_t n_chunks;
    size_t row;    /* the next row of the chunk */
    uint64_t line; /* number of the next row in its file, from 1 */
    uint64_t bytes_read;
    /* why the current file cannot be read; if its status is BM_OK, the file can be read */
    bm_error lost;
} columns;

typedef struct columns_batch {
    bm_source_batch base;
    /* if not NULL, the batch is one bad record: a file that cannot be read, for this reason */
    char *lost;
    bm_range_part part; /* the part to read, if the batch is not filled yet */
    /* NULL: the file cannot be read, the batch is not filled yet, or it was dropped */
    bm_table_chunk *chunk;
    size_t first, n;
    uint32_t file;
    uint64_t first_line;
} columns_batch;

typedef struct columns_parser {
    bm_batch_parser base;
    const columns *source;
    bm_record_maker maker;
    bm_buf joined, repaired, repaired_id;
    bm_buf id;    /* the text of an id that is a number or a uuid */
    bm_buf parts; /* a bm_text_part for each text of the row, if the row may have several */
    bm_keyer keyer;
} columns_parser;

/* --- the source and its streams --- */

static void columns_end(bm_batch_source *base)
{
    columns *source = (columns *)base;
    bm_row_range_release(source->range);
    source->range = NULL;
    bm_table_chunk_release(source->chunk);
    source->chunk = NULL;
    bm_shared_table_release(source->table);
    source->table = NULL;
    source->inside = false;
}

static void columns_close(bm_batch_source *base)
{
    columns *source = (columns *)base;
    columns_end(base);
    bm_range_turns_reset(&source->turns);
    for (size_t i = 0; i < source->n_held; i++)
        bm_table_chunk_release(source->held[i]);
    bm_free(source->held);
    if (source->in_memory.release != NULL)
        source->in_memory.release(&source->in_memory);
    bm_free(source);
}

static bm_status make_source(const bm_input_options *options, columns **out, bm_error *err)
{
    columns *source = NULL;
    BM_TRY(bm_new_zero(&source, 1, err));
    source->base.ops = &bm_source_columns;
    bm_range_turns_init(&source->turns);
    bm_status status = bm_record_rules_init(options, BM_FORMAT_AUTO, &source->rules, err);
    if (status == BM_OK)
        *out = source;
    else
        columns_close(&source->base);
    return status;
}

/* Open a source that reads the files of `inputs`, whatever their format, through the provider. Both
 * are borrowed. */
static bm_status columns_open_files(bm_input_set *inputs, const bm_arrow_column_provider *provider,
                                    bm_batch_source **out, bm_error *err)
{
    columns *source = NULL;
    BM_TRY(make_source(&inputs->options, &source, err));
    source->base.inputs = inputs;
    source->provider = provider;
    *out = &source->base;
    return BM_OK;
}

/* Open a source that reads a stream in memory. The stream is read once or, if `begun_twice` is set,
 * twice. On BM_OK the stream is moved; on an error it is released. `name`, for ids and messages,
 * and the pointers in `options` are borrowed. */
static bm_status columns_open_stream(struct ArrowArrayStream *stream, const char *name,
                                     const bm_input_options *options, bm_batch_source **out,
                                     bm_error *err)
{
    columns *source = NULL;
    bm_status status = make_source(options, &source, err);
    if (status != BM_OK) {
        stream->release(stream);
        return status;
    }
    source->base.name = name;
    source->numbers_ids = bm_input_numbers_ids(options);
    source->in_memory = *stream;
    stream->release = NULL; /* moved */
    *out = &source->base;
    return BM_OK;
}

static bool columns_reads(bm_format format)
{
    return bm_format_is_table(format);
}

/* Open a source of the stream in the options of the inputs. If there is none, open a source of
 * table files. */
static bm_status columns_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    struct ArrowArrayStream *stream = inputs->options.stream;
    if (stream == NULL) {
        BM_TRY(columns_open_files(inputs, &bm_table_files, out, err));
        (*out)->copies = true;
        ((columns *)*out)->rules.keep = inputs->rules.keep;
        return BM_OK;
    }
    if (stream->release == NULL)
        return bm_fail_field(err, "stream", "the table (`stream`) has been released already");
    BM_TRY(columns_open_stream(stream, NULL, &inputs->options, out, err));
    (*out)->inputs = inputs;
    ((columns *)*out)->rules.keep = inputs->rules.keep;
    return BM_OK;
}

static bm_status columns_begin(bm_batch_source *base, const bm_batch_limits *limits, bm_error *err)
{
    columns *source = (columns *)base;
    if (source->provider == NULL && source->begun && !source->all_held)
        return bm_fail_at(err, BM_ERR_IO, base->name, 0,
                          "this input can be read only once, and was");
    columns_end(base);
    bm_range_turns_reset(&source->turns);
    bm_range_turns_init(&source->turns);
    source->begun = true;
    source->lost = (bm_error){0};
    source->limits = *limits;
    source->file = 0;
    source->next_held = 0;
    source->bytes_read = 0;
    return BM_OK;
}

/* --- from streams to batches --- */

/* The kind of ids in the memory table that was just begun. */
static bm_id_kind ids_of(const columns *source)
{
    const bm_arrow_column_ref *id = &source->table->stream.refs[0];
    if (!id->path.found)
        return source->rules.row_ids != 0 ? BM_IDS_ROWS : BM_IDS_TEXT;
    if (id->form.kind != BM_FORM_INTEGER || source->numbers_ids)
        return BM_IDS_TEXT;
    return id->type.kind == BM_ARROW_COLUMN_UINT && id->type.width == 8 ? BM_IDS_UINT64
                                                                        : BM_IDS_INT64;
}

/* Open the stream of the next file, or begin the stream in memory. *more is false if there is no
 * further stream. */
static bm_status begin_stream(columns *source, bool *more, bm_error *err)
{
    const bm_arrow_column_provider *provider = source->provider;
    size_t n_files = provider != NULL ? bm_input_set_count(source->base.inputs) : 1;
    *more = source->file < n_files;
    if (!*more)
        return BM_OK;
    source->inside = true;
    source->line = 1;
    if (source->all_held)
        return BM_OK;
    if (provider != NULL)
        source->line += bm_input_set_source(source->base.inputs, source->file)->cut.records;
    const bm_record_rules *rules = source->limits.records_only ? NULL : &source->rules;
    const bool ranges = source->limits.helped && rules != NULL;
    bm_shared_table *table = NULL;
    BM_TRY(bm_new_zero(&table, 1, err));
    atomic_init(&table->users, 1);
    source->table = table;
    source->in_order = 0;
    table->stream =
        (bm_table_stream){.rules = rules,
                          .name = bm_batch_source_file(&source->base, (uint32_t)source->file),
                          .stream = source->in_memory};
    source->in_memory.release = NULL; /* moved */
    bm_table_file file = {0};
    if (provider != NULL) {
        file = (bm_table_file){.provider = provider,
                               .inputs = source->base.inputs,
                               .index = source->file,
                               .rules = rules,
                               .batch_bytes = source->limits.bytes,
                               .range_bytes = ranges ? source->limits.range_bytes : 0,
                               .cut = &table->cut};
        bm_status status = table_file_open(&file, &table->stream.stream, &source->lost, err);
        if (status != BM_OK || source->lost.status != BM_OK) {
            source->inside = false;
            return status;
        }
    }
    BM_TRY(bm_table_stream_begin(&table->stream, err));
    if (provider == NULL && rules != NULL)
        source->base.ids = ids_of(source);
    return provider != NULL && table->stream.names.n > 0
               ? name_all_columns(&file, &table->stream.names, err)
               : BM_OK;
}

/* End the stream of a file. The digest of the file is computed only now, because the file may have
 * been read in any order; its bytes are mostly in the page cache. The digest of a copy was computed
 * when the copy was made. A file that could not be read gets none. */
static bm_status end_stream(columns *source, bm_error *err)
{
    bm_status status = BM_OK;
    if (source->provider != NULL) {
        bm_source *file = bm_input_set_source(source->base.inputs, source->file);
        if (file->copy == NULL && file->unreadable == NULL) {
            bm_digest_of all = BM_DIGEST_OF_FILE(file->path);
            all.remote = file->remote;
            all.from = file->cut.from;
            file->bytes_read = (file->cut.to != 0 ? file->cut.to : file->size) - all.from;
            if (file->cut.to != 0)
                all.bytes = file->bytes_read;
            status = bm_input_digest_file(&all, NULL, &file->digest, err);
        }
        source->bytes_read += file->bytes_read;
    }
    bm_shared_table_release(source->table);
    source->table = NULL;
    source->inside = false;
    source->file++;
    return status;
}

/* Get the next chunk of the open stream, with the source as a user; NULL at the end. If a stream in
 * memory is begun twice, its chunks are kept in source->held, and taken from there the second
 * time. */
static bm_status next_chunk(columns *source, bm_error *err)
{
    if (source->all_held) {
        source->chunk =
            source->next_held < source->n_held ? source->held[source->next_held++] : NULL;
    } else {
        BM_TRY(bm_table_stream_next(&source->table->stream, &source->chunk, err));
        if (source->chunk != NULL)
            source->chunk->number = ++source->n_chunks;
        if (source->provider != NULL || !source->base.begun_twice || source->limits.records_only)
            return BM_OK;
        source->all_held = source->chunk == NULL;
        if (!source->all_held) {
            BM_TRY(bm_grow_array(&source->held, &source->cap_held, source->n_held + 1, err));
            source->held[source->n_held++] = source->chunk;
        }
    }
    if (source->chunk != NULL)
        bm_table_chunk_use(source->chunk);
    return BM_OK;
}

/* Continue in order from row `row` of a range. If the chunk of the range could be read, continue
 * with the chunk. Otherwise continue with the stream, which will report the error. */
static void go_back(columns *source, bm_row_range *range, size_t row)
{
    bm_table_cut *cut = &range->table->cut;
    atomic_fetch_add(&range->table->users, 1);
    columns_end(&source->base);
    source->table = range->table;
    source->inside = true;
    source->file = range->file;
    source->bytes_read = range->bytes_read;
    source->lost = (bm_error){0};
    source->line = range->at.row + row + 1;
    source->row = row;
    source->chunk = range->chunk;
    source->in_order = range->chunk != NULL ? 0 : UINT64_MAX;
    if (range->chunk != NULL)
        bm_table_chunk_use(range->chunk);
    else
        cut->seek(cut->own, source->line - 1, UINT64_MAX);
}

/* If a range was given back, let the source continue with that range, and return true. `wait`:
 * first wait until all parts are finished. */
static bool give_back(columns *source, bool wait)
{
    size_t row;
    bm_row_range *range = bm_range_turns_failed(&source->turns, wait, &row);
    if (range != NULL)
        go_back(source, range, row);
    bm_row_range_release(range);
    return range != NULL;
}

/* Go to the next range of the file. If there is none, go to the rows that have to be read in order,
 * or to the end of the file. A range with more rows than a batch may have documents is decoded here
 * and read in order. */
static bm_status next_range(columns *source, bm_error *err)
{
    const bm_table_cut *cut = &source->table->cut;
    const size_t docs = source->limits.docs;
    bm_row_range *range = NULL;
    bm_table_range at = cut->next(cut->own, source->line - 1);
    if (at.n_rows == 0)
        return end_stream(source, err);
    if (at.own == NULL) {
        source->in_order = at.row + at.n_rows;
        cut->seek(cut->own, at.row, source->in_order);
        return BM_OK;
    }
    BM_TRY(bm_row_range_open(source->table, &at, source->limits.bytes, &range, err));
    range->file = source->file;
    range->bytes_read = source->bytes_read;
    range->number = ++source->n_chunks;
    source->range = range;
    source->part = 0;
    source->line += at.n_rows;
    if (docs != 0 && at.n_rows > docs) {
        atomic_fetch_add(&range->users, 1);
        bm_row_range_read(range);
        go_back(source, range, 0);
        bm_row_range_release(range);
    }
    return BM_OK;
}

/* Find the next rows to deliver. They are in source->range or source->chunk. Both are NULL if there
 * are no more rows, or if the current file cannot be read. */
static bm_status find_rows(columns *source, bm_error *err)
{
    bool more = true;
    while (more && source->lost.status == BM_OK) {
        if ((source->range != NULL && source->part < source->range->n_parts) ||
            (source->chunk != NULL && source->row < source->chunk->n_rows))
            return BM_OK;
        bm_row_range_release(source->range);
        source->range = NULL;
        bm_table_chunk_release(source->chunk);
        source->chunk = NULL;
        source->row = 0;
        if (!source->inside) {
            BM_TRY(begin_stream(source, &more, err));
        } else if (source->table != NULL && source->table->cut.own != NULL &&
                   source->line > source->in_order) {
            BM_TRY(next_range(source, err));
        } else {
            BM_TRY(next_chunk(source, err));
            if (source->chunk == NULL)
                BM_TRY(end_stream(source, err));
        }
    }
    return BM_OK;
}

/* Like find_rows. But if the rows found do not belong to a range, wait until all ranges are
 * finished. If a range is then given back, its rows come first. */
static bm_status find_rows_in_turn(columns *source, bm_error *err)
{
    bm_status status;
    (void)give_back(source, false);
    do
        status = find_rows(source, err);
    while ((status != BM_OK || source->range == NULL) && give_back(source, true));
    return status;
}

static size_t text_bytes(const columns *source, const bm_table_chunk *c, size_t row)
{
    return source->limits.records_only ? 0 : bm_chunk_text_bytes(c, source->rules.n_text, row);
}

/* Ask the gate for the memory of the texts of the next n rows, most of which the last row needs.
 * Fails if the gate does not allow it. */
static bm_status check_gate(const columns *source, size_t n, uint64_t bytes, bm_error *err)
{
    const bm_long_gate *gate = source->limits.gate;
    const size_t last = source->row + n - 1;
    bool may = true;
    if (gate != NULL)
        BM_TRY(gate->hold(gate->ctx, bytes, &may, err));
    if (may)
        return BM_OK;
    bm_long_record record = {.file = bm_batch_source_file(&source->base, (uint32_t)source->file),
                             .line = source->line + n - 1,
                             .bytes = text_bytes(source, source->chunk, last)};
    record.words = bm_chunk_text_words(source->chunk, source->rules.n_text, last);
    return gate->refuse(gate->ctx, &record, err);
}

static void columns_free_batch(bm_source_batch *base)
{
    columns_batch *batch = (columns_batch *)base;
    bm_table_chunk_release(batch->chunk);
    bm_row_range_release(batch->part.range);
    bm_free(batch->lost);
    bm_free(batch);
}

/* Make the batch for a file that cannot be read. It is one bad record. */
static bm_status lost_batch(columns *source, bm_source_batch **out, bm_error *err)
{
    columns_batch *batch = NULL;
    BM_TRY(bm_new_zero(&batch, 1, err));
    batch->n = 1;
    batch->file = (uint32_t)source->file;
    batch->first_line = 1;
    source->lost.status = BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_string_format(&batch->lost, err, "the file cannot be read: %s", source->lost.message));
    BM_TRY_OUT(end_stream(source, err));
    batch->base.bytes_read = source->bytes_read;
    *out = &batch->base;
    return BM_OK;
out:
    columns_free_batch(&batch->base);
    return status;
}

/* Make a batch of a part of the range. The thread that gets the batch fills it. */
static bm_status part_batch(columns *source, bm_source_batch **out, bm_error *err)
{
    columns_batch *batch = NULL;
    BM_TRY(bm_new_zero(&batch, 1, err));
    batch->part = bm_range_part_give(&source->turns, source->range, source->part++);
    batch->file = (uint32_t)source->file;
    batch->base.bytes_read = source->bytes_read;
    *out = &batch->base;
    return BM_OK;
}

static bm_status columns_fill(bm_batch_source *base, bm_source_batch *base_batch, double *in_turn,
                              bm_error *err)
{
    (void)in_turn;
    (void)err;
    columns *source = (columns *)base;
    columns_batch *batch = (columns_batch *)base_batch;
    bm_row_range *range = batch->part.range;
    if (range == NULL)
        return BM_OK;
    /* long records need the gate, so they are read in order */
    const size_t share = source->limits.range_bytes / LONG_FOLD, bytes = source->limits.bytes;
    batch->n = bm_range_part_read(&source->turns, &batch->part, share > bytes ? share : bytes,
                                  &batch->chunk, &batch->first);
    batch->first_line = range->at.row + batch->first + 1;
    bm_row_range_release(range);
    batch->part.range = NULL;
    return BM_OK;
}

static bm_status columns_next(bm_batch_source *base, bm_source_batch **out, bm_error *err)
{
    columns *source = (columns *)base;
    *out = NULL;
    BM_TRY(find_rows_in_turn(source, err));
    if (source->range != NULL)
        return part_batch(source, out, err);
    if (source->lost.status != BM_OK)
        return lost_batch(source, out, err);
    bm_table_chunk *c = source->chunk;
    if (c == NULL)
        return BM_OK;
    columns_batch *batch = NULL;
    BM_TRY(bm_new_zero(&batch, 1, err));
    size_t bytes = 0, most = c->n_rows - source->row;
    if (source->limits.docs != 0 && most > source->limits.docs)
        most = source->limits.docs;
    while (batch->n < most && (batch->n == 0 || bytes < source->limits.bytes))
        bytes += text_bytes(source, c, source->row + batch->n++);
    if (bytes > source->limits.bytes) {
        const bm_status status = check_gate(source, batch->n, bytes, err);
        if (status != BM_OK) {
            bm_free(batch);
            return status;
        }
    }
    bm_table_chunk_use(c);
    batch->chunk = c;
    batch->first = source->row;
    batch->file = (uint32_t)source->file;
    batch->first_line = source->line;
    source->row += batch->n;
    source->line += batch->n;
    if (source->provider == NULL)
        source->bytes_read += bytes;
    batch->base.bytes_read = source->bytes_read;
    *out = &batch->base;
    return BM_OK;
}

static bm_status columns_count(bm_batch_source *base, const bm_source_batch *batch, uint64_t *n,
                               bm_error *err)
{
    (void)base;
    (void)err;
    *n = ((const columns_batch *)batch)->n;
    return BM_OK;
}

/* --- from rows to documents --- */

static void columns_close_parser(bm_batch_parser *base)
{
    columns_parser *parser = (columns_parser *)base;
    bm_record_maker_reset(&parser->maker);
    bm_keyer_reset(&parser->keyer);
    bm_buf_reset(&parser->joined);
    bm_buf_reset(&parser->repaired);
    bm_buf_reset(&parser->repaired_id);
    bm_buf_reset(&parser->id);
    bm_buf_reset(&parser->parts);
    bm_free(parser);
}

static bm_status columns_open_parser(const bm_batch_source *base, bm_batch_parser **out,
                                     bm_error *err)
{
    const columns *source = (const columns *)base;
    columns_parser *parser = NULL;
    BM_TRY(bm_new_zero(&parser, 1, err));
    parser->base.ops = &bm_source_columns;
    parser->source = source;
    parser->maker.rules = &source->rules;
    bm_status status = bm_keyer_init(&parser->keyer, source->rules.keep, err);
    if (status != BM_OK) {
        columns_close_parser(&parser->base);
        return status;
    }
    *out = &parser->base;
    return BM_OK;
}

/* Make the record's ranking key from the columns that `keep` uses. */
static bm_status make_key(columns_parser *parser, const bm_table_chunk *c, size_t row,
                          bm_record *record, bm_error *err)
{
    const bm_record_rules *rules = &parser->source->rules;
    bm_keyer *keyer = &parser->keyer;
    for (size_t i = 0; i < bm_rules_n_keep(rules); i++)
        BM_TRY(bm_arrow_column_value(&c->columns[1 + rules->n_text + i], row, &keyer->texts[i],
                                     &keyer->values[i], err));
    if (bm_keyer_wants_names(keyer))
        keyer->names = c->names;
    return bm_keyer_make(keyer, parser->maker.file_name, record, err);
}

/* A number for the dictionary entry that is the row's text, unique in all chunks. 0: the text is
 * not such an entry, or the index of the entry exceeds 32 bits. */
static uint64_t entry_of(const columns_parser *parser, const bm_table_chunk *c, size_t row)
{
    const bm_arrow_column *column = &c->columns[1];
    const uint64_t entry = parser->source->rules.n_text > 1 || column->many
                               ? UINT64_MAX
                               : bm_arrow_column_entry(column, row);
    return entry > UINT32_MAX ? 0 : (uint64_t)c->number << 32 | entry;
}

/* Check the length of the text, and make it valid UTF-8. A text that is too long makes the record
 * bad. */
static bm_status check_text(columns_parser *parser, bm_record *record, bm_error *err)
{
    bm_record_maker *maker = &parser->maker;
    record->text_bytes = record->text.len;
    if (record->text_bytes > maker->rules->longest) {
        bm_record_too_long(maker, record, "text", "");
        return BM_OK;
    }
    const bm_utf8_value field = {"text", &parser->repaired, &record->text};
    return bm_record_make_valid(maker, record, &field, err);
}

static bm_status make_text(columns_parser *parser, const bm_table_chunk *c, size_t row,
                           bm_record *record, bm_error *err)
{
    const bm_text_request wish = {parser->source->rules.n_text, row, &parser->joined,
                                  &parser->parts};
    BM_TRY(bm_chunk_text(c, &wish, &record->text, err));
    if (wish.n > 1 || c->columns[1].many) {
        record->parts = (const bm_text_part *)parser->parts.data;
        record->n_parts = parser->parts.len / sizeof *record->parts;
    }
    record->entry = entry_of(parser, c, row);
    return check_text(parser, record, err);
}

static bm_status parse_row(columns_parser *parser, const bm_table_chunk *c, size_t row,
                           bm_record *record, bm_error *err)
{
    const bm_record_rules *rules = &parser->source->rules;
    bm_status status = make_text(parser, c, row, record, err);
    if (status != BM_OK || record->bad)
        return status;
    if (!c->has_id ||
        (bm_arrow_column_is_null(&c->columns[0], row) && !rules->id_given && rules->row_ids == 0))
        return bm_record_place_id(&parser->maker, record, err);
    if (bm_arrow_column_is_null(&c->columns[0], row)) {
        bm_record_bad(&parser->maker, record,
                      "column '%.64s' is null (an id was expected; " BM_NO_IDS ")", rules->id);
        return BM_OK;
    }
    BM_TRY(bm_arrow_column_id(&c->columns[0], row, &parser->id, &record->id, err));
    if (!bm_arrow_column_is_text(c->columns[0].type))
        return BM_OK;
    const bm_utf8_value field = {"id", &parser->repaired_id, &record->id};
    status = bm_record_make_valid(&parser->maker, record, &field, err);
    bm_record_check_id(&parser->maker, record);
    return status;
}

static bm_status report_lost(const columns_batch *batch, bm_record_fn fn, void *ctx, bm_error *err)
{
    const bm_record record = {
        .file = batch->file, .line = batch->first_line, .bad = true, .reason = batch->lost};
    return fn(ctx, &record, err);
}

#define AHEAD_BYTES 4096u /* bytes of the next text that are prefetched during the current one */
#define LINE_BYTES  64u

/* Get the text of a row, which is empty for a null, and prefetch the first cache lines of the
 * text. */
static bm_str expect_text(const bm_arrow_column *column, size_t row)
{
    if (bm_arrow_column_is_null(column, row))
        return (bm_str){.data = ""};
    const bm_str text = bm_arrow_column_bytes(column, row);
    const size_t n = text.len < AHEAD_BYTES ? text.len : AHEAD_BYTES;
    for (size_t at = 0; at < n; at += LINE_BYTES)
        __builtin_prefetch(text.data + at);
    return text;
}

/* Parse rows that have no ids and one text column. All of them use the same record, since clearing
 * a record takes as long as shingling a short text. */
static bm_status parse_texts(columns_parser *parser, const columns_batch *batch, bm_record_fn fn,
                             void *ctx, bm_error *err)
{
    const bm_arrow_column *column = &batch->chunk->columns[1];
    const size_t end = batch->first + batch->n;
    bm_record record = {.file = batch->file, .line = batch->first_line, .nameless = true};
    bm_str next = batch->n > 0 ? expect_text(column, batch->first) : (bm_str){0};
    for (size_t row = batch->first; row < end; row++, record.line++) {
        record.bad = false;
        record.n_invalid = 0;
        record.as_read = (bm_str){0};
        record.text = next;
        record.entry = column->type.in_width == 0 ? 0 : entry_of(parser, batch->chunk, row);
        if (row + 1 < end)
            next = expect_text(column, row + 1);
        BM_TRY(check_text(parser, &record, err));
        BM_TRY(fn(ctx, &record, err));
    }
    return BM_OK;
}

static bm_status columns_parse(bm_batch_parser *base, const bm_source_batch *base_batch,
                               bm_record_fn fn, void *ctx, bm_error *err)
{
    columns_parser *parser = (columns_parser *)base;
    const columns_batch *batch = (const columns_batch *)base_batch;
    if (batch->lost != NULL)
        return report_lost(batch, fn, ctx, err);
    parser->maker.file_name = bm_batch_source_file(&parser->source->base, batch->file);
    bm_keyer_begin(&parser->keyer);
    if (base->own_ids && !batch->chunk->has_id && !batch->chunk->columns[1].many &&
        parser->source->rules.n_text == 1 && parser->keyer.rules == NULL)
        return parse_texts(parser, batch, fn, ctx, err);
    for (size_t i = 0; i < batch->n; i++) {
        bm_record record = {.file = batch->file, .line = batch->first_line + i};
        BM_TRY(parse_row(parser, batch->chunk, batch->first + i, &record, err));
        if (parser->keyer.rules != NULL && !record.bad)
            BM_TRY(make_key(parser, batch->chunk, batch->first + i, &record, err));
        BM_TRY(fn(ctx, &record, err));
    }
    return BM_OK;
}

/* Split rows into records. The bytes of a record are the number of its row, from 0, because the
 * writer of kept tables needs nothing else (kept_writer.c). */
static bm_status columns_split(bm_batch_parser *base, const bm_source_batch *base_batch,
                               bm_record_fn fn, void *ctx, bm_error *err)
{
    columns_parser *parser = (columns_parser *)base;
    const columns_batch *batch = (const columns_batch *)base_batch;
    if (batch->lost != NULL)
        return report_lost(batch, fn, ctx, err);
    parser->joined.len = 0;
    for (size_t i = 0; i < batch->n; i++) {
        const uint64_t row = batch->first_line + i - 1;
        BM_TRY(bm_buf_add(&parser->joined, &row, sizeof row, err));
    }
    for (size_t i = 0; i < batch->n; i++) {
        const bm_record record = {
            .file = batch->file,
            .line = batch->first_line + i,
            .raw = {parser->joined.data + i * sizeof(uint64_t), sizeof(uint64_t)}};
        BM_TRY(fn(ctx, &record, err));
    }
    return BM_OK;
}

const bm_batch_source_ops bm_source_columns = {
    .name = "columns",
    .has_text = true,
    .places = true,
    .reads = columns_reads,
    .open = columns_open,
    .begin = columns_begin,
    .next = columns_next,
    .fill = columns_fill,
    .count = columns_count,
    .end = columns_end,
    .free_batch = columns_free_batch,
    .close = columns_close,
    .open_parser = columns_open_parser,
    .parse = columns_parse,
    .split = columns_split,
    .close_parser = columns_close_parser,
};
