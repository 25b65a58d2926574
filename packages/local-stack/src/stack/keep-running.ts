import { setTimeout as delay } from 'node:timers/promises'

/** One run of a server or an app, which may end by itself. */
export interface Run {
  /** Resolves when the run has ended for any reason, with how it ended. */
  exited: Promise<string>
  /** Stops the run and waits for its end. Does nothing if it has ended. */
  stop(): Promise<void>
}

/** Restarts a server or an app whenever it ends. */
export interface Supervisor {
  /** Stops the current run, and does not restart it. */
  stop(): Promise<void>
}

export interface KeepOptions {
  /** The name in messages, such as `worker 2`. */
  name: string
  /** Starts a run. Must reject when the signal aborts. */
  start(signal: AbortSignal): Promise<Run>
  /** Accepts lines for the terminal. */
  log(line: string): void
  /** Aborts the first start. */
  signal?: AbortSignal | undefined
  /** The pauses before restarts. Tests make them shorter. */
  backoff?: Backoff
}

/** The wait before a restart doubles from `firstMs` to `maxMs`, and is reset after a run of `steadyMs`. */
export interface Backoff {
  firstMs: number
  maxMs: number
  steadyMs: number
}

const defaultBackoff: Backoff = { firstMs: 100, maxMs: 5000, steadyMs: 30_000 }

/**
 * Starts a server or an app, and restarts it whenever it ends (design.md §2, Restarts). Throws if the first start
 * fails.
 */
export async function keepRunning(options: KeepOptions): Promise<Supervisor> {
  const backoff = options.backoff ?? defaultBackoff
  const stopping = new AbortController()
  let run = await options.start(options.signal ?? stopping.signal)
  const watching = watch()

  async function watch(): Promise<void> {
    let waitMs = backoff.firstMs
    while (!stopping.signal.aborted) {
      const startedAt = performance.now()
      const how = await run.exited
      if (performance.now() - startedAt >= backoff.steadyMs) waitMs = backoff.firstMs
      if (!stopping.signal.aborted) options.log(`${options.name} ended (${how}); starting it again`)
      let restarted = false
      while (!restarted && !stopping.signal.aborted) {
        await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => {})
        waitMs = Math.min(waitMs * 2, backoff.maxMs)
        restarted = await restart()
      }
    }
  }

  async function restart(): Promise<boolean> {
    if (stopping.signal.aborted) return false
    try {
      run = await options.start(stopping.signal)
    } catch (error) {
      if (!stopping.signal.aborted) options.log(error instanceof Error ? error.message : String(error))
      return false
    }
    // If `stop` was called during the start, it stopped only the preceding run.
    if (stopping.signal.aborted) await run.stop()
    return true
  }

  return {
    async stop() {
      stopping.abort()
      await run.stop()
      await watching
    },
  }
}
