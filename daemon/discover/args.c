/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/args.h"

#include <strings.h>

#include "base/list.h"
#include "base/text.h"
#include "proc/proc.h"

#define ARGS_ONE_MAX 4096 /* bytes of one argument after cleaning */

/* Options of the launcher that take the next argument as value (java.c: IsWhiteSpaceOption and
 * -jar). */
static const char *const WITH_VALUE[] = {
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "--describe-module",
    "-d",
    "--source",
    "--enable-native-access",
};

static bool is_one_of(struct span s, const char *const *list, size_t n)
{
    return ANY_OF(i, n, span_eq_str(s, list[i]));
}

bool args_main(struct span cmdline, struct span *ret_main, struct span *ret_after)
{
    struct span arg;

    if (!cmdline_take(&cmdline, &arg))
        return false;
    while (cmdline_take(&cmdline, &arg)) {
        if (span_eq_str(arg, "-jar") || span_eq_str(arg, "-m") || span_eq_str(arg, "--module")) {
            if (!cmdline_take(&cmdline, &arg))
                return false;
        } else if (span_take_str(&arg, "--module=")) {
            /* @arg is now the rest of the argument: the module */
        } else if (is_one_of(arg, WITH_VALUE, ARRAY_SIZE(WITH_VALUE))) {
            if (!cmdline_take(&cmdline, &arg))
                return false;
            continue;
        } else if (arg.n == 0 || arg.p[0] == '-' || arg.p[0] == '@') {
            continue;
        }
        *ret_main = arg;
        *ret_after = cmdline;
        return arg.n > 0;
    }
    return false;
}

bool args_main_of_command(struct span command, struct span cmdline, struct span *ret_main,
                          struct span *ret_after)
{
    struct span best = SPAN_NULL, after = SPAN_NULL, arg;

    command.n = span_find(command, '\0');
    command = span_trim(command);
    cmdline_take(&cmdline, &arg); /* the launcher */
    while (cmdline_take(&cmdline, &arg)) {
        bool begins = arg.n > best.n && arg.n <= command.n &&
                      memcmp(arg.p, command.p, arg.n) == 0 &&
                      (arg.n == command.n || command.p[arg.n] == ' ');

        if (begins) {
            best = arg;
            after = cmdline;
        }
    }
    if (best.n) {
        *ret_main = best;
        *ret_after = after;
        return true;
    }
    if (!span_take_word(&command, ret_main))
        return false;
    *ret_after = SPAN_NULL;
    return true;
}

static bool is_jar(struct span file)
{
    return (span_ends_with(file, ".jar") || span_ends_with(file, ".war")) &&
           span_find(file, '*') == file.n;
}

/* Gets the class path in @options, the launcher's before the main class. Returns false if there is
 * none, or if the program does not come from it. */
static bool find_class_path(struct span options, struct span *ret)
{
    static const char *const OPTIONS[] = { "-cp", "-classpath", "--class-path" };
    static const char *const OTHERS[] = { "-jar", "-m", "--module", "--module=" };
    bool found = false;
    struct span arg;

    while (cmdline_take(&options, &arg)) {
        if (is_one_of(arg, OTHERS, ARRAY_SIZE(OTHERS)))
            return false;
        if (!span_take_str(&arg, "--class-path=") &&
            (!is_one_of(arg, OPTIONS, ARRAY_SIZE(OPTIONS)) || !cmdline_take(&options, &arg)))
            continue;
        *ret = arg; /* the last one holds */
        found = true;
    }
    return found;
}

/* Gets the only jar of the class path @path. Returns false if it has none, or more. */
static bool only_jar(struct span path, struct span *ret)
{
    struct span file;

    *ret = SPAN_NULL;
    while (span_take_until(&path, ':', &file)) {
        if (!is_jar(file) && !span_ends_with(file, "*"))
            continue;
        if (ret->n || !is_jar(file))
            return false;
        *ret = file;
    }
    return ret->n > 0;
}

