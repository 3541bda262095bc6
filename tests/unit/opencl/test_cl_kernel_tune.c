/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "opencl/cl_program.h"

static bm_cl_device device_of(bm_device_kind kind, size_t max_group, uint32_t lanes)
{
    bm_cl_device d = {.max_group = max_group, .lanes = lanes};
    strcpy(d.info.spec, "opencl:0.0");
    strcpy(d.info.name, "Some Processor");
    d.info.kind = kind;
    d.info.local_bytes = 32768;
    return d;
}

/* Finds the kernel shape for the device. */
static bm_status tune(const bm_cl_device *device, const char *force, const uint32_t plan[3],
                      bm_cl_shape *out, bm_error *err)
{
    bm_kernel_params row;
    const bm_kernel_params_search search = {
        .info = &device->info, .vendor = device->vendor, .family = force};
    bm_status status = bm_kernel_params_choose(&search, &row, err);
    if (status == BM_OK)
        status = bm_cl_kernel_shape(device, &row, plan, out, err);
    out->scheme = &bm_scheme_affine32;
    return status;
}

Test(cl_tune, fits_every_number_of_permutations_within_the_device)
{
    static const size_t groups[] = {64, 128, 256, 1024, 8192};
    static const char *const forced[] = {NULL, "cpu", "gpu"};
    for (int kind = BM_DEVICE_CL_CPU; kind <= BM_DEVICE_CL_OTHER; ++kind)
        for (size_t g = 0; g < 5; ++g)
            for (size_t f = 0; f < 3; ++f)
                for (uint32_t perms = 1; perms <= BM_PERMS_MAX; ++perms) {
                    bm_cl_device d = device_of(kind, groups[g], 8);
                    const uint32_t plan[3] = {perms, 0, 0};
                    bm_cl_shape s;
                    bm_error err = {0};
                    bm_status status = tune(&d, forced[f], plan, &s, &err);
                    if (status != BM_OK) { /* refused: 8 words per work-item is the maximum */
                        cr_assert(perms > 8 * groups[g] && status == BM_ERR_DEVICE, "%u: %s", perms,
                                  err.message);
                        continue;
                    }
                    cr_assert_geq(s.coef_words, perms);
                    cr_assert_eq(s.gpu, f == 2 || (f == 0 && kind != BM_DEVICE_CL_CPU));
                    cr_assert_leq(s.chunk.pack, s.chunk.whole);
                    if (s.gpu) {
                        cr_assert(s.teams.each >= 1 && s.teams.each <= 8 && s.teams.teams >= 1);
                        cr_assert_eq(s.group, s.teams.team * s.teams.teams);
                        cr_assert_eq(s.text_group, s.group);
                        cr_assert_leq(s.group, groups[g]);
                        cr_assert_leq(s.teams.tile * 16, d.info.local_bytes);
                        cr_assert_leq(s.chunk.whole, s.teams.tile,
                                      "a chunk of whole documents fits the tile");
                    } else {
                        cr_assert(s.vectors.lanes == 8 && s.vectors.acc >= 1 &&
                                  s.vectors.acc <= 8 && s.group == 1);
                        cr_assert_eq(s.coef_words,
                                     s.vectors.lanes * s.vectors.acc * s.vectors.passes);
                        cr_assert_lt(s.coef_words - perms, s.vectors.lanes * s.vectors.passes,
                                     "no more padding than a vector a pass");
                    }
                }
}

/* Kernels of both families, for any local memory size that a device may have. */
Test(cl_tune, local_memory_holds_what_the_kernels_declare)
{
    for (uint64_t bytes = 4 << 10; bytes <= 228 << 10; bytes += 4 << 10)
        for (uint32_t perms = 1; perms <= BM_PERMS_MAX; perms += perms < 300 ? 1 : 50) {
            bm_cl_device d = device_of(BM_DEVICE_CL_GPU, 1024, 1);
            const uint32_t plan[3] = {perms, 0, 0};
            bm_cl_shape s;
            d.info.local_bytes = bytes;
            cr_assert_eq(tune(&d, NULL, plan, &s, NULL), BM_OK);
            const uint64_t met = s.teams.teams > 1 ? (uint64_t)8 * s.coef_words * s.teams.teams : 0;
            cr_assert_leq(16 * (uint64_t)s.teams.tile + met, bytes, "bm_sign: %u", perms);
            cr_assert_leq((8 * 4 + 4) * (uint64_t)s.teams.tile, bytes, "bm_text_count: %u", perms);
        }
}

