import type { Logger } from 'pino'

/** Checks something that a process needs. Resolves if it is available; rejects or never settles if it is not. */
type Check = () => Promise<unknown>

/** Knows whether a process can do its work now. */
export interface Readiness {
  /** Adds something that the process needs, with its name in the log. */
  require(name: string, check: Check): void
  /** Makes the process not ready from now on, because it is stopping. */
  stopping(): void
  /** Runs all checks at once, for at most 2 s. Throws {@link NotReady} with the names of all failed checks. */
  check(): Promise<void>
}

/** The process cannot do its work. `reasons` has the reason of each failed check by name. */
class NotReady extends Error {
  override readonly name = 'NotReady'
  readonly reasons: Record<string, string>

  constructor(reasons: Record<string, string>) {
    super(`not ready: ${Object.keys(reasons).join(', ')}`)
    this.reasons = reasons
  }
}

/** Whether a process is ready. Logs the failed checks. */
export async function isReady(readiness: Readiness, log: Pick<Logger, 'warn'>): Promise<boolean> {
  try {
    await readiness.check()
    return true
  } catch (error) {
    if (!(error instanceof NotReady)) throw error
    log.warn({ reasons: error.reasons }, 'not ready')
    return false
  }
}

/** How long a check may take, ms. Probes of readiness wait for seconds, not minutes. */
const checkTimeoutMs = 2_000

/** Opens the readiness of a process without any checks yet. */
export function openReadiness(): Readiness {
  const checks = new Map<string, Check>()
  let isStopping = false
  return {
    require: (name, check) => void checks.set(name, check),
    stopping: () => {
      isStopping = true
    },
    async check() {
      if (isStopping) throw new NotReady({ process: 'is stopping' })
      const outcomes = await Promise.all(
        [...checks].map(async ([name, check]) => [name, await failureOf(check)] as const),
      )
      const reasons = outcomes.flatMap(([name, reason]) => (reason === undefined ? [] : [[name, reason] as const]))
      if (reasons.length > 0) throw new NotReady(Object.fromEntries(reasons))
    },
  }
}

async function failureOf(check: Check): Promise<string | undefined> {
  const late = Promise.withResolvers<string>()
  const timer = setTimeout(() => late.resolve(`no answer in ${checkTimeoutMs / 1000} s`), checkTimeoutMs)
  const outcome = check().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  try {
    return await Promise.race([outcome, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