bool args_jar(struct span cmdline, struct span main, struct span *ret)
{
    struct span named, after, path;

    *ret = main;
    if (!is_jar(main)) {
        if (!args_main(cmdline, &named, &after) || !span_eq(named, main))
            return false;
        cmdline.n = (size_t)(named.p - cmdline.p);
        if (!find_class_path(cmdline, &path) || !only_jar(path, ret))
            return false;
    }
    *ret = span_base_name(*ret);
    return true;
}

static bool runs_scripts(struct span program)
{
    static const char *const NAMES[] = { "python", "perl", "ruby", "node", "Rscript", "R" };

    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        size_t n = strlen(NAMES[i]);

        /* matches "python3.11", but not "rubymine" */
        if (span_starts_with(program, NAMES[i]) &&
            (program.n == n || strchr("0123456789.", program.p[n])))
            return true;
    }
    return false;
}

bool args_program(struct span cmdline, struct span *ret)
{
    struct span program, script;

    if (!cmdline_take(&cmdline, &program))
        return false;
    program = span_base_name(program);
    if (runs_scripts(program) && cmdline_take(&cmdline, &script) && script.n && script.p[0] != '-')
        program = span_base_name(script);
    *ret = program;
    return program.n > 0;
}

/* Returns the offset in @s of the first word that stands before a secret, in letters of any case;
 * s.n: there is none. */
static size_t secret_word(struct span s)
{
    static const char *const WORDS[] = { "passw",      "passphrase", "pwd",     "secret", "token",
                                         "credential", "apikey",     "api-key", "api_key" };

    for (size_t at = 0; at < s.n; at++) {
        for (size_t i = 0; i < ARRAY_SIZE(WORDS); i++) {
            size_t n = strlen(WORDS[i]);

            if (n <= s.n - at && strncasecmp(s.p + at, WORDS[i], n) == 0)
                return at;
        }
    }
    return s.n;
}

/* Returns the offset in @arg of the value to hide; arg.n: there is none. */
static size_t hidden_from(struct span arg)
{
    size_t word = secret_word(arg);
    size_t from = word + span_find((struct span){ arg.p + word, arg.n - word }, '=') + 1;

    if (span_starts_with(arg, "-D") || span_starts_with(arg, "--") ||
        span_starts_with(arg, "-javaagent:") || span_starts_with(arg, "-agentpath:"))
        from = span_find(arg, '=') + 1;
    return MIN(from, arg.n);
}

/* Returns true if the argument after option @arg is its value, and a secret. */
static bool hides_next(struct span arg)
{
    return arg.n && arg.p[0] == '-' && span_find(arg, '=') == arg.n && secret_word(arg) < arg.n;
}

static void add_one(struct buf *out, struct span arg, size_t from)
{
    if (out->n)
        buf_add_char(out, ' ');
    text_clean((struct span){ arg.p, from }, TEXT_UTF8, ARGS_ONE_MAX, out);
    if (from < arg.n)
        buf_add_str(out, ARGS_MASK);
}

void args_add(struct buf *out, struct span args, bool mask)
{
    bool hiding = false;
    struct span arg;

    while (cmdline_take(&args, &arg)) {
        if (arg.n)
            add_one(out, arg, !mask ? arg.n : hiding && arg.p[0] != '-' ? 0 : hidden_from(arg));
        hiding = hides_next(arg);
    }
}

void args_add_words(struct buf *out, struct span words, bool mask)
{
    bool hiding = false;
    struct span word;

    while (span_take_word(&words, &word)) {
        if (hiding && word.p[0] != '-')
            continue;
        add_one(out, word, mask ? hidden_from(word) : word.n);
        hiding = mask && hidden_from(word) < word.n;
        if (mask && hides_next(word)) {
            buf_add_str(out, " " ARGS_MASK);
            hiding = true;
        }
    }
}
