import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { expect, inject, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import type { AppProcess } from '../faults/harness/app-process.ts'
import { type Deployment, type DeploymentOptions, startDeployment } from '../faults/harness/deployment.ts'

test('a process is not ready while Postgres is unreachable or does not answer, and is ready again afterwards', async () => {
  const { postgres, ...deployment } = await start()
  const processes = [...deployment.apis(), ...deployment.workers()]
  expect(processes).toHaveLength(2)
  for (const kind of ['refuse', 'stall'] as const) {
    await untilReadiness(processes, 200)
    postgres.proxy.set({ kind })
    await untilReadiness(processes, 503)
    for (const each of processes) expect(await statusOf(each, '/healthz')).toBe(200)
    postgres.proxy.set({ kind: 'fine' })
    postgres.proxy.reset()
  }
  await untilReadiness(processes, 200)
}, 180_000)

test.skipIf(inject('redisUrl') === undefined)(
  'a worker is not ready while Redis is unreachable, but the API is, because it then counts requests itself',
  async () => {
    const { redis, ...deployment } = await start({ queue: 'redis' })
    await untilReadiness(deployment.workers(), 200)
    redis?.proxy.set({ kind: 'refuse' })
    await untilReadiness(deployment.workers(), 503)
    for (const api of deployment.apis()) expect(await statusOf(api, '/readyz')).toBe(200)
    redis?.proxy.set({ kind: 'fine' })
    await untilReadiness(deployment.workers(), 200)
  },
)

test('a stopping API is not ready at once, but accepts requests until load balancers have noticed', async () => {
  const { api, ...deployment } = await start({ workers: 0, env: { DRAIN_DELAY: '8s' } })
  const [process] = deployment.apis()
  if (process === undefined) throw new Error('there is no API')
  process.kill('SIGTERM')
  await untilReadiness([process], 503)
  // The API still listens on its own port, and reports the same status there.
  expect((await fetch(`${api}/readyz`)).status).toBe(503)
  expect((await fetch(`${api}/openapi.json`)).status).toBe(200)
  expect(await process.exited).toBe(0)
})

test('a second SIGTERM ends a process at once', async () => {
  const deployment = await start({ workers: 0, env: { DRAIN_DELAY: '60s' } })
  const [process] = deployment.apis()
  if (process === undefined) throw new Error('there is no API')
  process.kill('SIGTERM')
  await untilReadiness([process], 503)
  process.kill('SIGTERM')
  // A process that had waited for its drain would end with code 0.
  expect(await process.exited).toBe(1)
})

test('a stopping worker is never ready again', async () => {
  const deployment = await start({ workers: 1 })
  const [process] = deployment.workers()
  if (process === undefined) throw new Error('there is no worker')
  process.kill('SIGTERM')
  await until('the log line of the stop', () =>
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

async function untilReadiness(processes: readonly AppProcess[], status: number): Promise<void> {
  let statuses: (number | undefined)[] = []
  const isSo = async () => {
    statuses = await Promise.all(processes.map((each) => statusOf(each, '/readyz')))
    return statuses.every((each) => each === status)
  }
  await until(`${status} at /readyz`, isSo, 60_000).catch((error: unknown) => {
    throw new Error(`the processes answer ${statuses.join(', ')}`, { cause: error })
  })
}

/** Returns the status of an answer at `METRICS_PORT`, or undefined if there is no answer. */
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
