/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel addresses to frames. The kernel's list is read once. It is read again when it lacks an
 * address (a module or BPF program was loaded), at first after 10 s, then ever more rarely.
 * Thread: the engine's.
 */
#pragma once

#include "namer/namer.h"
#include "profile/frame.h"
#include "symbolize/files.h"

struct kernel_names;

/* Borrows all (@namer: NULL: symbols stay raw). An unreadable list is not an error here:
 * kernel_names_problem() gives the reason. 0 or -ENOMEM. */
int kernel_names_new(const struct symbol_files *files, struct frame_table *frames,
                     struct namer *namer, struct kernel_names **ret);
struct kernel_names *kernel_names_free(struct kernel_names *k);
/* Switches to @frames. The table so far is not used any more. */
void kernel_names_use_table(struct kernel_names *k, struct frame_table *frames);
/* Returns "", or a sentence with the remedy on why kernel frames have no names. */
const char *kernel_names_problem(const struct kernel_names *k);
/* Returns the frame of the code at @address (of a return address: minus one). */
uint32_t kernel_names_frame(struct kernel_names *k, uint64_t address, uint64_t now_ns);
/* Returns whether the name of the symbol at @address is coming: kernel_names_frame() then has its
 * raw form. */
bool kernel_names_reads(struct kernel_names *k, uint64_t address, uint64_t now_ns);
