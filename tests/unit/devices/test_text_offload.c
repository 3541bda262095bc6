/* SPDX-License-Identifier: Apache-2.0 */
/* The trial of devices, and the rule that chooses between sending texts and sending hashes, with
 * devices of simulated speed. tests/fault/icd/auto_pays.sh tests that `auto` follows the trial. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cpu/cpu_backend.h"
#include "devices/text_offload.c"
#include "tests/world/world_calls.h"

typedef struct slow_device {
    bm_backend base;
    long hash_ms, text_ms; /* time of a task, with hashes or with texts */
    bm_status answer;      /* the status of tasks with texts */
    int n_hashes, n_texts;
} slow_device;

static bm_status fake_submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
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

static bm_status fake_wait(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    (void)backend, (void)task, (void)err;
    return BM_OK;
}

static bm_status drain(bm_backend *backend, bm_error *err)
{
    (void)backend, (void)err;
    return BM_OK;
}

static const bm_backend_ops ops = {
    .name = "slow", .submit = fake_submit, .wait = fake_wait, .drain = drain};
static const bm_text_options chars = {.shingle = BM_SHINGLE_CHAR, .shingle_k = 5};

static slow_device make(long hash_ms, long text_ms, bm_device_kind kind)
{
    return (slow_device){.base = {.ops = &ops, .accepts_text = true, .info = {.kind = kind}},
                         .hash_ms = hash_ms,
                         .text_ms = text_ms};
}

static bm_text_offload try_on(slow_device *devices, size_t n)
{
    bm_text_offload path = {0};
    const bm_text_trial_cfg cfg = {.text = &chars, .texts = true, .row_uints = 16, .bands = 4};
    bm_text_trial *trial = world_open(bm_text_trial, &cfg);
    for (size_t i = 0; i < n; ++i)
        cr_assert_eq(bm_text_trial_run(trial, &devices[i].base, NULL), BM_OK);
    bm_text_trial_judge(trial, &path);
    bm_text_trial_close(trial);
    cr_assert(path.measured && path.text_rate > 0 && path.hash_rate > 0);
    return path;
}

/* Does a trial choose as expected? On a busy machine one trial may choose wrongly, but not ten in a
 * row. */
static bool comes_out(long hash_ms, long text_ms, bool taken)
{
    for (int i = 0; i < 10; ++i) {
        slow_device device = make(hash_ms, text_ms, BM_DEVICE_CL_GPU);
        const bm_text_offload path = try_on(&device, 1);
        cr_assert(device.n_texts >= 2 && device.n_hashes >= 2, "each form twice at least");
        cr_assert_leq(path.text_rate, 1048576e3 / (double)text_ms, "no task ends before its time");
        if (path.taken == taken)
            return true;
    }
    return false;
}

/* The host hashes the megabyte of text in a few milliseconds, so the device takes nearly all of a
 * tenth of a second. */
Test(text_offload, the_form_that_the_device_is_faster_with_is_taken)
{
    cr_assert(comes_out(100, 20, true));
    cr_assert(comes_out(20, 100, false));
}

Test(text_offload, a_way_is_as_fast_as_its_slower_part_or_as_both_one_after_the_other)
{
    cr_assert_eq(text_way_rate(300, 100, false), 100);
    cr_assert_eq(text_way_rate(50, 100, false), 50);
    cr_assert_eq(text_way_rate(100, 100, true), 50);
    cr_assert_float_eq(text_way_rate(300, 100, true), 75, 1e-9);
    cr_assert_eq(text_way_rate(100, 0, false), 0);
    cr_assert_eq(text_way_rate(0, 100, true), 0);
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
    const bm_text_trial_cfg cfg = {.text = &chars, .texts = true, .row_uints = 16};
    bm_text_offload path = {.taken = true};
    slow_device broken = make(1, 1, BM_DEVICE_CL_GPU), old = broken;
    broken.answer = BM_ERR_DEVICE;
    old.answer = BM_ERR_UNSUPPORTED;
    bm_text_trial *trial = world_open(bm_text_trial, &cfg);
    cr_assert_eq(bm_text_trial_run(trial, &broken.base, NULL), BM_ERR_DEVICE);
    cr_assert_eq(bm_text_trial_run(trial, &old.base, NULL), BM_OK);
    bm_text_trial_judge(trial, &path);
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

/* --- a device with a latency --- */

#define DEPTH 3u

/* Each document occupies the device for COST seconds, one after the other; its result arrives
 * LATENCY seconds later. */
#define COST    .00002
#define LATENCY .0015
typedef struct far_device {
    bm_backend base;
    double end;
    double done[DEPTH];
    const bm_sign_task *tasks[DEPTH];
    uint32_t n, most;
} far_device;

static bm_status far_submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    (void)err;
    far_device *device = (far_device *)backend;
    const double now = bm_clock_seconds();
    cr_assert_lt(device->n, DEPTH, "no more in flight than it likes");
    for (uint32_t i = 0; i < device->n; i++)
        cr_assert(device->tasks[i] != task && device->tasks[i]->words != task->words,
                  "tasks in flight have nothing in common");
    device->end = (device->end > now ? device->end : now) + (double)task->n_docs * COST;
    device->tasks[device->n] = task;
    device->done[device->n++] = device->end + LATENCY;
    if (device->n > device->most)
        device->most = device->n;
    return BM_OK;
}

