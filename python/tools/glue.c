/* SPDX-License-Identifier: Apache-2.0 */
/* What Python cannot do while its lock is free: be asked whether to stop, and give out one column.
 */
#include <errno.h>
#include <string.h>

struct bm_py_cancel { /* what the callbacks of a job get */
    void *python;     /* the handle of the call */
    int stop;
};

static bool bm_py_cancelled(void *ctx)
{
    return __atomic_load_n(&((struct bm_py_cancel *)ctx)->stop, __ATOMIC_RELAXED) != 0;
}

/* In the stable ABI from 3.10 on, and in every CPython before. */
extern const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);

/* A table of one column of texts that lie in objects of Python's, which outlive the stream. */
struct bm_py_table {
    struct ArrowSchema schema, child;
    struct ArrowSchema *children[1];
    struct ArrowArray array, column;
    struct ArrowArray *columns[1];
    const void *none[1];
    int given;
};

/* A cell of Arrow's binary_view. */
struct bm_py_view {
    int32_t size;
    char head[4];
    int32_t buffer, offset;
};

enum { BM_PY_INLINE = 12 }; /* bytes that stand in a view */

/* A text, or bytes; None and NaN are empty ones. False: it is none of these, or has no UTF-8, or is
 * too long for a view. */
static bool bm_py_cell(PyObject *item, const char **data, Py_ssize_t *size)
{
    *data = "", *size = 0;
    if (item == Py_None)
        return true;
    if (PyFloat_Check(item)) {
        const double value = PyFloat_AsDouble(item);
        return value != value;
    }
    if (PyUnicode_Check(item))
        *data = PyUnicode_AsUTF8AndSize(item, size);
    else if (PyBytes_Check(item))
        *data = PyBytes_AsString(item), *size = PyBytes_Size(item);
    else
        return false;
    if (*data == NULL)
        PyErr_Clear();
    return *data != NULL && *size <= INT32_MAX;
}

/* The n items of the tuple at this address as views of 16 bytes, with a buffer each. -1: all are;
 * else the first that is none. Holds Python's lock, for the items are the caller's. */
static int64_t bm_py_views(uintptr_t items, int64_t n, void *views, const void **buffers,
                           int64_t *sizes)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    int64_t wrong = -1;
    for (int64_t i = 0; i < n && wrong < 0; i++) {
        struct bm_py_view view = {0};
        const char *data;
        Py_ssize_t size;
        if (!bm_py_cell(PyTuple_GetItem((PyObject *)items, (Py_ssize_t)i), &data, &size)) {
            wrong = i;
            continue;
        }
        view.size = (int32_t)size;
        view.buffer = (int32_t)i;
        memcpy(view.head, data, size < 4 ? (size_t)size : 4);
        if (size <= BM_PY_INLINE)
            memcpy((char *)&view + 4, data, (size_t)size);
        memcpy((char *)views + (size_t)i * sizeof view, &view, sizeof view);
        buffers[i] = data;
        sizes[i] = size;
    }
    PyGILState_Release(lock);
    return wrong;
}

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

/* `buffers`: none, views, those of the texts, and their sizes. */
static void bm_py_table_stream(struct bm_py_table *table, const void **buffers, int64_t n_buffers,
                               int64_t n, struct ArrowArrayStream *out)
{
    memset(table, 0, sizeof *table);
    table->children[0] = &table->child;
    table->child = (struct ArrowSchema){
        .format = "vz", .name = "text", .flags = ARROW_FLAG_NULLABLE, .release = no_release_schema};
    table->schema = (struct ArrowSchema){.format = "+s",
                                         .name = "",
                                         .n_children = 1,
                                         .children = table->children,
                                         .release = no_release_schema};
    table->columns[0] = &table->column;
    table->column = (struct ArrowArray){
        .length = n, .n_buffers = n_buffers, .buffers = buffers, .release = bm_py_no_release_array};
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

/* A stream of one array, which is moved into it with its schema; the schema is lent. */
struct bm_py_array {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

static int lent_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    *out = ((struct bm_py_array *)stream->private_data)->schema;
    out->release = no_release_schema; /* it may be asked for again; the library keeps none */
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
    *out = (struct ArrowArrayStream){.get_schema = lent_schema,
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
