/* SPDX-License-Identifier: Apache-2.0 */
/* public_api.h -- checks, for any call of the library that takes options, the promises about option
 * structs in include/bandmill/types.h. */
#pragma once

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bandmill/bandmill.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

/* An enum with `n` values, or `n` reserved words of `size` bytes. `field` is its name in errors. */
typedef struct api_field {
    const char *field;
    size_t offset, n, size;
} api_field;

#define ENUM(type, member, last, field)                                                            \
    {                                                                                              \
        field, offsetof(type, member), (size_t)(last) + 1, sizeof(unsigned)                        \
    }
#define RESERVED(type, member, field)                                                              \
    {                                                                                              \
        field, offsetof(type, member), sizeof(((type *)0)->member) / sizeof(uint64_t),             \
            sizeof(uint64_t)                                                                       \
    }
#define RESERVED_FLAGS(type, member, field)                                                        \
    {                                                                                              \
        field, offsetof(type, member), 1, sizeof(uint32_t)                                         \
    }

/* The enums of the parts; the parts are members with the same names in all option structs. */
#define INPUT_ENUMS(type)                                                                          \
    ENUM(type, input.format, BM_FORMAT_MIXED, "format"),                                           \
        ENUM(type, input.header, BM_HEADER_NO, "header"),                                          \
        ENUM(type, input.duplicate_ids, BM_DUPLICATE_IDS_NUMBER, "duplicate_ids"),                 \
        ENUM(type, input.on_error, BM_ON_ERROR_SKIP, "on_error"),                                  \
        ENUM(type, input.invalid_utf8, BM_INVALID_UTF8_ERROR, "invalid_utf8")
#define TEXT_ENUMS(type)                                                                           \
    ENUM(type, text.words, BM_WORDS_TEXT_DEDUP, "words"),                                          \
        ENUM(type, text.shingle, BM_SHINGLE_STOPWORD, "shingle"),                                  \
        ENUM(type, text.short_rule, BM_SHORT_SKIP, "short_rule"),                                  \
        ENUM(type, text.weights, BM_WEIGHTS_TFIDF, "weights")
#define SKETCH_ENUMS(type)  ENUM(type, sketch.scheme, BM_SCHEME_DATATROVE, "scheme")
#define DEVICE_ENUMS(type)  ENUM(type, device.text_offload, BM_OFFLOAD_ON, "text_offload")
#define TEXT_RESERVED(type) RESERVED(type, text.reserved, "text")
#define SKETCH_RESERVED(type)                                                                      \
    RESERVED(type, sketch.reserved, "sketch"), RESERVED_FLAGS(type, sketch.reserved_flags, "sketch")
#define DEVICE_RESERVED(type)                                                                      \
    RESERVED(type, device.reserved, "device"), RESERVED_FLAGS(type, device.reserved_flags, "device")

/* Sets a member to a value. */
typedef struct api_set {
    size_t offset, size;
    const void *value;
} api_set;

#define SET(type, member, value)                                                                   \
    {                                                                                              \
        offsetof(type, member), sizeof(((type *)0)->member),                                       \
            &(const __typeof__(((type *)0)->member))                                               \
        {                                                                                          \
            value                                                                                  \
        }                                                                                          \
    }

/* A change of one or two members that makes good options bad. `field` is the name in the error. */
typedef struct api_mistake {
    const char *field;
    api_set set[2];
} api_mistake;

typedef struct api_call {
    const char *type;   /* "bm_sign_options" */
    size_t size, least; /* least: its bytes in version 0.1 on 64 bits, fixed for ever */
    void (*init)(void *options, size_t struct_size);
    void (*fill)(void *options); /* fills in what the call needs to return `passes` */
    bm_status passes;            /* if accepted; no such input or device */
    bm_status (*call)(const void *options, bm_error *err);
    const api_field *enums, *reserved;
    size_t n_enums, n_reserved;
    const api_mistake *mistakes;
    size_t n_mistakes;
} api_call;

/* An initialised and filled struct, with `more` zero bytes after it that struct_size includes. The
 * caller frees it. */
static inline unsigned char *api_options(const api_call *c, size_t more)
{
    unsigned char *options = malloc(c->size + more);
    cr_assert_not_null(options);
    c->init(options, c->size + more);
    c->fill(options);
    return options;
}

static inline void api_expect_usage(const api_call *c, const void *options, const char *field)
{
    bm_error err = {0};
    cr_expect_eq(c->call(options, &err), BM_ERR_USAGE, "%s %s: %s", c->type, field, err.message);
    cr_expect_str_eq(err.field, field, "%s %s: %s", c->type, field, err.message);
    cr_expect_eq(err.status, BM_ERR_USAGE);
    cr_expect_neq(err.message[0], '\0');
    cr_expect_eq(c->call(options, NULL), BM_ERR_USAGE, "%s %s", c->type, field);
}

static inline void api_expect_passes(const api_call *c, const void *options, const char *what)
{
    bm_error err = {0};
    cr_expect_eq(c->call(options, &err), c->passes, "%s %s: %s: %s", c->type, what, err.field,
                 err.message);
    cr_expect_eq(c->call(options, NULL), c->passes);
}

/* init fills the members that fit into struct_size, zeroes the rest and writes nothing beyond. */
static inline void api_check_init(const api_call *c)
{
    enum { BEHIND = 64, GUARD = 0x5A };
    unsigned char whole[4096], some[4096];
    cr_assert_lt(c->size + 2 * BEHIND, sizeof whole);
    c->init(NULL, c->size);
    c->init(whole, c->size);
    for (size_t size = sizeof size; size <= c->size + BEHIND; size += 4) {
        memset(some, GUARD, sizeof some);
        c->init(some, size);
        cr_assert_eq(memcmp(some, &size, sizeof size), 0, "%s: struct_size", c->type);
        for (size_t i = sizeof size; i < size + BEHIND; i++) {
            const unsigned char wanted = i >= size ? GUARD : i >= c->size ? 0 : whole[i];
            cr_assert_eq(some[i], wanted, "%s of %zu bytes: byte %zu", c->type, size, i);
        }
    }
}

