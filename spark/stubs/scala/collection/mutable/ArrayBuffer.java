package scala.collection.mutable;

import scala.Function1;

/**
 * What the plugin uses of Scala's class, with the same descriptors in Scala 2.12 and 2.13. Compiled against, never packed: javac does not
 * accept a subclass of the class itself, whose inherited methods clash by its rules, though not by those of the JVM.
 */
public class ArrayBuffer<A> {
    public ArrayBuffer() {}

    public native int size();

    public native boolean isEmpty();

    public native A apply(int place);

    public native <U> void foreach(Function1<A, U> visit);
}
