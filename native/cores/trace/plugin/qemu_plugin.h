/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What this plugin uses of QEMU's interface for TCG plugins, version 1 (QEMU 4.2 to 8.x; docs/devel/tcg-plugins.rst), declared here
 * because Debian 12 has no package with QEMU's own header. The functions are QEMU's and found when it loads the plugin.
 */
#ifndef DPUBENCH_QEMU_PLUGIN_H
#define DPUBENCH_QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_INTERFACE 1
#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

/* The oldest and the newest interface that this QEMU serves. */
struct qemu_plugin_versions {
  int min;
  int cur;
};

typedef struct {
  const char *target_name;
  struct qemu_plugin_versions version;
  bool system_emulation;
  /* More follows for the emulation of whole machines. */
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };

typedef void (*qemu_plugin_translated_fn)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*qemu_plugin_executed_fn)(unsigned int cpu, void *data);
typedef void (*qemu_plugin_accessed_fn)(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data);
typedef void (*qemu_plugin_exit_fn)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_translated_fn call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, qemu_plugin_executed_fn call, enum qemu_plugin_cb_flags flags,
                                          void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, qemu_plugin_executed_fn call,
                                            enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction, qemu_plugin_accessed_fn call,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw which, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_fn call, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

#endif
