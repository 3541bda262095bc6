/* SPDX-License-Identifier: Apache-2.0 */
/* test_spill_file.c -- records are read back as they were added; damage is an error, never a wrong
 * result. */
#include "spill/spill_saved.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/world/scratch.h"

/* Byte j of record i. */
static unsigned char byte_of(size_t i, size_t j)
{
    return (unsigned char)((i * 2654435761u + j * 40503u) >> 7);
}

static size_t length_of(size_t i)
{
    static const size_t lengths[] = {0, 1, 8, 1200, 4080, 4081, 70000, 300};
    return lengths[i % 8];
}

#define RECORDS 200u
static uint64_t places[RECORDS];

static bm_spill_file *filled(scratch *s, size_t buffer)
{
    bm_spill_file *file = NULL;
    unsigned char *data = malloc(70000);
    cr_assert_eq(bm_spill_open(s->root, BM_SPILL_SETS, buffer, &file, NULL), BM_OK);
    for (size_t i = 0; i < RECORDS; i++) {
        for (size_t j = 0; j < length_of(i); j++)
            data[j] = byte_of(i, j);
        cr_assert_eq(bm_spill_add(file, data, length_of(i), &places[i], NULL), BM_OK);
    }
    free(data);
    cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
    return file;
}

static bm_status read_record(const bm_spill_file *file, size_t i, bm_error *err)
{
    unsigned char *data = malloc(70000);
    bm_status status = bm_spill_read(file, places[i], data, length_of(i), err);
    for (size_t j = 0; status == BM_OK && j < length_of(i); j++)
        cr_assert_eq(data[j], byte_of(i, j), "record %zu byte %zu", i, j);
    free(data);
    return status;
}

Test(spill_file, records_come_back_in_any_order_whatever_the_buffer)
{
    static const size_t buffers[] = {0, 64, 4096, 1 << 20};
    for (size_t b = 0; b < 4; b++) {
        SCRATCH s = scratch_open();
        bm_spill_file *file = filled(&s, buffers[b]);
        for (size_t i = 0; i < RECORDS; i++)
            cr_assert_eq(read_record(file, i * 77 % RECORDS, NULL), BM_OK);
        cr_assert_eq(bm_spill_walk(file, NULL, NULL, NULL), BM_OK);
        struct stat info;
        cr_assert_eq(fstat(bm_spill_fd(file), &info), 0);
        cr_assert_eq((uint64_t)info.st_size, bm_spill_bytes(file));
        bm_spill_close(file);
    }
}

/* Reads every step-th record forwards, then all backwards: bytes read ahead serve the next read or
 * are discarded. */
Test(spill_file, records_that_are_read_one_after_another_are_those_read_alone)
{
    SCRATCH s = scratch_open();
    bm_spill_file *file = filled(&s, 4096);
    unsigned char *data = malloc(70000);
    bm_spill_get get = {.file = file};
    for (size_t step = 1; step < 30; step++)
        for (size_t k = 0; k < 2 * RECORDS; k += step) {
            const size_t i = k < RECORDS ? k : 2 * RECORDS - 1 - k;
            cr_assert_eq(bm_spill_get_read(&get, places[i], data, length_of(i), NULL), BM_OK);
            for (size_t j = 0; j < length_of(i); j++)
                if (data[j] != byte_of(i, j))
                    cr_assert_fail("record %zu byte %zu", i, j);
        }
    cr_expect_eq(bm_spill_get_read(&get, places[3], data, 8, NULL), BM_ERR_FORMAT);
    cr_assert_eq(ftruncate(bm_spill_fd(file), (off_t)places[RECORDS - 1] + 20), 0);
    bm_buf_reset(&get.buf);
    get = (bm_spill_get){.file = file};
    cr_expect_eq(bm_spill_get_read(&get, places[RECORDS - 1], data, length_of(RECORDS - 1), NULL),
                 BM_ERR_FORMAT);
    bm_buf_reset(&get.buf);
    free(data);
    bm_spill_close(file);
}

/* Some records are added; others are put at reserved places, last first, in two independent parts.
 */
Test(spill_file, records_put_at_reserved_places_are_those_that_are_added)
{
    SCRATCH s = scratch_open();
    bm_spill_file *added = filled(&s, 4096), *file = NULL;
    const size_t from = 40, to = 160, middle = 100;
    unsigned char *data = malloc(70000);
    uint64_t bytes = 0, place, at;
    cr_assert_eq(bm_spill_open(s.root, BM_SPILL_SETS, 4096, &file, NULL), BM_OK);
    for (size_t i = 0; i < RECORDS; i++) {
        for (size_t j = 0; j < length_of(i); j++)
            data[j] = byte_of(i, j);
        bytes += i >= from && i < to ? BM_SPILL_RECORD + length_of(i) : 0;
        if (i + 1 == to) {
            cr_assert_eq(bm_spill_reserve(file, to - from, bytes, &place, NULL), BM_OK);
            cr_assert_eq(place, places[from]);
        } else if (i < from || i >= to) {
            cr_assert_eq(bm_spill_add(file, data, length_of(i), &at, NULL), BM_OK);
            cr_assert_eq(at, places[i]);
        }
    }
    for (size_t part = 0; part < 2; part++) {
        bm_spill_put put = {.file = file};
        bm_status status = BM_OK;
        for (size_t i = part == 0 ? middle : from; i < (part == 0 ? to : middle); i++) {
            for (size_t j = 0; j < length_of(i); j++)
                data[j] = byte_of(i, j);
            status = bm_spill_put_add(&put, places[i], data, length_of(i), NULL);
            cr_assert_eq(status, BM_OK);
        }
        cr_assert_eq(bm_spill_put_end(&put, status, NULL), BM_OK);
    }
    cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
    cr_assert_eq(bm_spill_bytes(file), bm_spill_bytes(added));
    cr_assert_eq(bm_spill_walk(file, NULL, NULL, NULL), BM_OK);
    char *all[2];
    for (size_t i = 0; i < 2; i++) {
        all[i] = malloc(bm_spill_bytes(file));
        cr_assert_eq(pread(bm_spill_fd(i == 0 ? file : added), all[i], bm_spill_bytes(file), 0),
                     (ssize_t)bm_spill_bytes(file));
    }
    cr_expect_arr_eq(all[0], all[1], bm_spill_bytes(file));
    free(all[0]);
    free(all[1]);
    free(data);
    bm_spill_close(added);
    bm_spill_close(file);
}

