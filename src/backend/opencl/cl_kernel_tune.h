/* cl_kernel_tune.h -- which shape of the kernels a device gets, and with what parameters. */
#ifndef BM_BACKEND_OPENCL_CL_KERNEL_TUNE_H
#define BM_BACKEND_OPENCL_CL_KERNEL_TUNE_H

#include "backend/opencl/cl_device.h"
#include "backend/opencl/cl_kernel_params.h"

/* What a program is built with. Names as in kernels/sign_*.cl; those of oph take the group and the
 * cut of affine32. */
typedef struct bm_cl_shape {
    bool gpu;                    /* sign_*gpu.cl, else sign_*cpu.cl */
    uint32_t unit;               /* hashes of a unit: gpu 4, of 32 bits; cpu 1, of 64 */
    bool zero_copy;              /* cpu: kernels use the caller's memory as it is */
    bm_scheme scheme;            /* set by who opens: cl_kernel_tune.c leaves it at affine32 */
    uint32_t perms, bands, rows; /* bands 0: no keys */
    uint32_t lanes, acc, passes; /* cpu */
    uint32_t each, team, teams;  /* gpu */
    uint32_t tile;               /* gpu: quads in local memory */
    uint32_t unroll;             /* gpu: quads of one turn of the loop */
    uint32_t group;              /* work-items of a group of bm_sign */
    uint32_t split_group;        /* of the kernels of band_keys.cl */
    uint32_t coef_words;         /* of a, and of b: perms padded with zeros */
    uint32_t pack_units;         /* a work_item of whole documents holds no more, */
    uint32_t whole_units;        /* unless it is one document of no more; longer ones are split */
    uint32_t part_units;         /* into parts of this */
    bool text;                   /* with the kernels of text_*.cl, */
    uint32_t text_kind, text_k;  /* for shingles of bm_text_options.shingle, .shingle_k */
    uint32_t batch_kilo_hashes;  /* 1024s of hashes a compute unit is given in a batch */
} bm_cl_shape;

/* What a row comes to on the device: made to fit `plan` (permutations, bands, rows) and the
 * device's limits. BM_ERR_DEVICE: its work-groups are too small. */
bm_status bm_cl_kernel_shape(const bm_cl_device *device, const bm_kernel_params *row,
                             const uint32_t plan[3], bm_cl_shape *out, bm_error *err);

#endif
