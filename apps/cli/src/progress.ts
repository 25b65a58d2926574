import { count } from './output.ts'

const width = 30
const redrawIntervalMs = 100

/** A progress bar on stderr. On a terminal it moves in place; otherwise it is one line at the end. */
export interface ProgressBar {
  /** Sets how many bytes are done. */
  show(bytes: number, totalBytes: number): void
  end(): void
}

/** Opens a progress bar. */
export function openProgress(label: string): ProgressBar {
  const started = performance.now()
  let [done, total] = [0, 0]
  let drawn = 0
  const draw = () => {
    const fraction = total === 0 ? 1 : Math.min(1, done / total)
    const filled = Math.round(fraction * width)
    const seconds = (performance.now() - started) / 1000
    const bar = '█'.repeat(filled) + '░'.repeat(width - filled)
    return `${label} ${bar} ${Math.round(fraction * 100)} %  ${bytesOf(done)} of ${bytesOf(total)}  ${bytesOf(done / seconds)}/s`
  }
  return {
    show(bytes, totalBytes) {
      ;[done, total] = [bytes, totalBytes]
      if (!process.stderr.isTTY || performance.now() - drawn < redrawIntervalMs) return
      drawn = performance.now()
      process.stderr.write(`\r${draw()}`)
    },
    end: () => void process.stderr.write(`${process.stderr.isTTY ? '\r' : ''}${draw()}\n`),
  }
}

function bytesOf(bytes: number): string {
  return bytes < 1e6 ? `${count(Math.ceil(bytes / 1e3))} KB` : `${(bytes / 1e6).toFixed(1)} MB`
}
