/* cl_kernel_params.h -- the parameters of kernels: a row of kernels/tuning/opencl.csv says which
 * devices it is for, and what the kernels are built with there. No OpenCL here.
 *
 * Looked up first in the user's own file (bm_device_settings.tuning_path), then in ours, which is
 * embedded. Of the rows of a file that fit a device the most exact counts: device before vendor
 * before type; of equals the last, so that a row that is added to a file replaces an older one. */
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

/* The names of all columns, as the first line of a file. */
extern const char bm_kernel_params_header[];

/* The row of a line, which ends at a newline or NUL. False: not a row, or one whose numbers no
 * kernel can be built with; *row is then undefined. */
bool bm_kernel_params_parse(const char *line, bm_kernel_params *row);
/* The line, without a newline. */
void bm_kernel_params_format(const bm_kernel_params *row, char out[BM_KERNEL_PARAMS_TEXT]);
/* Make the row one for this device alone: its name, its platform and type. */
void bm_kernel_params_name(bm_kernel_params *row, const bm_device_info *info);

/* What a row is looked up for. */
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

#endif