Test(spill_file, has_no_name_in_its_directory)
{
    scratch s;
    s = scratch_open();
    bm_spill_file *file = filled(&s, 4096);
    cr_assert_eq(rmdir(s.root), 0, "something lies in the directory");
    cr_assert_eq(read_record(file, 5, NULL), BM_OK, "and it works without it");
    bm_spill_close(file);
}

Test(spill_file, no_directory_is_an_io_error)
{
    bm_spill_file *file = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_spill_open("/nonexistent/dir", BM_SPILL_SETS, 64, &file, &err), BM_ERR_IO);
    cr_assert_null(file);
    cr_assert_not_null(strstr(err.file, "/nonexistent/dir"));
}

Test(spill_file, every_changed_byte_is_found)
{
    SCRATCH s = scratch_open();
    bm_spill_file *file = NULL;
    char text[40] = "shingles and hashes";
    uint64_t place, second;
    cr_assert_eq(bm_spill_open(s.root, BM_SPILL_RUN, 64, &file, NULL), BM_OK);
    cr_assert_eq(bm_spill_add(file, text, sizeof text, &place, NULL), BM_OK);
    cr_assert_eq(bm_spill_add(file, text, sizeof text, &second, NULL), BM_OK);
    cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
    uint64_t size = bm_spill_bytes(file);
    for (uint64_t at = 0; at < size; at++) {
        unsigned char byte, flipped;
        cr_assert_eq(pread(bm_spill_fd(file), &byte, 1, (off_t)at), 1);
        flipped = byte ^ (unsigned char)(1u << at % 8);
        cr_assert_eq(pwrite(bm_spill_fd(file), &flipped, 1, (off_t)at), 1);
        cr_assert_eq(bm_spill_walk(file, NULL, NULL, NULL), BM_ERR_FORMAT, "byte %d", (int)at);
        char back[sizeof text];
        bm_status status = bm_spill_read(file, place, back, sizeof back, NULL);
        cr_assert_eq(status, at >= place && at < second ? BM_ERR_FORMAT : BM_OK, "byte %d",
                     (int)at);
        cr_assert_eq(pwrite(bm_spill_fd(file), &byte, 1, (off_t)at), 1);
    }
    cr_assert_eq(bm_spill_walk(file, NULL, NULL, NULL), BM_OK);
    bm_spill_close(file);
}

Test(spill_file, another_place_or_length_is_no_record)
{
    SCRATCH s = scratch_open();
    bm_spill_file *file = NULL;
    uint64_t text[4] = {1, 2, 3, 4}, back[4], place, second;
    cr_assert_eq(bm_spill_open(s.root, BM_SPILL_KEYS, 64, &file, NULL), BM_OK);
    cr_assert_eq(bm_spill_add(file, text, sizeof text, &place, NULL), BM_OK);
    cr_assert_eq(bm_spill_add(file, text, sizeof text, &second, NULL), BM_OK);
    cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
    cr_assert_eq(bm_spill_read(file, place, back, 24, NULL), BM_ERR_FORMAT);
    cr_assert_eq(bm_spill_read(file, place + 8, back, 32, NULL), BM_ERR_FORMAT);
    /* copy the first record's bytes to the place of the second */
    char record[48];
    cr_assert_eq(pread(bm_spill_fd(file), record, 48, (off_t)place), 48);
    cr_assert_eq(pwrite(bm_spill_fd(file), record, 48, (off_t)second), 48);
    cr_assert_eq(bm_spill_read(file, second, back, 32, NULL), BM_ERR_FORMAT);
    bm_spill_close(file);
}

Test(spill_file, a_file_cut_short_is_found)
{
    SCRATCH s = scratch_open();
    bm_spill_file *file = filled(&s, 1 << 20);
    cr_assert_eq(ftruncate(bm_spill_fd(file), (off_t)places[RECORDS - 1] + 20), 0);
    bm_error err = {0};
    cr_assert_eq(read_record(file, RECORDS - 1, &err), BM_ERR_FORMAT);
    cr_assert_not_null(strstr(err.message, "damaged"));
    cr_assert_eq(bm_spill_walk(file, NULL, NULL, NULL), BM_ERR_FORMAT);
    bm_spill_close(file);
}

Test(spill_file, room_that_cannot_be_there_is_refused)
{
    bm_error err = {0};
    cr_assert_eq(bm_spill_check_space("/tmp", 1, NULL), BM_OK);
    cr_assert_eq(bm_spill_check_space("/tmp", UINT64_MAX / 2, &err), BM_ERR_IO);
    cr_assert_not_null(strstr(err.message, "`temp_dir`"));
    cr_assert_eq(bm_spill_check_space("/nonexistent", 1, NULL), BM_ERR_IO);
}
