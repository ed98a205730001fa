/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counts the instructions that a program executes in the regions that it marks, under qemu-x86_64 or qemu-aarch64
 * (docs/counts.md):
 *
 *     qemu-x86_64 -plugin libdpubench-count.so,folder=FOLDER PROGRAM
 *
 * One thread is counted, the one that opens the region. Whatever goes wrong ends the process with a message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../format.h"
#include "progress.h"
#include "qemu_plugin.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "marks are compared as they lie in memory"
#endif

enum { FAILED_STATUS = 70, NOBODY = -1, MARK_BYTES = 7 };

/* Instructions that are executed one after the other, as translated. */
struct run {
  uint64_t count;
  /* Where the first and the last of them repeats itself (REP MOVSB and the like): its address, else 0. */
  uint64_t first_repeats;
  uint64_t last_repeats;
};

static struct {
  volatile uint64_t* counts;
  pid_t process; /* the counted one; what it forks is not */
  int counted;   /* the CPU whose region is open, or NOBODY */
  bool is_x86;
  bool is_running; /* something was translated */
  uint64_t repeating;
} plugin = {.counted = NOBODY};

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_INTERFACE;

static void fail(const char* message) {
  fprintf(stderr, "dpubench-count: %s\n", message);
  if (plugin.counts != NULL) plugin.counts[DPUBENCH_COUNT_STATE] = DPUBENCH_CAPTURE_FAILED;
  /* Nothing of QEMU's may run: the program is in the middle of an instruction. */
  _exit(FAILED_STATUS);
}

static void fail_at(const char* what, const void* data) {
  char message[200];
  snprintf(message, sizeof message, "%s at address 0x%" PRIxPTR, what, (uintptr_t)data);
  fail(message);
}

/* --- execution */

static void on_run(unsigned int cpu, void* data) {
  const struct run* run = data;
  if ((int)cpu != plugin.counted) return;
  uint64_t count = run->count;
  /* QEMU executes each turn of a repeated instruction by itself; it is one instruction, as a processor counts it. */
  if (run->first_repeats != 0 && run->first_repeats == plugin.repeating) count--;
  plugin.repeating = run->last_repeats;
  plugin.counts[DPUBENCH_COUNT_INSTRUCTIONS] += count;
}

static void on_open(unsigned int cpu, void* data) {
  if (plugin.counted != NOBODY) fail_at("a region is opened while one is open,", data);
  plugin.counted = (int)cpu;
  plugin.repeating = 0;
  plugin.counts[DPUBENCH_COUNT_REGIONS]++;
  plugin.counts[DPUBENCH_COUNT_STATE] = DPUBENCH_IN_REGION;
}

static void on_close(unsigned int cpu, void* data) {
  if (plugin.counted == NOBODY) fail_at("a region is closed while none is open,", data);
  if (plugin.counted != (int)cpu) fail_at("a thread closes a region that another thread opened,", data);
  plugin.counted = NOBODY;
  plugin.counts[DPUBENCH_COUNT_STATE] = DPUBENCH_AFTER_REGION;
}

static void on_message(unsigned int cpu, void* data) {
  (void)data;
  if ((int)cpu == plugin.counted) plugin.counts[DPUBENCH_COUNT_MESSAGES]++;
}

/* --- translation */

static qemu_plugin_executed_fn marker(const struct qemu_plugin_insn* instruction) {
  const size_t bytes = qemu_plugin_insn_size(instruction);
  uint32_t mark = 0;
  if (plugin.is_x86) {
    const uint8_t* code = qemu_plugin_insn_data(instruction);
    const size_t opcode = sizeof DPUBENCH_NOP_OPCODE - 1;
    if (bytes != MARK_BYTES || memcmp(code, DPUBENCH_NOP_OPCODE, opcode) != 0) return NULL;
    memcpy(&mark, code + opcode, sizeof mark);
    mark ^= DPUBENCH_NOP_DISPLACEMENT;
  } else {
    if (bytes != sizeof mark) return NULL;
    memcpy(&mark, qemu_plugin_insn_data(instruction), sizeof mark);
    /* HINT #imm7: Arm ARM, C4.1.94 "Hints". */
    const uint32_t hint = 0xd503201fU;
    const unsigned shift = 5;
    if ((mark & ~(0x7fU << shift)) != hint) return NULL;
    mark = (mark ^ hint) >> shift;
  }
  if (mark == DPUBENCH_HINT_OPEN) return on_open;
  if (mark == DPUBENCH_HINT_CLOSE) return on_close;
  if (mark == DPUBENCH_HINT_MESSAGE) return on_message;
  return NULL;
}

