/* native_table.c -- a row for each scheme; see native_row.h.
 *
 * Tests: tests/unit/cpu/test_cpu_backend.c */
#include "cpu/native_table.h"

static const bm_native_ops *const rows[] = {
    &bm_native_affine32, &bm_native_oph,        &bm_native_cws,
    &bm_native_legacy,   &bm_native_text_dedup, &bm_native_nemo,
    &bm_native_lance,    &bm_native_affine64,   &bm_native_datatrove};

const bm_native_ops *bm_native_find(const bm_scheme_ops *scheme)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i]->scheme == scheme)
            return rows[i];
    return NULL;
}
