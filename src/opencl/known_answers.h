/* known_answers.h -- are devices held against the reference? */
#pragma once

#include <stdbool.h>

/* They are: with known answers when they are opened, and on documents of the job as it goes. Only a
 * program that puts another definition in the place of this one (bench/double/unchecked.c) takes
 * what a device says, so as to measure the host beside one that computes nothing; it is never
 * installed. */
extern const bool bm_devices_are_checked;
