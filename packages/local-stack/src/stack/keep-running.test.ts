import { expect, test } from 'vitest'
import { keepRunning } from './keep-running.ts'

/** Makes a run that the test ends. */
function controlledRun() {
  const ended = Promise.withResolvers<string>()
  return { exited: ended.promise, end: () => ended.resolve('exit code 1'), stop: async () => ended.resolve('SIGTERM') }
}

// design.md §2, Restarts.
test('the wait doubles with each restart, up to the longest wait', async () => {
  const startedAt: number[] = []
  const log: string[] = []
  const up = Promise.withResolvers<void>()
  const supervisor = await keepRunning({
    name: 'it',
    log: (line) => log.push(line),
    backoff: { firstMs: 10, maxMs: 40, steadyMs: 60_000 },
    async start() {
      startedAt.push(performance.now())
      const run = controlledRun()
      if (startedAt.length === 1) run.end()
      else if (startedAt.length < 6) throw new Error(`try ${startedAt.length} failed`)
      else up.resolve()
      return run
    },
  })
  await up.promise
  await supervisor.stop()
  const waits = startedAt.slice(1).map((time, index) => time - (startedAt[index] ?? 0))
  // A timer may fire 1 ms early.
  for (const [index, least] of [10, 20, 40, 40, 40].entries()) expect(waits[index]).toBeGreaterThanOrEqual(least - 1)
  expect(log).toEqual(['it ended (exit code 1); starting it again', ...[2, 3, 4, 5].map((n) => `try ${n} failed`)])
})

test('after a long run, the wait before a restart is the shortest again', async () => {
  let starts = 0
  const done = Promise.withResolvers<void>()
  const since = performance.now()
  const supervisor = await keepRunning({
    name: 'it',
    log: () => {},
    // With `steadyMs: 0`, every run counts as long. Otherwise, 18 doublings would take over eight minutes.
    backoff: { firstMs: 2, maxMs: 600_000, steadyMs: 0 },
    async start() {
      const run = controlledRun()
      starts += 1
      if (starts < 20) run.end()
      else done.resolve()
      return run
    },
  })
  await done.promise
  await supervisor.stop()
  expect(performance.now() - since).toBeLessThan(30_000)
})

test('if the first start fails, keepRunning rejects and does not retry', async () => {
  let tries = 0
  const start = async () => {
    tries += 1
    throw new Error('no')
  }
  await expect(keepRunning({ name: 'it', log: () => {}, start })).rejects.toThrow('no')
  expect(tries).toBe(1)
})

test('a stop during a restart stops the new run', async () => {
  const restarting = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  let runs = 0
  const second = controlledRun()
  const supervisor = await keepRunning({
    name: 'it',
    log: () => {},
    backoff: { firstMs: 1, maxMs: 1, steadyMs: 60_000 },
    async start() {
      runs += 1
      if (runs > 1) {
        restarting.resolve()
        await started.promise
        return second
      }
      const run = controlledRun()
      run.end()
      return run
    },
  })
  await restarting.promise
  const stopped = supervisor.stop()
  started.resolve()
  await stopped
  expect(await second.exited).toBe('SIGTERM')
  expect(runs).toBe(2)
})
