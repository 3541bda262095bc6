/* SPDX-License-Identifier: Apache-2.0 */
/* libgit2_stub.c -- replaces libgit2 in every test program. Criterion starts libgit2 in each
 * process, and every Test() is a process: the real one would load eighteen more libraries and read
 * the machine's certificates, two thirds of the time of a short test. Criterion uses it only to
 * show differences of the asserts of <criterion/new/assert.h>. No test has these; a test that did
 * would end here with a message that says so. */
#include <stdio.h>
#include <stdlib.h>

int git_libgit2_init(void);
int git_libgit2_shutdown(void);
int git_diff_buffers(void);

int git_libgit2_init(void)
{
    return 1; /* the number of times it was initialised */
}

int git_libgit2_shutdown(void)
{
    return 0;
}

int git_diff_buffers(void)
{
    fputs("libgit2_stub.c: no criterion/new/assert.h here (use criterion/criterion.h)\n", stderr);
    abort();
}
