/* thread.h -- starting a thread that leaves the program's signals alone. */
#ifndef BM_BASE_THREAD_H
#define BM_BASE_THREAD_H

#include <pthread.h>

/* pthread_create with default attributes: 0, or an errno. The new thread, and threads that a driver
 * starts from it, block the signals that are sent to the process, so that these go to the program's
 * own threads. Not blocked are the signals of faults, which come to the thread at fault, and
 * SIGPROF. */
int bm_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
