/* SPDX-License-Identifier: Apache-2.0 */
/* cl_program.h -- builds the program for one shape: its sources, options and kernels. */
#pragma once

#include <stddef.h>

#include <bandmill/device.h>
#include <bandmill/status.h>

#include "opencl/cl_cache.h"
#include "opencl/cl_device.h"
#include "sketch/scheme_row.h"

/* kernel_files -- the sources of kernels/, embedded by cmake/embed_files.cmake. */

typedef struct bm_kernel_file {
    const char *name; /* "affine32.h" */
    const char *text; /* ends with a NUL */
    size_t len;
} bm_kernel_file;

extern const bm_kernel_file bm_kernel_files[];
extern const unsigned bm_n_kernel_files;

/* cl_kernel_params -- the parameters of kernels. A row of kernels/tuning/opencl.csv names devices,
 * and has the parameters of kernels on these devices. This part does not use OpenCL.
 *
 * A device is looked up first in the user's file (bm_device_settings.tuning_path), then in our
 * embedded file. Of the rows of a file that match, the most specific is used: a row for the device
 * before one for the vendor, and that before one for the type. Of equally specific rows the last is
 * used, so a row appended to a file replaces an older one. */

/* The numbers of a row, in order. */
typedef enum bm_kernel_param {
    BM_CL_LANES,
    BM_CL_ACC,
    BM_CL_EACH,
    BM_CL_GROUP,
    BM_CL_TILE,
    BM_CL_PACK,
    BM_CL_WHOLE,
    BM_CL_PART,
    BM_CL_BATCH,
    BM_CL_ZERO_COPY,
    BM_CL_UNROLL,
    BM_CL_N_COLUMNS
} bm_kernel_param;

typedef struct bm_kernel_params {
    char device[64], vendor[64], type[8], shape[8]; /* "*": any */
    uint32_t number[BM_CL_N_COLUMNS];
} bm_kernel_params;

#define BM_KERNEL_PARAMS_TEXT 320u /* bytes of a row as text, at most */

/* The names of all columns, as the first line of a file. */
extern const char bm_kernel_params_header[];

/* Parse a line. It ends at a newline or NUL. Returns false if the line is not a row, or has numbers
 * for which no kernel can be built. *row is then undefined. */
bool bm_kernel_params_parse(const char *line, bm_kernel_params *row);
/* Format a row as a line, without a newline. */
void bm_kernel_params_format(const bm_kernel_params *row, char out[BM_KERNEL_PARAMS_TEXT]);
/* Make the row specific to this device: set its name, platform and type. */
void bm_kernel_params_name(bm_kernel_params *row, const bm_device_info *info);

/* The device for which a row is looked up, and the family of kernels. */
typedef struct bm_kernel_params_search {
    const bm_device_info *info;
    const char *vendor; /* the device's vendor; `info` has the name of the platform */
    const char *family; /* "cpu" or "gpu": only rows for this shape of kernels; NULL: any row */
    const char *path;   /* the user's file; NULL or "": none */
} bm_kernel_params_search;

/* Choose the row for a device. BM_ERR_USAGE: the user's file cannot be read, or has a bad row; the
 * error names the file and the line. */
bm_status bm_kernel_params_choose(const bm_kernel_params_search *search, bm_kernel_params *out,
                                  bm_error *err);

/* cl_kernel_tune -- chooses the kernels for a device, and their parameters. */

/* The vectors of sign_cpu.cl: 32-bit lanes, accumulators, passes. */
typedef struct bm_cl_vectors {
    uint32_t lanes, acc, passes;
} bm_cl_vectors;

/* The work-items of sign_gpu.cl. */
typedef struct bm_cl_teams {
    uint32_t each, team, teams;
    uint32_t tile;   /* units that are read into local memory at once; a unit is four 32-bit hashes
                      * or one 64-bit hash */
    uint32_t unroll; /* units in an iteration of the loop that folds them; has no effect if
                      * coefficients have 64 bits */
} bm_cl_teams;

/* How documents are cut into chunks, in units. */
typedef struct bm_cl_chunk_units {
    uint32_t pack;  /* the most units in a chunk of several documents */
    uint32_t whole; /* the most units in a chunk of one whole document; a longer one is split */
    uint32_t part;  /* units in a part of a document that is split */
} bm_cl_chunk_units;

