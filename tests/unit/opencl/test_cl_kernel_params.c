/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opencl/cl_program.h"
#include "tests/world/scratch.h"

static bm_device_info gpu_of(const char *name, const char *platform)
{
    bm_device_info info = {.kind = BM_DEVICE_CL_GPU};
    snprintf(info.name, sizeof info.name, "%s", name);
    snprintf(info.platform, sizeof info.platform, "%s", platform);
    return info;
}

static scratch place;
static const char *path; /* the user's file; "": none */

static void begin(void)
{
    place = scratch_open();
}

static void end(void)
{
    scratch_close(&place);
}

TestSuite(cl_kernel_params, .init = begin, .fini = end);

/* Writes the user's file with this text; NULL: there is none. */
static void user_file(const char *text)
{
    path = text == NULL ? "" : scratch_put_text(&place, "rows.csv", text);
}

static bm_status choose(const bm_device_info *info, const char *vendor, bm_kernel_params *row,
                        bm_error *err)
{
    return bm_kernel_params_choose(
        &(bm_kernel_params_search){.info = info, .vendor = vendor, .path = path}, row, err);
}

static uint32_t tile_of(const bm_device_info *info, const char *vendor)
{
    bm_kernel_params row;
    bm_error err = {0};
    cr_assert_eq(choose(info, vendor, &row, &err), BM_OK, "%s", err.message);
    return row.number[BM_CL_TILE];
}

Test(cl_kernel_params, a_row_is_written_as_it_is_read)
{
    static const char *const lines[] = {
        "*,*,gpu,gpu,16,8,8,128,128,100,100,512,64,0,2",
        "NVIDIA H200,NVIDIA CUDA,gpu,gpu,0,1,1,1,1,1,1,1,1,1,16",
        "a b,*,*,cpu,64,32,8,1024,4096,16777216,16777216,16777216,65536,1,8"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        bm_kernel_params row;
        char text[BM_KERNEL_PARAMS_TEXT];
        cr_assert(bm_kernel_params_parse(lines[i], &row), "%s", lines[i]);
        bm_kernel_params_format(&row, text);
        cr_expect_str_eq(text, lines[i]);
    }
}

Test(cl_kernel_params, what_no_kernel_can_be_built_with_is_not_a_row)
{
    static const char *const bad[] = {
        "*,*,gpu,gpu,16,8,4,64,256,256,256,4096,128,0,3",
        "*,*,gpu,gpu,16,8,4,64,256,256,256,4096,128,0,32",
        "*,*,gpu,gpu,16,8,0,64,256,256,256,4096,128,0,4",
        "*,*,gpu,gpu,16,8,4,2048,256,256,256,4096,128,0,4",
        "*,*,gpu,gpu,16,33,4,64,256,256,256,4096,128,0,4",
        "*,*,gpu,gpu,16,8,4,64,8192,256,256,4096,128,0,4",
        "*,*,gpu,gpu,16,8,4,64,256,99999999999999999999,256,4096,128,0,4",
        "*,*,gpu,gpu,16,8,4,64,256,256,256,4096,128,2,4",
        "*,*,gpu,gpu,16,8,-4,64,256,256,256,4096,128,0,4",
        "*,*,gpu,gpu,16,8,4,64,256,256,256,4096,128,0,4,1",
        "*,*,gpu,gpu,16,8,4,64,256,256,256,4096,128,0,4 ",
        "*,*,gpu,,16,8,4,64,256,256,256,4096,128,0,4",
        "*,*,gpu\n,gpu,1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bm_kernel_params row;
        cr_expect_not(bm_kernel_params_parse(bad[i], &row), "%s", bad[i]);
    }
}

#define NUMBERS(tile) "16,8,4,64," tile ",32,32,4096,128,0,4\n"

