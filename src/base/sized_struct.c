/* SPDX-License-Identifier: Apache-2.0 */
/* sized_struct.c -- copies only the bytes that both versions of a struct have.
 *
 * Tests: tests/unit/base/test_sized_struct.c */
#include "base/sized_struct.h"

#include <string.h>

#include "base/error.h"

static size_t size_of(const void *caller)
{
    size_t size;
    memcpy(&size, caller, sizeof size);
    return size;
}

void bm_sized_init(void *caller, size_t struct_size, const void *defaults, size_t whole)
{
    if (caller == NULL || struct_size < sizeof struct_size)
        return;
    memset(caller, 0, struct_size);
    memcpy(caller, defaults, struct_size < whole ? struct_size : whole);
    memcpy(caller, &struct_size, sizeof struct_size);
}

bm_status bm_sized_check(const void *caller, bm_sized_type type, bm_error *err)
{
    if (caller == NULL)
        return bm_fail_field(err, type.name, "no %s given", type.name);
    const size_t size = size_of(caller);
    if (size < type.least || size > BM_SIZED_MOST)
        return bm_fail_field(err, "struct_size",
                             "`struct_size` of %s is %zu (%zu to %u: the _init function, or "
                             "{.struct_size = sizeof}, sets it)",
                             type.name, size, type.least, BM_SIZED_MOST);
    return BM_OK;
}

bm_status bm_sized_read(const void *caller, bm_sized_type type, void *out, bm_error *err)
{
    BM_TRY(bm_sized_check(caller, type, err));
    const size_t size = size_of(caller);
    const unsigned char *bytes = caller;
    for (size_t i = type.whole; i < size; i++)
        if (bytes[i] != 0)
            return bm_fail_field(err, "struct_size",
                                 "%s has fields set that this version does not know (%zu bytes, "
                                 "of which it knows %zu)",
                                 type.name, size, type.whole);
    memcpy(out, caller, size < type.whole ? size : type.whole);
    return BM_OK;
}

bm_status bm_sized_write(const void *in, bm_sized_type type, void *caller, bm_error *err)
{
    if (caller == NULL)
        return BM_OK;
    BM_TRY(bm_sized_check(caller, type, err));
    const size_t size = size_of(caller), n = size < type.whole ? size : type.whole;
    memcpy((char *)caller + sizeof size, (const char *)in + sizeof size, n - sizeof size);
    return BM_OK;
}

bm_status bm_enum_check(const char *field, unsigned value, unsigned n, bm_error *err)
{
    if (value < n)
        return BM_OK;
    return bm_fail_field(err, field, "`%s` is %u (one of its values, 0 to %u)", field, value,
                         n - 1);
}

bm_status bm_reserved_check(const char *field, const uint64_t *reserved, size_t n, bm_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (reserved[i] != 0)
            return bm_fail_field(err, field, "reserved words of `%s` are set (0 in this version)",
                                 field);
    return BM_OK;
}
