/** Values that are all in memory, or that arrive one by one, such as the lines of a file. */
export type Values<Value> = Iterable<Value> | AsyncIterable<Value>

/** Groups values into arrays of at most `size`, in their order. */
export async function* batchesOf<Value>(values: Values<Value>, size: number): AsyncGenerator<Value[]> {
  let batch: Value[] = []
  for await (const value of values) {
    batch.push(value)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
