/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c -- SIGINT, SIGTERM, SIGPIPE and SIGXFSZ.
 *
 * The first SIGINT or SIGTERM sets a flag that the job checks at each batch. The second one, of
 * either kind, ends the process at once, even if threads wait. The process ends by that signal, so
 * that a shell sees the reason. SIGPIPE and SIGXFSZ are ignored, so that a closed pipe or a file at
 * the size limit becomes an ordinary error status. The flag is global because a signal handler has
 * no context, and atomic because the signal may arrive on a driver's thread. There is no other
 * global variable.
 *
 * Tests: tests/cli/cases/interrupt.sh, tests/cli/cases/file_size_limit.sh */
#include "cli/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int stop_signal; /* the first signal received; 0: no signal yet */

static void on_stop(int number)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&stop_signal, &none, number))
        return;
    signal(number, SIG_DFL);
    raise(number); /* the signal is delivered once this handler returns */
}

bool cli_interrupted(void)
{
    return atomic_load(&stop_signal) != 0;
}

int cli_stop_signal(void)
{
    return atomic_load(&stop_signal);
}

/* Catch a signal, unless the caller ignored it (nohup, a background job). */
static void catch_signal(int number)
{
    struct sigaction action, before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
        return;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    action.sa_handler = on_stop; /* no SA_RESTART: the signal must interrupt a waiting read */
    sigaction(number, &action, NULL);
}

void cli_catch_signals(void)
{
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}
