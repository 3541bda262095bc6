/* SPDX-License-Identifier: Apache-2.0 */
/* cl_load.h -- the OpenCL loader, opened at run time: a table of its functions. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/system.h"

/* All functions of OpenCL 1.2 that are used. */
#define BM_CL_FUNCTIONS(X)                                                                         \
    X(clGetPlatformIDs)                                                                            \
    X(clGetPlatformInfo)                                                                           \
    X(clGetDeviceIDs)                                                                              \
    X(clGetDeviceInfo)                                                                             \
    X(clCreateContext)                                                                             \
    X(clReleaseContext)                                                                            \
    X(clCreateCommandQueue)                                                                        \
    X(clReleaseCommandQueue)                                                                       \
    X(clCreateProgramWithSource)                                                                   \
    X(clCreateProgramWithBinary)                                                                   \
    X(clBuildProgram)                                                                              \
    X(clGetProgramBuildInfo)                                                                       \
    X(clGetProgramInfo)                                                                            \
    X(clReleaseProgram)                                                                            \
    X(clCreateKernel)                                                                              \
    X(clReleaseKernel)                                                                             \
    X(clSetKernelArg)                                                                              \
    X(clCreateBuffer)                                                                              \
    X(clReleaseMemObject)                                                                          \
    X(clEnqueueMapBuffer)                                                                          \
    X(clEnqueueUnmapMemObject)                                                                     \
    X(clEnqueueWriteBuffer)                                                                        \
    X(clEnqueueReadBuffer)                                                                         \
    X(clEnqueueNDRangeKernel)                                                                      \
    X(clFlush)                                                                                     \
    X(clFinish)                                                                                    \
    X(clWaitForEvents)                                                                             \
    X(clGetEventProfilingInfo)                                                                     \
    X(clReleaseEvent)                                                                              \
    X(clRetainEvent)

typedef struct bm_cl_api {
    BM_CL_FUNCTIONS(BM_LIBRARY_MEMBER)
} bm_cl_api;

/* Open libOpenCL.so.1 for the life of the process, and fill the table. BM_ERR_UNSUPPORTED, with the
 * linker's message: there is no loader, or it lacks a function. The table is then empty. */
bm_status bm_cl_load(bm_cl_api *api, bm_error *err);

/* Return the name of a code, such as "CL_BUILD_PROGRAM_FAILURE", or "an unknown code". */
const char *bm_cl_code_name(cl_int code);
/* Report a failed call as "CALL: NAME (CODE)". The status is BM_ERR_NOMEM if the code means a lack
 * of memory, else BM_ERR_DEVICE. */
bm_status bm_cl_fail(bm_error *err, cl_int code, const char *call);
