/* SPDX-License-Identifier: Apache-2.0 */
/* The list of devices: the answer of the child process, and the record of what drivers did before.
 * tests/fault/icd/drivers.sh covers whole drivers. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opencl/cl_child.h"
#include "opencl/cl_known_drivers.h"
#include "opencl/cl_list.c"
#include "base/clock.h"
#include "base/memory.h"
#include "tests/world/world_folder.h"

/* --- the answer --- */

static bm_device_info infos[2] = {{.spec = "opencl:0.0",
                                   .name = "One",
                                   .kind = BM_DEVICE_CL_GPU,
                                   .memory_bytes = UINT64_MAX,
                                   .usable = true},
                                  {.spec = "opencl:3.1", .kind = BM_DEVICE_CL_OTHER, .why = "no"}};

static int file_of(const bm_cl_listing *listing)
{
    int fd = memfd_create("answer", 0);
    cr_assert_geq(fd, 0);
    cr_assert(cl_list_answer_write(fd, listing));
    return fd;
}

static bm_status read_of(int fd)
{
    bm_cl_listing got = {.n = 0};
    bm_status status = cl_list_answer_read(fd, &got, NULL);
    bm_free(got.rows);
    return status;
}

Test(cl_list_answer, comes_back_as_it_was_written)
{
    bm_cl_listing got;
    int fd = file_of(&(bm_cl_listing){.rows = infos, .n = 2, .note = "a note"});
    cr_assert_eq(cl_list_answer_read(fd, &got, NULL), BM_OK);
    cr_assert_eq(got.n, 2);
    cr_assert_not(got.broken);
    cr_assert_str_eq(got.note, "a note");
    cr_assert_eq(memcmp(got.rows, infos, sizeof infos), 0);
    bm_free(got.rows);
    close(fd);
    fd = file_of(&(bm_cl_listing){.n = 0});
    cr_assert_eq(cl_list_answer_read(fd, &got, NULL), BM_OK);
    cr_assert_eq(got.n, 0);
    bm_free(got.rows);
    close(fd);
}

/* A child that dies has written part of its answer, or nothing. */
Test(cl_list_answer, that_is_not_whole_is_none)
{
    int fd = file_of(&(bm_cl_listing){.rows = infos, .n = 2});
    struct stat st;
    cr_assert_eq(fstat(fd, &st), 0);
    cr_assert_eq(pwrite(fd, "x", 1, st.st_size), 1);
    cr_assert_eq(read_of(fd), BM_NOT_FOUND, "longer than it says");
    for (off_t len = st.st_size - 1; len >= 0; len--) {
        cr_assert_eq(ftruncate(fd, len), 0);
        cr_assert_eq(read_of(fd), BM_NOT_FOUND, "%ld bytes", (long)len);
    }
    close(fd);
}

/* Each byte of a device set to all ones: refused, or the device's texts are still terminated. */
Test(cl_list_answer, with_nonsense_in_it_is_refused_or_harmless)
{
    int fd = file_of(&(bm_cl_listing){.rows = infos, .n = 1});
    struct stat st;
    size_t n_refused = 0;
    cr_assert_eq(fstat(fd, &st), 0);
    for (off_t at = 0; at < st.st_size; at++) {
        char was;
        bm_cl_listing got = {.n = 0};
        cr_assert_eq(pread(fd, &was, 1, at), 1);
        cr_assert_eq(pwrite(fd, "\xff", 1, at), 1);
        if (cl_list_answer_read(fd, &got, NULL) == BM_OK) {
            cr_assert_eq(got.n, 1);
            cr_assert_lt(strlen(got.note), sizeof got.note);
            cr_assert_lt(strlen(got.rows[0].name), sizeof got.rows[0].name);
            cr_assert_leq(got.rows[0].kind, BM_DEVICE_CL_NONE);
        } else {
            n_refused++;
        }
        bm_free(got.rows);
        cr_assert_eq(pwrite(fd, &was, 1, at), 1);
    }
    cr_assert_geq(n_refused, 8 + 4 + 4 + 4 + 1); /* magic, size, number, kind, usable */
    memset(infos[0].why, 'x', sizeof infos[0].why);
    close(fd);
    fd = file_of(&(bm_cl_listing){.rows = infos, .n = 1});
    cr_assert_eq(read_of(fd), BM_NOT_FOUND, "a text without end");
    close(fd);
}

/* --- how long to wait for a driver --- */

typedef struct heard {
    int n_lines;
    bool cancel;
    char line[400];
} heard;

