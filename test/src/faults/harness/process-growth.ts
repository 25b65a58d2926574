import { readdir, readlink } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ownMemory } from '../../memory/peak-memory.ts'
import type { AppProcess } from './app-process.ts'

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
  return { memory: median('memory'), heap: median('heap'), sockets: median('sockets') }
}

export interface Usage {
  /** Own memory after a garbage collection, MiB. */
  memory: number
  /** What of it JavaScript's objects take, MiB: it tells a leak from memory that the allocator keeps. */
  heap: number
  /** Open sockets: connections, and the ports that the process listens on. */
  sockets: number
}

/** Options of Node that {@link usageOf} needs in the process. */
export const measurable = [
  '--expose-gc',
  `--import=${fileURLToPath(new URL('collect-on-request.ts', import.meta.url))}`,
] as const

/**
 * The environment that {@link usageOf} needs in the process. Unless this threshold is set, glibc raises it from these
 * bytes to 32 MB at most, and keeps the memory of freed buffers: workers grew by a tenth within two hours, though only
 * 20 of 54 MB were in use. An import takes 7 to 14 % longer with it, so nothing else sets it.
 */
export const measurableEnvironment = { MALLOC_MMAP_THRESHOLD_: '131072' } as const

/** Returns what a process holds now. Throws if it has ended. Needs `/proc`, as on Linux. */
export async function usageOf({ pid, ask, exited }: AppProcess): Promise<Usage> {
  const ended = exited.then((end) => {
    throw new Error(`process ${pid} has ended: ${end}`)
  })
  const { heapBytes } = await Promise.race([ask('collect'), ended])
  const folder = `/proc/${pid}/fd`
  // A file may be closed between the listing and the look at it.
  const targets = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')))
  return {
    memory: Math.round((await ownMemory(pid)) / 2 ** 20),
    heap: Math.round(Number(heapBytes) / 2 ** 20),
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
  }
}
