/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose symbols libiberty's demangler never gets done with. Of the first, 23 bytes of
 * Rust (v0), it counts bound lifetimes up to 2^63. Of the second, C++, it walks a graph of 100
 * levels as a tree. A third one is inlined.
 */
#include <stdint.h>
#include <stdio.h>

#define LIFETIMES "_RNvMIC1aFGzzzzzzzzzz_EuEu1f"
#define GRAPH                                                                                      \
    "_Z1fIDp1BIS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_I"   \
    "S0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0"   \
    "_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_I"   \
    "S0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0"   \
    "_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IiES1_ES2_ES3_ES4_ES5_ES6_ES7_ES8_ES9_ESA_ESB"   \
    "_ESC_ESD_ESE_ESF_ESG_ESH_ESI_ESJ_ESK_ESL_ESM_ESN_ESO_ESP_ESQ_ESR_ESS_EST_ESU_ESV_ESW_ESX_E"   \
    "SY_ESZ_ES10_ES11_ES12_ES13_ES14_ES15_ES16_ES17_ES18_ES19_ES1A_ES1B_ES1C_ES1D_ES1E_ES1F_ES1"   \
    "G_ES1H_ES1I_ES1J_ES1K_ES1L_ES1M_ES1N_ES1O_ES1P_ES1Q_ES1R_ES1S_ES1T_ES1U_ES1V_ES1W_ES1X_ES1"   \
    "Y_ES1Z_ES20_ES21_ES22_ES23_ES24_ES25_ES26_ES27_ES28_ES29_ES2A_ES2B_ES2C_ES2D_ES2E_ES2F_ES2"   \
    "G_ES2H_ES2I_ES2J_ES2K_ES2L_ES2M_ES2N_ES2O_ES2P_ES2Q_ES2R_EEvv"

volatile uint64_t sink;

static inline __attribute__((always_inline)) uint64_t turn(uint64_t s)
{
    for (int i = 0; i < 20000; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
    }
    return s;
}

void lifetimes(void) __asm__(LIFETIMES);
void graph(void) __asm__(GRAPH);

__attribute__((noinline)) void lifetimes(void)
{
    sink = turn(sink | 1);
}

__attribute__((noinline)) void graph(void)
{
    sink = turn(sink | 2);
}

/* One that is inlined; its symbol is in the debug information alone. */
uint64_t inlined_lifetimes(uint64_t s) __asm__(LIFETIMES "_in");
inline __attribute__((always_inline)) uint64_t inlined_lifetimes(uint64_t s)
{
    return turn(s) + 1;
}

__attribute__((noinline)) void named_caller(void)
{
    sink = inlined_lifetimes(sink | 3);
}

int main(void)
{
    puts("started");
    fflush(stdout);
    for (;;) {
        lifetimes();
        graph();
        named_caller();
    }
}
