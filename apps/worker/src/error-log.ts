import type { ImportContext } from '@sluice/imports'

/** Time in which an error like the preceding one is only counted, ms. */
const quietMs = 10_000

/**
 * Returns a function that logs errors of connections and jobs. While a store is down, each connection to it fails a few
 * times a second, always with the same text: the next line says how many it stands for (`repeated`).
 */
export function openErrorLog(log: Pick<ImportContext['log'], 'warn'>): (error: Error) => void {
  let last: { text: string; at: number } | undefined
  let repeated = 0
  return (error) => {
    const now = performance.now()
    const isRepeated = last?.text === error.message && now - last.at < quietMs
    if (isRepeated) {
      repeated++
      return
    }
    log.warn({ err: error, ...(repeated > 0 && { repeated }) }, 'connection or job error')
    repeated = 0
    last = { text: error.message, at: now }
  }
}
