/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_arrow.h -- makes a table of signatures from the bytes of an input, as a reader of tables
 * would deliver it. Every array is valid by Arrow's specification; the bytes choose its types,
 * lengths, offsets and nulls. Buffers have exactly the size that they need, so that a sanitizer
 * catches an access past them. Header only.
 *
 *     byte 0 … 3   the types of the signatures, of their words, of the ids and of n_shingles
 *     then         for each array: a byte with rows, offset and nulls, and then its cells */
#pragma once

#include <bandmill/arrow.h>

#include "fuzz_check.h"

#define FUZZ_CELLS    24u
#define FUZZ_WORDS    8u /* words per signature, at most */
#define FUZZ_CHILDREN 3u

static const char *const fuzz_lists[] = {"+l", "+L", "+w:0", "+w:4", "+w:1", "+w:4294967300",
                                         "u",  "+l"};
static const char *const fuzz_words[] = {"I", "L", "I", "i"};
static const char *const fuzz_ids[] = {"u", "U", "l", "C", "z", "g", NULL, "u"};
static const char *const fuzz_sizes[] = {"I", "L", "C", "i", NULL, NULL, NULL, NULL};

typedef struct fuzz_table {
    const uint8_t *at, *end;
    const char *list, *word, *id, *size; /* formats; NULL: the table lacks the column */
    bool indexed;                        /* words are dictionary-encoded */
    char *metadata;                      /* NULL: none */
} fuzz_table;

static inline uint8_t fuzz_take(fuzz_table *t)
{
    return t->at < t->end ? *t->at++ : 0;
}

static inline void *fuzz_bytes(size_t n)
{
    void *block = calloc(n > 0 ? n : 1, 1);
    CHECK(block != NULL);
    return block;
}

/* --- schema --- */

static inline void fuzz_release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    if (schema->dictionary != NULL) {
        schema->dictionary->release(schema->dictionary);
        free(schema->dictionary);
    }
    schema->release = NULL;
}

static inline struct ArrowSchema *fuzz_schema(const char *format, const char *name,
                                              size_t n_children)
{
    struct ArrowSchema *out = fuzz_bytes(sizeof *out);
    *out = (struct ArrowSchema){.format = format,
                                .name = name,
                                .n_children = (int64_t)n_children,
                                .release = fuzz_release_schema};
    out->children = fuzz_bytes(n_children * sizeof *out->children);
    return out;
}

static inline int fuzz_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const fuzz_table *t = stream->private_data;
    const bool nested = t->list[0] == '+';
    struct ArrowSchema *list = fuzz_schema(t->list, "signature", nested),
                       *all = fuzz_schema("+s", "", FUZZ_CHILDREN);
    if (nested) {
        list->children[0] = fuzz_schema(t->word, "item", 0);
        if (t->indexed)
            list->children[0]->dictionary = fuzz_schema(t->word, NULL, 0);
    }
    all->n_children = 0;
    all->children[all->n_children++] = list;
    if (t->id != NULL)
        all->children[all->n_children++] = fuzz_schema(t->id, "id", 0);
    if (t->size != NULL)
        all->children[all->n_children++] = fuzz_schema(t->size, "n_shingles", 0);
    all->metadata = t->metadata;
    *out = *all;
    free(all);
    return 0;
}

/* --- arrays --- */

static inline void fuzz_release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    for (int64_t i = 0; i < array->n_buffers; i++)
        free((void *)(uintptr_t)array->buffers[i]);
    free(array->children);
    free(array->buffers);
    if (array->dictionary != NULL) {
        array->dictionary->release(array->dictionary);
        free(array->dictionary);
    }
    array->release = NULL;
}

static inline struct ArrowArray *fuzz_array(size_t length, size_t n_buffers, size_t n_children)
{
    struct ArrowArray *out = fuzz_bytes(sizeof *out);
    *out = (struct ArrowArray){.length = (int64_t)length,
                               .n_buffers = (int64_t)n_buffers,
                               .n_children = (int64_t)n_children,
                               .release = fuzz_release_array};
    out->buffers = fuzz_bytes(n_buffers * sizeof *out->buffers);
    out->children = fuzz_bytes(n_children * sizeof *out->children);
    return out;
}

/* The null bits of the cells, if the array has nulls. */
static inline void fuzz_nulls(fuzz_table *t, struct ArrowArray *array, size_t cells, bool may)
{
    if (!may)
        return;
    uint8_t *bits = fuzz_bytes((cells + 7) / 8);
    for (size_t i = 0; i < cells; i++) {
        const bool null = fuzz_take(t) % 16 == 15;
        array->null_count += null;
        bits[i / 8] |= (uint8_t)(!null << i % 8);
    }
    array->buffers[0] = bits;
}

static inline size_t fuzz_width(const char *format)
{
    return strchr("cC", format[0])   ? 1
           : strchr("sS", format[0]) ? 2
           : strchr("iI", format[0]) ? 4
                                     : 8;
}

static inline struct ArrowArray *fuzz_numbers(fuzz_table *t, const char *format, size_t cells,
                                              bool nulls)
{
    const size_t width = fuzz_width(format);
    struct ArrowArray *out = fuzz_array(cells, 2, 0);
    uint8_t *values = fuzz_bytes(cells * width);
    fuzz_nulls(t, out, cells, nulls);
    for (size_t i = 0; i < cells; i++) {
        const uint8_t byte = fuzz_take(t);
        memset(values + i * width, byte == 0xFF ? 0xFF : 0, width);
        values[i * width] = byte;
    }
    out->buffers[1] = values;
    return out;
}

