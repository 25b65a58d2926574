import { count, cut } from './text.ts'

const longestBar = 30
const shortestBar = 5
const redrawIntervalMs = 100

/** What a progress line shows. */
export interface Progress {
  label: string
  /** The share that is done, from 0 to 1. Without it, there is no bar. */
  share?: number | undefined
  facts: readonly string[]
}

/** A line on stderr that changes in place on a terminal. */
export interface ProgressLine {
  /** Shows a state, on a terminal only. Skips states within 100 ms of the last one. */
  show(progress: Progress): void
  /** Shows the last state, and ends the line. Without a state, ends the line if one was drawn. */
  end(last?: Progress): void
}

export function openLine(): ProgressLine {
  let drawnAt = Number.NEGATIVE_INFINITY
  const { isTTY, columns } = process.stderr
  const draw = (progress: Progress) =>
    process.stderr.write(`${isTTY ? '\r\x1b[K' : ''}${textOf(progress, (columns || 80) - 1)}`)
  return {
    show(progress) {
      if (!isTTY || performance.now() - drawnAt < redrawIntervalMs) return
      drawnAt = performance.now()
      draw(progress)
    },
    end(last) {
      if (last !== undefined) draw(last)
      if (last !== undefined || drawnAt > 0) process.stderr.write('\n')
    },
  }
}

/** Returns a state as text of at most `width` characters. The bar is as long as there is room for it. */
export function textOf({ label, share, facts }: Progress, width: number): string {
  if (share === undefined) return cut([label, ...facts].join('  '), width)
  const rest = [`${Math.floor(share * 100)} %`, ...facts].join('  ')
  const room = Math.min(longestBar, width - label.length - rest.length - 2)
  if (room < shortestBar) return cut(`${label} ${rest}`, width)
  const filled = Math.round(share * room)
  return `${label} ${'█'.repeat(filled)}${'░'.repeat(room - filled)} ${rest}`
}

/** Shows how many bytes of a file are transferred. The line stays when the transfer has ended. */
export function openTransfer(label: string): { show(bytes: number, totalBytes: number): void; end(): void } {
  const line = openLine()
  const started = performance.now()
  let [done, total] = [0, 0]
  const progress = () => {
    const seconds = (performance.now() - started) / 1000
    const facts = [`${bytesOf(done)} of ${bytesOf(total)}`, `${bytesOf(done / seconds)}/s`]
    return { label, share: total === 0 ? 1 : Math.min(1, done / total), facts }
  }
  return {
    show(bytes, totalBytes) {
      ;[done, total] = [bytes, totalBytes]
      line.show(progress())
    },
    end: () => line.end(progress()),
  }
}

/** Formats a size. A KB has 1,024 bytes, as in the limits of service.md. */
function bytesOf(bytes: number): string {
  const kilobytes = bytes / 1024
  return kilobytes < 1024 ? `${count(Math.ceil(kilobytes))} KB` : `${(kilobytes / 1024).toFixed(1)} MB`
}
