// SPDX-License-Identifier: Apache-2.0

// Does what calls.c does for "counted N", in C and in Go.
package main

/*
__attribute__((noinline)) void counted(unsigned long i)
{
    __asm__ volatile("" : : "r"(i) : "memory", "rbx");
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
)

var sum int

//go:noinline
func inGo(i int) {
	sum += i
	C.counted(C.ulong(i))
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var word string
		var n int
		fmt.Sscan(in.Text(), &word, &n)
		for i := 0; i < n; i++ {
			inGo(i)
		}
		fmt.Println(in.Text())
	}
}
