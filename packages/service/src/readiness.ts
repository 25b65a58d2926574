import type { Logger } from 'pino'

/** Something that a process cannot work without: settles when it is there, and rejects or hangs when it is away. */
type Check = () => Promise<unknown>

/** Whether a process can do its work at this moment. */
export interface Readiness {
  /** Adds something that the process cannot work without, under its name in the log. */
  require(name: string, check: Check): void
  /** From now on the process is not ready: it was told to stop. */
  stopping(): void
  /** Looks at everything at once, for at most 2 s. Throws {@link NotReady}, which names all that is away. */
  check(): Promise<void>
}

/** The process cannot do its work; `reasons` holds why, by what is away. */
class NotReady extends Error {
  override readonly name = 'NotReady'
  readonly reasons: Record<string, string>

  constructor(reasons: Record<string, string>) {
    super(`not ready: ${Object.keys(reasons).join(', ')}`)
    this.reasons = reasons
  }
}

/** Whether a process is ready; what is away goes to the log. */
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

/** How long something may take to show that it is there, ms: who asks for readiness waits seconds, not minutes. */
const patience = 2_000

/** A process that needs nothing yet, and runs. */
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
  const timer = setTimeout(() => late.resolve(`no answer in ${patience / 1000} s`), patience)
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
