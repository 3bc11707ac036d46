/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a JVM: its tables, its version, the bounds of its code. */
#include "hotspot/code/code.h"
#include "hotspot/dynsym.h"
#include "hotspot/proof.h"
#include "proc/stall_readers.h"

static ssize_t vm_pread(void *cookie, uint64_t address, void *buf, size_t n)
{
    const struct hotspot_vm *vm = cookie;

    return readers_pread(&vm->id, vm->mem_fd, address, buf, n);
}

/* "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64 JRE (17.0.15+6), built on ...": the name
 * ends at the first parenthesis, the version is in the parentheses after "JRE". */
static void vm_read_version(struct hotspot_vm *vm)
{
    char info[512];
    uint64_t at;
    const char *open, *jre;

    if (vm->layout.vm_info_at && memory_u64(&vm->memory, vm->layout.vm_info_at, &at) == 0 &&
        memory_string(&vm->memory, at, info, sizeof(info)) > 0) {
        open = strstr(info, " (");
        if (open)
            span_copy((struct span){ info, (size_t)(open - info) }, vm->name, sizeof(vm->name));
        jre = strstr(info, " JRE (");
        if (jre) {
            jre += strlen(" JRE (");
            span_copy((struct span){ jre, strcspn(jre, ")") }, vm->version, sizeof(vm->version));
        }
    }
    if (!vm->version[0] && vm->layout.vm_release_at &&
        memory_u64(&vm->memory, vm->layout.vm_release_at, &at) == 0)
        memory_string(&vm->memory, at, vm->version, sizeof(vm->version));
}

static int vm_read_jvmci(struct hotspot_vm *vm)
{
    struct hotspot_flag flags[] = { { .name = "EnableJVMCI" }, { .name = "UseJVMCICompiler" } };
    int r = hotspot_vm_flags(vm, flags, ARRAY_SIZE(flags));

    vm->jvmci = flags[0].value;
    vm->jvmci_compiles = flags[0].value && flags[1].value;
    return r == HOTSPOT_GONE ? -ESRCH : r;
}

static int vm_read_layout(struct hotspot_vm *vm, uint64_t libjvm_base, struct error *err)
{
    struct dynsym d;
    int r = dynsym_open(&vm->memory, libjvm_base, &d, err);

    if (r == -ENOEXEC)
        return HOTSPOT_UNSUPPORTED;
    return r == 0 ? layout_read(&vm->memory, &d, &vm->layout, err) : r;
}

/* Reads everything besides the layout. */
static int vm_read(struct hotspot_vm *vm, struct error *err)
{
    int r = 0;

    if (vm->layout.sizeof_nmethod > NMETHOD_HEADER_MAX)
        r = hotspot_refuse(err, "this JVM's nmethods are larger than expected");
    if (r == 0)
        r = memory_u64(&vm->memory, vm->layout.call_stub_return_at, &vm->code.call_stub_return);
    if (r == 0 && vm->code.call_stub_return == 0)
        r = HOTSPOT_NOT_READY;
    if (r == 0)
        r = codecache_open(vm);
    if (r == 0)
        r = vm_read_jvmci(vm);
    if (r == 0 && !vm->layout.run)
        r = proof_run(vm, err);
    if (r == 0)
        vm_read_version(vm);
    return r;
}

/* Fills in @vm. @layout NULL: read it from the tables at @libjvm_base. */
static int vm_open(struct hotspot_vm *vm, uint64_t libjvm_base, const struct hotspot_layout *layout,
                   struct error *err)
{
    int r = 0;

    if (layout)
        vm->layout = *layout;
    else
        r = vm_read_layout(vm, libjvm_base, err);
    if (r == 0)
        r = vm_read(vm, err);
    if (r == -EFAULT || r == -EBADMSG || r == -EAGAIN) {
        error_set(err, -EAGAIN, "the JVM is still starting, or its tables cannot be read");
        return HOTSPOT_NOT_READY;
    }
    if (r == HOTSPOT_NOT_READY)
        error_set(err, -EAGAIN, "the JVM is still starting");
    if (r == -ESRCH) {
        error_set(err, -ESRCH, "the process has exited");
        return HOTSPOT_GONE;
    }
    return r;
}

static struct hotspot_vm *vm_new(memory_read_fn read, void *cookie)
{
    struct hotspot_vm *vm = calloc(1, sizeof(*vm));

    if (!vm)
        return NULL;
    atomic_init(&vm->users, 1);
    memory_init(&vm->memory, read, cookie ? cookie : vm);
    return vm;
}

/* Hands @vm over if it is open, which is the outcome @r, else drops it. */
static int vm_give(int r, struct hotspot_vm *vm, struct hotspot_vm **ret)
{
    if (r == 0)
        *ret = vm;
    else
        hotspot_vm_close(vm);
    return r;
}

int hotspot_vm_open_memory(memory_read_fn read, void *cookie, uint64_t libjvm_base,
                           const struct hotspot_layout *layout, struct hotspot_vm **ret,
                           struct error *err)
{
    struct hotspot_vm *vm = vm_new(read, cookie);

    return vm ? vm_give(vm_open(vm, libjvm_base, layout, err), vm, ret) : -ENOMEM;
}

struct opening {
    uint64_t libjvm_base;
    struct error err;
};

static int run_opening(struct hotspot_vm *vm, void *arg)
{
    struct opening *o = arg;

    return vm_open(vm, o->libjvm_base, NULL, &o->err);
}

int hotspot_vm_open(int mem_fd, const struct proc_id *id, uint64_t libjvm_base,
                    struct hotspot_vm **ret, struct error *err)
{
    struct opening o = { .libjvm_base = libjvm_base };
    struct hotspot_vm *vm = vm_new(vm_pread, NULL);
    int r;

    if (!vm)
        return -ENOMEM;
    vm->mem_fd = mem_fd;
    if (id)
        vm->id = *id;
    r = vm_call(vm, run_opening, &o, sizeof(o));
    if (err)
        *err = o.err;
    return vm_give(r, vm, ret);
}

struct hotspot_vm *hotspot_vm_close(struct hotspot_vm *vm)
{
    if (vm)
        vm_unref(vm);
    return NULL;
}

bool hotspot_vm_uses_jvmci(const struct hotspot_vm *vm)
{
    return vm->jvmci_compiles;
}

int hotspot_vm_jdk(const struct hotspot_vm *vm)
{
    return vm->layout.jdk;
}

const char *hotspot_vm_version(const struct hotspot_vm *vm)
{
    return vm->version;
}

const char *hotspot_vm_note(const struct hotspot_vm *vm)
{
    return vm->proof.note;
}

const char *hotspot_vm_name(const struct hotspot_vm *vm)
{
    return vm->name;
}
