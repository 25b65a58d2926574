import { type Profiler, Session } from 'node:inspector'

/** Coverage of Sluice's own code, measured by V8. */
export interface Coverage {
  /** Returns the blocks of code that ran since the last call. */
  take(): Set<string>
  close(): void
}

/**
 * Starts to measure which blocks of code run. Only modules of `apps` and `packages` count.
 *
 * A measurement takes some milliseconds, so callers measure once for many inputs.
 */
export function openCoverage(): Coverage {
  const session = new Session()
  session.connect()
  // The session is in this thread, so each answer arrives before `post` returns.
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  return {
    take() {
      let scripts: Profiler.ScriptCoverage[] = []
      session.post('Profiler.takePreciseCoverage', (failure, { result }) => {
        if (failure) throw failure
        scripts = result
      })
      return new Set(scripts.filter(isOwn).flatMap(blocksOf))
    },
    close: () => session.disconnect(),
  }
}

function blocksOf({ url, functions }: Profiler.ScriptCoverage): string[] {
  return functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ count }) => count > 0)
    .map(({ startOffset, endOffset }) => `${url}:${startOffset}-${endOffset}`)
}

function isOwn({ url }: Profiler.ScriptCoverage): boolean {
  return /^file:.*\/(?:apps|packages)\/[^/]+\/src\//.test(url)
}