/* The address of a string instruction with a repeat prefix (Intel SDM volume 2, REP), else 0. */
static uint64_t repeats_at(const struct qemu_plugin_insn* instruction) {
  if (!plugin.is_x86) return 0;
  const uint8_t* code = qemu_plugin_insn_data(instruction);
  const size_t bytes = qemu_plugin_insn_size(instruction);
  bool has_prefix = false;
  size_t i = 0;
  /* Legacy prefixes (volume 2, 2.1.1), then REX. */
  while (i < bytes && code[i] != 0 && memchr("\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65\x66\x67", code[i], 11) != NULL) {
    has_prefix |= code[i] == 0xf2 || code[i] == 0xf3;
    i++;
  }
  if (i < bytes && (code[i] & 0xf0U) == 0x40) i++;
  /* INS, OUTS; MOVS, CMPS; STOS, LODS, SCAS. */
  const bool is_string = i < bytes && ((code[i] >= 0x6c && code[i] <= 0x6f) || (code[i] >= 0xa4 && code[i] <= 0xa7) ||
                                       (code[i] >= 0xaa && code[i] <= 0xaf));
  return has_prefix && is_string ? qemu_plugin_insn_vaddr(instruction) : 0;
}

/* Instructions `begin` up to `end` of a translated block, none of them a marker. */
static void instrument(struct qemu_plugin_tb* translated, size_t begin, size_t end) {
  if (begin == end) return;
  struct qemu_plugin_insn* first = qemu_plugin_tb_get_insn(translated, begin);
  struct run* run = malloc(sizeof *run); /* as long as the translation, of which QEMU does not say when it goes */
  if (run == NULL) fail("out of memory");
  *run = (struct run){end - begin, repeats_at(first), repeats_at(qemu_plugin_tb_get_insn(translated, end - 1))};
  if (begin == 0) {
    qemu_plugin_register_vcpu_tb_exec_cb(translated, on_run, QEMU_PLUGIN_CB_NO_REGS, run);
  } else {
    qemu_plugin_register_vcpu_insn_exec_cb(first, on_run, QEMU_PLUGIN_CB_NO_REGS, run);
  }
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* translated) {
  (void)id;
  plugin.is_running = true;
  const size_t count = qemu_plugin_tb_n_insns(translated);
  size_t begin = 0;
  for (size_t i = 0; i < count; i++) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(translated, i);
    const qemu_plugin_executed_fn mark = marker(instruction);
    if (mark == NULL) continue;
    /* What is counted begins and ends at the marker, which is itself no instruction of the kernel. */
    instrument(translated, begin, i);
    begin = i + 1;
    void* address = (void*)(uintptr_t)qemu_plugin_insn_vaddr(instruction);
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, mark, QEMU_PLUGIN_CB_NO_REGS, address);
  }
  instrument(translated, begin, count);
}

/* --- beginning and end */

static void on_exit_of_program(qemu_plugin_id_t id, void* data) {
  (void)id;
  (void)data;
  /* An emulator that cannot start the program says why. */
  if (getpid() != plugin.process || !plugin.is_running) return;
  if (plugin.counts[DPUBENCH_COUNT_REGIONS] == 0) fail("no region was opened: the program ended without executing a mark");
  if (plugin.counted != NOBODY) fail("a region was opened and never closed");
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  /* The interface is binary: of one that changed, not even the names of functions would tell. */
  if (info->version.min > QEMU_PLUGIN_INTERFACE || info->version.cur < QEMU_PLUGIN_INTERFACE) {
    fprintf(stderr, "dpubench-count: this QEMU serves plugin interfaces %d to %d, but the plugin was made for %d: use QEMU 7.2\n",
            info->version.min, info->version.cur, QEMU_PLUGIN_INTERFACE);
    return 1;
  }
  plugin.is_x86 = strcmp(info->target_name, "x86_64") == 0;
  if (info->system_emulation || (!plugin.is_x86 && strcmp(info->target_name, "aarch64") != 0)) {
    fprintf(stderr, "dpubench-count: only programs under qemu-x86_64 and qemu-aarch64 are counted, but this QEMU emulates %s\n",
            info->target_name);
    return 1;
  }
  static const char key[] = "folder=";
  if (argc != 1 || strncmp(argv[0], key, sizeof key - 1) != 0) {
    fprintf(stderr, "dpubench-count: give the folder for the count as the only argument: folder=FOLDER\n");
    return 1;
  }
  plugin.process = getpid();
  plugin.counts = progress_open(argv[0] + sizeof key - 1, DPUBENCH_COUNT, DPUBENCH_COUNT_WORDS, fail);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
  return 0;
}
