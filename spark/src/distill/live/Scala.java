package distill.live;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import scala.Option;
import scala.collection.mutable.ArrayBuffer;

/** What differs between the Scala lines that Spark is compiled with, found when it is first needed. */
final class Scala {
    private static final MethodHandle APPEND = append();

    private Scala() {}

    private static MethodHandle append() {
        try {
            for (Method method : ArrayBuffer.class.getMethods()) {
                if (method.getName().equals("$plus$eq") && method.getParameterCount() == 1 && method.getParameterTypes()[0] == Object.class) {
                    MethodHandle handle = MethodHandles.publicLookup().unreflect(method);
                    return handle.asType(handle.type().changeParameterType(0, ArrayBuffer.class).changeReturnType(void.class));
                }
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("scala.collection.mutable.ArrayBuffer cannot be appended to", e);
        }
        throw new IllegalStateException("scala.collection.mutable.ArrayBuffer has no method $plus$eq(Object)");
    }

    static void append(ArrayBuffer<?> to, Object item) {
        try {
            APPEND.invoke(to, item);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** The value of an option, or null. */
    static <T> T orNull(Option<T> option) {
        return option.isDefined() ? option.get() : null;
    }
}
