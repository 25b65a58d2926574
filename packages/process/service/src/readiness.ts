import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'

/** A store that a process uses. */
interface Store {
  /** The name in the log and at `/readyz`. */
  name: string
  /** The setting with the address of the store. */
  setting: string
  /** The process is also ready without the store. Default false. */
  isOptional?: boolean
  /** Resolves if the store is available; rejects or never settles if it is not. */
  check(): Promise<unknown>
}

/** Which stores of a process are available. */
interface Findings {
  isReady: boolean
  /** Each store that is not available, with its setting and the error. Secrets are left out. */
  missing: Record<string, string>
  /** The names of the missing stores that are not optional: the process waits for them. */
  awaited: string[]
}

/** Knows whether a process can do its work now. */
export interface Readiness {
  /** Adds a store that the process uses. */
  require(store: Store): void
  /** Makes the process not ready from now on, because it is stopping. */
  stopping(): void
  readonly isStopping: boolean
  /** Checks all stores at once, for at most 2 s. A process that is stopping is not ready, and misses nothing. */
  check(): Promise<Findings>
}

/** Checks whether a process is ready. Logs the missing stores if it is not. */
export async function checkReadiness(readiness: Readiness, log: Pick<Logger, 'warn'>): Promise<Findings> {
  const findings = await readiness.check()
  if (!findings.isReady && !readiness.isStopping) log.warn({ reasons: findings.missing }, messageOf(findings))
  return findings
}

/** Pause between two checks of a process that is not ready yet, ms. */
const pauseMs = 1_000

/**
 * Waits until a process that has started is ready, and logs `ready` with `info`. Logs at once which stores are missing,
 * and again if that changes. Ends without the line if the process is stopping.
 */
export async function logWhenReady(readiness: Readiness, log: Pick<Logger, 'info' | 'warn'>, info: object) {
  for (let logged = ''; !readiness.isStopping; await delay(pauseMs, undefined, { ref: false })) {
    const findings = await readiness.check()
    if (readiness.isStopping) return
    const reasons = JSON.stringify(findings.missing)
    if (findings.isReady) log.info(info, 'ready')
    if (reasons !== logged && reasons !== '{}') log.warn({ reasons: findings.missing }, messageOf(findings))
    if (findings.isReady) return
    logged = reasons
  }
}

function messageOf({ isReady, missing, awaited }: Findings): string {
  return isReady
    ? `ready, but without ${Object.keys(missing).join(', ')}`
    : `not ready: waiting for ${awaited.join(', ')}`
}

/** How long a check may take, ms. Probes of readiness wait for seconds, not minutes. */
const checkTimeoutMs = 2_000

/** Opens the readiness of a process without any stores yet. */
export function openReadiness(): Readiness {
  const stores: Store[] = []
  let isStopping = false
  return {
    require: (store) => void stores.push(store),
    stopping: () => {
      isStopping = true
    },
    get isStopping() {
      return isStopping
    },
    async check() {
      if (isStopping) return { isReady: false, missing: {}, awaited: [] }
      const checked = await Promise.all(stores.map(async (store) => ({ ...store, failure: await failureOf(store) })))
      const missing = checked.flatMap(({ failure, ...store }) => (failure === undefined ? [] : { ...store, failure }))
      const awaited = missing.filter(({ isOptional }) => !isOptional).map(({ name }) => name)
      return {
        isReady: awaited.length === 0,
        awaited,
        missing: Object.fromEntries(missing.map(({ name, failure }) => [name, failure])),
      }
    },
  }
}

async function failureOf({ setting, check }: Store): Promise<string | undefined> {
  const late = Promise.withResolvers<string>()
  const timer = setTimeout(() => late.resolve(`no answer in ${checkTimeoutMs / 1000} s`), checkTimeoutMs)
  const outcome = check().then(() => undefined, reasonOf)
  try {
    const reason = await Promise.race([outcome, late.promise])
    return reason === undefined ? undefined : `${setting}: ${reason}`
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the message of an error, without the logins of addresses in it. */
function reasonOf(error: unknown): string {
  // Node's error for a host with several addresses has a message for each of them, and none of its own.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ')
  const message = error instanceof Error ? error.message : String(error)
  return message.replaceAll(/\/\/[^/\s]*@/g, '//')
}
