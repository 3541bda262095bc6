/* sized_struct.h -- structs that cross the public interface and may grow (types.h of the public
 * headers says how): their first field, size_t struct_size, says how much of them the caller has.
 */
#ifndef BM_BASE_SIZED_STRUCT_H
#define BM_BASE_SIZED_STRUCT_H

#include <bandmill/status.h>

#include <stddef.h>
#include <stdint.h>

/* Bytes of a struct up to the end of a field: what a version had whose last field that was. */
#define BM_SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* For bm_NAME_options_init_sized: fill the caller's struct of `struct_size` bytes with `defaults`
 * (`whole` bytes, whose first field counts for nothing) as far as it goes, and set its struct_size.
 * What is there beyond `whole`, of a program newer than this library, becomes zero. NULL is fine. */
void bm_sized_init(void *caller, size_t struct_size, const void *defaults, size_t whole);

/* BM_ERR_USAGE: there is no struct, or its struct_size is less than `least` (so it was not
 * initialised). `name` is that of the type. */
bm_status bm_sized_check(const void *caller, const char *name, size_t least, bm_error *err);

/* A struct that comes in: `out` (`whole` bytes) holds the defaults and receives what the caller's
 * struct has. BM_ERR_USAGE: none was given, its struct_size is less than `least` (of the first
 * version that had it; so it was not initialised), or something is set that this version does not
 * know. `name` is that of the type. */
bm_status bm_sized_take(const void *caller, const char *name, void *out, size_t whole, size_t least,
                        bm_error *err);

/* A struct that goes out: copy as much of `in` (`whole` bytes) as the caller's struct has room for,
 * behind its struct_size, which stays. NULL is fine. BM_ERR_USAGE: struct_size is less than
 * `least`. */
bm_status bm_sized_give(const void *in, size_t whole, const char *name, void *caller, size_t least,
                        bm_error *err);

/* BM_ERR_USAGE naming `field`, unless value < n. */
bm_status bm_enum_check(const char *field, unsigned value, unsigned n, bm_error *err);
/* BM_ERR_USAGE naming `field`, unless the n words of a part of options that are reserved are 0. */
bm_status bm_reserved_check(const char *field, const uint64_t *reserved, size_t n, bm_error *err);
/* bm_fail with BM_ERR_USAGE that also fills err->field. */
bm_status bm_fail_field(bm_error *err, const char *field, const char *format, ...) BM_PRINTF(3, 4);

#endif
