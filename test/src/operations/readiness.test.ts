import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { expect, inject, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import type { AppProcess } from '../faults/harness/app-process.ts'
import { type Deployment, type DeploymentOptions, startDeployment } from '../faults/harness/deployment.ts'

test('every process is ready, is not while Postgres is away or silent, and is again when it is back', async () => {
  const { postgres, ...deployment } = await start()
  const processes = [...deployment.apis(), ...deployment.workers()]
  expect(processes).toHaveLength(2)
  for (const kind of ['refuse', 'stall'] as const) {
    await becomes(processes, 200)
    postgres.proxy.set({ kind })
    await becomes(processes, 503)
    for (const each of processes) expect(await statusOf(each, '/healthz')).toBe(200)
    postgres.proxy.set({ kind: 'fine' })
    postgres.proxy.reset()
  }
  await becomes(processes, 200)
})

test.skipIf(inject('redisUrl') === undefined)(
  'a worker is not ready while Redis is away; the API, which adds no jobs and counts requests itself, is',
  async () => {
    const { redis, ...deployment } = await start({ queue: 'redis' })
    await becomes(deployment.workers(), 200)
    redis?.proxy.set({ kind: 'refuse' })
    await becomes(deployment.workers(), 503)
    for (const api of deployment.apis()) expect(await statusOf(api, '/readyz')).toBe(200)
    redis?.proxy.set({ kind: 'fine' })
    await becomes(deployment.workers(), 200)
  },
)

test('an API that is told to stop is not ready at once, and takes requests until load balancers know', async () => {
  const { api, ...deployment } = await start({ workers: 0, env: { DRAIN_DELAY: '2s' } })
  const [process] = deployment.apis()
  if (process === undefined) throw new Error('there is no API')
  process.kill('SIGTERM')
  await becomes([process], 503)
  // It listens on its own port all the while, and says the same there.
  expect((await fetch(`${api}/readyz`)).status).toBe(503)
  expect((await fetch(`${api}/openapi.json`)).status).toBe(200)
  expect(await process.exited).toBe(0)
})

test('a worker that is told to stop is never ready again', async () => {
  const deployment = await start({ workers: 1 })
  const [process] = deployment.workers()
  if (process === undefined) throw new Error('there is no worker')
  process.kill('SIGTERM')
  await until('the word of its stop', () =>
    deployment.log.some(({ pid, msg }) => pid === process.pid && msg === 'stopping'),
  )
  expect([503, undefined]).toContain(await statusOf(process, '/readyz'))
  expect(await process.exited).toBe(0)
})

async function start(options: DeploymentOptions = {}): Promise<Deployment> {
  const deployment = await startDeployment({ workers: 1, ...options })
  onTestFinished(() => deployment.close())
  return deployment
}

async function becomes(processes: readonly AppProcess[], status: number): Promise<void> {
  await until(`${status} at /readyz`, async () => {
    const statuses = await Promise.all(processes.map((each) => statusOf(each, '/readyz')))
    return statuses.every((each) => each === status)
  })
}

/** The status of an answer at `METRICS_PORT`; undefined where nothing answers there any more. */
async function statusOf({ info }: AppProcess, path: string): Promise<number | undefined> {
  const agent = new Agent({ keepAlive: false })
  try {
    const [response] = await once(get(new URL(path, String(info.metrics)), { agent }), 'response')
    response.resume()
    return response.statusCode
  } catch {
    return undefined
  } finally {
    agent.destroy()
  }
}