/* A struct_size that was never set must not be trusted: here it exceeds the mapped pages. */
static inline void api_check_garbage(const api_call *c)
{
    static const size_t garbage[] = {(64 << 10) + 1, 100000, SIZE_MAX / 2, SIZE_MAX};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    unsigned char *options = api_options(c, 0), *last = pages + page - (c->size + 7) / 8 * 8;
    memcpy(last, options, c->size);
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        memcpy(last, &garbage[i], sizeof garbage[i]);
        api_expect_usage(c, last, "struct_size");
    }
    free(options);
    munmap(pages, 2 * page);
}

static inline void api_check_sizes(const api_call *c)
{
    const size_t more = 24;
    api_check_garbage(c);
    bm_error err = {0};
    cr_expect_eq(c->call(NULL, &err), BM_ERR_USAGE, "%s", c->type);
    cr_expect_str_eq(err.field, c->type);
    cr_expect_eq(c->call(NULL, NULL), BM_ERR_USAGE);
    unsigned char *options = api_options(c, more);
    api_expect_passes(c, options, "with zeros behind");
    for (size_t i = 0; i < more; i++) {
        options[c->size + i] = 1;
        api_expect_usage(c, options, "struct_size");
        options[c->size + i] = 0;
    }
    free(options);
    options = api_options(c, 0);
    api_expect_passes(c, options, "as it is");
    for (size_t size = 0; size < c->least; size++) {
        memcpy(options, &size, sizeof size);
        api_expect_usage(c, options, "struct_size");
    }
    for (size_t size = c->least; size <= c->size; size++) {
        memcpy(options, &size, sizeof size);
        api_expect_passes(c, options, "of an older program");
    }
    memset(options, 0, c->size);
    api_expect_usage(c, options, "struct_size");
    free(options);
}

static inline void api_check_fields(const api_call *c)
{
    unsigned char *options = api_options(c, 0);
    for (size_t i = 0; i < c->n_enums; i++) {
        const api_field *f = &c->enums[i];
        const unsigned n = (unsigned)f->n;
        const unsigned wrong[] = {n, n + 1, 4000, (unsigned)-1};
        unsigned right;
        memcpy(&right, options + f->offset, sizeof right);
        cr_assert_lt(right, n);
        for (size_t k = 0; k < N_OF(wrong); k++) {
            memcpy(options + f->offset, &wrong[k], sizeof wrong[k]);
            api_expect_usage(c, options, f->field);
        }
        memcpy(options + f->offset, &right, sizeof right);
    }
    for (size_t i = 0; i < c->n_reserved; i++) {
        const api_field *f = &c->reserved[i];
        for (size_t byte = 0; byte < f->n * f->size; byte++) {
            cr_assert_eq(options[f->offset + byte], 0);
            options[f->offset + byte] = 0x80;
            api_expect_usage(c, options, f->field);
            options[f->offset + byte] = 0;
        }
    }
    api_expect_passes(c, options, "put right again");
    free(options);
}

static inline void api_check_mistakes(const api_call *c)
{
    for (size_t i = 0; i < c->n_mistakes; i++) {
        unsigned char *options = api_options(c, 0);
        for (size_t k = 0; k < 2 && c->mistakes[i].set[k].size > 0; k++) {
            const api_set *set = &c->mistakes[i].set[k];
            memcpy(options + set->offset, set->value, set->size);
        }
        api_expect_usage(c, options, c->mistakes[i].field);
        free(options);
    }
}

static inline void api_check(const api_call *c)
{
    api_check_init(c);
    api_check_sizes(c);
    api_check_fields(c);
    api_check_mistakes(c);
}

/* Defines init_NAME by the function that initialises options of this type. */
#define API_INIT(name, type)                                                                       \
    static void init_##name(void *options, size_t struct_size)                                     \
    {                                                                                              \
        type##_init_sized(options, struct_size);                                                   \
    }

/* The initial value of a summary pointer, which a failing call must not change. */
#define PLACE ((bm_summary *)(uintptr_t)0x10)

/* Defines call_NAME by a job that fails. */
#define API_JOB(name, job)                                                                         \
    static bm_status call_##name(const void *options, bm_error *err)                               \
    {                                                                                              \
        bm_summary *summary = PLACE;                                                               \
        const bm_status status = job(options, &summary, err);                                      \
        cr_expect_neq(status, BM_OK);                                                              \
        cr_expect_eq(summary, PLACE);                                                              \
        return status;                                                                             \
    }

/* The checks of a call by its functions init_NAME, fill_NAME and call_NAME, and by its tables
 * NAME_enums, NAME_reserved and NAME_mistakes; API_CALL and API_TABLE name those of a call that has
 * not all of them. */
#define API_CALL(name, type_, least_, passes_)                                                     \
    .type = #type_, .size = sizeof(type_), .least = least_, .init = init_##name,                   \
    .fill = fill_##name, .passes = passes_, .call = call_##name
#define API_TABLE(name, kind) .kind = name##_##kind, .n_##kind = N_OF(name##_##kind)
#define API_CHECK(name, type, least, passes)                                                       \
    api_check(&(const api_call){API_CALL(name, type, least, passes), API_TABLE(name, enums),       \
                                API_TABLE(name, reserved), API_TABLE(name, mistakes)})
