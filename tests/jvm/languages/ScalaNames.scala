// SPDX-License-Identifier: Apache-2.0
import java.util.function.LongUnaryOperator

class Sum(val value: Long) {
  def ++(other: Long): Sum = new Sum(Languages.mixed(value + other))
}

class ScalaNames extends LongUnaryOperator {
  def twice(f: Long => Long, x: Long): Long = f(x)

  override def applyAsLong(x: Long): Long = twice(y => Languages.mixed(y), x) + (new Sum(x) ++ 1).value
}
