/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel addresses to frames. The kernel's list is read once. It is read again when it lacks an
 * address (a module or BPF program was loaded), at first after 10 s, then ever more rarely.
 * Another module or program may have got the place of an unloaded one. So if the name of one was
 * asked for, the list is read again after 10 minutes.
 * Thread: the engine's.
 */
#pragma once

#include "namer/namer.h"
#include "profile/frame.h"
#include "symbolize/files.h"

struct kernel_names;

/* Makes the names. Borrows all arguments. @namer NULL: symbols stay raw. An unreadable list is no
 * error: kernel_names_problem() then has the reason. Returns 0 or -ENOMEM. */
int kernel_names_new(const struct symbol_files *files, struct frame_table *frames,
                     struct namer *namer, struct kernel_names **ret);
struct kernel_names *kernel_names_free(struct kernel_names *k);
/* Switches to @frames. The previous table is not used any more. */
void kernel_names_use_table(struct kernel_names *k, struct frame_table *frames);
/* Returns "", or a sentence with the reason why kernel frames have no names, and the remedy. */
const char *kernel_names_problem(const struct kernel_names *k);
/* Returns the frame of the code at @address. For a return address, pass the address minus one. */
uint32_t kernel_names_frame(struct kernel_names *k, uint64_t address, uint64_t now_ns);
/* Returns whether the readable name of the symbol at @address is still missing.
 * kernel_names_frame() returns its raw form until then. */
bool kernel_names_reads(struct kernel_names *k, uint64_t address, uint64_t now_ns);
