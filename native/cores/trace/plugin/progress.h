/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Integers of 64 bits in a file that outlives the process: whoever started the emulator reads there how far it came.
 */
#ifndef DPUBENCH_TRACE_PLUGIN_PROGRESS_H
#define DPUBENCH_TRACE_PLUGIN_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "sink.h"

/* `count` integers, all 0, mapped from a new file `folder`/`name`; one that is there already is a failure. */
volatile uint64_t* progress_open(const char* folder, const char* name, size_t count, sink_fail_fn fail);

#endif