Test(cl_kernel_params, the_most_exact_row_counts_and_of_equals_the_last)
{
    const bm_device_info h200 = gpu_of("NVIDIA H200", "NVIDIA CUDA"),
                         other = gpu_of("gfx90a", "AMD Accelerated");
    user_file(
        "# "
        "comment\n\ndevice,vendor,type,shape,lanes,acc,each,group,tile,pack,whole,part,batch,lend,"
        "unroll\n"
        "H200,*,*,gpu," NUMBERS("41") "*,nvidia,gpu,gpu," NUMBERS("42") "*,nvidia,gpu,gpu," NUMBERS(
            "43") "*,*,gpu,gpu," NUMBERS("44") "h200,*,*,gpu,16,8,4,64,45,32,32,4096,128,0,4\r\n"
                                               "device,vendor,type,shape,lanes,acc,each,group,tile,"
                                               "pack,whole,part,batch,lend,unroll\n"
                                               "*,*,cpu,cpu," NUMBERS(
                                                   "46") "H100,NVIDIA,gpu,gpu," NUMBERS("47"));
    cr_expect_eq(tile_of(&h200, "NVIDIA Corporation"), 45,
                 "its name before its vendor, the last of two");
    cr_expect_eq(tile_of(&other, "AMD"), 44);
    bm_device_info a100 = gpu_of("A100", "NVIDIA CUDA");
    cr_expect_eq(tile_of(&a100, ""), 43, "a platform's name is a vendor's");
    unlink(path);
}

Test(cl_kernel_params, a_users_file_without_a_row_for_the_device_leaves_it_to_ours)
{
    const bm_device_info other = gpu_of("gfx90a", "AMD Accelerated");
    user_file(NULL);
    const uint32_t ours = tile_of(&other, "AMD");
    user_file("H200,*,*,gpu," NUMBERS("41") "*,*,cpu,cpu," NUMBERS("46"));
    cr_expect_eq(tile_of(&other, "AMD"), ours);
    unlink(path);
    path = "";
    cr_expect_eq(tile_of(&other, "AMD"), ours, "an empty path is none");
}

Test(cl_kernel_params, a_bad_file_is_refused_with_its_line)
{
    const bm_device_info info = gpu_of("x", "y");
    static const struct {
        const char *text;
        uint64_t line;
    } files[] = {{"#\n*,*,gpu,gpu,1\n", 2},
                 {"*,*,gpu,gpu," NUMBERS("41") "\n\nnonsense", 4},
                 {"\xff\xfe\n", 1}};
    bm_kernel_params row;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bm_error err = {0};
        user_file(files[i].text);
        cr_expect_eq(choose(&info, "", &row, &err), BM_ERR_USAGE);
        cr_expect_eq(err.line, files[i].line, "%zu", i);
        cr_expect_str_eq(err.file, path);
        unlink(path);
    }
    bm_error err = {0};
    cr_expect_eq(choose(&info, "", &row, &err), BM_ERR_USAGE, "the file is gone");
    path = "/";
    cr_expect_eq(choose(&info, "", &row, &err), BM_ERR_USAGE, "a directory");
}

Test(cl_kernel_params, a_row_that_is_named_after_a_device_fits_it_whatever_its_name)
{
    static const char *const names[] = {
        "NVIDIA H200",
        "a, b",
        ",",
        "#1",
        "",
        "a name of more than sixty-three bytes, which is more than a field can hold, by far",
        "a name of more than sixty-three bytes which is more than a field can hold by far"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const bm_device_info info = gpu_of(names[i], names[i]);
        bm_kernel_params row;
        char text[BM_KERNEL_PARAMS_TEXT + 1];
        cr_assert(bm_kernel_params_parse("*,*,*,gpu," NUMBERS("48"), &row));
        bm_kernel_params_name(&row, &info);
        bm_kernel_params_format(&row, text);
        strcat(text, "\n");
        user_file(text);
        cr_expect_eq(tile_of(&info, "vendor"), 48, "%s", text);
        unlink(path);
    }
}
