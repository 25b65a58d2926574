import { type AppName, appNames, sliceMs } from './hostile-stack.ts'
import { requestKinds, type Sample, smallImport } from './neighbour.ts'

/** Limit for the slowest request of another tenant, ms. */
const worstAllowedMs = 1_000
/** Limit for the ratio of the median time during an attack to the median time without an attack. */
const ratioAllowed = 2
/** A median time below this is always accepted, ms, because any load on the machine doubles very short times. */
const negligibleMs = 10

/** Summary of one kind of request. Times are in ms. */
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

/** Returns a violation for each kind of request that failed, and, if `isTimed`, for each kind that was too slow. */
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

/** Returns a violation for each app of which a process ended. */
export function processViolations(ended: Record<AppName, number>): string[] {
  return appNames.flatMap((name) => (ended[name] === 0 ? [] : [`${name}: ${ended[name]} died`]))
}

/** Returns a violation for each app whose peak memory exceeded its limit. */
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
