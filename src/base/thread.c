/* thread.c -- a thread inherits the signal mask of the one that starts it, so that one blocks the
 * signals for a moment. */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

/* Signals that stay unblocked: those of faults, and a profiler's. */
static const int unblocked[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP};

int bm_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof unblocked / sizeof unblocked[0]; i++)
        sigdelset(&others, unblocked[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    const int rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
