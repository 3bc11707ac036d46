// SPDX-License-Identifier: Apache-2.0
import groovy.lang.Closure;
import groovy.lang.GroovyShell;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.implementation.MethodDelegation;
import net.bytebuddy.matcher.ElementMatchers;
import net.sf.cglib.proxy.Enhancer;
import net.sf.cglib.proxy.MethodInterceptor;

/** Works in code of other languages and of libraries that generate classes. Args: how many others are generated before. */
public final class Languages {
    private Languages() {}

    /** What libraries make subclasses of. */
    public static class Cart {
        /** One part of the work. */
        public long total(long x) {
            return mixed(x);
        }
    }

    /** Where Byte Buddy sends the calls. */
    public static final class Calls {
        private Calls() {}

        /** One part of the work. */
        public static long total(long x) {
            return mixed(x) + 1;
        }
    }

    /** Some time. */
    public static long mixed(long x) {
        for (int i = 0; i < 2000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        return x;
    }

    private static Cart byteBuddy() throws ReflectiveOperationException {
        return new ByteBuddy().subclass(Cart.class).method(ElementMatchers.named("total")).intercept(MethodDelegation.to(Calls.class))
                .make().load(Languages.class.getClassLoader()).getLoaded().getDeclaredConstructor().newInstance();
    }

    private static Cart cglib() {
        return (Cart) Enhancer.create(Cart.class, (MethodInterceptor) (self, method, arguments, call) -> call.invokeSuper(self, arguments));
    }

    private static Closure<?> groovy(GroovyShell shell) {
        return (Closure<?>) shell.evaluate("return { long x -> Languages.mixed(x) }");
    }

    public static void main(String[] arguments) throws ReflectiveOperationException {
        GroovyShell shell = new GroovyShell();
        List<Object> others = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
            others.add(byteBuddy());
            others.add(groovy(shell));
        }
        Cart buddy = byteBuddy();
        Cart enhanced = cglib();
        Closure<?> script = groovy(shell);
        LongUnaryOperator kotlin = (LongUnaryOperator) Class.forName("KotlinNames").getDeclaredConstructor().newInstance();
        LongUnaryOperator scala = (LongUnaryOperator) Class.forName("ScalaNames").getDeclaredConstructor().newInstance();
        System.out.println("started");
        for (long x = others.size();;) {
            x = buddy.total(x) + enhanced.total(x) + ((Number) script.call(x)).longValue() + kotlin.applyAsLong(x) + scala.applyAsLong(x);
        }
    }
}