/* The shingles that the kernels of text_*.cl are built for. */
typedef struct bm_cl_text_shape {
    bool used;
    uint32_t kind, k; /* bm_text_options.shingle, .shingle_k */
} bm_cl_text_shape;

/* The shape of the kernels on a device. It determines the options with which a program is built.
 * Names are as in kernels/. The kernels of oph use the group and the cutting of affine32. */
typedef struct bm_cl_shape {
    bool gpu;                    /* the family of kernels: sign_*gpu.cl, else sign_*cpu.cl */
    uint32_t unit;               /* hashes in a unit: four of 32 bits for gpu; one of 64 bits for
                                  * cpu or whole_hashes */
    bool zero_copy;              /* cpu: kernels use the caller's memory directly */
    const bm_scheme_ops *scheme; /* set when the backend is opened */
    uint32_t perms, bands, rows; /* bands 0: no keys */
    uint32_t row_uints;          /* 32-bit words of a document's signature; set when the backend is
                                    opened */
    bm_cl_vectors vectors;       /* cpu */
    bm_cl_teams teams;           /* gpu */
    uint32_t group;              /* work-items in a group of bm_sign */
    uint32_t text_group;         /* work-items in a group of the kernels of text_*.cl */
    uint32_t split_group;        /* work-items in a group of the kernels of band_keys.cl */
    uint32_t coef_words;         /* number of coefficients a on the device, and number of b: perms,
                                    padded with zeros */
    bm_cl_chunk_units chunk;
    bm_cl_text_shape text;      /* set when the backend is opened */
    uint32_t batch_kilo_hashes; /* hashes for each compute unit in a batch, in multiples of 1024 */
} bm_cl_shape;

/* Compute the shape from a row, adapted to `plan` (permutations, bands, rows) and to the limits of
 * the device. BM_ERR_DEVICE: the work-groups of the device are too small. */
bm_status bm_cl_kernel_shape(const bm_cl_device *device, const bm_kernel_params *row,
                             const uint32_t plan[3], bm_cl_shape *out, bm_error *err);

/* The kernels of a program; cl_program.c has a table of their names. */
typedef enum bm_cl_kernel_id {
    BM_CL_SIGN,
    BM_CL_SPLIT_BEGIN,
    BM_CL_SPLIT_FILL, /* only if the scheme's row has a fill */
    BM_CL_SPLIT_KEYS, /* only if there are bands */
    BM_CL_TEXT_HASH,  /* only if the shape has text */
    BM_CL_TEXT_COUNT, /* only if the shape has text */
    BM_CL_TEXT_CONTENT,
    BM_CL_N_KERNELS
} bm_cl_kernel_id;

typedef struct bm_cl_program {
    cl_program program;
    cl_kernel kernels[BM_CL_N_KERNELS];
} bm_cl_program;

/* The device and shape for which a program is made; all borrowed. */
typedef struct bm_cl_target {
    const bm_cl_api *api;
    cl_context context;
    const bm_cl_device *device;
    const bm_cl_shape *shape;
} bm_cl_target;

/* The hash of everything that the binary depends on: sources, options, device, driver, version of
 * the platform. */
bm_cl_key bm_cl_program_key(const bm_cl_device *device, const bm_cl_shape *shape);

/* Build from the embedded sources. Up to three attempts are made, because drivers fail when several
 * processes build at once. The error has the build log. */
bm_status bm_cl_program_build(const bm_cl_target *target, bm_cl_program *out, bm_error *err);
/* Load a binary that bm_cl_program_binary returned. */
bm_status bm_cl_program_load(const bm_cl_target *target, const void *binary, size_t len,
                             bm_cl_program *out, bm_error *err);
/* Set *out to the program's binary for the device, and *len to its bytes. The caller frees it with
 * bm_free. */
bm_status bm_cl_program_binary(const bm_cl_api *api, const bm_cl_program *program, void **out,
                               size_t *len, bm_error *err);
void bm_cl_program_reset(const bm_cl_api *api, bm_cl_program *program);
