/* SPDX-License-Identifier: Apache-2.0 */
/* test_npy.c -- .npy files byte by byte, and every header that is refused. The vectors were written
 * by hand from NumPy's format description (numpy.lib.format). */
#include "results/npy.c"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"

Test(npy, the_header_is_numpys_to_the_byte)
{
    char header[BM_NPY_HEADER_BYTES], expected[128];
    const char *text = "{'descr': '<u4', 'fortran_order': False, 'shape': (1234567, 128), }";
    memset(expected, ' ', sizeof expected);
    memcpy(expected, "\x93NUMPY\x01\x00\x76\x00", 10); /* 118 = 128 - 10 */
    memcpy(expected + 10, text, strlen(text));
    expected[127] = '\n';
    write_header("<u4", 1234567, 128, header);
    cr_expect_eq(memcmp(header, expected, 128), 0);
}

Test(npy, one_dimension_is_a_tuple_of_one)
{
    char header[BM_NPY_HEADER_BYTES];
    write_header("<u8", 3, 0, header);
    const char *text = "{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }";
    cr_expect_eq(memcmp(header + 10, text, strlen(text)), 0);
}

Test(npy, the_largest_shape_fits)
{
    char header[BM_NPY_HEADER_BYTES];
    write_header("<i8", UINT64_MAX, UINT64_MAX, header);
    const char *text = "{'descr': '<i8', 'fortran_order': False, 'shape': "
                       "(18446744073709551615, 18446744073709551615), }";
    cr_expect_eq(memcmp(header + 10, text, strlen(text)), 0);
    cr_expect_eq(header[127], '\n');
}

/* Writes a file with this header (version, dictionary) and n_data bytes; returns the status of
 * reading it. */
static bm_status read_header(int version, const char *text, size_t n_data, bm_npy_header *out,
                             bm_error *err)
{
    SCRATCH s = scratch_open();
    size_t len = strlen(text), at = 8;
    char *bytes = calloc(1, len + n_data + 12);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (char)version;
    bytes[at++] = (char)(len & 255);
    bytes[at++] = (char)(len >> 8);
    if (version > 1)
        at += 2;
    memcpy(bytes + at, text, len);
    scratch_put(&s, "a.npy", bytes, at + len + n_data);
    free(bytes);
    int fd = open(scratch_at(&s, "a.npy"), O_RDONLY);
    bm_status status = bm_npy_header_read(fd, "a.npy", out, err);
    close(fd);
    return status;
}

Test(npy, headers_of_other_writers_are_read)
{
    bm_npy_header h;
    bm_error err = {0};
    cr_assert_eq(read_header(1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3), }\n", 24,
                             &h, &err),
                 BM_OK, "%s", err.message);
    cr_expect(h.n_dims == 2 && h.shape[0] == 2 && h.shape[1] == 3 && strcmp(h.type, "<u4") == 0);
    cr_expect_eq(h.data_offset, 10 + 60u);
    cr_assert_eq(
        read_header(2, "{\"shape\":(4,),\"fortran_order\":False,\"descr\":\"<u8\"}", 32, &h, &err),
        BM_OK, "%s", err.message);
    cr_expect(h.n_dims == 1 && h.shape[0] == 4 && strcmp(h.type, "<u8") == 0);
    cr_assert_eq(read_header(3,
                             " { 'descr' : '<i8' ,'shape':( 0 , 7, ) , 'fortran_order' : False "
                             "}  \n",
                             0, &h, &err),
                 BM_OK, "%s", err.message);
    cr_expect(h.n_dims == 2 && h.shape[0] == 0 && h.shape[1] == 7);
}

