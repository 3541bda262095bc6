/* SPDX-License-Identifier: Apache-2.0 */
/* record_types.c -- see the header. Types are lower-cased, because their case varies in WARC files.
 *
 * Tests: tests/unit/input/test_parser.c, tests/cli/situations/warc_not_wet.txt */
#include "input/record_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void add(bm_record_types *types, const char *name, uint64_t n)
{
    size_t i = 0;
    while (i < types->n_types && strcmp(types->other[i].name, name) != 0)
        i++;
    types->n_other += n;
    if (i == BM_RECORD_TYPES_MOST)
        return;
    if (i == types->n_types) {
        types->n_types++;
        memcpy(types->other[i].name, name, strlen(name) + 1);
    }
    types->other[i].n += n;
}

void bm_record_types_add(bm_record_types *types, bm_str type)
{
    char name[BM_RECORD_TYPE_BYTES];
    size_t n = type.len < sizeof name - 1 ? type.len : sizeof name - 1;
    for (size_t i = 0; i < n; i++)
        name[i] = type.data[i] >= 'A' && type.data[i] <= 'Z'   ? (char)(type.data[i] - 'A' + 'a')
                  : type.data[i] > 0x20 && type.data[i] < 0x7F ? type.data[i]
                                                               : '?';
    name[n] = '\0';
    add(types, name, 1);
}

void bm_record_types_join(bm_record_types *types, const bm_record_types *part)
{
    types->n_documents += part->n_documents;
    for (size_t i = 0; i < part->n_types; i++)
        add(types, part->other[i].name, part->other[i].n);
}

/* Order types by decreasing count. Types of equal count are ordered by name, so that the order does
 * not depend on how the file was divided into batches. */
static int compare(const void *x, const void *y)
{
    const bm_record_type *a = x, *b = y;
    return a->n != b->n ? (a->n < b->n ? 1 : -1) : strcmp(a->name, b->name);
}

bm_status bm_record_types_check(const bm_record_types *types, const char *file, bm_error *err)
{
    if (types->n_documents > 0 || types->n_other == 0)
        return BM_OK;
    bm_record_types sorted = *types;
    char list[BM_RECORD_TYPES_MOST * (BM_RECORD_TYPE_BYTES + 32)];
    int len = 0;
    qsort(sorted.other, sorted.n_types, sizeof sorted.other[0], compare);
    for (size_t i = 0; i < sorted.n_types; i++)
        len += snprintf(list + len, sizeof list - (size_t)len, ", %llu of %s",
                        (unsigned long long)sorted.other[i].n, sorted.other[i].name);
    return bm_fail_at(err, BM_ERR_INPUT, file, 0,
                      "no record of type conversion%s: this is no WET file (take the texts out of "
                      "the pages first)",
                      list);
}
