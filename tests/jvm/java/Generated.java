// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/** Works in code that the JDK generates: lambdas, proxies, reflection. Args: how many others are generated before, so that those at work
    have other numbers in each start. The environment may have another number (OTHERS), and ask for a release that does more (ADDED). */
public class Generated {
    public interface Step { long step(long x); }
    public interface Other { void other(); }

    static long mixed(long x) {
        for (int i = 0; i < 2000; i++)
            x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static long added(long x) {
        for (int i = 0; i < 2000; i++)
            x = x * 2862933555777941757L + 3037000493L;
        return x;
    }

    static <T> T proxy(Class<T> type, ClassLoader loader) {
        return type.cast(Proxy.newProxyInstance(loader, new Class<?>[] { type }, (p, m, a) -> mixed((Long) a[0])));
    }

    public static void main(String[] args) throws Exception {
        List<Object> others = new ArrayList<>();
        int count = Integer.parseInt(System.getenv().getOrDefault("OTHERS", args[0]));
        for (int i = 0; i < count; i++)
            others.add(Proxy.newProxyInstance(Generated.class.getClassLoader(), i % 2 == 0 ? new Class<?>[] { Other.class, Runnable.class }
                    : new Class<?>[] { Runnable.class, Other.class }, (p, m, a) -> null));
        for (int i = 0; i < count; i++) {
            Method m = Math.class.getMethod("abs", i % 2 == 0 ? int.class : long.class);
            for (int k = 0; k < 40; k++) // from the 15th call on by generated code
                others.add(m.invoke(null, 1));
        }
        Step step = proxy(Step.class, Generated.class.getClassLoader());
        LongUnaryOperator lambda = x -> mixed(x) + 1;
        Method method = Generated.class.getDeclaredMethod("mixed", long.class);
        boolean more = System.getenv("ADDED") != null;
        Runnable work = () -> {
            long x = 1;
            try {
                for (;;)
                    x = step.step(x) + lambda.applyAsLong(x) + (Long) method.invoke(null, x) + (more ? added(x) : 0);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        };
        new Thread(work, "worker").start();
        System.out.println("started");
    }
}
