/* SPDX-License-Identifier: Apache-2.0 */
/* field_rows.h -- a table with a row for each option field that is about reading, cutting, signing,
 * banding, pairing or writing documents.
 *
 * A row has the position of the field, its type, its default and its uses. Loops over the rows do
 * everything else. They store fields in manifests (output) and list them in reports. They compare
 * the fields of two directories of signatures, of a directory and a call, and of a resumed job and
 * its checkpoint. They refuse fields that have no meaning for an input (job/settings.c). If no
 * common type fits a field, it has a type of its own, with a function next to the loop.
 *
 * The order of the rows is the order of the fields in manifests and reports. Threads: any, since
 * the table is constant. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/job_settings.h"
#include "model/option_words.h"

typedef enum bm_field_id {
    BM_ROW_SCHEME,
    BM_ROW_HASH,
    BM_ROW_SEED,
    BM_ROW_PERMS,
    BM_ROW_NORMALIZE,
    BM_ROW_WORDS,
    BM_ROW_SHINGLE,
    BM_ROW_SHORT,
    BM_ROW_STOPWORDS,
    BM_ROW_BAG,
    BM_ROW_WEIGHTS,
    BM_ROW_FORMAT,
    BM_ROW_TEXT_FIELDS,
    BM_ROW_ID_FIELD,
    BM_ROW_HEADER,
    BM_ROW_DELIMITER,
    BM_ROW_DUPLICATE_IDS,
    BM_ROW_ON_ERROR,
    BM_ROW_INVALID_UTF8,
    BM_ROW_MAX_DOC_BYTES,
    BM_ROW_BANDS,
    BM_ROW_ROWS,
    BM_ROW_THRESHOLD,
    BM_ROW_RECALL,
    BM_ROW_STORE,
    BM_ROW_UNIQUE,
    BM_ROW_CANDIDATES,
    BM_ROW_MEASURE,
    BM_ROW_EDIT,
    BM_ROW_VERIFY,
    BM_ROW_CONTAINMENT,
    BM_ROW_IDENTICAL,
    BM_ROW_SAMPLE,
    BM_ROW_CLUSTER,
    BM_ROW_MAX_GROUP_SIZE,
    BM_ROW_KEEP,
    BM_ROW_UNIT,
    BM_ROW_KEEP_COUNT,
    BM_ROW_WITHIN,
    BM_ROW_AGAINST,
    BM_ROW_MIN_WORDS,
    BM_ROW_STOP_SHINGLES,
    BM_ROW_CUT,
    BM_ROW_TO,
    BM_ROW_WHAT,
    BM_ROW_KEPT,
    BM_ROW_REMOVED,
    BM_ROW_BAND_KEYS,
    BM_ROW_WRITE_PAIRS,
    BM_ROW_SHARD,
    BM_ROW_N_SHARDS,
    BM_ROW_OFFSETS,
    BM_ROW_MAX_ERRORS,
    BM_ROW_INCLUDE,
    BM_ROW_EXCLUDE,
    BM_N_ROWS
} bm_field_id;

typedef enum bm_field_part {
    BM_PART_INPUT,
    BM_PART_TEXT,
    BM_PART_SKETCH,
    BM_PART_BANDS,
    BM_PART_PAIRS,
    BM_PART_INDEX,
    BM_PART_RESULTS,
    BM_N_PARTS
} bm_field_part;

typedef enum bm_field_type {
    BM_FIELD_TYPE_WORD, /* an enum with words */
    BM_FIELD_TYPE_UINT32,
    BM_FIELD_TYPE_UINT64,
    BM_FIELD_TYPE_REAL, /* double */
    BM_FIELD_TYPE_BOOL,
    BM_FIELD_TYPE_TEXT,      /* NULL: the field was not given */
    BM_FIELD_TYPE_TEXTS,     /* a list of names; only input options have such fields */
    BM_FIELD_TYPE_PATTERNS,  /* a list of patterns; only input options have such fields */
    BM_FIELD_TYPE_CHARACTER, /* '\0': the default separator of the format */
    BM_FIELD_TYPE_STEPS,     /* bits of normalisation */
    BM_FIELD_TYPE_SHINGLE,   /* the kind of a shingle, and its number of units */
    BM_FIELD_TYPE_STOPWORDS, /* a canonical list; NULL: no stop words */
    BM_FIELD_TYPE_AGAINST,   /* the known documents: their location, fields, state */
    BM_FIELD_TYPE_KEEP       /* a list of keep rules; NULL: the rule `first` */
} bm_field_type;

