/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Traces what a program does in the regions that it marks, under qemu-aarch64 or qemu-alpha (docs/cores.md, "Traces"):
 *
 *     qemu-aarch64 -plugin libdpubench-trace.so,folder=FOLDER,kernel=TEXT,cpu=TEXT,digest=TEXT PROGRAM
 *
 * One thread is recorded, the one that opens the region; others may run beside it. Whatever goes wrong ends the process with a
 * message and leaves a trace without an end mark.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../format.h"
#include "progress.h"
#include "qemu_plugin.h"
#include "sink.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are written as they lie in memory"
#endif

enum { FAILED_STATUS = 70, BUFFER_WORDS = 1 << 16, BUCKETS = 1 << 16, NOBODY = -1, HEAD_TEXTS = 4 };

/* A run of instructions as translated. It gets its number when it is first executed in a region, so that numbers do not depend on
   what was translated elsewhere, and the table holds only what the stream names. */
struct block {
  struct block* next; /* of the same bucket */
  uint64_t pc;
  uint32_t count;
  uint32_t number;
  uint32_t words[];
};

static struct {
  struct sink* blocks;
  struct sink* stream;
  volatile uint64_t* progress; /* state and messages, in a file that outlives the process */
  const char* folder;
  pid_t process; /* the traced one; what it forks records nothing */
  int recorded;  /* the CPU whose region is open, or NOBODY */
  int regions;
  bool is_running; /* something was translated */
  bool is_alpha;
  uint32_t numbered;
  uint64_t executed;
  size_t words;
  uint64_t buffer[BUFFER_WORDS];
  struct block* buckets[BUCKETS]; /* touched in translation alone, which QEMU does under a lock */
} trace = {.recorded = NOBODY};

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_INTERFACE;

static void fail(const char* message) {
  fprintf(stderr, "dpubench-trace: %s\n", message);
  if (trace.progress != NULL) trace.progress[0] = DPUBENCH_CAPTURE_FAILED;
  /* Nothing of QEMU's may run: the traced program is in the middle of an instruction. */
  _exit(FAILED_STATUS);
}

/* --- the stream */

static void flush(void) {
  if (getpid() == trace.process) sink_write(trace.stream, trace.buffer, trace.words * sizeof trace.buffer[0]);
  trace.words = 0;
}

static inline void put(uint64_t word) {
  trace.buffer[trace.words++] = word;
  if (trace.words == BUFFER_WORDS) flush();
}

static void put_mark(enum dpubench_mark kind, uint64_t value) {
  put(DPUBENCH_WORD_MARK | value << DPUBENCH_MARK_SHIFT | (uint64_t)kind);
}

static void number(struct block* block) {
  const uint32_t head[2] = {trace.numbered, block->count};
  block->number = trace.numbered++;
  if (getpid() != trace.process) return;
  sink_write(trace.blocks, head, sizeof head);
  sink_write(trace.blocks, &block->pc, sizeof block->pc);
  sink_write(trace.blocks, block->words, block->count * sizeof block->words[0]);
}

static void on_block(unsigned int cpu, void* data) {
  struct block* block = data;
  if ((int)cpu != trace.recorded) return;
  if (block->number == DPUBENCH_NO_BLOCK) number(block);
  trace.executed += block->count;
  put(block->number);
}

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void* data) {
  if ((int)cpu != trace.recorded) return;
  put(DPUBENCH_WORD_ACCESS | (address & ((1ULL << DPUBENCH_ADDRESS_BITS) - 1)) |
      (uint64_t)(uintptr_t)data << DPUBENCH_INDEX_SHIFT | (uint64_t)qemu_plugin_mem_size_shift(info) << DPUBENCH_SIZE_SHIFT |
      (uint64_t)qemu_plugin_mem_is_store(info) << DPUBENCH_STORE_SHIFT);
}

/* --- marks; `data` is the address of the hint */

static void fail_at(const char* what, const void* data) {
  char message[200];
  snprintf(message, sizeof message, "%s at address 0x%" PRIxPTR, what, (uintptr_t)data);
  fail(message);
}

static void on_open(unsigned int cpu, void* data) {
  if (trace.recorded != NOBODY) fail_at("a region is opened while one is open,", data);
  trace.recorded = (int)cpu;
  trace.regions++;
  trace.progress[0] = DPUBENCH_IN_REGION;
  put_mark(DPUBENCH_MARK_OPEN, 0);
}

