/* kernel_files.h -- the sources of kernels/, embedded by cmake/embed_kernels.cmake. */
#ifndef BM_BACKEND_OPENCL_KERNEL_FILES_H
#define BM_BACKEND_OPENCL_KERNEL_FILES_H

#include <stddef.h>

typedef struct bm_kernel_file {
    const char *name; /* "affine32.h" */
    const char *text; /* ended by NUL */
    size_t len;
} bm_kernel_file;

extern const bm_kernel_file bm_kernel_files[];
extern const unsigned bm_n_kernel_files;

#endif
