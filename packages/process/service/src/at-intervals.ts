/** Time after an error in which errors of its kind are only counted, ms. */
const intervalMs = 10_000

/**
 * Returns a function that passes an error on, with the number of errors since the last one that was passed on. While a
 * store is down, each connection to it fails a few times a second: such errors are passed on once in ten seconds, and
 * one of another kind at once.
 */
export function atIntervals<Reason>(
  write: (error: Reason, count: number) => void,
  kindOf: (error: Reason) => string = () => '',
): (error: Reason) => void {
  let last: { kind: string; at: number } | undefined
  let count = 0
  return (error) => {
    count++
    const [kind, now] = [kindOf(error), performance.now()]
    if (last?.kind === kind && now - last.at < intervalMs) return
    write(error, count)
    last = { kind, at: now }
    count = 0
  }
}
