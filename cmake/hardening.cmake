# SPDX-License-Identifier: Apache-2.0
# Flags that make mistakes harder to use, each if compiler and linker know it: flamed_hardening for programs with a C
# library, flamed_hardening_freestanding for what runs in other people's processes. tests/lint/hardening.sh looks at the
# programs that come of it.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)

add_library(flamed_hardening INTERFACE)
add_library(flamed_hardening_freestanding INTERFACE)

# Both: shadow stacks and landing pads (CET), no jump over a guard page, no value that was never set.
foreach(flag -fcf-protection=full -fstack-clash-protection -ftrivial-auto-var-init=zero)
    string(MAKE_C_IDENTIFIER "FLAMED_HAVE${flag}" have)
    check_c_compiler_flag(${flag} ${have})
    if(${have})
        target_compile_options(flamed_hardening INTERFACE ${flag})
        target_compile_options(flamed_hardening_freestanding INTERFACE ${flag})
    endif()
endforeach()

# The linker drops the mark of CET where one object lacks it. Debian 12's C runtime does (crt1.o, crti.o, crtn.o).
if(FLAMED_HAVE_fcf_protection_full)
    set(mark -Wl,-z,ibt -Wl,-z,shstk)
    check_linker_flag(C "-Wl,-z,ibt,-z,shstk" FLAMED_HAVE_CET_MARK)
    if(FLAMED_HAVE_CET_MARK)
        target_link_options(flamed_hardening INTERFACE ${mark})
        target_link_options(flamed_hardening_freestanding INTERFACE ${mark})
    endif()
endif()

# An old C library warns that it takes 3 for 2.
set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -Werror")
check_c_source_compiles("#include <string.h>\nint main(void) { return 0; }" FLAMED_HAVE_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
set(fortify $<IF:$<BOOL:${FLAMED_HAVE_FORTIFY_3}>,3,2>)
target_compile_options(flamed_hardening INTERFACE -fstack-protector-strong -fPIE
    $<$<CONFIG:RelWithDebInfo,Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:RelWithDebInfo,Release>:-D_FORTIFY_SOURCE=${fortify}>)
target_link_options(flamed_hardening INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>
    -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
