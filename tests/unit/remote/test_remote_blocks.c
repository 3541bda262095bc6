/* SPDX-License-Identifier: Apache-2.0 */
/* test_remote_blocks.c -- blocks of all files, read-ahead, and first bytes requested in parallel.
 */
#include <criterion/criterion.h>

#include "remote/remote_file.h"
#include "tests/unit/remote/fake_provider.h"
#include "tests/world/world_calls.h"

#define MIB ((uint64_t)1 << 20)

static bm_remote *open_at(bm_remotes *remotes, const char *address)
{
    return world_open(bm_remote, remotes, address, "/tmp");
}

static bm_remotes *open_all(const bm_callbacks *callbacks, uint64_t memory, uint64_t *bytes)
{
    bm_remotes *remotes = world_open(bm_remotes, callbacks);
    cr_assert_eq(bm_remotes_grant(remotes, 2, memory, bytes, NULL), BM_OK);
    return remotes;
}

/* Reads the bytes `from` to `to` in parts and compares them. */
static void read_parts(bm_remote *file, uint64_t seed, uint64_t from, uint64_t to, size_t part)
{
    char *bytes = malloc(part);
    for (uint64_t at = from; at < to; at += part) {
        const size_t want = to - at < part ? (size_t)(to - at) : part;
        size_t got = 0;
        bm_error err = {0};
        cr_assert_eq(bm_remote_read(file, bytes, want, at, &got, &err), BM_OK, "%s", err.message);
        cr_assert_eq(got, want);
        for (size_t i = 0; i < got; i++)
            cr_assert_eq(bytes[i], fake_byte(seed, at + i));
    }
    free(bytes);
}

Test(remote_blocks, take_a_part_of_the_memory)
{
    static const uint64_t memories[] = {18 * MIB, 64 * MIB, 100 * MIB, 256 * MIB, 1024 * MIB};
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        uint64_t bytes = 0;
        bm_remotes_close(open_all(NULL, memories[i], &bytes));
        cr_expect(bytes > 0 && bytes <= memories[i] / 8, "%llu of %llu", (unsigned long long)bytes,
                  (unsigned long long)memories[i]);
    }
}

Test(remote_blocks, that_follow_are_loaded_ahead_each_once)
{
    static const uint64_t memories[] = {24 * MIB, 64 * MIB, 0};
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        uint64_t bytes = 0;
        fake_reset(2);
        bm_remotes *remotes = open_all(NULL, memories[i], &bytes);
        bm_remote *file = open_at(remotes, "http://right/41943041/7");
        fake_wait_for(3);
        read_parts(file, 7, 0, 40 * MIB + 1, 300000);
        cr_expect_geq(fake.at_once, 3u, "%u at once", fake.at_once);
        cr_expect_eq(fake.repeated, 0u, "%u of %u", fake.repeated, fake.questions);
        fake_reset(2);
        if (bytes < 40 * MIB)
            fake_wait_for(3);
        read_parts(file, 7, 0, 40 * MIB + 1, 300000);
        if (bytes < 40 * MIB)
            cr_expect_geq(fake.at_once, 3u, "%u at once when it is read again", fake.at_once);
        cr_expect_eq(fake.repeated, 0u, "%u of %u", fake.repeated, fake.questions);
        bm_remotes_close(remotes);
    }
}

Test(remote_blocks, of_the_next_files_are_loaded_ahead_too)
{
    uint64_t bytes = 0;
    char address[64];
    bm_remote *files[60];
    fake_reset(2);
    bm_remotes *remotes = open_all(NULL, 256 * MIB, &bytes);
    for (unsigned i = 0; i < 60; i++) {
        snprintf(address, sizeof address, "http://right/100000/%u", i);
        files[i] = open_at(remotes, address);
    }
    cr_expect_eq(fake.at_once, 1u);
    for (unsigned pass = 0; pass < 2; pass++) {
        fake_wait_for(3);
        for (unsigned i = 0; i < 60; i++)
            read_parts(files[i], i, 0, 100000, 50000);
        cr_expect_geq(fake.at_once, 3u, "%u at once in pass %u", fake.at_once, pass);
        cr_expect_leq(fake.questions, pass == 0 ? 120u : 60u, "%u", fake.questions);
        fake_reset(2);
    }
    bm_remotes_close(remotes);
}

Test(remote_blocks, here_and_there_are_loaded_when_they_are_wanted)
{
    uint64_t bytes = 0;
    fake_reset(0);
    bm_remotes *remotes = open_all(NULL, 0, &bytes);
    bm_remote *file = open_at(remotes, "http://right/1073741824/1");
    for (unsigned i = 10; i > 0; i--)
        read_parts(file, 1, i * 100 * MIB, i * 100 * MIB + 1000, 1000);
    cr_expect_eq(fake.questions, 11u, "%u", fake.questions);
    bm_remotes_close(remotes);
}

