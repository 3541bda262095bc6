/* json_field.h -- what is asked of a JSON text, and what comes back: paths and fields. */
#ifndef BM_IO_JSON_JSON_FIELD_H
#define BM_IO_JSON_JSON_FIELD_H

#include <bandmill/types.h>

/* A dotted path, taken apart at its dots: each part names a member of the object before. */
typedef struct bm_json_path {
    const bm_str *parts;
    size_t n_parts;
} bm_json_path;

typedef struct bm_json_paths {
    const bm_json_path *paths;
    size_t n;
    size_t number_path; /* index of the path whose numbers come as source text; SIZE_MAX: none */
} bm_json_paths;

typedef enum bm_json_kind {
    BM_JSON_MISSING,
    BM_JSON_NULL,
    BM_JSON_BOOL,
    BM_JSON_NUMBER,
    BM_JSON_STRING,
    BM_JSON_ARRAY,
    BM_JSON_OBJECT
} bm_json_kind;

/* The value at one path. */
typedef struct bm_json_field {
    bm_json_kind kind;
    bm_str value; /* string: unescaped, valid UTF-8; number: its source text where asked for */
    uint64_t len_bytes; /* of a string, unescaped, before repair (an unpaired surrogate counts 3) */
    uint64_t n_invalid; /* U+FFFD written for invalid subparts and unpaired surrogates */
} bm_json_field;

#endif
