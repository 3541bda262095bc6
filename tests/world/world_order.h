/* SPDX-License-Identifier: Apache-2.0 */
/* world_order.h -- ascending orders for qsort and bsearch. */
#pragma once

#include <stdint.h>

static inline int world_ascending(const void *x, const void *y) /* of uint64_t */
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static inline int world_ascending32(const void *x, const void *y) /* of uint32_t */
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}
