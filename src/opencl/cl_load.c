/* SPDX-License-Identifier: Apache-2.0 */
/* cl_load.c -- the ICD loader's functions, and names for OpenCL's error codes.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/fault/device/calls.sh */
#include "opencl/cl_load.h"

#include <string.h>

#include "base/error.h"

#define LOADER "libOpenCL.so.1"

bm_status bm_cl_load(bm_cl_api *api, bm_error *err)
{
    static const char *const names[] = {BM_CL_FUNCTIONS(BM_LIBRARY_NAME) NULL};
    bm_library_lack lack;
    if (bm_shared_library_find(LOADER, names, api, &lack))
        return BM_OK;
    memset(api, 0, sizeof *api);
    if (lack.name == NULL)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "no OpenCL loader: %s", lack.library);
    return bm_fail(err, BM_ERR_UNSUPPORTED, LOADER " has no %s (OpenCL 1.2 is needed)", lack.name);
}

const char *bm_cl_code_name(cl_int code)
{
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
        {-1, "CL_DEVICE_NOT_FOUND"},
        {-2, "CL_DEVICE_NOT_AVAILABLE"},
        {-3, "CL_COMPILER_NOT_AVAILABLE"},
        {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {-5, "CL_OUT_OF_RESOURCES"},
        {-6, "CL_OUT_OF_HOST_MEMORY"},
        {-9, "CL_IMAGE_FORMAT_MISMATCH"},
        {-11, "CL_BUILD_PROGRAM_FAILURE"},
        {-12, "CL_MAP_FAILURE"},
        {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {-30, "CL_INVALID_VALUE"},
        {-33, "CL_INVALID_DEVICE"},
        {-34, "CL_INVALID_CONTEXT"},
        {-36, "CL_INVALID_COMMAND_QUEUE"},
        {-38, "CL_INVALID_MEM_OBJECT"},
        {-42, "CL_INVALID_BINARY"},
        {-43, "CL_INVALID_BUILD_OPTIONS"},
        {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {-46, "CL_INVALID_KERNEL_NAME"},
        {-48, "CL_INVALID_KERNEL"},
        {-50, "CL_INVALID_ARG_VALUE"},
        {-51, "CL_INVALID_ARG_SIZE"},
        {-52, "CL_INVALID_KERNEL_ARGS"},
        {-54, "CL_INVALID_WORK_GROUP_SIZE"},
        {-55, "CL_INVALID_WORK_ITEM_SIZE"},
        {-58, "CL_INVALID_EVENT"},
        {-61, "CL_INVALID_BUFFER_SIZE"},
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (names[i].code == code)
            return names[i].name;
    return "an unknown code";
}

static bool cl_is_nomem(cl_int code)
{
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
           code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

bm_status bm_cl_fail(bm_error *err, cl_int code, const char *call)
{
    bm_status status = cl_is_nomem(code) ? BM_ERR_NOMEM : BM_ERR_DEVICE;
    bm_fail(err, status, "%s: %s (%d)", call, bm_cl_code_name(code), (int)code);
    if (err != NULL)
        err->code = code;
    return status;
}
