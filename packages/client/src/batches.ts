/** Values that are all in memory, or that arrive one by one, such as the lines of a file. */
export type Values<Value> = Iterable<Value> | AsyncIterable<Value>

/**
 * Groups values into arrays of at most `size`, in their order. Throws a `TypeError` for a text, whose letters would be
 * the values.
 */
export async function* batchesOf<Value>(values: Values<Value>, size: number): AsyncGenerator<Value[]> {
  if (typeof values === 'string') throw new TypeError('several user IDs are expected, not one text')
  let batch: Value[] = []
  for await (const value of values) {
    batch.push(value)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
