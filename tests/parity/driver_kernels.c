/* SPDX-License-Identifier: Apache-2.0 */
/* driver_kernels.c -- reports what a driver makes of the kernels: driver_kernels DEVICE gpu|cpu
 *
 * Builds the program of each scheme that devices support in that shape (for affine32 also the
 * program for texts), and prints a line per kernel: scheme, shape, kind of input, kernel, and the
 * bytes of private memory and spilled registers that the driver reports (`-`: not reported). Then
 * it copies to the device and back, and describes the device. The device need not compute.
 * tests/parity/test_intel_gpu.sh runs it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bandmill/option_names.h>

#include "base/error.h"
#include "opencl/cl_link_rate.h"
#include "opencl/cl_program.h"
#include "sketch/scheme.h"

#define SPILL_MEM_SIZE_INTEL 0x4109u /* cl_intel_required_subgroup_size */

typedef cl_int(CL_API_CALL *kernel_info)(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t,
                                         void *, size_t *);

static bm_cl_api api;
static bm_cl_device device;
static cl_context context;
static kernel_info kernel_info_of;

/* The number of bytes, as text. */
static const char *bytes_of(cl_kernel kernel, cl_kernel_work_group_info what, char out[24])
{
    cl_ulong bytes = 0;
    if (kernel_info_of(kernel, device.id, what, sizeof bytes, &bytes, NULL) != CL_SUCCESS)
        return "-";
    snprintf(out, 24, "%llu", (unsigned long long)bytes);
    return out;
}

static bm_status build(const bm_scheme_ops *scheme, const char *family,
                       const bm_cl_text_shape *text, bm_error *err)
{
    static const char *const texts[] = {"word", "char", "byte"};
    static const char *const kernels[BM_CL_N_KERNELS] = {"sign",        "split_begin", "split_fill",
                                                         "split_keys",  "text_hash",   "text_count",
                                                         "text_content"};
    const uint32_t plan[3] = {112, 8, 14};
    const bm_kernel_params_search search = {
        .info = &device.info, .vendor = device.vendor, .family = family};
    bm_kernel_params row;
    bm_cl_shape shape;
    bm_cl_program program;
    BM_TRY(bm_kernel_params_choose(&search, &row, err));
    BM_TRY(bm_cl_kernel_shape(&device, &row, plan, &shape, err));
    shape.scheme = scheme;
    shape.text = *text;
    if (scheme->device.whole_hashes)
        shape.unit = 1;
    const bm_cl_target target = {&api, context, &device, &shape};
    BM_TRY(bm_cl_program_build(&target, &program, err));
    for (int i = 0; i < BM_CL_N_KERNELS; ++i) {
        char private_bytes[24], spilled[24];
        if (program.kernels[i] != NULL)
            printf("%s %s %s %s %s %s\n", bm_option_name(BM_OPTION_SCHEME, scheme->scheme), family,
                   text->used ? texts[text->kind] : "hashes", kernels[i],
                   bytes_of(program.kernels[i], CL_KERNEL_PRIVATE_MEM_SIZE, private_bytes),
                   bytes_of(program.kernels[i], SPILL_MEM_SIZE_INTEL, spilled));
    }
    bm_cl_program_reset(&api, &program);
    return BM_OK;
}

static bm_status build_all(const bm_scheme_ops *scheme, const char *family, bm_error *err)
{
    BM_TRY(build(scheme, family, &(bm_cl_text_shape){.used = false}, err));
    for (uint32_t kind = 0; kind < 3 && scheme->scheme == BM_SCHEME_AFFINE32; ++kind)
        BM_TRY(build(scheme, family, &(bm_cl_text_shape){true, kind, 5}, err));
    return BM_OK;
}

static bm_status run(const char *spec, const char *family, bm_error *err)
{
    cl_int code = CL_SUCCESS;
    BM_TRY(bm_cl_load(&api, err));
    BM_TRY(bm_cl_device_find(&api, spec, &device, err));
    *(void **)&kernel_info_of =
        dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), "clGetKernelWorkGroupInfo");
    context = api.clCreateContext(NULL, 1, &device.id, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return bm_cl_fail(err, code, "clCreateContext");
    const bm_scheme_ops *scheme;
    for (size_t i = 0; (scheme = bm_scheme_at(i)) != NULL; ++i)
        if (scheme->device.sign_gpu != NULL)
            BM_TRY(build_all(scheme, family, err));
    double up, down;
    BM_TRY(bm_opencl_link_rate(spec, (size_t)1 << 20, &up, &down, err));
    printf("copied\n%s memory, %u units\n", device.unified ? "unified" : "own",
           device.info.compute_units);
    return BM_OK;
}

int main(int argc, char **argv)
{
    bm_error err = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: driver_kernels DEVICE gpu|cpu\n");
        return 2;
    }
    const bm_status status = run(argv[1], argv[2], &err);
    if (status != BM_OK)
        fprintf(stderr, "driver_kernels: %s\n", err.message);
    fflush(stdout);
    _exit(status == BM_OK ? 0 : 1); /* skip the driver's exit handlers */
}
