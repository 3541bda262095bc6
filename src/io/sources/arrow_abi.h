/* arrow_abi.h -- the Arrow C data interface and C stream interface: three plain structs that any
 * Arrow implementation fills and reads, so that tables come here without a library.
 *
 * Layout and names are those of the specification (arrow.apache.org/docs/format/CDataInterface.html
 * and CStreamInterface.html), which asks for these guards, so that several headers that declare
 * them live together. A struct whose `release` is NULL has been released. */
#ifndef BM_IO_SOURCES_ARROW_ABI_H
#define BM_IO_SOURCES_ARROW_ABI_H

#include <stdint.h>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

/* The type of a column, or of a table: "+s", a struct with a child for each column. */
struct ArrowSchema {
    const char *format; /* "u" utf8, "U" large_utf8, "z" binary, "l" int64 … */
    const char *name;
    const char *metadata;
    int64_t flags; /* ARROW_FLAG_* */
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

/* The values: rows offset … offset + length - 1 of the buffers. */
struct ArrowArray {
    int64_t length;
    int64_t null_count; /* -1: not known */
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers; /* validity bits first (NULL: no nulls), then by the type */
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/* Arrays of one schema, one after another. Calls return 0 or an errno code. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out); /* released: end */
    const char *(*get_last_error)(struct ArrowArrayStream *stream);           /* NULL: no words */
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};

#endif

#endif
