/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sink.h"

#include "../format.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Level 1 makes traces some 30 % larger than level 3 does and takes half the time; tables that fit the L2 matter more than
 * either. */
enum { SINK_LEVEL = 1 };

struct sink {
  int file;
  ZSTD_CCtx* context;
  char* out;
  size_t out_bytes;
  size_t frame_bytes; /* of the frame that is being written, before compression */
  sink_fail_fn fail;
  char path[4096];
};

static void fail_with(struct sink* sink, const char* what, const char* reason) {
  char message[5000];
  snprintf(message, sizeof message, "%s: %s: %s", sink->path, what, reason);
  sink->fail(message);
}

struct sink* sink_open(const char* folder, const char* name, sink_fail_fn fail) {
  struct sink* sink = calloc(1, sizeof *sink);
  if (sink == NULL) {
    fail("out of memory");
    return NULL;
  }
  sink->fail = fail;
  snprintf(sink->path, sizeof sink->path, "%s/%s", folder, name);
  sink->file = open(sink->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (sink->file < 0) fail_with(sink, "cannot be created", strerror(errno));
  sink->context = ZSTD_createCCtx();
  sink->out_bytes = ZSTD_CStreamOutSize();
  sink->out = malloc(sink->out_bytes);
  if (sink->context == NULL || sink->out == NULL) fail_with(sink, "cannot be compressed", "out of memory");
  ZSTD_CCtx_setParameter(sink->context, ZSTD_c_compressionLevel, SINK_LEVEL);
  ZSTD_CCtx_setParameter(sink->context, ZSTD_c_checksumFlag, 1);
  return sink;
}

/* A limit on the size of files would end the process by a signal, and the traced program may have a handler for it: here it is an
   error of write() like a full disk. */
static void write_all(struct sink* sink, const char* data, size_t bytes) {
  sigset_t limit;
  sigset_t former;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &former);
  while (bytes > 0) {
    const ssize_t written = write(sink->file, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with(sink, "cannot be written", strerror(errno));
    data += written;
    bytes -= (size_t)written;
  }
  pthread_sigmask(SIG_SETMASK, &former, NULL);
}

static void compress(struct sink* sink, ZSTD_inBuffer* in, ZSTD_EndDirective how) {
  size_t left = 1;
  do {
    ZSTD_outBuffer out = {sink->out, sink->out_bytes, 0};
    left = ZSTD_compressStream2(sink->context, &out, in, how);
    if (ZSTD_isError(left)) fail_with(sink, "cannot be compressed", ZSTD_getErrorName(left));
    write_all(sink, sink->out, out.pos);
  } while (how == ZSTD_e_end ? left != 0 : in->pos < in->size);
}

static void end_frame(struct sink* sink) {
  ZSTD_inBuffer in = {NULL, 0, 0};
  compress(sink, &in, ZSTD_e_end);
  sink->frame_bytes = 0;
}

void sink_write(struct sink* sink, const void* data, size_t bytes) {
  const char* next = data;
  while (bytes > 0) {
    const size_t room = DPUBENCH_TRACE_FRAME_BYTES - sink->frame_bytes;
    const size_t part = bytes < room ? bytes : room;
    ZSTD_inBuffer in = {next, part, 0};
    compress(sink, &in, ZSTD_e_continue);
    sink->frame_bytes += part;
    next += part;
    bytes -= part;
    if (sink->frame_bytes == DPUBENCH_TRACE_FRAME_BYTES) end_frame(sink);
  }
}

void sink_close(struct sink* sink) {
  if (sink->frame_bytes > 0) end_frame(sink);
  /* Some file systems say only now that there is no room. */
  if (close(sink->file) != 0) fail_with(sink, "cannot be written", strerror(errno));
  ZSTD_freeCCtx(sink->context);
  free(sink->out);
  free(sink);
}