Test(npy, each_broken_header_is_refused_with_what_is_wrong)
{
#define F "'fortran_order': False, "
    static const struct {
        int version;
        const char *text;
        size_t n_data;
        const char *words;
    } cases[] = {
        {1, "{'descr': '<f4', " F "'shape': (1,)}", 4, "descr"},
        {1, "{'descr': '>u4', " F "'shape': (1,)}", 4, "descr"},
        {1, "{'descr': '<i4', " F "'shape': (1,)}", 4, "descr"},
        {1, "{'descr': [('a', '<u4')], " F "'shape': (1,)}", 4, "descr"},
        {1, "{'descr': '<u4', 'fortran_order': True, 'shape': (1,)}", 4, "fortran_order"},
        {1, "{'descr': '<u4', 'fortran_order': 0, 'shape': (1,)}", 4, "fortran_order"},
        {1, "{'descr': '<u4', " F "'shape': (1, 1, 1)}", 4, "shape"},
        {1, "{'descr': '<u4', " F "'shape': ()}", 4, "shape"},
        {1, "{'descr': '<u4', " F "'shape': (1)}", 4, "shape"},
        {1, "{'descr': '<u4', " F "'shape': 1}", 4, "shape"},
        {1, "{'descr': '<u4', " F "'shape': (-1,)}", 4, "shape"},
        {1, "{'descr': '<u4', " F "'shape': (18446744073709551616,)}", 4, "shape"},
        {1, "{'descr': '<u4', " F "'shape': (4294967296, 4294967296)}", 0, "shape"},
        {1, "{'descr': '<u4', " F "'shape': (4611686018427387904,)}", 0, "shape"},
        {1, "{'descr': '<u4', " F "'shape': (4,)}", 15, "bytes"},
        {1, "{'descr': '<u4', " F "'shape': (4,)}", 17, "bytes"},
        {1, "{'descr': '<u4', " F "}", 4, "missing"},
        {1, "{'descr': '<u4', 'shape': (1,)}", 4, "missing"},
        {1, "{" F "'shape': (1,)}", 4, "missing"},
        {1, "{}", 4, "missing"},
        {1, "{'descr': '<u4', 'descr': '<u4', " F "'shape': (1,)}", 4, "key"},
        {1, "{'descr': '<u4', " F "'shape': (1,), 'x': 1}", 4, "key"},
        {1, "{'descr': '<u4', " F "'shape': (1,)} x", 4, "follows"},
        {1, "{'descr': '<u4', " F "'shape': (1,)", 4, "header"},
        {1, "['descr']", 4, "dictionary"},
        {1, "", 8, "dictionary"},
        {4, "{'descr': '<u4', " F "'shape': (1,)}", 4, "version"},
        {0, "{'descr': '<u4', " F "'shape': (1,)}", 4, "version"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bm_npy_header h = {.n_dims = 77};
        bm_error err = {0};
        cr_expect_eq(read_header(cases[i].version, cases[i].text, cases[i].n_data, &h, &err),
                     BM_ERR_INPUT, "%s", cases[i].text);
        cr_expect(strstr(err.message, cases[i].words) != NULL, "%s: %s", cases[i].text,
                  err.message);
        cr_expect_str_eq(err.file, "a.npy");
        cr_expect_eq(h.n_dims, 77u, "nothing is filled on failure");
    }
}

Test(npy, what_is_no_npy_file_is_refused)
{
    static const struct {
        const char *bytes;
        size_t len;
    } files[] = {{"", 0},
                 {"\x93NUMPY", 6},
                 {"\x93NUMPX\x01\x00\x10\x00xxxxxxxxxxxxxxxx", 26},
                 {"\x93NUMPY\x01\x00\xff\xffxxxxxxxxxxxxxxxx", 26},
                 {"\x93NUMPY\x02\x00\xff\xff\xff\xffxxxxxxxxxx", 22},
                 {"\x93NUMPY\x01\x01\x10\x00xxxxxxxxxxxxxxxx", 26}};
    SCRATCH s = scratch_open();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        bm_npy_header h;
        bm_error err = {0};
        scratch_put(&s, "x", files[i].bytes, files[i].len);
        int fd = open(scratch_at(&s, "x"), O_RDONLY);
        cr_expect_eq(bm_npy_header_read(fd, "x", &h, &err), BM_ERR_INPUT, "%zu", i);
        close(fd);
    }
    bm_npy_header h;
    int fd = open("/dev/zero", O_RDONLY);
    cr_expect_eq(bm_npy_header_read(fd, "/dev/zero", &h, NULL), BM_ERR_INPUT);
    close(fd);
}

Test(npy, every_cut_and_every_changed_byte_of_a_header_is_survived)
{
    SCRATCH s = scratch_open();
    char bytes[BM_NPY_HEADER_BYTES + 8] = {0};
    write_header("<u4", 2, 0, bytes);
    for (size_t i = 0; i < BM_NPY_HEADER_BYTES * 3; i++) {
        char changed[sizeof bytes];
        memcpy(changed, bytes, sizeof bytes);
        size_t len = i < BM_NPY_HEADER_BYTES ? i : sizeof bytes;
        if (i >= BM_NPY_HEADER_BYTES)
            changed[i % BM_NPY_HEADER_BYTES] ^= (char)(i < 2 * BM_NPY_HEADER_BYTES ? 0x01 : 0x80);
        scratch_put(&s, "x", changed, len);
        int fd = open(scratch_at(&s, "x"), O_RDONLY);
        bm_npy_header h = {0};
        bm_status status = bm_npy_header_read(fd, "x", &h, NULL);
        close(fd);
        cr_expect(status == BM_OK || status == BM_ERR_INPUT);
        if (status == BM_OK) /* the changed header may be valid: then its size fits the file */
            cr_expect_eq(h.data_offset + h.shape[0] * (uint64_t)(h.type[2] - '0') *
                                             (h.n_dims == 2 ? h.shape[1] : 1),
                         sizeof bytes);
    }
}

