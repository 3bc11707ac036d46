// SPDX-License-Identifier: Apache-2.0
// What JDK Mission Control's models and async-profiler's converters see in recordings. Arguments: a folder for what
// converters write, their jars with commas between them, recordings. Lines on stdout, separated by tabs:
//   jmc RECORDING TYPE EVENTS STACK             frames leaf first, as the stack trace view shows them
//   views RECORDING TYPE EVENTS                 all models of all stacks were walked to their ends
//   converted RECORDING JAR OPTIONS             FOLDER/RECORDING.JAR.OPTIONS is written
//   failed RECORDING WHAT EXCEPTION
import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmc.common.IMCFrame;
import org.openjdk.jmc.common.IMCStackTrace;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.flightrecorder.JfrAttributes;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.stacktrace.FrameSeparator;
import org.openjdk.jmc.flightrecorder.stacktrace.FrameSeparator.FrameCategorization;
import org.openjdk.jmc.flightrecorder.stacktrace.StacktraceFormatToolkit;
import org.openjdk.jmc.flightrecorder.stacktrace.StacktraceFrame;
import org.openjdk.jmc.flightrecorder.stacktrace.StacktraceModel;
import org.openjdk.jmc.flightrecorder.stacktrace.tree.Node;
import org.openjdk.jmc.flightrecorder.stacktrace.tree.StacktraceTreeModel;

public class Readers {
    static final String[] OPTIONS = { "", "--threads --lines", "--cpu", "--wall", "--alloc --total", "--live --total", "--lock --total",
                                      "--nativelock --total", "--nativemem --total", "--classify --norm --simple --dot" };

    public static void main(String[] arguments) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        for (int i = 2; i < arguments.length; i++) {
            missionControl(new File(arguments[i]));
            for (String jar : arguments[1].split(","))
                converter(arguments[0], new File(jar), new File(arguments[i]));
        }
    }

    static void line(Object... fields) {
        StringBuilder text = new StringBuilder();
        for (Object field : fields)
            text.append(text.length() > 0 ? "\t" : "").append(field);
        System.out.println(text);
    }

    static void missionControl(File recording) {
        FrameSeparator separator = new FrameSeparator(FrameCategorization.METHOD, false);
        try {
            IItemCollection all = JfrLoaderToolkit.loadEvents(recording);
            Map<String, Map<String, Integer>> stacks = new TreeMap<>();
            for (IItemIterable items : all) {
                IMemberAccessor<IMCStackTrace, IItem> trace = JfrAttributes.EVENT_STACKTRACE.getAccessor(items.getType());
                for (IItem item : items)
                    stacks.computeIfAbsent(items.getType().getIdentifier(), type -> new TreeMap<>())
                        .merge(text(trace == null ? null : trace.getMember(item), separator), 1, Integer::sum);
            }
            stacks.forEach((type, counts) -> counts.forEach((stack, n) -> line("jmc", recording.getName(), type, n, stack)));
            for (String type : stacks.keySet())
                line("views", recording.getName(), type, views(all.apply(ItemFilters.type(type))));
            views(all);
        } catch (Exception e) {
            line("failed", recording.getName(), "Mission Control", e);
            e.printStackTrace();
        }
    }

    static String text(IMCStackTrace trace, FrameSeparator separator) {
        StringBuilder text = new StringBuilder();
        if (trace != null)
            for (IMCFrame frame : trace.getFrames())
                text.append(text.length() > 0 ? ";" : "").append(StacktraceFormatToolkit.formatFrame(frame, separator))
                    .append('|').append(frame.getType().getName()).append('|').append(frame.getFrameLineNumber());
        return text.toString();
    }

    /* The models behind the stack trace view, by each of its ways to tell frames apart, and the flame graph view. */
    static int views(IItemCollection items) {
        for (FrameCategorization by : FrameCategorization.values())
            for (boolean threads : new boolean[] { false, true })
                walk(new StacktraceModel(threads, new FrameSeparator(by, true), items).getRootFork());
        return walk(new StacktraceTreeModel(items).getRoot());
    }

    static void walk(StacktraceModel.Fork fork) {
        for (StacktraceModel.Branch branch : fork.getBranches()) {
            branch.getFirstFrame().getFrame().getMethod().getFormalDescriptor();
            for (StacktraceFrame frame : branch.getTailFrames())
                StacktraceFormatToolkit.formatFrame(frame.getFrame(), new FrameSeparator(FrameCategorization.LINE, true));
            walk(branch.getEndFork());
        }
    }

    static int walk(Node node) {
        int weight = (int) node.getWeight();
        for (Node child : node.getChildren())
            weight += walk(child);
        return weight;
    }

    static void converter(String folder, File jar, File recording) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(new URL[] { jar.toURI().toURL() }, null)) {
            Class<?> known = loader.loadClass("one.convert.Arguments");
            Method convert = loader.loadClass("one.convert.JfrToFlame").getMethod("convert", String.class, String.class, known);
            for (String options : OPTIONS)
                for (String form : new String[] { "collapsed", "html" }) {
                    String[] words = ("--output " + form + " " + options).trim().split(" ");
                    String name = recording.getName() + "." + jar.getName() + "." + form + options.replace(" ", "");
                    try {
                        convert.invoke(null, recording.getPath(), folder + "/" + name, known.getConstructor(String[].class).newInstance((Object) words));
                        line("converted", recording.getName(), jar.getName(), name);
                    } catch (Exception e) {
                        Throwable cause = e.getCause() == null ? e : e.getCause();
                        if (!String.valueOf(cause.getMessage()).startsWith("--")) // an option that this release does not have
                            line("failed", recording.getName(), name, cause);
                    }
                }
        }
    }
}
