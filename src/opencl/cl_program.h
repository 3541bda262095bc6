/* SPDX-License-Identifier: Apache-2.0 */
/* cl_program.h -- a program for one shape: its sources, its options, its kernels. */
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
    const char *text; /* ended by NUL */
    size_t len;
} bm_kernel_file;

extern const bm_kernel_file bm_kernel_files[];
extern const unsigned bm_n_kernel_files;

/* cl_kernel_params -- the parameters of kernels: a row of kernels/tuning/opencl.csv has the devices
 * that it is for, and the parameters of the kernels there. No OpenCL here.
 *
 * Looked up first in the user's own file (bm_device_settings.tuning_path), then in ours, which is
 * embedded. Of the rows of a file that fit a device the most exact counts: device before vendor
 * before type; of equals the last, so that a row that is added to a file replaces an older one. */

/* The numbers of a row, in their order. */
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

/* The row of a line, which ends at a newline or NUL. False: not a row, or one with numbers that no
 * kernel can be built with; *row is then undefined. */
bool bm_kernel_params_parse(const char *line, bm_kernel_params *row);
/* The line, without a newline. */
void bm_kernel_params_format(const bm_kernel_params *row, char out[BM_KERNEL_PARAMS_TEXT]);
/* Make the row one for this device alone: its name, its platform and type. */
void bm_kernel_params_name(bm_kernel_params *row, const bm_device_info *info);

/* The device and the family to look up a row for. */
typedef struct bm_kernel_params_search {
    const bm_device_info *info;
    const char *vendor; /* the device's; `info` has the platform's name */
    const char *family; /* "cpu" or "gpu": that shape of the kernels alone; NULL: any */
    const char *path;   /* of the user's own file; NULL or "": none */
} bm_kernel_params_search;

/* The row for a device. BM_ERR_USAGE: a user's file that cannot be read, or a bad row in it, with
 * file and line. */
bm_status bm_kernel_params_choose(const bm_kernel_params_search *search, bm_kernel_params *out,
                                  bm_error *err);

/* cl_kernel_tune -- which kernels a device gets, and with what parameters. */

/* The vectors of sign_cpu.cl. */
typedef struct bm_cl_vectors {
    uint32_t lanes, acc, passes;
} bm_cl_vectors;

/* The work-items of sign_gpu.cl. */
typedef struct bm_cl_teams {
    uint32_t each, team, teams;
    uint32_t tile;   /* quads in local memory */
    uint32_t unroll; /* quads of one turn of the loop */
} bm_cl_teams;

/* How documents are cut into chunks, in units of hashes. */
typedef struct bm_cl_chunk_units {
    uint32_t pack;  /* a chunk of whole documents holds no more, */
    uint32_t whole; /* unless it is one document of no more; longer ones are split */
    uint32_t part;  /* into parts of this */
} bm_cl_chunk_units;

/* The shingles that the kernels of text_*.cl are built for. */
typedef struct bm_cl_text_shape {
    bool used;
    uint32_t kind, k; /* bm_text_options.shingle, .shingle_k */
} bm_cl_text_shape;

/* The shape of the kernels on a device: the parameters of a program's build. Names as in kernels/;
 * kernels of oph have the group and the cut of affine32. */
typedef struct bm_cl_shape {
    bool gpu;       /* the family: sign_*gpu.cl, else sign_*cpu.cl */
    uint32_t unit;  /* hashes of a unit: gpu 4, of 32 bits; cpu, or whole_hashes: 1, of 64 */
    bool zero_copy; /* cpu: kernels use the caller's memory as it is */
    const bm_scheme_ops *scheme; /* set by who opens */
    uint32_t perms, bands, rows; /* bands 0: no keys */
    uint32_t row_uints;          /* of the words of a document; set by who opens */
    bm_cl_vectors vectors;       /* cpu */
    bm_cl_teams teams;           /* gpu */
    uint32_t group;              /* work-items of a group of bm_sign */
    uint32_t text_group;         /* of the kernels of text_*.cl */
    uint32_t split_group;        /* of the kernels of band_keys.cl */
    uint32_t coef_words;         /* of a, and of b: perms padded with zeros */
    bm_cl_chunk_units chunk;
    bm_cl_text_shape text;      /* set by who opens */
    uint32_t batch_kilo_hashes; /* 1024s of hashes a compute unit is given in a batch */
} bm_cl_shape;

/* Compute the shape from a row, so that it fits `plan` (permutations, bands, rows) and the device's
 * limits. BM_ERR_DEVICE: its work-groups are too small. */
bm_status bm_cl_kernel_shape(const bm_cl_device *device, const bm_kernel_params *row,
                             const uint32_t plan[3], bm_cl_shape *out, bm_error *err);

/* The kernels of every program; the table in cl_program.c has a row for each. */
typedef enum bm_cl_kernel_id {
    BM_CL_SIGN,
    BM_CL_SPLIT_BEGIN,
    BM_CL_SPLIT_FILL, /* only if the scheme's row has a fill */
    BM_CL_SPLIT_KEYS, /* only where there are bands */
    BM_CL_TEXT_HASH,  /* only where the shape has text */
    BM_CL_TEXT_COUNT, /* likewise */
    BM_CL_TEXT_CONTENT,
    BM_CL_N_KERNELS
} bm_cl_kernel_id;

typedef struct bm_cl_program {
    cl_program program;
    cl_kernel kernels[BM_CL_N_KERNELS];
} bm_cl_program;

/* The device and the shape that a program is made for; all borrowed. */
typedef struct bm_cl_target {
    const bm_cl_api *api;
    cl_context context;
    const bm_cl_device *device;
    const bm_cl_shape *shape;
} bm_cl_target;

/* Hash of everything that decides the binary: sources, options, device, driver, platform's
 * version. */
bm_cl_key bm_cl_program_key(const bm_cl_device *device, const bm_cl_shape *shape);

/* From the embedded sources; tried three times, since drivers fail when several processes build at
 * once. The build log is in the error. */
bm_status bm_cl_program_build(const bm_cl_target *target, bm_cl_program *out, bm_error *err);
/* From a binary that bm_cl_program_binary gave. */
bm_status bm_cl_program_load(const bm_cl_target *target, const void *binary, size_t len,
                             bm_cl_program *out, bm_error *err);
/* The device's binary: *out (bm_free) of *len bytes. */
bm_status bm_cl_program_binary(const bm_cl_api *api, const bm_cl_program *program, void **out,
                               size_t *len, bm_error *err);
void bm_cl_program_reset(const bm_cl_api *api, bm_cl_program *program);
