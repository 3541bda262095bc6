/* SPDX-License-Identifier: Apache-2.0 */
/* glibc-2.28.h -- what the sources call and glibc has only had since a later version. scripts/build-wheel.sh --glibc 2.28 includes it
 * before every file; so it includes nothing itself, and the order of its names is that of Linux' numbers on x86_64 and AArch64. */
static inline const char *sigabbrev_np(int number) /* since 2.32 */
{
    static const char *const names[] = {0, "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
                                        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU",
                                        "XFSZ", "VTALRM", "PROF", "WINCH", "POLL", "PWR", "SYS"};
    return number > 0 && number < (int)(sizeof names / sizeof names[0]) ? names[number] : 0;
}
