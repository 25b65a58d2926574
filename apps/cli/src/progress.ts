import { Transform } from 'node:stream'

const width = 30
const redrawIntervalMs = 100

/**
 * Opens a progress bar on stderr. On a terminal it moves in place; otherwise it is one line at the end.
 *
 * Returns a stream that counts the bytes that pass through it, towards `totalBytes`.
 */
export function openProgress(label: string, totalBytes: number): { count: Transform; end(): void } {
  const started = performance.now()
  let done = 0
  let drawn = 0
  const draw = () => {
    const fraction = totalBytes === 0 ? 1 : done / totalBytes
    const filled = Math.round(fraction * width)
    const seconds = (performance.now() - started) / 1000
    const bar = '█'.repeat(filled) + '░'.repeat(width - filled)
    return `${label} ${bar} ${Math.round(fraction * 100)} %  ${megabytes(done)} of ${megabytes(totalBytes)} MB  ${megabytes(done / seconds)} MB/s`
  }
  const count = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      done += chunk.length
      if (process.stderr.isTTY && performance.now() - drawn > redrawIntervalMs) {
        drawn = performance.now()
        process.stderr.write(`\r${draw()}`)
      }
      next(null, chunk)
    },
  })
  return { count, end: () => void process.stderr.write(`${process.stderr.isTTY ? '\r' : ''}${draw()}\n`) }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