static void hear(void *ctx, bm_log_level level, const char *message)
{
    heard *h = ctx;
    cr_assert_eq(level, BM_LOG_INFO);
    h->n_lines++;
    snprintf(h->line, sizeof h->line, "%s", message);
}

static bool is_cancelled(void *ctx)
{
    return ((const heard *)ctx)->cancel;
}

Test(cl_patience, ends_at_its_limit_or_when_it_is_cancelled_and_says_once_that_it_takes_long)
{
    heard h = {.n_lines = 0};
    const bm_callbacks calls = {.ctx = &h, .log = hear, .cancelled = is_cancelled};
    bm_cl_patience p = {.seconds = 30, .callbacks = &calls};
    bm_cl_patience_begin(&p);
    cr_assert_float_eq(bm_cl_patience_left(&p), BM_CL_LOOK_SECONDS, 1e-9);
    cr_assert_eq(h.n_lines, 0);
    p.begin -= 10;
    cr_assert_gt(bm_cl_patience_left(&p), 0);
    cr_assert_gt(bm_cl_patience_left(&p), 0);
    cr_assert_eq(h.n_lines, 1);
    cr_assert_not_null(strstr(h.line, "at most 30 s"), "%s", h.line);
    p.begin -= 19.99;
    cr_assert_lt(bm_cl_patience_left(&p), .02);
    p.begin -= 1;
    cr_assert_eq(bm_cl_patience_left(&p), 0);
    cr_assert_not(p.cancelled);
    bm_cl_patience_begin(&p);
    h.cancel = true;
    cr_assert_eq(bm_cl_patience_left(&p), 0);
    cr_assert(p.cancelled);
    p.callbacks = NULL;
    bm_cl_patience_begin(&p);
    cr_assert_gt(bm_cl_patience_left(&p), 0);
}

/* --- the record of earlier runs --- */

static char dir[64];
static const bm_cl_listing nothing = {.n = 0};
static bm_cl_listing listed; /* filled by known() */
static bool fresh;

static bool known(void)
{
    bm_free(listed.rows);
    return bm_cl_drivers_known(dir, &listed, &fresh);
}

static void begin(void)
{
    struct rlimit limit;
    cr_assert(world_folder_make(NULL, dir, sizeof dir));
    unsetenv("OCL_ICD_VENDORS");
    cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
    cr_assert_eq(limit.rlim_cur, RLIM_INFINITY, "tests run with a limited address space");
}

static void end(void)
{
    bm_free(listed.rows);
    cr_assert_eq(world_folder_remove(dir), 0);
}

Test(cl_known_drivers, are_those_that_were_remembered_in_this_environment, .init = begin,
     .fini = end)
{
    cr_assert_not(known());
    bm_cl_drivers_remember(dir, &nothing);
    cr_assert(known());
    setenv("UNRELATED", "1", 1);
    cr_assert(known());
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    cr_assert_not(known());
    unsetenv("CUDA_VISIBLE_DEVICES");
    cr_assert(known());
}

