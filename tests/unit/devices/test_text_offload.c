/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_path.c -- the rule that chooses between texts and hashes, with devices whose speed is
 * made up. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "devices/text_offload.h"

typedef struct slow_device {
    bm_backend base;
    long hash_ms, text_ms; /* of a task */
    bm_status answer;      /* to texts */
    int n_hashes, n_texts;
} slow_device;

static bm_status submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    (void)err;
    slow_device *device = (slow_device *)backend;
    const long ms = task->text != NULL ? device->text_ms : device->hash_ms;
    *(task->text != NULL ? &device->n_texts : &device->n_hashes) += 1;
    cr_assert_neq(task->text == NULL, task->hashes == NULL, "texts or hashes");
    cr_assert(task->text == NULL || task->offsets == task->text->slots);
    cr_assert(task->text == NULL || task->n_shingles != NULL);
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
    return task->text != NULL ? device->answer : BM_OK;
}

static bm_status wait_for(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    (void)backend, (void)task, (void)err;
    return BM_OK;
}

static const bm_backend_ops ops = {.name = "slow", .submit = submit, .wait = wait_for};
static const bm_text_options chars = {.shingle = BM_SHINGLE_CHAR, .shingle_k = 5};

static slow_device make(long hash_ms, long text_ms, bm_device_kind kind)
{
    return (slow_device){
        .base = {.ops = &ops, .info = {.kind = kind}}, .hash_ms = hash_ms, .text_ms = text_ms};
}

static bm_text_offload try_on(slow_device *devices, size_t n)
{
    bm_text_trial *trial = NULL;
    bm_text_offload path = {0};
    const bm_text_trial_cfg cfg = {.text = &chars, .row_uints = 16, .bands = 4};
    cr_assert_eq(bm_text_trial_open(&cfg, &trial, NULL), BM_OK);
    for (size_t i = 0; i < n; ++i)
        cr_assert_eq(bm_text_trial_run(trial, &devices[i].base, NULL), BM_OK);
    bm_text_trial_judge(trial, 1, &path);
    bm_text_trial_close(trial);
    cr_assert(path.measured && path.text_rate > 0 && path.hash_rate > 0);
    return path;
}

/* Is that what comes out? A trial in which others have the processor may come out otherwise, ten in
 * a row do not. */
static bool comes_out(long hash_ms, long text_ms, bool taken)
{
    for (int i = 0; i < 10; ++i) {
        slow_device device = make(hash_ms, text_ms, BM_DEVICE_CL_GPU);
        const bm_text_offload path = try_on(&device, 1);
        cr_assert(device.n_texts == 2 && device.n_hashes == 2, "each form twice");
        cr_assert_leq(path.text_rate, 1048576e3 / (double)text_ms, "no task ends before its time");
        if (path.taken == taken)
            return true;
    }
    return false;
}

/* A megabyte of text, which the host hashes within some milliseconds: a tenth of a second is the
 * device's alone. */
Test(text_offload, the_form_that_the_device_is_faster_with_is_taken)
{
    cr_assert(comes_out(100, 20, true));
    cr_assert(comes_out(20, 100, false));
}

Test(text_offload, a_way_is_as_fast_as_its_slower_part_or_as_both_one_after_the_other)
{
    cr_assert_eq(bm_text_way_rate(300, 100, false), 100);
    cr_assert_eq(bm_text_way_rate(50, 100, false), 50);
    cr_assert_eq(bm_text_way_rate(100, 100, true), 50);
    cr_assert_float_eq(bm_text_way_rate(300, 100, true), 75, 1e-9);
    cr_assert_eq(bm_text_way_rate(100, 0, false), 0);
    cr_assert_eq(bm_text_way_rate(0, 100, true), 0);
}

Test(text_offload, rates_of_several_devices_add_up)
{
    slow_device devices[2] = {make(200, 50, BM_DEVICE_CL_GPU), make(40, 90, BM_DEVICE_CL_GPU)};
    const double bytes = 1048576;
    const bm_text_offload path = try_on(devices, 2);
    cr_assert_leq(path.hash_rate, bytes / 0.200 + bytes / 0.040, "no task ends before its time");
    cr_assert_leq(path.text_rate, bytes / 0.050 + bytes / 0.090);
    cr_assert(path.taken == (path.text_rate > path.hash_rate));
}

Test(text_offload, a_device_that_fails_says_so_and_one_that_takes_no_text_gets_hashes)
{
    const bm_text_trial_cfg cfg = {.text = &chars, .row_uints = 16};
    bm_text_trial *trial = NULL;
    bm_text_offload path = {.taken = true};
    slow_device broken = make(1, 1, BM_DEVICE_CL_GPU), old = broken;
    broken.answer = BM_ERR_DEVICE;
    old.answer = BM_ERR_UNSUPPORTED;
    cr_assert_eq(bm_text_trial_open(&cfg, &trial, NULL), BM_OK);
    cr_assert_eq(bm_text_trial_run(trial, &broken.base, NULL), BM_ERR_DEVICE);
    cr_assert_eq(bm_text_trial_run(trial, &old.base, NULL), BM_OK);
    bm_text_trial_judge(trial, 2, &path);
    cr_assert_not(path.taken);
    bm_text_trial_close(trial);
    bm_text_trial_close(NULL);
}

Test(text_offload, devices_that_are_the_hosts_processors_get_hashes_without_a_trial)
{
    static const struct {
        bm_device_kind kinds[3];
        bm_offload rule;
    } rows[] = {
        {{BM_DEVICE_CL_CPU, BM_DEVICE_CL_CPU, BM_DEVICE_CL_CPU}, BM_OFFLOAD_OFF},
        {{BM_DEVICE_CL_CPU, BM_DEVICE_NATIVE, BM_DEVICE_CL_CPU}, BM_OFFLOAD_OFF},
        {{BM_DEVICE_CL_CPU, BM_DEVICE_CL_CPU, BM_DEVICE_CL_GPU}, BM_OFFLOAD_TRIAL},
        {{BM_DEVICE_CL_GPU, BM_DEVICE_NATIVE, BM_DEVICE_CL_CPU}, BM_OFFLOAD_TRIAL},
        {{BM_DEVICE_NATIVE, BM_DEVICE_CL_OTHER, BM_DEVICE_NATIVE}, BM_OFFLOAD_TRIAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        bm_device_info devices[3] = {
            {.kind = rows[i].kinds[0]}, {.kind = rows[i].kinds[1]}, {.kind = rows[i].kinds[2]}};
        cr_assert_eq(bm_text_offload_rule(devices, 3), rows[i].rule, "row %zu", i);
    }
}
