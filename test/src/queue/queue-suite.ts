import { queueNames, type SharedStore } from '@sluice/config'
import { openInspector, openQueues, type Queues } from '@sluice/queue'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../environment/wait.ts'

/** Defines the tests of what every store of the queues guarantees. `store` returns the current test's store. */
export function queueSuite(store: () => SharedStore): void {
  const opened: Queues[] = []
  /** The errors of this test's queues. A closed connection may report an error after the next test has begun. */
  let errors: Error[] = []
  const open = () => {
    const own = errors
    const queues = openQueues(store(), (error) => own.push(error))
    opened.push(queues)
    return queues
  }
  const job = (n: number) => ({ id: `job-${n}`, payload: { appId: n, importId: `import ${n}` } })

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((queues) => queues.close()))
    const seen = errors
    errors = []
    expect(seen).toEqual([])
  })

  test('each job runs on one of several workers, once, with its payload', async () => {
    const seen: number[] = []
    const producer = open()
    for (let i = 0; i < 3; i++) {
      open().work('imports', async ({ appId, importId }) => void (importId === `import ${appId}` && seen.push(appId)), {
        concurrency: 4,
      })
    }
    await producer.add(
      'imports',
      Array.from({ length: 50 }, (_, n) => job(n)),
    )
    await until('all jobs to run', () => seen.length >= 50)
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n))
  })

  test('an ID is not added again while its job waits or runs, and can be used again afterwards', async () => {
    const producer = open()
    await producer.add('imports', [job(1), job(1)])
    await producer.add('imports', [job(1)])
    let runs = 0
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    open().work(
      'imports',
      async () => {
        runs++
        await released
      },
      { concurrency: 4 },
    )
    await until('the job to run', () => runs === 1)
    await producer.add('imports', [job(1), job(2)])
    await until('the other job to run', () => runs === 2)
    release()
    await until('the job to run again', async () => {
      await producer.add('imports', [job(1)])
      return runs >= 3
    })
  })

  test('a process that works on every queue and adds to it gets no warning of Node', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    onTestFinished(() => void process.off('warning', note))
    const queues = open()
    for (const name of queueNames) queues.work(name, async () => {}, { concurrency: 1 })
    for (const name of queueNames) await queues.waiting(name)
    expect(warnings).toEqual([])
  })

  test('closing waits for running jobs', async () => {
    const producer = open()
    const worker = openQueues(store(), (error) => errors.push(error))
    const started = Promise.withResolvers<void>()
    const closing = Promise.withResolvers<void>()
    const events: string[] = []
    worker.work(
      'imports',
      async () => {
        started.resolve()
        await closing.promise
        await producer.check()
        events.push('job ended')
      },
      { concurrency: 1 },
    )
    await producer.add('imports', [job(1)])
    await started.promise
    const closed = worker.close().then(() => events.push('closed'))
    closing.resolve()
    await closed
    expect(events).toEqual(['job ended', 'closed'])
  })

  test('a schedule that several processes set, at the same moment and again later, adds jobs repeatedly', async () => {
    let ticks = 0
    const queues = open()
    const all = [queues, open(), open()]
    queues.work('maintenance', async (_, task) => void (task === 'tick' && ticks++), { concurrency: 1 })
    // BullMQ may lose a schedule that several processes set at one moment. Every worker sets it again and again, which
    // repairs it.
    await until('three ticks', async () => {
      await Promise.all(all.map((each) => each.schedule('tick', 100)))
      return ticks >= 3
    })
  })

  test('a schedule that a process with a clock ahead has set runs again soon after another process sets it', async () => {
    let ticks = 0
    const queues = open()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60 * 60_000 })
    try {
      await queues.schedule('tick', 1_000)
    } finally {
      vi.useRealTimers()
    }
    queues.work('maintenance', async (_, task) => void (task === 'tick' && ticks++), { concurrency: 1 })
    await queues.schedule('tick', 1_000)
    await until('a tick', () => ticks >= 1)
  })

  test('jobs that wait while their queue is paused count as waiting', async () => {
    const queues = open()
    const inspector = openInspector(store(), (error) => errors.push(error))
    try {
      await inspector.pause('imports')
      await queues.add('imports', [job(1), job(2)])
      expect(await queues.waiting('imports')).toBe(2)
      await inspector.resume('imports')
      expect(await queues.waiting('imports')).toBe(2)
    } finally {
      await inspector.close()
    }
  })

  test('a job that throws is reported and removed: its ID can be added again', async () => {
    const queues = open()
    let runs = 0
    queues.work(
      'imports',
      async () => {
        runs++
        if (runs === 1) throw new Error('as expected')
      },
      { concurrency: 1 },
    )
    await queues.add('imports', [job(1)])
    await until('the error of the job', () => errors.length === 1)
    expect(errors.splice(0).map((error) => error.message)).toEqual(['as expected'])
    await until('the second run', async () => {
      await queues.add('imports', [job(1)])
      return runs >= 2
    })
  })
}
