/** Returns whether the preceding call of a key, which never fails, ends within `patienceMs`; as soon as that is known. */
export function endsInTime(preceding: Promise<void>, patienceMs: number): Promise<boolean> {
  const { promise: isInTime, resolve } = Promise.withResolvers<boolean>()
  const tooLate = setTimeout(resolve, patienceMs, false)
  void preceding.then(() => {
    clearTimeout(tooLate)
    resolve(true)
  })
  return isInTime
}