static bm_status far_wait(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    (void)err;
    far_device *device = (far_device *)backend;
    cr_assert(device->n > 0 && device->tasks[0] == task, "the oldest is waited for");
    const struct timespec then = {
        .tv_sec = (time_t)device->done[0],
        .tv_nsec = (long)((device->done[0] - (double)(time_t)device->done[0]) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
    device->n--;
    memmove(device->tasks, device->tasks + 1, device->n * sizeof *device->tasks);
    memmove(device->done, device->done + 1, device->n * sizeof *device->done);
    return BM_OK;
}

static bm_status far_drain(bm_backend *backend, bm_error *err)
{
    far_device *device = (far_device *)backend;
    while (device->n > 0)
        far_wait(backend, (bm_sign_task *)(uintptr_t)device->tasks[0], err);
    return BM_OK;
}

/* With one batch in flight the rate would be 35 MB/s, with three 100 MB/s. */
Test(text_offload, the_latency_of_a_device_does_not_count)
{
    static const bm_backend_ops far_ops = {
        .name = "far", .submit = far_submit, .wait = far_wait, .drain = far_drain};
    double rate = 0;
    for (int i = 0; i < 20 && rate < 60e6; ++i) {
        bm_text_offload path = {0};
        far_device device = {.base = {.ops = &far_ops, .depth = DEPTH}};
        const bm_text_trial_cfg cfg = {.text = &chars, .row_uints = 16, .threads = 2};
        bm_text_trial *trial = world_open(bm_text_trial, &cfg);
        cr_assert_eq(bm_text_trial_run(trial, &device.base, NULL), BM_OK);
        bm_text_trial_judge(trial, &path);
        bm_text_trial_close(trial);
        cr_assert_eq(device.n, 0);
        rate = path.device_hash_rate;
    }
    cr_assert_geq(rate, 60e6);
    cr_assert_leq(rate, 102e6 * 1.5, "no task ends before its time");
}

/* --- native code --- */

Test(text_offload, native_code_is_measured_on_all_threads_and_devices_are_dropped_one_by_one)
{
    const bm_backend_cfg native = {.sketch = {.perms = 128, .seed = 1}, .device = "cpu"};
    bm_backend *cpu = NULL;
    cr_assert_eq(bm_backend_cpu.open(&native, &cpu, NULL), BM_OK);
    double rates[3];
    for (size_t i = 0; i < 3; ++i) {
        const bm_text_trial_cfg cfg = {.text = &chars,
                                       .texts = true,
                                       .row_uints = 128,
                                       .threads = i < 2 ? 1 : 4,
                                       .native = i == 0 ? NULL : cpu};
        bm_text_trial *trial = world_open(bm_text_trial, &cfg);
        rates[i] = bm_text_trial_cpu_rate(trial);
        if (i == 2) {
            slow_device devices[2] = {make(100, 100, BM_DEVICE_CL_GPU),
                                      make(400, 400, BM_DEVICE_CL_GPU)};
            for (size_t d = 0; d < 2; ++d)
                cr_assert_eq(bm_text_trial_run(trial, &devices[d].base, NULL), BM_OK);
            const double second = bm_text_trial_rate(trial, 1);
            cr_assert_leq(second, 16384 / .4);
            bm_text_trial_drop(trial, 0);
            cr_assert_eq(bm_text_trial_rate(trial, 0), second);
        }
        bm_text_trial_close(trial);
    }
    cr_assert_lt(rates[1], rates[0], "signing takes its time");
    cr_assert_gt(rates[2], rates[1] * 1.2, "four threads do more than one");
    bm_backend_close(cpu);
}
