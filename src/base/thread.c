/* thread.c -- a thread begins with the mask of the one that starts it, so the mask is set before.
 */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

/* What a handler for crashes or a profiler must see in each thread. */
static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP};

int bm_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    const int rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