Test(remote_blocks, beyond_a_bound_are_left_alone)
{
    uint64_t bytes = 0;
    fake_reset(1);
    bm_remotes *remotes = open_all(NULL, 0, &bytes);
    bm_remote *file = open_at(remotes, "http://right/104857600/3"),
              *next = open_at(remotes, "http://right/104857600/4");
    bm_remote_bound(file, 21 * MIB, 61 * MIB);
    bm_remote_bound(next, 0, 0);
    fake_wait_for(3);
    read_parts(file, 3, 21 * MIB, 61 * MIB, 1000000);
    bm_remotes_close(remotes);
    cr_expect_eq(fake.end, 62 * MIB, "%llu", (unsigned long long)fake.end);
    cr_expect_geq(fake.at_once, 3u);
    cr_expect_eq(fake.questions, 2u + 21u);
}

/* --- first bytes --- */

static void expect_files(bm_remotes *remotes, const char *const *addresses, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(bm_remotes_expect(remotes, addresses[i], NULL), BM_OK);
}

Test(remote_blocks, first_bytes_are_asked_for_side_by_side)
{
    uint64_t bytes = 0;
    char text[100][64];
    const char *addresses[100];
    fake_reset(5);
    bm_remotes *remotes = open_all(NULL, 0, &bytes);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(text[i], sizeof text[i], "http://right/%u/%u", 2000 + i, i);
        addresses[i] = text[i];
    }
    expect_files(remotes, addresses, 100);
    cr_expect_eq(fake.questions, 0u);
    fake_wait_for(4);
    for (unsigned i = 0; i < 100; i++) {
        bm_remote *file = open_at(remotes, addresses[i]);
        cr_assert_eq(bm_remote_size(file), 2000 + i);
        read_parts(file, i, 0, 2000 + i, 999);
    }
    cr_expect_eq(fake.questions, 100u);
    cr_expect_geq(fake.at_once, 4u, "%u at once", fake.at_once);
    bm_remotes_close(remotes);
}

/* As if files were requested one after another: each failure is reported when its file is opened,
 * passing failures are not even logged, and the bytes are right. */
Test(remote_blocks, failures_come_in_the_order_of_files)
{
    static const char *const addresses[] = {"http://right/5000/1", "http://once/5000/2",
                                            "http://refused/1/3",  "http://right/5000/4",
                                            "http://refused/1/5",  "http://once/5000/6"};
    uint64_t bytes = 0;
    fake_reset(3);
    bm_remotes *remotes = open_all(NULL, 0, &bytes);
    expect_files(remotes, addresses, 6);
    for (size_t i = 0; i < 6; i++) {
        bm_remote *file = NULL;
        bm_error err = {0};
        const bool refused = i == 2 || i == 4;
        cr_assert_eq(bm_remote_open(remotes, addresses[i], "/tmp", &file, &err),
                     refused ? BM_ERR_IO : BM_OK, "%zu: %s", i, err.message);
        if (refused)
            cr_expect_str_eq(err.file, addresses[i]);
        else
            read_parts(file, i + 1, 0, 5000, 5000);
    }
    bm_remotes_close(remotes);
}

Test(remote_blocks, that_fail_ahead_are_asked_for_by_who_wants_them)
{
    uint64_t bytes = 0;
    fake_reset(1);
    bm_remotes *remotes = open_all(NULL, 24 * MIB, &bytes);
    read_parts(open_at(remotes, "http://once/4000000/9"), 9, 0, 4000000, 300000);
    bm_remotes_close(remotes);
}

/* --- interrupts --- */

static bool stop_now(void *ctx)
{
    (void)ctx;
    return true;
}

/* The reader waits for a block that a loader fetches; closing stops the loader. */
Test(remote_blocks, who_waits_for_one_can_be_interrupted, .timeout = 60)
{
    const bm_callbacks callbacks = {.cancelled = stop_now};
    uint64_t bytes = 0;
    unsigned loading = 0;
    char byte;
    size_t got;
    fake_reset(0);
    bm_remotes *remotes = open_all(&callbacks, 0, &bytes);
    bm_remote *file = open_at(remotes, "http://hangs/100000000/1");
    read_parts(file, 1, 5000, 6000, 1000);
    while (loading == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        pthread_mutex_lock(&fake.lock);
        loading = fake.now;
        pthread_mutex_unlock(&fake.lock);
    }
    cr_expect_eq(bm_remote_read(file, &byte, 1, 3 * MIB, &got, NULL), BM_ERR_CANCELLED);
    bm_remotes_close(remotes);
    cr_expect_eq(fake.now, 0u);
}
