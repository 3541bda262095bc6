#include <criterion/criterion.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/threads.h"

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

/* Beside threads that run all the time, the waiting main thread gets them all. */
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
