import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { startApi } from '../api-limits/api-process.ts'
import { openLink } from '../api-limits/interrupted-link.ts'
import { openTestDatabase } from '../environment/database.ts'
import { freePort, listenOn } from '../environment/free-port.ts'
import { appNames, refusals } from '../environment/refused-settings.ts'
import { until } from '../environment/wait.ts'
import { type LogLine, startApp } from '../faults/harness/app-process.ts'
import { openSmallDeployment } from '../faults/harness/small-deployment.ts'

test('an API that starts without its stores says at once what is missing and why, and is ready when Postgres is there', async () => {
  const database = await openTestDatabase()
  onTestFinished(() => database.close())
  const link = await openLink(database.url)
  onTestFinished(() => link.close())
  await link.cut()
  const absent = `127.0.0.1:${await freePort()}`
  const api = await startApi(link.url, { REDIS_URL: `redis://:hunter2@${absent}`, S3_REGOIN: 'hunter2' })
  onTestFinished(() => api.stop())

  const { host } = new URL(link.url)
  const missing = {
    postgres: `DATABASE_URL: connect ECONNREFUSED ${host}`,
    redis: `REDIS_URL: connect ECONNREFUSED ${absent}`,
  }
  await untilLogged(api, { level: 'warn', msg: 'not ready: waiting for postgres', reasons: missing })
  await untilLogged(api, { level: 'warn', msg: 'S3_REGOIN is not a setting: did you mean S3_REGION?' })
  const forOperators = await fetch(api.metrics.replace('/metrics', '/readyz'))
  expect([forOperators.status, await forOperators.json()]).toEqual([503, { status: 'unavailable', missing }])
  const forAnybody = await fetch(`${api.url}/readyz`)
  const messages = ['The service is not ready: it waits for postgres. Please try again.']
  expect([forAnybody.status, await forAnybody.json()]).toEqual([503, { error: { messages } }])
  expect(api.log()).not.toContain('"msg":"ready"')

  await link.restore()
  await untilLogged(api, { level: 'info', msg: 'ready' })
  await untilLogged(api, { level: 'warn', msg: 'ready, but without redis', reasons: { redis: missing.redis } })
  expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
  expect(api.log()).not.toContain('hunter2')
})

test('a worker that starts without Redis says at once that its queue is missing and why', async () => {
  const deployment = await openSmallDeployment()
  onTestFinished(() => deployment.close())
  const absent = `127.0.0.1:${await freePort()}`
  const log: LogLine[] = []
  const env = { ...deployment.settings, REDIS_URL: `redis://${absent}` }
  const worker = await startApp({ app: 'worker', env, log: (line) => log.push(line) })
  onTestFinished(async () => {
    worker.kill('SIGKILL')
    await worker.exited
  })
  const line = await until('the log', () => log.find(({ msg }) => msg === 'not ready: waiting for queue'))
  expect(line).toMatchObject({ reasons: { queue: `REDIS_URL: connect ECONNREFUSED ${absent}` } })
})

test('a process whose port is in use names the setting in one line, without a stack', async () => {
  const deployment = await openSmallDeployment()
  onTestFinished(() => deployment.close())
  const server = createServer()
  onTestFinished(() => void server.close())
  const port = String(await listenOn(server))
  const settings = {
    api: 'API_PORT',
    worker: 'METRICS_PORT',
    dashboard: 'DASHBOARD_PORT',
    's3-gateway': 'S3_GATEWAY_PORT',
  }
  const reports = await refusals(appNames, {
    ...deployment.settings,
    ...Object.fromEntries(Object.values(settings).map((setting) => [setting, port])),
    DASHBOARD_URL: 'http://dashboard.test',
    S3_GATEWAY_URL: 'http://s3.test',
    ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
  })
  const advice = 'Stop the program that listens there, or set another port'
  const said = [...reports].map(([app, report]) => [app, report.slice(report.indexOf('Settings:'))] as const)
  expect(Object.fromEntries(said)).toEqual(
    Object.fromEntries(
      Object.entries(settings).map(([app, setting]) => [
        app,
        `Settings:\n  ${setting} ${port} is in use. ${advice}\nexit 1\n`,
      ]),
    ),
  )
})

async function untilLogged(api: { log(): string }, expected: object): Promise<void> {
  await until(JSON.stringify(expected), () =>
    api
      .log()
      .split('\n')
      .some((line) => line.startsWith('{') && matches(JSON.parse(line), expected)),
  )
}

function matches(line: object, expected: object): boolean {
  return Object.entries(expected).every(
    ([name, value]) => JSON.stringify(Reflect.get(line, name)) === JSON.stringify(value),
  )
}
