/* SPDX-License-Identifier: Apache-2.0 */
/* Each kernel under Oclgrind: no invalid access, no data race, no divergent barrier, right results.
 * To show that Oclgrind detects such errors here, one of each is planted in the real source and
 * must be reported.
 *
 * OCL_ICD_VENDORS selects Oclgrind before the loader is opened; the platform's name proves that it
 * is in use. */
#include <stdio.h>
#include <unistd.h>

#include "opencl/cl_backend.c"
#include "opencl/cl_stream.h"
#include "opencl/cl_program.h"
#include "base/memory.h"
#include "tests/parity/parity_batch.h"
#include "tests/world/world_folder.h"

#define OCLGRIND "/usr/lib/oclgrind/liboclgrind-rt-icd.so"

static char scratch[256], log_path[300];

static void begin(void)
{
    char path[300];
    if (access(OCLGRIND, R_OK) != 0) {
        cr_assert_null(getenv("BANDMILL_REQUIRE_OPENCL"), "%s is required and not there", OCLGRIND);
        cr_skip("no Oclgrind here (" OCLGRIND ")");
    }
    cr_assert(world_folder_make(NULL, scratch, sizeof scratch));
    snprintf(path, sizeof path, "%s/oclgrind.icd", scratch);
    FILE *icd = fopen(path, "w");
    fputs(OCLGRIND "\n", icd);
    fclose(icd);
    snprintf(log_path, sizeof log_path, "%s/log", scratch);
    setenv("OCL_ICD_VENDORS", scratch, 1);
    setenv("OCLGRIND_DATA_RACES", "1", 1);
    setenv("OCLGRIND_LOG", log_path, 1);
}

/* Reads Oclgrind's messages; "" if there are none. */
static void read_log(char *out, size_t cap)
{
    FILE *file = fopen(log_path, "r");
    size_t n = file != NULL ? fread(out, 1, cap - 1, file) : 0;
    out[n] = '\0';
    if (file != NULL)
        fclose(file);
    cr_assert_eq(world_folder_remove(scratch), 0);
}

static void sign_clean(const char *family, bm_scheme scheme, uint32_t perms, uint32_t bands,
                       uint32_t rows)
{
    static const uint32_t sizes[] = {0, 1, 3, 4, 9, 0, 40, 1100, 2, 6};
    enum { N = sizeof sizes / sizeof *sizes };
    bm_backend_cfg cfg = {.sketch = {.perms = perms, .seed = 1, .scheme = scheme},
                          .bands = bands,
                          .rows = rows,
                          .device = "opencl:0.0",
                          .cache_dir = ""};
    bm_error err = {0};
    bm_backend *backend = NULL;
    parity_batch batch;
    const bm_device_settings settings = {.kernel_family = family};
    cfg.settings = &settings;
    parity_make(&batch, &cfg, sizes, N, 4);
    bm_status status = bm_cl_backend_open(
        &cfg, &(bm_cl_open_options){.no_probe = true, .brief = true}, &backend, &err);
    cr_assert_eq(status, BM_OK, "%s", err.message);
    cr_assert_not_null(strstr(backend->info.platform, "Oclgrind"), "the platform is %s",
                       backend->info.platform);
    bm_sign_task task = parity_task(&batch, 0, N, true, bands > 0);
    parity_forget(&batch);
    cr_assert_eq(backend->ops->submit(backend, &task, &err), BM_OK, "%s", err.message);
    cr_assert_eq(backend->ops->drain(backend, &err), BM_OK, "%s", err.message);
    parity_compare(&batch, true, bands > 0, family);
    backend->ops->close(backend);
    parity_free(&batch);
}

Test(oclgrind, finds_nothing_in_any_kernel)
{
    char log[4096];
    begin();
    static const char *const families[] = {"cpu", "gpu"};
    for (size_t s = 0; s < 2; ++s) { /* the known answers at open also run on split documents */
        for (int scheme = BM_SCHEME_AFFINE32; scheme <= BM_SCHEME_OPH; ++scheme) {
            sign_clean(families[s], (bm_scheme)scheme, 1, 1, 1);
            sign_clean(families[s], (bm_scheme)scheme, 21, 4, 5);
            sign_clean(families[s], (bm_scheme)scheme, 16, 0, 0);
        }
        sign_clean(families[s], BM_SCHEME_OPH, 130, 13, 10);
        /* the kernels of 64-bit coefficients */
        sign_clean(families[s], BM_SCHEME_LEGACY, 21, 4, 5);
        sign_clean(families[s], BM_SCHEME_AFFINE64, 21, 4, 5);
        sign_clean(families[s], BM_SCHEME_LANCE, 16, 0, 0);
    }
    read_log(log, sizeof log);
    cr_assert_str_empty(log, "Oclgrind reports:\n%s", log);
}

