/* SPDX-License-Identifier: Apache-2.0 */
/* world_text.h -- text helpers for tests. */
#pragma once

#include <string.h>

#include <bandmill/types.h>

/* Borrows the bytes of a C string. */
static inline bm_str world_str(const char *text)
{
    return (bm_str){text, strlen(text)};
}

/* A write callback that discards the bytes. */
static inline int world_write_nothing(void *ctx, const char *data, size_t len)
{
    (void)ctx, (void)data, (void)len;
    return 0;
}
