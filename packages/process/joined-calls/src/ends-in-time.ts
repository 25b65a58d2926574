/** Waits until the preceding call of a key ends, at most `patienceMs`. Returns whether it has ended. */
export function endsInTime(preceding: Promise<void>, patienceMs: number): Promise<boolean> {
  const { promise: isInTime, resolve } = Promise.withResolvers<boolean>()
  const tooLate = setTimeout(resolve, patienceMs, false)
  void preceding.then(() => {
    clearTimeout(tooLate)
    resolve(true)
  })
  return isInTime
}
