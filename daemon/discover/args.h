/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a java command line, and which of them may be shown. Secrets are values of -D…= and
 * --…=, options of agents, and the value after a name like "password". Pure; thread: any.
 */
#pragma once

#include "base/buf.h"

#define ARGS_MASK "***"

/* Gets the main class or jar in @cmdline (arguments separated by NUL), by the launcher's own rules.
 * Returns false if there is none. *ret_after: the arguments that follow it. Both point into
 * @cmdline. */
bool args_main(struct span cmdline, struct span *ret_main, struct span *ret_after);
/* Gets the same as args_main() with the help of @command, the VM's text "MAIN ARGS...". A blank may
 * be part of MAIN. The main class or jar is the argument of @cmdline that @command begins with,
 * else its first word. */
bool args_main_of_command(struct span command, struct span cmdline, struct span *ret_main,
                          struct span *ret_after);
/* Gets the name of the program's jar, without folders. That is @main (of args_main()) if it is one,
 * else the jar in the class path of @cmdline if there is exactly one. Of several jars, any may be a
 * library. Returns false if there is none. Points into the arguments. */
bool args_jar(struct span cmdline, struct span main, struct span *ret);
/* Gets the name of a program that created a JVM without Java's launcher: argv[0] of @cmdline
 * without its folders. A scripting language has the name of its script. Returns false if there is
 * none. Points into @cmdline. */
bool args_program(struct span cmdline, struct span *ret);

/* Appends @args (separated by NUL) with blanks between them, as clean text; @mask hides values. */
void args_add(struct buf *out, struct span args, bool mask);
/* Appends words separated by blanks in the same way. After a hidden value, hides all words up to
 * the next option. */
void args_add_words(struct buf *out, struct span words, bool mask);
