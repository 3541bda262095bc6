/* SPDX-License-Identifier: Apache-2.0 */
/* orders.h -- ascending orders for qsort and bsearch. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline int bm_order_u32(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

static inline int bm_order_u64(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static inline int bm_order_double(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Order of pointers to texts, by bytes. */
static inline int bm_order_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}
