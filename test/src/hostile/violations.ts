import { type AppName, appNames, sliceMs } from './hostile-stack.ts'
import { requestKinds, type Sample, smallImport } from './neighbour.ts'

/** The most that one request of another tenant may take, ms. */
const worstAllowedMs = 1_000
/** How many times its normal value the median may be. */
const ratioAllowed = 2
/** A median under this is accepted, ms: twice as long as almost nothing is what any load on the machine costs. */
const negligibleMs = 10

/** How one kind of request went, ms. */
export interface KindReport {
  kind: string
  count: number
  failed: number
  normal_median: number
  median: number
  worst: number
}

export function reportKinds(normal: readonly Sample[], during: readonly Sample[]): KindReport[] {
  return [...requestKinds, smallImport].map((kind) => {
    const times = (samples: readonly Sample[]) => samples.filter((sample) => sample.kind === kind).map(({ ms }) => ms)
    const ofAttack = during.filter((sample) => sample.kind === kind)
    return {
      kind,
      count: ofAttack.length,
      failed: ofAttack.filter(({ problem }) => problem !== undefined).length,
      normal_median: rounded(median(times(normal))),
      median: rounded(median(times(during))),
      worst: rounded(Math.max(0, ...times(during))),
    }
  })
}

/** What is wrong with another tenant's requests: those that failed, and how long they took if `isTimed`. */
export function requestViolations(kinds: readonly KindReport[], isTimed: boolean): string[] {
  return kinds.flatMap((report) => {
    const { kind, count, failed, normal_median: normal, median, worst } = report
    if (count === 0) return [`${kind}: none was made`]
    const failures = failed > 0 ? [`${kind}: ${failed} of ${count} failed`] : []
    if (!isTimed) return failures
    if (kind === smallImport) {
      return worst <= 2 * sliceMs ? failures : [...failures, `${kind}: ${worst} ms, over two slices of ${sliceMs} ms`]
    }
    return [
      ...failures,
      ...(median > Math.max(negligibleMs, ratioAllowed * normal)
        ? [`${kind}: median ${median} ms, normally ${normal} ms`]
        : []),
      ...(worst >= worstAllowedMs ? [`${kind}: worst ${worst} ms, over ${worstAllowedMs} ms`] : []),
    ]
  })
}

/** Whether every process is still the one that it was. */
export function processViolations(ended: Record<AppName, number>): string[] {
  return appNames.flatMap((name) => (ended[name] === 0 ? [] : [`${name}: ${ended[name]} died`]))
}

/** Whether memory stayed under the limits. */
export function memoryViolations(peaks: Record<AppName, number>, limits: Record<AppName, number>): string[] {
  return appNames.flatMap((name) =>
    peaks[name] <= limits[name] ? [] : [`${name}: ${mebibytes(peaks[name])} MiB, over ${mebibytes(limits[name])} MiB`],
  )
}

export function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}
