// SPDX-License-Identifier: Apache-2.0
import java.util.function.LongUnaryOperator
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.startCoroutine

/** Of an open class: what its subclasses do not override is in load$suspendImpl. */
open class Loader {
    open suspend fun load(x: Long): Long = Languages.mixed(x)
}

fun later(work: () -> Long): Long = work()

class KotlinNames : LongUnaryOperator {
    private val loader = Loader()

    override fun applyAsLong(x: Long): Long {
        var found = 0L
        suspend { loader.load(x) }.startCoroutine(Continuation(EmptyCoroutineContext) { found = it.getOrThrow() })
        val runnable = java.util.function.LongSupplier { later { Languages.mixed(found) } }
        return runnable.asLong
    }
}
