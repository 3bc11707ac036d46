// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;

/** Has native code called as often as each line of its input says: a malloc for each direct buffer, or with "holds" before the number
 *  JVM_HoldsLock() of libjvm.so. */
public class Calls {
    static void buffers(int count) {
        ByteBuffer[] all = new ByteBuffer[count];
        for (int i = 0; i < count; i++)
            all[i] = ByteBuffer.allocateDirect(100);
        if (all[count - 1].capacity() != 100)
            throw new IllegalStateException();
    }

    static void holds(int count) {
        for (int i = 0; i < count; i++)
            if (Thread.holdsLock(Calls.class))
                throw new IllegalStateException();
    }

    public static void main(String[] args) throws Exception {
        System.out.println("started");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            if (line.startsWith("holds "))
                holds(Integer.parseInt(line.substring(6)));
            else
                buffers(Integer.parseInt(line));
            System.out.println(line);
        }
    }
}
