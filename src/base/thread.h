/* thread.h -- start a thread of this library's own. */
#ifndef BM_BASE_THREAD_H
#define BM_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create with default attributes; 0 or the error's number. The new thread, and whatever
 * threads a driver starts from it, are given no signals that are meant for the process: those stay
 * with the threads of the program, in their order. Signals of a fault still come to the thread that
 * made it, and SIGPROF to all. */
int bm_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