Test(cl_tune, the_key_of_a_program_depends_on_all_that_its_binary_does)
{
    const uint32_t plan[3] = {128, 16, 8}, other_plan[3] = {128, 8, 16};
    bm_cl_device a = device_of(BM_DEVICE_CL_CPU, 1024, 16), b;
    bm_cl_shape shape, other;
    cr_assert_eq(tune(&a, NULL, plan, &shape, NULL), BM_OK);
    const bm_cl_key key = bm_cl_program_key(&a, &shape);
    bm_cl_key keys[9];
    size_t n = 0;
    tune(&a, NULL, other_plan, &other, NULL);
    keys[n++] = bm_cl_program_key(&a, &other);
    tune(&a, "gpu", plan, &other, NULL);
    keys[n++] = bm_cl_program_key(&a, &other);
    other = shape;
    other.scheme = &bm_scheme_oph;
    keys[n++] = bm_cl_program_key(&a, &other);
    other = shape;
    other.text = (bm_cl_text_shape){true, BM_SHINGLE_CHAR, 5};
    keys[n++] = bm_cl_program_key(&a, &other);
    char *const fields[] = {b.info.driver, b.platform_version, b.info.name, b.info.platform,
                            b.vendor};
    for (size_t i = 0; i < 5; ++i) {
        b = a;
        strcpy(fields[i], "another");
        keys[n++] = bm_cl_program_key(&b, &shape);
    }
    for (size_t i = 0; i < n; ++i)
        cr_assert(keys[i].lo != key.lo || keys[i].hi != key.hi, "%zu", i);
    b = a;
    const bm_cl_key same = bm_cl_program_key(&b, &shape);
    cr_assert(same.lo == key.lo && same.hi == key.hi);
}

Test(cl_tune, a_row_that_is_given_counts_and_one_that_is_not_sound_is_refused)
{
    const uint32_t plan[3] = {128, 16, 8};
    bm_cl_device d = device_of(BM_DEVICE_CL_GPU, 1024, 1);
    bm_kernel_params row;
    bm_cl_shape s;
    cr_assert(bm_kernel_params_parse("*,*,gpu,gpu,16,8,8,128,128,100,100,512,64,0,2", &row));
    cr_assert_eq(bm_cl_kernel_shape(&d, &row, plan, &s, NULL), BM_OK);
    cr_assert(s.gpu && s.teams.each == 8 && s.teams.team == 16 && s.teams.teams == 8 &&
              s.teams.tile == 128 && s.chunk.pack == 100 && s.chunk.part == 512 &&
              s.teams.unroll == 2);
    static const char *const bad[] = {
        "",
        "*,*,gpu,gpu",
        "*,*,gpu,gpu,16,8,8,128,128,100,100,512,64,0",   /* a number is missing */
        "*,*,gpu,gpu,16,8,8,128,128,100,100,512,64,0,3", /* no such unroll */
        "*,*,gpu,gpu,16,8,9,128,128,100,100,512,64,0,2", /* more than 8 words per work-item */
        "*,*,gpu,gpu,16,8,8,0,128,100,100,512,64,0,2",
        "*,*,gpu,dsp,16,8,8,128,128,100,100,512,64,0,2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        cr_assert_not(bm_kernel_params_parse(bad[i], &row), "%s", bad[i]);
}

/* bm_text_count keeps a table in local memory, which the four SIMDs of an AMD compute unit share; a
 * wave has 64 work-items. */
Test(cl_tune, texts_on_amd_get_four_waves_that_share_a_table)
{
    static const char *const vendors[] = {"AMD", "Advanced Micro Devices, Inc."};
    static const size_t groups[] = {64, 255, 256, 1024};
    static const uint32_t plan[3] = {128, 0, 0};
    for (size_t v = 0; v < 2; ++v)
        for (size_t g = 0; g < 4; ++g) {
            bm_cl_device d = device_of(BM_DEVICE_CL_GPU, groups[g], 1);
            bm_cl_shape s;
            strcpy(d.vendor, vendors[v]);
            cr_assert_eq(tune(&d, "gpu", plan, &s, NULL), BM_OK);
            cr_expect_eq(s.group, 64);
            cr_expect_eq(s.text_group, groups[g] < 256 ? 64 : 256);
            cr_assert_eq(tune(&d, "cpu", plan, &s, NULL), BM_OK);
            cr_expect_eq(s.text_group, 1);
        }
}

Test(cl_tune, a_vendor_is_before_a_type)
{
    const uint32_t plan[3] = {128, 16, 8};
    bm_cl_device d = device_of(BM_DEVICE_CL_GPU, 1024, 1);
    bm_cl_shape s;
    cr_assert_eq(tune(&d, NULL, plan, &s, NULL), BM_OK);
    cr_assert_eq(s.teams.unroll, 4);
    strcpy(d.vendor, "NVIDIA Corporation");
    cr_assert_eq(tune(&d, NULL, plan, &s, NULL), BM_OK);
    cr_assert_eq(s.teams.unroll, 8);
}
