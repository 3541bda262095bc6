/* cl_kernel_params.h -- a row of kernels/tuning/opencl.csv: which devices it is for, and what the kernels are
 * built with there. No OpenCL here.
 *
 * Looked up first in the user's own file, $BANDMILL_TUNING, then in ours, which is embedded. Of the
 * rows of a file that fit a device the most exact counts: device before vendor before type; of
 * equals the last, so that a row that is added to a file replaces an older one. */
#ifndef BM_BACKEND_OPENCL_CL_KERNEL_PARAMS_H
#define BM_BACKEND_OPENCL_CL_KERNEL_PARAMS_H

#include <bandmill/device.h>
#include <bandmill/status.h>

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

extern const char
    bm_kernel_params_header[]; /* the names of all columns, as the first line of a file */

/* The row of a line, which ends at a newline or NUL. False: not a row, or one whose numbers no
 * kernel can be built with; *row is then undefined. */
bool bm_kernel_params_parse(const char *line, bm_kernel_params *row);
/* The line, without a newline. */
void bm_kernel_params_format(const bm_kernel_params *row, char out[BM_KERNEL_PARAMS_TEXT]);
/* Make the row one for this device alone: its name, its platform and type. */
void bm_kernel_params_name(bm_kernel_params *row, const bm_device_info *info);

/* The row for a device; `vendor` is the device's (`info` has the platform's name). `force` ("cpu",
 * "gpu" or NULL) sets the shape. BM_ERR_USAGE: a user's file that cannot be read, or a bad row in
 * it, with file and line. */
bm_status bm_kernel_params_choose(const bm_device_info *info, const char *vendor, const char *force,
                                  bm_kernel_params *out, bm_error *err);

#endif
