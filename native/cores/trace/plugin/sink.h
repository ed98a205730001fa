/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A zstd-compressed file that is written once, from its beginning to its end, in frames as format.h wants them.
 */
#ifndef DPUBENCH_TRACE_SINK_H
#define DPUBENCH_TRACE_SINK_H

#include <stddef.h>

struct sink;

/* Ends the process with `message` as the reason; what sinks call when they cannot go on. */
typedef void (*sink_fail_fn)(const char* message);

/* A new file `folder`/`name`; one that is there already is a failure. */
struct sink* sink_open(const char* folder, const char* name, sink_fail_fn fail);
void sink_write(struct sink* sink, const void* data, size_t bytes);
/* Ends the last frame and the file: what lacks this was cut off, which a reader sees. */
void sink_close(struct sink* sink);

#endif
