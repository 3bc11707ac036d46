/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program by the ld.so in lib/ beside it, with the C library there, on a system with any C
 * library or none. A path in PT_INTERP would be absolute, so pack.sh makes that header PT_NULL and
 * the kernel starts the program itself. This maps ld.so as the kernel would have done, restores the
 * header, and goes on there. /proc/self/exe and $ORIGIN stay those of the program.
 *
 * It runs before relocation: no C library, no pointers in data. A program that still has PT_INTERP,
 * as in the build folder, comes here from its ld.so and goes on.
 */
#include "agent/raw.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAD_MAX 4096 /* bytes of ld.so with its headers */
#define FAILED 127    /* exit status, as a shell's for a program that it cannot start */

struct program {
    uintptr_t page;
    ElfW(Phdr) * headers;
    size_t count;
    ElfW(auxv_t) * base, *entry;
};

static char path[PATH_MAX + NAME_MAX];
static char head[HEAD_MAX] __attribute__((aligned(sizeof(ElfW(Ehdr)))));

extern char program_start[] __asm__("_start") __attribute__((visibility("hidden")));

static void __attribute__((noreturn)) fail(void)
{
    static const char text[] = "flamed: cannot load ld.so from lib/ beside this program\n";

    raw3(SYS_write, STDERR_FILENO, text, sizeof(text) - 1);
    for (;;)
        raw1(SYS_exit_group, FAILED);
}

static struct program find_program(uintptr_t *stack)
{
    uintptr_t *p = stack + 1 + *stack + 1;
    struct program r = { 0 };

    while (*p)
        p++;
    for (ElfW(auxv_t) *a = (ElfW(auxv_t) *)(p + 1); a->a_type != AT_NULL; a++) {
        if (a->a_type == AT_PAGESZ)
            r.page = a->a_un.a_val;
        else if (a->a_type == AT_PHDR)
            r.headers = (ElfW(Phdr) *)a->a_un.a_val;
        else if (a->a_type == AT_PHNUM)
            r.count = a->a_un.a_val;
        else if (a->a_type == AT_BASE)
            r.base = a;
        else if (a->a_type == AT_ENTRY)
            r.entry = a;
    }
    return r;
}

/* Returns the path that the linker gave for ld.so, and restores its header. The path follows the
 * headers in memory as it does in the file. */
static const char *restore_interpreter(const struct program *p)
{
    uintptr_t page = (uintptr_t)p->headers & ~(p->page - 1);
    uintptr_t image = 0;

    for (size_t i = 0; i < p->count; i++) {
        if (p->headers[i].p_type == PT_PHDR)
            image = (uintptr_t)p->headers - p->headers[i].p_vaddr;
    }
    for (size_t i = 0; image && i < p->count; i++) {
        ElfW(Phdr) *h = &p->headers[i];

        if (h->p_type != PT_NULL || !h->p_filesz)
            continue;
        if (raw3(SYS_mprotect, page, p->page, PROT_READ | PROT_WRITE) < 0)
            fail();
        h->p_type = PT_INTERP;
        raw3(SYS_mprotect, page, p->page, PROT_READ);
        return (const char *)image + h->p_vaddr;
    }
    fail();
}

/* Opens the file with the name of @interpreter in lib/ beside the program. */
static long open_loader(const char *interpreter)
{
    const char *name = interpreter;
    long n = raw4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, PATH_MAX), fd;
    char *to;

    if (n <= 0 || n == PATH_MAX)
        fail();
    for (to = path + n; to > path && to[-1] != '/';)
        to--;
    for (const char *folder = "lib/"; *folder;)
        *to++ = *folder++;
    for (const char *c = interpreter; *c; c++) {
        if (*c == '/')
            name = c + 1;
    }
    while (*name && to < path + sizeof(path) - 1)
        *to++ = *name++;
    *to = '\0';
    fd = raw4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        fail();
    return fd;
}

static int protection(uint32_t flags)
{
    return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
           (flags & PF_X ? PROT_EXEC : 0);
}

static void map(uintptr_t at, size_t size, int prot, long fd, uint64_t offset)
{
    int flags = MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0);

    if (raw6(SYS_mmap, (long)at, (long)size, prot, flags, fd, (long)offset) != (long)at)
        fail();
}

/* Maps a segment of the file @fd. What the file does not have of it is zero. */
static void map_segment(uintptr_t base, const ElfW(Phdr) * h, long fd, size_t page)
{
    uintptr_t begin = base + (h->p_vaddr & ~(page - 1));
    uintptr_t zero = base + h->p_vaddr + h->p_filesz, end = base + h->p_vaddr + h->p_memsz;
    uintptr_t rest = (zero + page - 1) & ~(page - 1);
    int prot = protection(h->p_flags);

    map(begin, zero - begin, prot, fd, h->p_offset & ~(page - 1));
    if (end <= zero)
        return;
    for (volatile char *c = (volatile char *)zero; (uintptr_t)c < rest; c++)
        *c = 0;
    if (end > rest)
        map(rest, end - rest, prot, -1, 0);
}

/* Maps the file, closes it, and returns where it lies. */
static uintptr_t map_loader(long fd, size_t page)
{
    const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)head;
    const ElfW(Phdr) * h;
    size_t size = 0;
    long base;

    if (raw3(SYS_read, fd, head, sizeof(head)) != (long)sizeof(head) ||
        e->e_phoff + e->e_phnum * sizeof(*h) > sizeof(head))
        fail();
    h = (const ElfW(Phdr) *)(head + e->e_phoff);
    for (size_t i = 0; i < e->e_phnum; i++) {
        if (h[i].p_type == PT_LOAD)
            size = h[i].p_vaddr + h[i].p_memsz;
    }
    base = raw6(SYS_mmap, 0, (long)size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base < 0)
        fail();
    for (size_t i = 0; i < e->e_phnum; i++) {
        if (h[i].p_type == PT_LOAD)
            map_segment((uintptr_t)base, &h[i], fd, page);
    }
    raw1(SYS_close, fd);
    return (uintptr_t)base;
}

/* @stack: where argc lies, as the kernel gives it. Returns where the program goes on. */
__attribute__((used)) uintptr_t own_loader(uintptr_t *stack)
{
    struct program p = find_program(stack);

    if (!p.base || !p.entry || !p.headers)
        fail();
    if (p.base->a_un.a_val)
        return (uintptr_t)program_start;
    p.base->a_un.a_val = map_loader(open_loader(restore_interpreter(&p)), p.page);
    p.entry->a_un.a_val = (uintptr_t)program_start;
    return p.base->a_un.a_val + ((const ElfW(Ehdr) *)head)->e_entry;
}

/* The registers that a program gets at its start: the stack, and what to call at exit. */
#if defined(__x86_64__)
__asm__(".globl own_loader_entry\n"
        ".hidden own_loader_entry\n"
        ".type own_loader_entry, @function\n"
        "own_loader_entry:\n"
        "    endbr64\n"
        "    xor %ebp, %ebp\n"
        "    mov %rdx, %rbx\n"
        "    mov %rsp, %rdi\n"
        "    call own_loader\n"
        "    mov %rbx, %rdx\n"
        "    jmp *%rax\n");
#elif defined(__aarch64__)
__asm__(".globl own_loader_entry\n"
        ".hidden own_loader_entry\n"
        ".type own_loader_entry, %function\n"
        "own_loader_entry:\n"
        "    hint #36\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    mov x19, x0\n"
        "    mov x0, sp\n"
        "    bl own_loader\n"
        "    mov x16, x0\n"
        "    mov x0, x19\n"
        "    br x16\n");
#endif