/* The known answers at open run the text kernels on packed, whole and split documents. */
Test(oclgrind, finds_nothing_in_the_kernels_of_texts)
{
    char log[4096];
    begin();
    static const char *const families[] = {"cpu", "gpu"};
    static const uint32_t ks[] = {
        [BM_SHINGLE_WORD] = 2, [BM_SHINGLE_CHAR] = 3, [BM_SHINGLE_BYTE] = 20};
    for (int kind = 0; kind < 3; ++kind)
        for (size_t s = 0; s < 2; ++s) {
            const bm_text_options text = {.shingle = (bm_shingle_kind)kind, .shingle_k = ks[kind]};
            const bm_device_settings settings = {.kernel_family = families[s]};
            bm_backend_cfg cfg = {.sketch = {.perms = 4, .seed = 1},
                                  .bands = 1,
                                  .rows = 4,
                                  .text = &text,
                                  .settings = &settings,
                                  .device = "opencl:0.0",
                                  .cache_dir = ""};
            bm_error err = {0};
            bm_backend *backend = NULL;
            bm_status status = bm_cl_backend_open(
                &cfg, &(bm_cl_open_options){.no_probe = true, .brief = true}, &backend, &err);
            cr_assert_eq(status, BM_OK, "%s, kind %d: %s", families[s], kind, err.message);
            cr_assert_not_null(strstr(backend->info.platform, "Oclgrind"));
            cr_assert_gt(((const cl_backend *)backend)->n_checks, 13u * (4 + 1));
            backend->ops->close(backend);
        }
    read_log(log, sizeof log);
    cr_assert_str_empty(log, "Oclgrind reports:\n%s", log);
}

/* The source of sign_gpu.cl with its includes, and with `from` replaced by `to`. */
static char *plant(const char *from, const char *to)
{
    static const char *const names[] = {"affine32.h", "band_keys.cl", "teams.cl", "sign_gpu.cl"};
    char *text = calloc(1, 1 << 20);
    for (size_t i = 0; i < 4; ++i)
        for (unsigned f = 0; f < bm_n_kernel_files; ++f)
            if (strcmp(bm_kernel_files[f].name, names[i]) == 0)
                strcat(text, bm_kernel_files[f].text);
    char *at = strstr(text, from);
    cr_assert_not_null(at, "sign_gpu.cl no longer says %s", from);
    char *rest = strdup(at + strlen(from));
    strcpy(at, to);
    strcat(text, rest);
    free(rest);
    return text;
}

/* Runs bm_sign of a planted program on a few documents; `log` gets Oclgrind's messages. */
static void run_planted(const char *from, const char *to, char *log, size_t cap)
{
    static const uint32_t sizes[] = {40, 0, 25, 7};
    const uint32_t plan[3] = {16, 2, 8};
    bm_error err = {0};
    bm_cl_api api;
    bm_cl_device device;
    bm_kernel_params row;
    bm_cl_shape shape;
    begin();
    cr_assert_eq(bm_cl_load(&api, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_cl_device_find(&api, "opencl:0.0", &device, &err), BM_OK, "%s", err.message);
    cr_assert_not_null(strstr(device.info.platform, "Oclgrind"));
    const bm_kernel_params_search search = {
        .info = &device.info, .vendor = device.vendor, .family = "gpu"};
    cr_assert_eq(bm_kernel_params_choose(&search, &row, &err), BM_OK);
    cr_assert_eq(bm_cl_kernel_shape(&device, &row, plan, &shape, &err), BM_OK);
    shape.row_uints = 16;
    shape.scheme = &bm_scheme_affine32;
    cl_int code;
    cl_context context = api.clCreateContext(NULL, 1, &device.id, NULL, NULL, &code);
    char *text = plant(from, to), options[256];
    bm_cl_program program = {
        .program = api.clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &code)};
    snprintf(options, sizeof options,
             "-cl-std=CL1.2 -DBM_PERMS=16 -DBM_BANDS=2 -DBM_ROWS=8 -DBM_SPLIT_GROUP=8 -DBM_EACH=%u "
             "-DBM_TEAM=%u -DBM_TEAMS=%u -DBM_TILE=%u -DBM_UNROLL=%u",
             shape.teams.each, shape.teams.team, shape.teams.teams, shape.teams.tile,
             shape.teams.unroll);
    cr_assert_eq(api.clBuildProgram(program.program, 1, &device.id, options, NULL, NULL),
                 CL_SUCCESS);
    program.kernels[BM_CL_SIGN] = api.clCreateKernel(program.program, "bm_sign", &code);
    bm_backend_cfg cfg = {.sketch = {.perms = 16, .seed = 1}, .bands = 2, .rows = 8};
    parity_batch batch;
    parity_make(&batch, &cfg, sizes, 4, 4);
    bm_scheme_params params = {
        .ops = shape.scheme, .perms = 16, .a = batch.right_words, .b = batch.right_words}; /* any */
    bm_cl_stream stream = {.api = &api,
                           .device = &device,
                           .program = &program,
                           .shape = &shape,
                           .params = &params,
                           .context = context};
    cr_assert_eq(bm_cl_stream_open(&stream, &err), BM_OK);
    bm_sign_task task = parity_task(&batch, 0, 4, true, true);
    cr_assert_eq(bm_cl_stream_submit(&stream, &task, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_cl_stream_wait(&stream, NULL, &err), BM_OK, "%s", err.message);
    bm_cl_stream_close(&stream);
    bm_cl_program_reset(&api, &program);
    api.clReleaseContext(context);
    parity_free(&batch);
    free(text);
    read_log(log, cap);
}

Test(oclgrind, reports_a_planted_write_out_of_bounds)
{
    static char log[65536];
    run_planted("__local bm_unit tile[BM_TILE];", "__local bm_unit tile[4];", log, sizeof log);
    cr_assert_not_null(strstr(log, "Invalid write"), "Oclgrind said: %s", log);
}

Test(oclgrind, reports_a_planted_race)
{
    static char log[65536];
    run_planted("    barrier(CLK_LOCAL_MEM_FENCE);\n    for (uint doc", "    for (uint doc", log,
                sizeof log);
    cr_assert_not_null(strstr(log, "data race"), "Oclgrind said: %s", log);
}
