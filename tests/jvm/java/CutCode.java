// SPDX-License-Identifier: Apache-2.0
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Allocates and calls System.gc() until its standard input ends. At each line it writes a byte of libjvm's code, the one that is
 * there, as a profiler does that puts a trap there. The kernel has more mappings of the code then; it prints how many. At the
 * letter w it lets itself write to all of the code from then on.
 */
public class CutCode {
    static final int READ_EXEC = 5, READ_WRITE_EXEC = 7;
    static volatile Object kept;

    static List<long[]> code() throws Exception {
        return Files.readAllLines(Path.of("/proc/self/maps")).stream()
            .filter(line -> line.endsWith("/libjvm.so") && line.split(" ")[1].charAt(2) == 'x')
            .map(line -> line.split("[- ]")).map(w -> new long[] {Long.parseLong(w[0], 16), Long.parseLong(w[1], 16)}).toList();
    }

    static void cut(MethodHandle mprotect) throws Throwable {
        long[] first = code().getFirst();
        long page = first[0] + (first[1] - first[0]) / 2 / 4096 * 4096;
        MemorySegment code = MemorySegment.ofAddress(page).reinterpret(4096);

        if ((int)mprotect.invokeExact(code, 4096L, READ_WRITE_EXEC) != 0)
            throw new IllegalStateException("mprotect");
        code.set(ValueLayout.JAVA_BYTE, 0, code.get(ValueLayout.JAVA_BYTE, 0));
        if ((int)mprotect.invokeExact(code, 4096L, READ_EXEC) != 0)
            throw new IllegalStateException("mprotect");
    }

    static void openUp(MethodHandle mprotect) throws Throwable {
        for (long[] piece : code()) {
            if ((int)mprotect.invokeExact(MemorySegment.ofAddress(piece[0]), piece[1] - piece[0], READ_WRITE_EXEC) != 0)
                throw new IllegalStateException("mprotect");
        }
    }

    static void work() {
        for (;;) {
            for (int i = 0; i < 20000; i++)
                kept = new long[128];
            System.gc();
        }
    }

    public static void main(String[] args) throws Throwable {
        Linker linker = Linker.nativeLinker();
        MethodHandle mprotect = linker.downcallHandle(linker.defaultLookup().find("mprotect").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));

        Thread.ofPlatform().daemon().start(CutCode::work);
        System.out.println("started");
        System.out.println(code().size());
        for (int c; (c = System.in.read()) >= 0;) {
            if (c == 'w')
                openUp(mprotect);
            else
                cut(mprotect);
            System.out.println(code().size());
        }
    }
}