static void on_close(unsigned int cpu, void* data) {
  if (trace.recorded == NOBODY) fail_at("a region is closed while none is open,", data);
  if (trace.recorded != (int)cpu) fail_at("a thread closes a region that another thread opened,", data);
  put_mark(DPUBENCH_MARK_CLOSE, 0);
  trace.recorded = NOBODY;
  trace.progress[0] = DPUBENCH_AFTER_REGION;
}

static void on_message(unsigned int cpu, void* data) {
  (void)data;
  if (trace.recorded != (int)cpu) return; /* a kernel may run outside regions too, to warm up */
  put_mark(DPUBENCH_MARK_MESSAGE, 0);
  trace.progress[1]++;
}

/* --- translation */

static uint32_t word_of(const struct qemu_plugin_insn* instruction) {
  uint32_t word = 0;
  if (qemu_plugin_insn_size(instruction) != sizeof word)
    fail("an instruction is not four bytes long: only aarch64 and alpha are traced");
  memcpy(&word, qemu_plugin_insn_data(instruction), sizeof word);
  return word;
}

static qemu_plugin_executed_fn marker(uint32_t word) {
  /* HINT #imm7: Arm ARM, C4.1.94 "Hints". */
  const uint32_t hint = 0xd503201fU;
  if (trace.is_alpha) {
    if (word == DPUBENCH_ALPHA_MARK(DPUBENCH_HINT_OPEN)) return on_open;
    if (word == DPUBENCH_ALPHA_MARK(DPUBENCH_HINT_CLOSE)) return on_close;
    if (word == DPUBENCH_ALPHA_MARK(DPUBENCH_HINT_MESSAGE)) return on_message;
    return NULL;
  }
  if (word == (hint | DPUBENCH_HINT_OPEN << 5)) return on_open;
  if (word == (hint | DPUBENCH_HINT_CLOSE << 5)) return on_close;
  if (word == (hint | DPUBENCH_HINT_MESSAGE << 5)) return on_message;
  return NULL;
}

/* The block of these instructions, as it was when they were translated before. */
static struct block* remember(uint64_t pc, const uint32_t* words, uint32_t count) {
  uint64_t hash = pc;
  for (uint32_t i = 0; i < count; i++) hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ULL;
  struct block** place = &trace.buckets[(hash >> 32) % BUCKETS];
  for (; *place != NULL; place = &(*place)->next) {
    const struct block* known = *place;
    if (known->pc == pc && known->count == count && memcmp(known->words, words, count * sizeof *words) == 0) return *place;
  }
  struct block* block = malloc(sizeof *block + count * sizeof *words);
  if (block == NULL) fail("out of memory");
  *block = (struct block){.pc = pc, .count = count, .number = DPUBENCH_NO_BLOCK};
  memcpy(block->words, words, count * sizeof *words);
  *place = block;
  return block;
}

/* Instructions `begin` up to `end` of a translated block, none of them a marker, are one block of the trace. */
static void instrument(struct qemu_plugin_tb* translated, size_t begin, size_t end, const uint32_t* words) {
  if (begin == end) return;
  struct qemu_plugin_insn* first = qemu_plugin_tb_get_insn(translated, begin);
  struct block* block = remember(qemu_plugin_insn_vaddr(first), words + begin, (uint32_t)(end - begin));
  if (begin == 0) {
    qemu_plugin_register_vcpu_tb_exec_cb(translated, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
  } else {
    qemu_plugin_register_vcpu_insn_exec_cb(first, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
  }
  for (size_t i = begin; i < end; i++) {
    /* QEMU emits the call only where the instruction accesses memory. */
    qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(translated, i), on_access, QEMU_PLUGIN_CB_NO_REGS,
                                     QEMU_PLUGIN_MEM_RW, (void*)(i - begin));
  }
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* translated) {
  (void)id;
  trace.is_running = true;
  uint32_t words[DPUBENCH_BLOCK_INSTRUCTIONS];
  const size_t count = qemu_plugin_tb_n_insns(translated);
  if (count > DPUBENCH_BLOCK_INSTRUCTIONS) fail("QEMU translated more instructions at once than a block of a trace holds");
  size_t begin = 0;
  for (size_t i = 0; i < count; i++) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(translated, i);
    words[i] = word_of(instruction);
    const qemu_plugin_executed_fn mark = marker(words[i]);
    if (mark == NULL) continue;
    /* What is recorded begins and ends at the marker, which is itself no instruction of the kernel. */
    instrument(translated, begin, i, words);
    begin = i + 1;
    void* address = (void*)(uintptr_t)qemu_plugin_insn_vaddr(instruction);
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, mark, QEMU_PLUGIN_CB_NO_REGS, address);
  }
  instrument(translated, begin, count, words);
}