static inline void fuzz_put_offset(uint8_t *offsets, size_t i, size_t width, uint64_t value)
{
    memcpy(offsets + i * width, &value, width);
}

/* Cells of one or two bytes. */
static inline struct ArrowArray *fuzz_text(fuzz_table *t, const char *format, size_t cells,
                                           bool nulls)
{
    const size_t width = strchr("UZ", format[0]) ? 8 : 4;
    struct ArrowArray *out = fuzz_array(cells, 3, 0);
    uint8_t *offsets = fuzz_bytes((cells + 1) * width), text[2 * FUZZ_CELLS];
    size_t len = 0;
    fuzz_nulls(t, out, cells, nulls);
    for (size_t i = 0; i < cells; i++) {
        const uint8_t byte = fuzz_take(t);
        fuzz_put_offset(offsets, i, width, len);
        text[len++] = byte;
        if (byte % 2 == 1)
            text[len++] = (uint8_t)(byte >> 1);
    }
    fuzz_put_offset(offsets, cells, width, len);
    uint8_t *bytes = fuzz_bytes(len);
    memcpy(bytes, text, len);
    out->buffers[1] = offsets;
    out->buffers[2] = bytes;
    return out;
}

static inline struct ArrowArray *fuzz_list(fuzz_table *t, size_t cells, bool nulls)
{
    const bool fixed = t->list[1] == 'w';
    const size_t width = t->list[1] == 'L' ? 8 : 4;
    struct ArrowArray *out = fuzz_array(cells, fixed ? 1 : 2, 1);
    uint8_t *offsets = fixed ? NULL : fuzz_bytes((cells + 1) * width);
    size_t n = 0, each = fixed ? strtoul(t->list + 3, NULL, 10) % 5 : 0;
    fuzz_nulls(t, out, cells, nulls);
    for (size_t i = 0; i < cells; i++) {
        const uint8_t byte = fixed ? 0 : fuzz_take(t);
        if (!fixed)
            fuzz_put_offset(offsets, i, width, n);
        n += fixed ? each : byte < 8 ? byte % FUZZ_WORDS : 4;
    }
    if (!fixed)
        fuzz_put_offset(offsets, cells, width, n);
    if (!fixed)
        out->buffers[1] = offsets;
    out->children[0] = fuzz_numbers(t, t->word, n, nulls);
    if (t->indexed)
        out->children[0]->dictionary = fuzz_numbers(t, t->word, 256, false);
    return out;
}

/* Puts the first `skipped` cells of the array before its offset. */
static inline struct ArrowArray *fuzz_skip(struct ArrowArray *array, size_t skipped)
{
    array->offset = (int64_t)skipped;
    array->length -= (int64_t)skipped;
    return array;
}

static inline int fuzz_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    fuzz_table *t = stream->private_data;
    out->release = NULL;
    if (t->at >= t->end)
        return 0;
    const uint8_t head = fuzz_take(t);
    const bool nulls = (head & 0x80) != 0;
    const size_t rows = head % 16, skipped = head >> 4 & 3, cells = rows + skipped;
    struct ArrowArray *all = fuzz_array(rows, 1, FUZZ_CHILDREN);
    all->n_children = 0;
    all->children[all->n_children++] = fuzz_skip(
        t->list[0] == '+' ? fuzz_list(t, cells, nulls) : fuzz_text(t, t->list, cells, nulls),
        skipped);
    if (t->id != NULL)
        all->children[all->n_children++] =
            fuzz_skip(strchr("uUzZ", t->id[0]) ? fuzz_text(t, t->id, cells, nulls)
                                               : fuzz_numbers(t, t->id, cells, nulls),
                      skipped);
    if (t->size != NULL)
        all->children[all->n_children++] =
            fuzz_skip(fuzz_numbers(t, t->size, cells, nulls), skipped);
    *out = *all;
    free(all);
    return 0;
}

static inline const char *fuzz_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static inline void fuzz_release_stream(struct ArrowArrayStream *stream)
{
    fuzz_table *t = stream->private_data;
    free(t->metadata);
    free(t);
    stream->release = NULL;
}

typedef struct fuzz_span {
    const uint8_t *data; /* NULL: there is none */
    size_t size;
} fuzz_span;

/* `value`: the value of `key` in the schema's metadata; without data there is no metadata. */
static inline void fuzz_open_table(fuzz_span table, const char *key, fuzz_span value,
                                   struct ArrowArrayStream *out)
{
    fuzz_table *t = fuzz_bytes(sizeof *t);
    *t = (fuzz_table){.at = table.data, .end = table.data + table.size};
    t->list = fuzz_lists[fuzz_take(t) % 8];
    const uint8_t word = fuzz_take(t);
    t->word = fuzz_words[word % 4];
    t->indexed = word % 4 == 2;
    t->id = fuzz_ids[fuzz_take(t) % 8];
    t->size = fuzz_sizes[fuzz_take(t) % 8];
    if (value.data != NULL) {
        const int32_t head[] = {1, (int32_t)strlen(key)}, len = (int32_t)value.size;
        char *at = t->metadata = fuzz_bytes(sizeof head + strlen(key) + sizeof len + value.size);
        memcpy(at, head, sizeof head);
        memcpy(at += sizeof head, key, strlen(key));
        memcpy(at += strlen(key), &len, sizeof len);
        memcpy(at + sizeof len, value.data, value.size);
    }
    *out = (struct ArrowArrayStream){fuzz_get_schema, fuzz_get_next, fuzz_last_error,
                                     fuzz_release_stream, t};
}
