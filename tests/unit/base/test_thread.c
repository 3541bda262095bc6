/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/threads.h"
#include "tests/world/world_calls.h"

static void *read_mask(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
    return NULL;
}

Test(thread, is_given_no_signal_but_those_of_a_fault)
{
    sigset_t before, after, inside;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    pthread_t thread;
    cr_assert_eq(bm_thread_start(&thread, read_mask, &inside), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);

    static const int kept_away[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM, SIGPIPE};
    for (size_t i = 0; i < sizeof kept_away / sizeof kept_away[0]; i++)
        cr_assert_eq(sigismember(&inside, kept_away[i]), 1, "signal %d", kept_away[i]);
    static const int passed[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        cr_assert_eq(sigismember(&inside, passed[i]), 0, "signal %d", passed[i]);
    for (int number = 1; number < 32; number++)
        cr_assert_eq(sigismember(&after, number), sigismember(&before, number));
}

static pthread_t main_thread;
static atomic_int here, elsewhere;

static void where(int number)
{
    (void)number;
    atomic_fetch_add(pthread_equal(pthread_self(), main_thread) ? &here : &elsewhere, 1);
}

static void *spin(void *stop)
{
    while (!atomic_load((atomic_bool *)stop)) {
    }
    return NULL;
}

/* The main thread gets all signals, although other threads run all the time. */
Test(thread, leaves_signals_of_the_process_to_the_program)
{
    struct sigaction action = {.sa_handler = where};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    main_thread = pthread_self();
    atomic_bool stop = false;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        cr_assert_eq(bm_thread_start(&threads[i], spin, &stop), 0);
    for (int i = 0; i < 200; i++) {
        kill(getpid(), SIGUSR1);
        kill(getpid(), SIGUSR2);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    cr_assert_gt(atomic_load(&here), 0);
    cr_assert_eq(atomic_load(&elsewhere), 0);
}

/* pthread_create returns EAGAIN in both cases. */
Test(thread, without_memory_for_its_stack_is_another_error_than_one_too_many)
{
    bm_error err = {0};
    world_refused(bm_fail_thread(EAGAIN, &err), BM_ERR_IO, &err, "cannot start a thread");
    if (getenv("ASAN_OPTIONS") != NULL || getenv("TSAN_OPTIONS") != NULL)
        return; /* sanitizers need more address space than the limit below leaves */
    const struct rlimit least = {(rlim_t)64 << 20, (rlim_t)64 << 20};
    struct rlimit before;
    cr_assert_eq(getrlimit(RLIMIT_AS, &before), 0);
    pthread_t thread;
    sigset_t inside;
    void *fill[4096];
    size_t n = 0;
    cr_assert_eq(setrlimit(RLIMIT_AS, &(struct rlimit){least.rlim_cur, before.rlim_max}), 0);
    while (n < 4096 && (fill[n] = mmap(NULL, (size_t)1 << 20, PROT_NONE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
        n++;
    const int rc = bm_thread_start(&thread, read_mask, &inside);
    const bm_status status = rc != 0 ? bm_fail_thread(rc, &err) : BM_OK;
    while (n > 0)
        munmap(fill[--n], (size_t)1 << 20);
    cr_assert_eq(setrlimit(RLIMIT_AS, &before), 0);
    cr_assert_neq(rc, 0);
    world_refused(status, BM_ERR_NOMEM, &err, "no memory for its stack");
}
