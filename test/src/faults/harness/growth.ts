import type { Usage } from './process-usage.ts'

/** What processes held, by their names, at a time since the beginning of a run, ms. */
export interface Sample {
  atMs: number
  usage: Readonly<Record<string, Usage>>
}

/** What a process held at three times of a run. */
export interface Growth {
  /** After the first round. */
  begin: Usage
  /** Medians of a quarter of an hour, after a first one that does not count. */
  warm: Usage
  /** Medians of the last quarter of an hour. */
  end: Usage
  /** Growth of memory from `warm` to `end`, as a share of `warm`. */
  growth: number
}

/** Length of the parts of a run that are compared, ms. A run of less than an hour has shorter ones, a quarter of it. */
const partMs = 15 * 60_000

/** Maximum growth of memory, as a share. */
const allowedGrowth = 0.05

/** How many connections more a process may hold at the end: its pools open and close some as they are needed. */
const allowedSockets = 2

/** Compares what processes held near the beginning of a run with what they held at its end. */
export function growthOf(samples: readonly Sample[], durationMs: number): Record<string, Growth> {
  const part = Math.min(partMs, durationMs / 4)
  const between = (from: number, to: number) => samples.filter(({ atMs }) => atMs >= from && atMs < to)
  const last = samples.at(-1)?.atMs ?? 0
  const parts = { warm: between(part, 2 * part), end: samples.filter(({ atMs }) => atMs > last - part) }
  if (parts.warm.length === 0) throw new Error('no round ended in the part of the run that the end is compared with')
  return Object.fromEntries(
    Object.entries(samples[0]?.usage ?? {}).map(([name, begin]) => {
      const [warm, end] = [medianOf(parts.warm, name), medianOf(parts.end, name)]
      return [name, { begin, warm, end, growth: end.memory / warm.memory - 1 }]
    }),
  )
}

/** Describes each process that grew by more than is allowed. */
export function growthProblems(processes: Readonly<Record<string, Growth>>): string[] {
  return Object.entries(processes).flatMap(([name, { warm, end, growth }]) => [
    ...(growth > allowedGrowth ? [`memory of ${name} grew from ${warm.memory} to ${end.memory} MiB`] : []),
    ...(end.sockets > warm.sockets + allowedSockets
      ? [`sockets of ${name} grew from ${warm.sockets} to ${end.sockets}`]
      : []),
  ])
}

function medianOf(samples: readonly Sample[], name: string): Usage {
  const median = (value: keyof Usage) => {
    const values = samples.flatMap(({ usage }) => usage[name]?.[value] ?? []).toSorted((a, b) => a - b)
    return values[Math.floor(values.length / 2)] ?? 0
  }
  return { memory: median('memory'), sockets: median('sockets') }
}
