/* SPDX-License-Identifier: Apache-2.0 */
/* sized_struct.h -- structs of the public interface, which may grow in later versions (see the
 * public types.h). Their first field, size_t struct_size, is the size of the caller's struct. */
#pragma once

#include <bandmill/status.h>

#include <stddef.h>
#include <stdint.h>

/* Bytes of a struct up to the end of a field. */
#define BM_SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Describes a struct of the public headers. `least` is its size in the first version with this
 * SOVERSION. It never changes, because a program that was built with that version passes only that
 * many bytes. */
typedef struct bm_sized_type {
    const char *name;
    size_t whole, least;
} bm_sized_type;

/* `last` is the last field of the struct in the first version. Newer fields follow it. */
#define BM_SIZED_TYPE(type, last) ((bm_sized_type){#type, sizeof(type), BM_SIZE_UP_TO(type, last)})

/* The code of bm_NAME_options_init_sized: fill the caller's struct of `struct_size` bytes with
 * `defaults` (`whole` bytes; the first field is ignored), and set its struct_size. If the struct is
 * shorter, the defaults are cut. If it is longer, because the program is newer than this library,
 * the other fields become zero. NULL is fine. */
void bm_sized_init(void *caller, size_t struct_size, const void *defaults, size_t whole);

/* Define NAME_defaults, and bm_NAME_options_init_sized, which fills the caller's struct with these
 * defaults. */
#define BM_OPTIONS_INIT(name, ...)                                                                 \
    static const bm_##name##_options name##_defaults = {__VA_ARGS__};                              \
    void bm_##name##_options_init_sized(bm_##name##_options *options, size_t struct_size)          \
    {                                                                                              \
        bm_sized_init(options, struct_size, &name##_defaults, sizeof name##_defaults);             \
    }

/* The most bytes of any struct in any version. If a struct_size is larger, it is an uninitialised
 * value, and no bytes are read. */
#define BM_SIZED_MOST (64u << 10)

/* Check a struct of the caller. BM_ERR_USAGE: it is NULL, or its struct_size is less than
 * type.least or more than BM_SIZED_MOST, so it was not initialised. */
bm_status bm_sized_check(const void *caller, bm_sized_type type, bm_error *err);

/* Read an input struct. `out` is a whole struct with the defaults, and receives the fields that the
 * caller's struct has. BM_ERR_USAGE: bm_sized_check fails, or the caller has set a field that this
 * version does not know. */
bm_status bm_sized_read(const void *caller, bm_sized_type type, void *out, bm_error *err);

/* Fill an output struct. As much of `in` (a whole struct) as fits is copied to the caller's struct,
 * but its struct_size does not change. NULL is fine. BM_ERR_USAGE: bm_sized_check fails. */
bm_status bm_sized_write(const void *in, bm_sized_type type, void *caller, bm_error *err);

/* Check that value < n; else BM_ERR_USAGE names `field`. */
bm_status bm_enum_check(const char *field, unsigned value, unsigned n, bm_error *err);
/* Check that the n reserved words of an options struct are 0; else BM_ERR_USAGE names `field`. */
bm_status bm_reserved_check(const char *field, const uint64_t *reserved, size_t n, bm_error *err);
