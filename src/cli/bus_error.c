/* bus_error.c -- SIGBUS becomes an error line and exit code 4.
 *
 * There is no way back from such a read, so the process ends where it is: what a writer of an index has not
 * committed is gone, as after any other end. Only calls that a handler may make are made; the texts are
 * there before.
 *
 * Tests: tests/cli/cases/query_follow.sh */
#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/console.h"

#define WORDS                                                                                      \
    "a file that is open as memory cannot be read (an index on a disk that fails, or that was "    \
    "cut "                                                                                         \
    "short meanwhile)"

enum { IO_ERROR = 4 }; /* bm_status_exit_code(BM_ERR_IO) */

static void say(const char *line, size_t len)
{
    (void)cli_write_descriptor(STDERR_FILENO, line, len);
    _exit(IO_ERROR);
}

static void on_bus_error(int number)
{
    static const char line[] = "bandmill: " WORDS "\n";
    (void)number;
    say(line, sizeof line - 1);
}

static void on_bus_error_json(int number)
{
    static const char line[] =
        "{\"error\":{\"exit\":4,\"status\":\"io\",\"file\":null,\"line\":null,"
        "\"message\":\"" WORDS "\"}}\n";
    (void)number;
    say(line, sizeof line - 1);
}

void cli_catch_bus_error(bool json)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = json ? on_bus_error_json : on_bus_error;
    sigaction(SIGBUS, &action, NULL);
}
