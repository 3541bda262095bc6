/* cl_kernel_tune.h -- which kernels a device gets, and with what parameters. */
#ifndef BM_BACKEND_OPENCL_CL_KERNEL_TUNE_H
#define BM_BACKEND_OPENCL_CL_KERNEL_TUNE_H

#include "opencl/cl_device.h"
#include "opencl/cl_kernel_params.h"
#include "sketch/scheme_row.h"

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

/* What the kernels of text_*.cl are built for. */
typedef struct bm_cl_text_shape {
    bool used;
    uint32_t kind, k; /* bm_text_options.shingle, .shingle_k */
} bm_cl_text_shape;

/* The shape of the kernels on a device: what a program is built with. Names as in kernels/; those
 * of oph take the group and the cut of affine32. */
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
    uint32_t split_group;        /* of the kernels of band_keys.cl */
    uint32_t coef_words;         /* of a, and of b: perms padded with zeros */
    bm_cl_chunk_units chunk;
    bm_cl_text_shape text;      /* set by who opens */
    uint32_t batch_kilo_hashes; /* 1024s of hashes a compute unit is given in a batch */
} bm_cl_shape;

/* What a row comes to on the device: made to fit `plan` (permutations, bands, rows) and the
 * device's limits. BM_ERR_DEVICE: its work-groups are too small. */
bm_status bm_cl_kernel_shape(const bm_cl_device *device, const bm_kernel_params *row,
                             const uint32_t plan[3], bm_cl_shape *out, bm_error *err);

#endif
