import { setTimeout as delay } from 'node:timers/promises'

/** One run of something that may end by itself. */
export interface Run {
  /** Settles when it has ended, whatever ended it, with how. */
  exited: Promise<string>
  /** Ends it and waits for that; does nothing where it has ended. */
  stop(): Promise<void>
}

/** Something that is started again whenever it ends. */
export interface Kept {
  /** Ends it for good. */
  stop(): Promise<void>
}

/** What {@link keepRunning} takes. */
export interface KeepOptions {
  /** In messages, such as `worker 2`. */
  name: string
  /** Starts it; gives up and rejects when the signal aborts. */
  start(signal: AbortSignal): Promise<Run>
  /** Takes lines for the people at the terminal. */
  log(line: string): void
  /** Ends the first start early. */
  signal?: AbortSignal | undefined
  /** Waits before a restart, in ms; tests shorten them. */
  backoff?: Backoff
}

/** The wait before a restart doubles from `first` to `most`, and begins anew after `settled` of running. All in ms. */
export interface Backoff {
  first: number
  most: number
  settled: number
}

const BACKOFF: Backoff = { first: 100, most: 5000, settled: 30_000 }

/** Starts something, and starts it again whenever it ends. Throws where the first start fails. */
export async function keepRunning(options: KeepOptions): Promise<Kept> {
  const backoff = options.backoff ?? BACKOFF
  const stopping = new AbortController()
  let run = await options.start(options.signal ?? stopping.signal)
  const watching = watch()

  async function watch(): Promise<void> {
    let wait = backoff.first
    while (!stopping.signal.aborted) {
      const since = Date.now()
      const how = await run.exited
      if (Date.now() - since >= backoff.settled) wait = backoff.first
      if (!stopping.signal.aborted) options.log(`${options.name} ended (${how}); starting it again`)
      let restarted = false
      while (!restarted && !stopping.signal.aborted) {
        await delay(wait, undefined, { signal: stopping.signal }).catch(() => {})
        wait = Math.min(wait * 2, backoff.most)
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
    // A stop that came meanwhile has not seen this run.
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