Test(cl_known_drivers, are_remembered_with_what_they_listed, .init = begin, .fini = end)
{
    const bm_cl_listing some = {.rows = infos, .n = 2, .note = ""};
    bm_cl_drivers_remember(dir, &some);
    cr_assert(known());
    cr_assert(fresh);
    cr_assert_eq(listed.n, 2);
    cr_assert_eq(memcmp(listed.rows, infos, sizeof infos), 0);
    bm_cl_drivers_remember(dir, &(bm_cl_listing){.note = "no loader"});
    cr_assert(known());
    cr_assert_eq(listed.n, 0);
    cr_assert_str_eq(listed.note, "no loader");
    bm_cl_drivers_forget(dir);
    cr_assert_not(known());
    cr_assert_eq(listed.n, 0);
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

Test(cl_known_drivers, are_forgotten_when_a_vendor_or_its_library_changes, .init = begin,
     .fini = end)
{
    char vendors[100], icd[140], library[140], text[160];
    snprintf(vendors, sizeof vendors, "%s/vendors", dir);
    snprintf(icd, sizeof icd, "%s/a.icd", vendors);
    snprintf(library, sizeof library, "%s/liba.so", dir);
    snprintf(text, sizeof text, "%s\n", library);
    cr_assert_eq(mkdir(vendors, 0700), 0);
    setenv("OCL_ICD_VENDORS", vendors, 1);
    bm_cl_drivers_remember(dir, &nothing);
    cr_assert(known());
    put(icd, text);
    cr_assert_not(known(), "a new vendor");
    bm_cl_drivers_remember(dir, &nothing);
    put(library, "1");
    cr_assert_not(known(), "its library, which was not loaded, has come");
    bm_cl_drivers_remember(dir, &nothing);
    cr_assert(known());
    put(library, "12");
    cr_assert_not(known(), "its library is longer");
    put(icd, "liba.so\n");
    bm_cl_drivers_remember(dir, &nothing);
    setenv("LD_LIBRARY_PATH", dir, 1);
    bm_cl_drivers_remember(dir, &nothing);
    put(library, "123");
    cr_assert_not(known(), "a library found by LD_LIBRARY_PATH");
}

Test(cl_known_drivers, without_a_cache_or_with_a_limited_address_space_are_none, .init = begin,
     .fini = end)
{
    struct rlimit limit;
    bm_cl_drivers_remember("", &nothing);
    cr_assert_not(bm_cl_drivers_known("", &listed, &fresh));
    bm_cl_drivers_remember(dir, &nothing);
    cr_assert(known());
    cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = (rlim_t)1 << 46;
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    cr_assert_not(known());
}

Test(cl_known_drivers, that_hung_are_told_for_ten_minutes_in_this_environment, .init = begin,
     .fini = end)
{
    bm_cl_hang hang = {.seconds = 7, .at = bm_clock_seconds(), .note = "hung"}, told;
    cr_assert_not(bm_cl_drivers_hung(dir, &told));
    bm_cl_drivers_remember_hang(dir, &hang);
    cr_assert(bm_cl_drivers_hung(dir, &told));
    cr_assert_str_eq(told.note, "hung");
    cr_assert_eq(told.seconds, 7);
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    cr_assert_not(bm_cl_drivers_hung(dir, &told));
    unsetenv("CUDA_VISIBLE_DEVICES");
    hang.at = bm_clock_seconds() - 590;
    bm_cl_drivers_remember_hang(dir, &hang);
    cr_assert(bm_cl_drivers_hung(dir, &told));
    hang.at = bm_clock_seconds() - 601;
    bm_cl_drivers_remember_hang(dir, &hang);
    cr_assert_not(bm_cl_drivers_hung(dir, &told));
    hang.at = bm_clock_seconds() + 100; /* not a time since this boot of the machine */
    bm_cl_drivers_remember_hang(dir, &hang);
    cr_assert_not(bm_cl_drivers_hung(dir, &told));
    hang.at = bm_clock_seconds();
    bm_cl_drivers_remember_hang(dir, &hang);
    bm_cl_drivers_remember_hang(dir, &(bm_cl_hang){.seconds = 0});
    cr_assert_not(bm_cl_drivers_hung(dir, &told));
    bm_cl_drivers_remember_hang("", &hang);
    cr_assert_not(bm_cl_drivers_hung("", &told));
}

Test(cl_known_drivers, take_a_bounded_number_of_files, .init = begin, .fini = end)
{
    char command[200], value[20];
    for (int i = 0; i < 200; i++) {
        snprintf(value, sizeof value, "%d", i);
        setenv("OCL_ICD_FILENAMES", value, 1);
        bm_cl_drivers_remember(dir, &nothing);
        cr_assert(known());
    }
    snprintf(command, sizeof command, "test $(ls -A %s/opencl | wc -l) -le 16", dir);
    cr_assert_eq(system(command), 0);
}

Test(cl_known_drivers, are_named_for_messages, .init = begin, .fini = end)
{
    char vendors[100], path[140], names[300];
    snprintf(vendors, sizeof vendors, "%s/vendors", dir);
    cr_assert_eq(mkdir(vendors, 0700), 0);
    setenv("OCL_ICD_VENDORS", vendors, 1);
    snprintf(path, sizeof path, "%s/pocl.icd", vendors);
    put(path, "libpocl.so.2\n");
    bm_cl_drivers_names(names, sizeof names);
    cr_assert_str_eq(strstr(names, "driver pocl.icd"), names, "%s", names);
    setenv("OCL_ICD_VENDORS", path, 1);
    bm_cl_drivers_names(names, sizeof names);
    cr_assert_not_null(strstr(names, path), "%s", names);
    setenv("OCL_ICD_VENDORS", "/nowhere", 1);
    unsetenv("OCL_ICD_FILENAMES");
    bm_cl_drivers_names(names, sizeof names);
    cr_assert_str_eq(names, "");
}