/* --- beginning and end */

static void on_exit_of_program(qemu_plugin_id_t id, void* data) {
  (void)id;
  (void)data;
  /* An emulator that cannot start the program says why. */
  if (getpid() != trace.process || !trace.is_running) return;
  if (trace.regions == 0) fail("no region was opened: the program ended without executing the mark 0x50");
  if (trace.recorded != NOBODY) fail("a region was opened and never closed: the program ended without executing the mark 0x51");
  put_mark(DPUBENCH_MARK_END, trace.executed);
  flush();
  sink_close(trace.stream);
  const uint32_t end[2] = {DPUBENCH_NO_BLOCK, trace.numbered};
  sink_write(trace.blocks, end, sizeof end);
  sink_close(trace.blocks);
}

static void write_heads(const char* const texts[HEAD_TEXTS]) {
  const uint32_t version = DPUBENCH_TRACE_VERSION;
  const uint64_t wide_version = version;
  const size_t magic_bytes = strlen(DPUBENCH_TRACE_MAGIC);
  sink_write(trace.blocks, DPUBENCH_TRACE_MAGIC, magic_bytes);
  sink_write(trace.blocks, &version, sizeof version);
  for (int i = 0; i < HEAD_TEXTS; i++) {
    const uint32_t length = (uint32_t)strlen(texts[i]);
    sink_write(trace.blocks, &length, sizeof length);
    sink_write(trace.blocks, texts[i], length);
  }
  sink_write(trace.stream, DPUBENCH_TRACE_MAGIC, magic_bytes);
  sink_write(trace.stream, &wide_version, sizeof wide_version);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  /* The interface is binary: of one that changed, not even the names of functions would tell. */
  if (info->version.min > QEMU_PLUGIN_INTERFACE || info->version.cur < QEMU_PLUGIN_INTERFACE) {
    fprintf(stderr, "dpubench-trace: this QEMU serves plugin interfaces %d to %d, but the plugin was made for %d: use QEMU 7.2\n",
            info->version.min, info->version.cur, QEMU_PLUGIN_INTERFACE);
    return 1;
  }
  trace.is_alpha = strcmp(info->target_name, "alpha") == 0;
  if (info->system_emulation || (!trace.is_alpha && strcmp(info->target_name, "aarch64") != 0)) {
    fprintf(stderr, "dpubench-trace: only programs under qemu-aarch64 and qemu-alpha are traced, but this QEMU emulates %s\n",
            info->target_name);
    return 1;
  }
  static const char* const keys[HEAD_TEXTS] = {"folder=", "kernel=", "cpu=", "digest="};
  const char* values[HEAD_TEXTS] = {NULL, "", "", ""};
  for (int i = 0; i < argc; i++) {
    int key = 0;
    while (key < HEAD_TEXTS && strncmp(argv[i], keys[key], strlen(keys[key])) != 0) key++;
    if (key == HEAD_TEXTS) {
      fprintf(stderr, "dpubench-trace: there is no argument '%s': use folder=, kernel=, cpu= or digest=\n", argv[i]);
      return 1;
    }
    values[key] = strdup(argv[i] + strlen(keys[key]));
  }
  if (values[0] == NULL) {
    fprintf(stderr, "dpubench-trace: give the folder for the trace: folder=FOLDER\n");
    return 1;
  }
  trace.folder = values[0];
  trace.process = getpid();
  trace.progress = progress_open(trace.folder, DPUBENCH_TRACE_PROGRESS, 2, fail);
  trace.blocks = sink_open(trace.folder, DPUBENCH_TRACE_BLOCKS, fail);
  trace.stream = sink_open(trace.folder, DPUBENCH_TRACE_STREAM, fail);
  write_heads((const char* const[HEAD_TEXTS]){info->target_name, values[1], values[2], values[3]});
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
  return 0;
}