enum { /* bits of bm_field_row.uses */
       /* in the provenance: must be equal wherever signatures are compared */
       BM_FIELD_SIGNED = 1u << 0,
       BM_FIELD_READ = 1u << 1,          /* in the provenance: states how documents were read */
       BM_FIELD_NULLABLE = 1u << 2,      /* in a manifest the field may be null or missing */
       BM_FIELD_SCHEMES = 1u << 3,       /* the default depends on the scheme */
       BM_FIELD_READING = 1u << 4,       /* has no meaning if documents were read before */
       BM_FIELD_INDEXED = 1u << 5,       /* fixed when an index is built */
       BM_FIELD_NO_KEYS = 1u << 6,       /* has no meaning if the input is band keys */
       BM_FIELD_KEYS_BY_VALUE = 1u << 7, /* like NO_KEYS, but may be set to the default */
       /* The next bits name jobs. A report of such a job lists the field, and a resumed job
        * compares it. */
       BM_FIELD_OF_PAIRS = 1u << 8,   /* jobs that pair or read pairs */
       BM_FIELD_OF_INDEX = 1u << 9,   /* jobs that fill an index */
       BM_FIELD_OF_ADDING = 1u << 10, /* jobs that add to an index */
       BM_FIELD_OF_EXPORT = 1u << 11, /* an export */
       /* the field is a choice of outputs, which no report lists and every resumed job compares */
       BM_FIELD_OF_OUTPUT = 1u << 12,
       /* together with the bits above: only if the field does not have its default */
       BM_FIELD_WHERE_SET = 1u << 13,
       BM_FIELD_OF_OVERLAP = 1u << 14 /* an overlap */
};

struct bm_option_parts;

typedef struct bm_field_row {
    const char *name; /* in options and messages: "text_fields" */
    const char *key;  /* in manifests and reports; NULL: the same as `name` */
    bm_field_part part;
    bm_field_type type;
    bm_option option; /* if values have words: the option that defines these */
    /* the field's bit in set_fields; 0: it makes no difference whether the default was set
     * explicitly */
    uint64_t bit;
    uint32_t uses;
    size_t offset; /* offset of the field in the struct of its part (bm_field_part) */
    /* Returns BM_ERR_USAGE if the field may not have its value. NULL: the type of the field
     * decides. */
    bm_status (*check)(const struct bm_option_parts *parts, bm_error *err);
    /* Returns BM_ERR_USAGE if the field's value cannot be combined with an input of band keys.
     * NULL: `uses` decides. */
    bm_status (*check_keys)(const struct bm_option_parts *parts, bm_error *err);
} bm_field_row;

/* The option structs of a call. NULL: the call has no such struct. */
typedef struct bm_option_parts {
    const bm_input_options *input;
    const bm_text_options *text;
    bool weighs; /* the call may weigh shingles */
    const bm_sketch_options *sketch;
    const bm_band_options *bands;
    uint32_t perms_max; /* limit of the number of bands times the number of rows; 0: BM_PERMS_MAX */
    bool every_pair;    /* a threshold of 0 is allowed, and means every pair */
    const bm_device_options *device;
    const bm_resource_options *resources;
    const bm_output_options *output;
    const bm_callbacks *callbacks;
    const bm_pair_settings *pairs;
    const bm_index_settings *index;
    const bm_result_settings *results;
} bm_option_parts;

extern const bm_field_row bm_field_rows[BM_N_ROWS];

/* The address of the field in its part. The part must not be NULL. */
const void *bm_field_at(const bm_field_row *field, const bm_option_parts *parts);
/* The value of a field that is an enum or a number. */
uint64_t bm_field_number(const bm_field_row *field, const bm_option_parts *parts);
/* Set a field that is an enum, a number, a bool or a character. */
void bm_field_set(const bm_field_row *field, const bm_option_parts *parts, uint64_t value);
/* Set a field that is a text, which is borrowed. */
void bm_field_set_text(const bm_field_row *field, const bm_option_parts *parts, const char *text);
/* Does the value differ from the default? With `of_scheme`, the default is that of the scheme, if
 * the scheme has one. */
bool bm_field_is_set(const bm_field_row *field, const bm_option_parts *parts, bool of_scheme);
/* Does the field have the same value in `a` and `b`? */
bool bm_field_same(const bm_field_row *field, const bm_option_parts *a, const bm_option_parts *b);
/* May this character separate the cells of a row? True also for '\0', which means the default
 * separator of the format. */
bool bm_field_is_character(char byte);
/* Reset the format options, so that the names of the files decide the format. */
void bm_input_format_by_name(bm_input_options *input);
/* Check the fields of a part. BM_ERR_USAGE: the value of a field is not one of its option's words,
 * or the `check` of its row refuses it. */
bm_status bm_fields_check(bm_field_part part, const bm_option_parts *parts, bm_error *err);