#define N_THREADS 4
#define PART_ROWS 3u /* rows per call */
#define ALL_ROWS  (N_THREADS * 64 * PART_ROWS)

typedef struct writing {
    const bm_npy_writer *writer;
    unsigned thread;
} writing;

static void *write_parts(void *arg)
{
    const writing *w = arg;
    for (unsigned part = 0; part < 64; part++) {
        const uint64_t first = ((63 - part) * N_THREADS + w->thread) * PART_ROWS;
        uint64_t rows[PART_ROWS][2];
        for (unsigned i = 0; i < PART_ROWS; i++)
            rows[i][0] = rows[i][1] = first + i;
        if (bm_npy_writer_rows_at(w->writer, first, rows, PART_ROWS, 16, NULL) != BM_OK)
            return arg;
    }
    return NULL;
}

Test(npy, rows_written_at_their_places_by_several_threads_make_one_array)
{
    SCRATCH s = scratch_open();
    bm_npy_writer writer = {0};
    pthread_t threads[N_THREADS];
    writing what[N_THREADS];
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    cr_assert_eq(bm_npy_writer_open(dir, &(bm_npy_array){"band_keys.npy", "<u8", 2}, &writer, NULL),
                 BM_OK);
    for (unsigned i = 0; i < N_THREADS; i++) {
        what[i] = (writing){&writer, i};
        cr_assert_eq(pthread_create(&threads[i], NULL, write_parts, &what[i]), 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        cr_assert_null(failed);
    }
    cr_assert_eq(bm_npy_writer_close(&writer, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    char header[BM_NPY_HEADER_BYTES];
    write_header("<u8", ALL_ROWS, 2, header);
    size_t len;
    char *bytes = scratch_get(&s, "out/band_keys.npy", &len);
    cr_assert_eq(len, sizeof header + ALL_ROWS * 16);
    cr_expect_arr_eq(bytes, header, sizeof header);
    for (uint64_t i = 0; i < ALL_ROWS; i++) {
        const uint64_t row[2] = {i, i};
        cr_assert_arr_eq(bytes + sizeof header + i * 16, row, 16);
    }
    free(bytes);
}

Test(npy, an_array_in_which_rows_are_missing_is_no_array)
{
    SCRATCH s = scratch_open();
    bm_npy_writer writer = {0};
    const uint64_t row = 7;
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    cr_assert_eq(bm_npy_writer_open(dir, &(bm_npy_array){"band_keys.npy", "<u8", 1}, &writer, NULL),
                 BM_OK);
    cr_assert_eq(bm_npy_writer_rows_at(&writer, 0, &row, 1, 8, NULL), BM_OK);
    cr_assert_eq(bm_npy_writer_rows_at(&writer, 2, &row, 1, 8, NULL), BM_OK);
    cr_expect_eq(bm_npy_writer_rows_at(&writer, 1, &row, 1, 4, NULL), BM_ERR_INTERNAL);
    cr_expect_eq(bm_npy_writer_close(&writer, NULL), BM_ERR_INTERNAL);
    bm_out_dir_close(dir);
}

Test(npy, rows_written_in_pieces_make_one_array)
{
    SCRATCH s = scratch_open();
    bm_npy_writer writer = {0};
    bm_error err = {0};
    const uint32_t rows[3][2] = {{1, 2}, {3, 4}, {0xFFFFFFFF, 6}};
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    cr_assert_eq(
        bm_npy_writer_open(dir, &(bm_npy_array){"signatures.npy", "<u4", 2}, &writer, &err), BM_OK);
    cr_assert_eq(bm_npy_writer_rows(&writer, rows, 1, 8, &err), BM_OK);
    cr_assert_eq(bm_npy_writer_rows(&writer, rows + 1, 2, 8, &err), BM_OK);
    cr_expect_eq(bm_npy_writer_rows(&writer, rows, 1, 4, &err), BM_ERR_INTERNAL, "another width");
    cr_assert_eq(bm_npy_writer_close(&writer, &err), BM_OK);
    cr_expect_eq(bm_npy_writer_close(&writer, &err), BM_OK, "a second close does nothing");
    cr_assert_eq(bm_out_dir_finish(dir, &err), BM_OK);
    cr_assert_eq(bm_out_dir_commit(dir, &err), BM_OK, "%s", err.message);
    bm_out_dir_close(dir);
    char expected[BM_NPY_HEADER_BYTES + 24];
    write_header("<u4", 3, 2, expected);
    memcpy(expected + BM_NPY_HEADER_BYTES,
           "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\xff\xff\xff\xff\6\0\0\0", 24);
    size_t len;
    char *bytes = scratch_get(&s, "out/signatures.npy", &len);
    cr_expect(len == sizeof expected && memcmp(bytes, expected, len) == 0);
    free(bytes);
}
