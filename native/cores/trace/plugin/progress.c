/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PROGRESS_MOST = 8 };

volatile uint64_t* progress_open(const char* folder, const char* name, size_t count, sink_fail_fn fail) {
  static const uint64_t zero[PROGRESS_MOST];
  const size_t bytes = count * sizeof zero[0];
  char path[4096];
  char message[4200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  /* Written, and not just made that long, so that a full disk is an error here and no SIGBUS later. */
  void* map = MAP_FAILED;
  if (file >= 0 && count <= PROGRESS_MOST && write(file, zero, bytes) == (ssize_t)bytes) {
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (map == MAP_FAILED) {
    snprintf(message, sizeof message, "%s: cannot be created: %s", path, strerror(errno));
    fail(message);
  }
  close(file);
  return map;
}
