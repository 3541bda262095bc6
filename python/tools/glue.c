/* What Python cannot do while its lock is free: be asked whether to stop, and give out one column. */
#include <errno.h>
#include <string.h>

struct bm_py_cancel { /* what the callbacks of a job get */
    void *python; /* the handle of the call */
    int stop;
};

static bool bm_py_cancelled(void *ctx)
{
    return __atomic_load_n(&((struct bm_py_cancel *)ctx)->stop, __ATOMIC_RELAXED) != 0;
}

/* A table of one column of texts that lie in memory of Python's, which outlives the stream. */
struct bm_py_table {
    struct ArrowSchema schema, child;
    struct ArrowSchema *children[1];
    struct ArrowArray array, column;
    struct ArrowArray *columns[1];
    const void *none[1];
    const void *buffers[3];
    int given;
};

static void bm_py_no_release_array(struct ArrowArray *array)
{
    array->release = NULL;
}

static void no_release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void no_release_stream(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

static int bm_py_one_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    *out = ((struct bm_py_table *)stream->private_data)->schema;
    return 0;
}

static int one_array(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct bm_py_table *table = stream->private_data;
    memset(out, 0, sizeof *out);
    if (!table->given)
        *out = table->array;
    table->given = 1;
    return 0;
}

static const char *no_words(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void bm_py_table_stream(struct bm_py_table *table, const void *offsets, const void *bytes,
                               int64_t n, bool binary, struct ArrowArrayStream *out)
{
    memset(table, 0, sizeof *table);
    table->children[0] = &table->child;
    table->child = (struct ArrowSchema){.format = binary ? "Z" : "U",
                                        .name = "text",
                                        .flags = ARROW_FLAG_NULLABLE,
                                        .release = no_release_schema};
    table->schema = (struct ArrowSchema){.format = "+s",
                                         .name = "",
                                         .n_children = 1,
                                         .children = table->children,
                                         .release = no_release_schema};
    table->buffers[1] = offsets;
    table->buffers[2] = bytes;
    table->columns[0] = &table->column;
    table->column = (struct ArrowArray){.length = n,
                                        .n_buffers = 3,
                                        .buffers = table->buffers,
                                        .release = bm_py_no_release_array};
    table->array = (struct ArrowArray){.length = n,
                                       .n_buffers = 1,
                                       .buffers = table->none,
                                       .n_children = 1,
                                       .children = table->columns,
                                       .release = bm_py_no_release_array};
    *out = (struct ArrowArrayStream){.get_schema = bm_py_one_schema,
                                     .get_next = one_array,
                                     .get_last_error = no_words,
                                     .release = no_release_stream,
                                     .private_data = table};
}

/* A stream of one array, which is moved into it with its schema. */
struct bm_py_array {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

static int moved_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct bm_py_array *one = stream->private_data;
    if (one->schema.release == NULL)
        return EINVAL;
    *out = one->schema;
    one->schema.release = NULL;
    return 0;
}

static int moved_array(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct bm_py_array *one = stream->private_data;
    *out = one->array;
    one->array.release = NULL;
    return 0;
}

static void release_moved(struct ArrowArrayStream *stream)
{
    struct bm_py_array *one = stream->private_data;
    if (one->schema.release != NULL)
        one->schema.release(&one->schema);
    if (one->array.release != NULL)
        one->array.release(&one->array);
    stream->release = NULL;
}

static void bm_py_array_stream(struct bm_py_array *one, struct ArrowSchema *schema,
                               struct ArrowArray *array, struct ArrowArrayStream *out)
{
    one->schema = *schema;
    one->array = *array;
    schema->release = NULL;
    array->release = NULL;
    *out = (struct ArrowArrayStream){.get_schema = moved_schema,
                                     .get_next = moved_array,
                                     .get_last_error = no_words,
                                     .release = release_moved,
                                     .private_data = one};
}

static void bm_py_release_stream(struct ArrowArrayStream *stream)
{
    if (stream->release != NULL)
        stream->release(stream);
}
