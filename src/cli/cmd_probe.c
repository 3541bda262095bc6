/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_probe.c -- the hidden command __probe-opencl DEVICE CACHE_DIR: the library runs this command
 * in a separate process before it uses an OpenCL driver in its own. If DEVICE is `list`, the
 * command lists the devices.
 *
 * A driver may abort, hang or call exit, but here only the probe ends. After any output of the
 * driver, the probe writes the error to stderr as a separate line, which the parent process quotes.
 * The probe ends with _exit, so that no exit handler of a driver can change its answer. If a driver
 * ends the process, the call stack shows which driver did.
 *
 * Tests: tests/unit/opencl/test_cl_probe.c, tests/fault/icd/drivers.sh */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "program/program.h"

/* --- the code that was running when the process ended --- */

enum { MAX_FRAMES = 256, ENDS_WITHIN_SECONDS = 2 };

static bool is_ours(const Dl_info *at)
{
    static const char here = 0;
    Dl_info own;
    return dladdr(&here, &own) != 0 && own.dli_fbase == at->dli_fbase;
}

/* Does the code belong to us, the loader or the system, and so to no driver? */
static bool is_no_driver(const Dl_info *at)
{
    static const char *const libraries[] = {"/libOpenCL.so",  "/libc.so",     "/ld-linux",
                                            "/libpthread.so", "/libgcc_s.so", "linux-vdso"};
    if (is_ours(at))
        return true;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strstr(at->dli_fname, libraries[i]) != NULL)
            return true;
    return false;
}

static void put(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

/* The outermost frame of our code; frames outside of it belong to our caller, such as Python. A
 * driver's thread has no frame of ours; the result is then its outermost frame. */
static int outermost(void *const *frames, int n)
{
    Dl_info at;
    for (int i = n - 1; i >= 0; i--)
        if (dladdr(frames[i], &at) != 0 && is_ours(&at))
            return i;
    return n - 1;
}

/* Print the name of the first library that is a driver, from the outermost frame (see above)
 * inwards. Prints nothing if there is none. */
static void name_driver(void)
{
    void *frames[MAX_FRAMES];
    for (int i = outermost(frames, backtrace(frames, MAX_FRAMES)); i >= 0; i--) {
        Dl_info at;
        if (dladdr(frames[i], &at) == 0 || at.dli_fname == NULL || is_no_driver(&at))
            continue;
        put("\n" BM_PROBE_DRIVER_MARK);
        put(at.dli_fname);
        put("\n");
        return;
    }
}

/* Called when a driver ends the process, or when the parent ends the probe after the time limit. */
static void on_signal(int number)
{
    /* SIGALRM ends the process if the code below needs a lock that the interrupted code holds. */
    alarm(ENDS_WITHIN_SECONDS);
    name_driver();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTERM};
    void *frame;
    backtrace(&frame, 1); /* make backtrace load its library now, because a signal handler must not
                           * load it */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
        sigaction(numbers[i], &action, NULL);
    }
}

/* Called when a driver calls exit. The probe has not finished then, so an exit
 * code of 0 becomes the code of BM_ERR_DEVICE. If devices are listed, the message names the
 * driver. */
static void end_unfinished(int code, void *ctx)
{
    const bool *to_list = ctx;
    if (*to_list)
        name_driver();
    _exit(code != 0 ? code : bm_status_exit_code(BM_ERR_DEVICE));
}

int cli_probe(const char *device, const char *cache_dir)
{
    bm_error err = {0};
    bool to_list = strcmp(device, BM_PROBE_LIST) == 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the parent ends, a probe that hangs in a driver ends
                                       * too */
    if (to_list)
        watch_signals();
    on_exit(end_unfinished, &to_list);
    bm_status status = bm_device_probe(device, cache_dir, &err);
    if (status != BM_OK) {
        fprintf(stderr, "\n%s\n", err.message);
        fflush(stderr);
    }
    _exit(bm_status_exit_code(status));
}
