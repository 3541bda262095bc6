/* SPDX-License-Identifier: Apache-2.0 */
/* plain_sets.c -- see the header. */
#include "plain_sets.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SHINGLE 5u

void plain_die(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, name, what);
    exit(1);
}

void *plain_must(void *memory)
{
    if (memory == NULL)
        plain_die("out of memory", "documents");
    return memory;
}

char *plain_read_file(const char *name, size_t *len)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        plain_die("cannot be read", name);
    long size = ftell(file);
    rewind(file);
    char *data = plain_must(malloc((size_t)size + 1));
    if (size < 0 || fread(data, 1, (size_t)size, file) != (size_t)size)
        plain_die("cannot be read", name);
    data[size] = '\0';
    fclose(file);
    *len = (size_t)size;
    return data;
}

static int ascending(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* Writes the words of text[0, len), joined by single spaces, to `out`, and their beginnings to
 * `starts`. */
static size_t cut_words(const char *text, size_t len, char *out, uint32_t *starts, uint32_t *end)
{
    size_t n = 0, at = 0;
    bool inside = false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool word = c > 127 || isalnum(c);
        if (word && !inside) {
            if (n > 0)
                out[at++] = ' ';
            starts[n++] = (uint32_t)at;
        }
        if (word)
            out[at++] = (char)tolower(c);
        inside = word;
    }
    *end = (uint32_t)at;
    return n;
}

static plain_set make_set(const char *text, size_t len, char *scratch, uint32_t *starts)
{
    uint32_t end, kept = 0;
    size_t n_words = cut_words(text, len, scratch, starts, &end);
    size_t n = n_words == 0 ? 0 : n_words < SHINGLE ? 1 : n_words - SHINGLE + 1;
    plain_set out = {.hashes = plain_must(malloc((n + 1) * sizeof(uint64_t)))};
    for (size_t i = 0; i < n; i++) {
        size_t stop = i + SHINGLE < n_words ? starts[i + SHINGLE] - 1 : end;
        out.hashes[i] = XXH3_64bits(scratch + starts[i], stop - starts[i]);
    }
    qsort(out.hashes, n, sizeof *out.hashes, ascending);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || out.hashes[i] != out.hashes[i - 1])
            out.hashes[kept++] = out.hashes[i];
    out.n = kept;
    return out;
}

void plain_read_rows(const char *name, void (*row)(void *ctx, const plain_row *row), void *ctx)
{
    size_t len;
    char *data = plain_read_file(name, &len);
    char *scratch = plain_must(malloc(2 * len + 2));
    uint32_t *starts = plain_must(malloc((len + 1) * sizeof *starts));
    for (char *line = data, *next; line < data + len; line = next) {
        char *end = memchr(line, '\n', (size_t)(data + len - line));
        end = end == NULL ? data + len : end;
        next = end + 1;
        char *tab = memchr(line, '\t', (size_t)(end - line));
        if (tab == NULL) {
            plain_die("a row without a tab", name);
            break;
        }
        row(ctx, &(plain_row){line, (size_t)(tab - line),
                              make_set(tab + 1, (size_t)(end - tab - 1), scratch, starts)});
    }
    free(starts);
    free(scratch);
    free(data);
}

int plain_by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}
