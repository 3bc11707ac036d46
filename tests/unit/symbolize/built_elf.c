/* SPDX-License-Identifier: Apache-2.0 */
#include "built_elf.h"

#include "suite.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char dir[] = "/tmp/flamed-test-elf-XXXXXX";

static const char SOURCE_C[] =
    "__attribute__((noinline)) static int hidden(int x) { __asm__ volatile(\"\"); return x * 3; }\n"
    "__attribute__((noinline)) int shown(int x) { return hidden(x) + 1; }\n"
    "int __under(int x) { return x; }\n"
    "int weak_name(int x) __attribute__((weak, alias(\"__under\")));\n"
    "__asm__(\".text\\nbare_label:\\n.skip 64, 0x90\\n.globl sized\\n.type sized, "
    "@function\\nsized:\\n\"\n"
    "        \"ret\\n.skip 15, 0x90\\n.size sized, 16\\n.skip 16, 0x90\\n\");\n"
    "int not_code = 4;\n"
    "int main(int c, char **v) { (void)v; return shown(c) + weak_name(c) + not_code; }\n";

static const char SOURCE_CXX[] = "namespace space { template <class T> struct Box { "
                                 "__attribute__((noinline)) T get(T x) const; };\n"
                                 "template <class T> T Box<T>::get(T x) const { return x + 1; }\n"
                                 "template struct Box<int>; }\n"
                                 "int main(int c, char **) { return space::Box<int>().get(c); }\n";

bool built_run(const char *const argv[])
{
    int status;
    pid_t pid;

    return posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) == 0 &&
           waitpid(pid, &status, 0) == pid && status == 0;
}

const char *built_path(const char *name)
{
    static char paths[8][256];
    static unsigned n;
    char *path = paths[n++ % ARRAY_SIZE(paths)];

    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

void built_write(const char *path, const void *p, size_t n)
{
    _cleanup_fclose_ FILE *f = fopen(path, "we");

    if (!f || fwrite(p, 1, n, f) != n)
        abort(); /* also called where no assertion can run yet */
}

static bool build_all(void)
{
    built_write(built_path("a.c"), SOURCE_C, sizeof(SOURCE_C) - 1);
    built_write(built_path("b.cc"), SOURCE_CXX, sizeof(SOURCE_CXX) - 1);
    return built_run((const char *[]){ "gcc", "-O1", "-pie", "-fPIE", "-Wl,--build-id", "-o",
                                       built_path("pie"), built_path("a.c"), NULL }) &&
           built_run((const char *[]){ "gcc", "-O1", "-no-pie", "-Wl,--build-id", "-o",
                                       built_path("fixed"), built_path("a.c"), NULL }) &&
           built_run((const char *[]){ "gcc", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o",
                                       built_path("shared"), built_path("a.c"), NULL }) &&
           built_run((const char *[]){ "gcc", "-O1", "-g", "-pie", "-fPIE", "-Wl,--build-id=none",
                                       "-o", built_path("noid"), built_path("a.c"), NULL }) &&
           built_run((const char *[]){ "g++", "-O1", "-o", built_path("cxx"), built_path("b.cc"),
                                       NULL }) &&
           /* a stripped file with its symbols elsewhere: found by build-id, by link, packed
            * inside */
           built_run((const char *[]){ "objcopy", "--only-keep-debug", built_path("pie"),
                                       built_path("pie.debug"), NULL }) &&
           built_run((const char *[]){ "objcopy", "--strip-all", built_path("pie"),
                                       built_path("stripped"), NULL }) &&
           built_run((const char *[]){ "objcopy", "--strip-all", built_path("shared"),
                                       built_path("bare"), NULL }) &&
           built_run((const char *[]){ "objcopy", "--only-keep-debug", built_path("noid"),
                                       built_path("noid.debug"), NULL }) &&
           built_run((const char *[]){ "objcopy", "--strip-all", built_path("noid"),
                                       built_path("unlinked"), NULL }) &&
           built_run((const char *[]){ "objcopy", "--add-gnu-debuglink", built_path("noid.debug"),
                                       built_path("unlinked"), built_path("linked"), NULL }) &&
           built_run((const char *[]){ "objcopy", "--only-keep-debug", "--strip-debug",
                                       built_path("pie"), built_path("mini"), NULL }) &&
           built_run((const char *[]){ "xz", "-kf", built_path("mini"), NULL });
}

static bool add_mini(void)
{
    char section[300];

    snprintf(section, sizeof(section), ".gnu_debugdata=%s", built_path("mini.xz"));
    return built_run((const char *[]){ "objcopy", "--add-section", section, built_path("stripped"),
                                       built_path("minidebug"), NULL });
}

int built_set_up(void)
{
    if (!mkdtemp(dir))
        return 1;
    if (build_all() && add_mini())
        return 0;
    fprintf(stderr, "skipped: gcc, g++, objcopy and xz are needed\n");
    built_tear_down();
    return 77;
}

void built_tear_down(void)
{
    built_run((const char *[]){ "rm", "-rf", dir, NULL });
}

struct built built_load(const char *path)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    struct built l = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
    struct error err = ERROR_NULL;

    ck_assert_msg(elf_file_open(l.fd, &l.file, &err) == 0, "%s: %s", path, err.msg);
    symbol_builder_init(&b, ELF_SYMBOLS_MAX, 1 << 20);
    ck_assert_int_eq(elf_file_symbols(l.file, &b), 0);
    ck_assert_int_eq(symbol_table_build(&b, &l.symbols), 0);
    return l;
}

void built_close(struct built *l)
{
    elf_file_close(l->file);
    symbol_table_deinit(&l->symbols);
    close_fd(l->fd);
}

const struct symbol *built_symbol(const struct symbol_table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++) {
        if (span_eq_str(symbol_name(t, &t->symbols[i]), name))
            return &t->symbols[i];
    }
    return NULL;
}
