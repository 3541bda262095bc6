/* SPDX-License-Identifier: Apache-2.0 */
/* fork_server.c -- a library for LD_PRELOAD that runs the program's main() many times: each job
 * that it is sent runs in a child process. A script with hundreds of jobs so loads the OpenCL
 * driver only once, which costs more than a small job. A child starts like a fresh process: before
 * the fork, libraries are loaded, but neither main() nor any call of the driver has run.
 *
 *   LD_PRELOAD=libfork_server.so FORK_SERVER_LOAD="libpocl.so.2 ..." PROGRAM
 *
 * The server also loads the library that every job opens to compute digests.
 *
 * Each line of standard input is a job, its words separated by tabs: DIRECTORY STDOUT STDERR
 * SECONDS VAR=VALUE... -- ARGUMENT... A variable without "=" is unset. After each job the server
 * writes a line with its exit code to standard output: 128 + N if signal N ended it, 124 if it ran
 * longer than SECONDS, as timeout(1) does. The server exits at the end of its input. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
                           void (*)(void), void *);

static main_function *program; /* the program's main() */
static char *name;             /* argv[0] */

static void die(const char *what)
{
    fprintf(stderr, "fork_server: %s: %s\n", what, strerror(errno));
    _exit(125);
}

static void redirect(int fd, const char *path, int flags)
{
    const int file = open(path, flags, 0666);
    if (file < 0 || dup2(file, fd) < 0)
        die(path);
    close(file);
}

/* Splits a job into its words, with a NULL at the end; the caller frees them. */
static char **split(char *line)
{
    size_t n = 1, at = 0;
    for (const char *c = line; *c != '\0'; c++)
        n += *c == '\t';
    char **words = calloc(n + 1, sizeof *words);
    if (words == NULL || n < 6)
        die("a job that is no job");
    for (char *rest = line; rest != NULL;)
        words[at++] = strsep(&rest, "\t");
    return words;
}

/* Runs in the child: sets up the job's process, then calls main(). */
static int run(char **words)
{
    if (chdir(words[0]) != 0)
        die(words[0]);
    redirect(0, "/dev/null", O_RDONLY);
    redirect(1, words[1], O_WRONLY | O_CREAT | O_TRUNC);
    redirect(2, words[2], O_WRONLY | O_CREAT | O_TRUNC);
    unsetenv("LD_PRELOAD");
    unsetenv("FORK_SERVER_LOAD");
    char **at = words + 4;
    for (; *at != NULL && strcmp(*at, "--") != 0; at++) {
        if (strchr(*at, '=') != NULL ? putenv(*at) != 0 : unsetenv(*at) != 0)
            die(*at);
    }
    if (*at == NULL)
        die("no -- in a job");
    *at = name;
    int argc = 0;
    while (at[argc] != NULL)
        argc++;
    return program(argc, at, environ);
}

static int wait_for(pid_t child, int seconds)
{
    bool late = false;
    const int fd = (int)syscall(SYS_pidfd_open, child, 0);
    if (fd < 0)
        die("pidfd_open");
    struct pollfd end = {.fd = fd, .events = POLLIN};
    if (poll(&end, 1, seconds * 1000) == 0) {
        late = true;
        kill(child, SIGKILL);
    }
    close(fd);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return late ? 124 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void load_each(const char *list)
{
    char *copy = list != NULL ? strdup(list) : NULL;
    for (char *rest = copy; rest != NULL;) {
        const char *library = strsep(&rest, " ");
        if (*library != '\0' && dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) == NULL)
            fprintf(stderr, "fork_server: %s\n", dlerror());
    }
    free(copy);
}

/* Called instead of the program's main(). */
static int serve(int argc, char **argv, char **env)
{
    (void)argc, (void)env;
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    name = argv[0];
    load_each(BM_SONAME_CRYPTO);
    load_each(getenv("FORK_SERVER_LOAD"));
    FILE *jobs = fdopen(fcntl(0, F_DUPFD_CLOEXEC, 100), "r");
    const int answers = fcntl(1, F_DUPFD_CLOEXEC, 100);
    if (jobs == NULL || answers < 0)
        die("cannot begin");
    while ((len = getline(&line, &cap, jobs)) > 0) {
        line[len - 1] = '\0';
        char **words = split(line);
        const pid_t child = fork();
        if (child < 0)
            die("fork");
        if (child == 0) {
            close(answers);
            /* not fclose, which would move the file offset shared with the server */
            close(fileno(jobs));
            exit(run(words));
        }
        if (dprintf(answers, "%d\n", wait_for(child, atoi(words[3]))) < 0)
            die("cannot answer");
        free(words);
    }
    free(line);
    return 0;
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    start_function *real = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    if (real == NULL)
        _exit(125);
    program = main;
    return real(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
