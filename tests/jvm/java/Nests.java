// SPDX-License-Identifier: Apache-2.0
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.stream.Stream;

/** Nests PATH: makes the cgroup PATH below each folder of /sys/fs/cgroup that it may write, and enters it. */
public class Nests {
    public static void main(String[] args) throws Exception {
        try (Stream<Path> hierarchies = Files.list(Paths.get("/sys/fs/cgroup"))) {
            for (Path top : (Iterable<Path>) hierarchies::iterator) {
                Path folder = top.resolve(args[0]);

                try {
                    Files.createDirectories(folder);
                    try (FileOutputStream procs = new FileOutputStream(folder.resolve("cgroup.procs").toFile())) {
                        procs.write('0'); // the process that writes
                    }
                } catch (java.io.IOException e) {
                    System.out.println(e); // not a cgroup, or one that lacks settings
                }
            }
        }
        System.out.println("started");
        Thread.sleep(Long.MAX_VALUE);
    }
}
