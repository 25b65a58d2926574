import { Transform } from 'node:stream'

const width = 30
const redrawInterval = 100

/**
 * A progress bar on stderr: on a terminal it moves in place, elsewhere it is one line at the end.
 *
 * Takes a label and the total in bytes. Gives a stream that counts what passes through it.
 */
export function openProgress(label: string, total: number): { count: Transform; end(): void } {
  const started = performance.now()
  let done = 0
  let drawn = 0
  const draw = () => {
    const fraction = total === 0 ? 1 : done / total
    const filled = Math.round(fraction * width)
    const seconds = (performance.now() - started) / 1000
    const bar = '█'.repeat(filled) + '░'.repeat(width - filled)
    return `${label} ${bar} ${Math.round(fraction * 100)} %  ${megabytes(done)} of ${megabytes(total)} MB  ${megabytes(done / seconds)} MB/s`
  }
  const count = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      done += chunk.length
      if (process.stderr.isTTY && performance.now() - drawn > redrawInterval) {
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
