/* SPDX-License-Identifier: Apache-2.0 */
/* plain_sets.h -- what the yardsticks in C share: rows "id TAB text" to sets of shingle hashes,
 * with nothing of the library.
 *
 * Shingles are 5 words (runs of ASCII letters and digits and of bytes over 127, ASCII letters in
 * lower case), hashed with XXH3_64bits, sorted, each once. What goes wrong ends the program with a
 * line on stderr. */
#ifndef BENCH_PLAIN_SETS_H
#define BENCH_PLAIN_SETS_H

#include <stddef.h>
#include <stdint.h>

typedef struct plain_set {
    uint64_t *hashes; /* ascending, distinct */
    uint32_t n;
} plain_set;

/* "program: name: what", and exit 1. */
void plain_die(const char *what, const char *name);
/* `memory`, which malloc and its like gave; NULL ends the program. */
void *plain_must(void *memory);
/* The bytes of a file and a NUL; the caller's. */
char *plain_read_file(const char *name, size_t *len);
/* Calls `row` for each row, in order; the set is the callee's, the id borrowed. */
typedef struct plain_row {
    const char *id;
    size_t id_len;
    plain_set set;
} plain_row;
void plain_read_rows(const char *name, void (*row)(void *ctx, const plain_row *row), void *ctx);
/* For qsort of doubles. */
int plain_by_size(const void *x, const void *y);

#endif
