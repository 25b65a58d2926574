import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { hasProgram, runProgram } from '../environment/program.ts'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import type { AppProcess } from '../faults/harness/app-process.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { untilAllEnded } from '../faults/harness/comparison.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { openSmallDeployment } from '../faults/harness/small-deployment.ts'

const hasPromtool = await hasProgram('promtool')

/** Starts an API and a worker, and uploads a file of one app. */
async function startWithUpload() {
  const deployment = await openSmallDeployment({ RATE_LIMIT_IMPORT_STATUS: '3/60s' })
  onTestFinished(() => deployment.close())
  const [api, worker] = await Promise.all([deployment.start('api'), deployment.start('worker')])
  const app = await openClientApp(deployment)
  const importId = await upload(deployment, app, generateSoundFile(seeded(1), 1, 300))
  return { deployment, api, worker, app, importId }
}

test('API and worker export their work and what waits, under the names that alerts and dashboard use', async () => {
  const { deployment, api, worker, app, importId } = await startWithUpload()
  const path = '/v3/user_profiles/bulk_import'
  const headers = { 'X-Service-Token': app.token }
  for (let request = 0; request < 5; request++) await fetch(`${deployment.api}${path}/${importId}`, { headers })
  await untilAllEnded(deployment, [app], 60_000)
  const ended = await deployment.db.selectFrom('imports').selectAll().executeTakeFirstOrThrow()
  await until('the mails', async () => {
    const mails = await deployment.db.selectFrom('mails').select('state').execute()
    return mails.length === 2 && mails.every(({ state }) => state !== 'waiting')
  })
  // Waiting imports are counted at the first look at the metrics, and then only every few seconds.
  await deployment.db
    .insertInto('imports')
    .values({ ...waiting, app_id: app.appId })
    .execute()
  expect(await metric(worker, 'sluice_imports{state="awaiting_upload"}')).toBe(1)
  expect(await metric(worker, 'sluice_import_oldest_waiting_seconds{app_class="one"}')).toBe(0)

  await until(
    'the failed mail to be counted',
    async () => (await metric(worker, 'sluice_mail_attempts_total{outcome="failed"}')) === 1,
  )
  const counted = (outcome: string) => metric(worker, `sluice_import_rows_total{outcome="${outcome}"}`)
  expect([await counted('applied'), await counted('failed')]).toEqual([ended.rows_applied, ended.rows_failed])
  expect(await metric(worker, 'sluice_import_bytes_total')).toBe(ended.position)
  expect(await metric(worker, 'sluice_import_batch_duration_seconds_count')).toBeGreaterThan(1)
  expect(await metric(worker, 'sluice_import_claims_total{outcome="completed"}')).toBe(1)
  expect(await metric(worker, 'sluice_mail_attempts_total{outcome="sent"}')).toBe(1)
  expect(await metric(worker, 'sluice_maintenance_runs_total{task="dispatch",outcome="done"}')).toBeGreaterThan(0)
  expect(await metric(worker, 'bullmq_job_count{queue="imports", state="waiting"}')).toBe(0)
  expect(await metric(worker, 'sluice_database_connections{state="open"}')).toBeGreaterThan(0)
  expect(await metric(worker, 'nodejs_eventloop_lag_seconds')).toBeGreaterThanOrEqual(0)

  const requests = (method: string, route: string, status: number) =>
    metric(api, `sluice_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`)
  expect(await requests('POST', path, 200)).toBe(1)
  expect(await requests('GET', `${path}/:import_id`, 200)).toBe(3)
  expect(await requests('GET', `${path}/:import_id`, 429)).toBe(2)
  expect(await metric(api, 'sluice_rate_limited_requests_total{function="import_status"}')).toBe(2)

  expect((await fetch(String(api.info.metrics), { method: 'HEAD' })).status).toBe(200)

  const shown = new Set(await namesOf([api, worker]))
  expect(namesInInfra().filter((name) => !shown.has(name))).toEqual([])
})

test.skipIf(!hasPromtool)('Prometheus accepts the format of the metrics', async () => {
  const { deployment, api, worker, app } = await startWithUpload()
  await untilAllEnded(deployment, [app], 60_000)
  for (const each of [api, worker]) {
    const { code, output } = await runProgram('promtool', ['check', 'metrics'], { input: await metricsOf(each) })
    const warnings = output
      .split('\n')
      .filter((line) => /^(sluice|bullmq)_/.test(line) && !line.startsWith('bullmq_job_count'))
    expect([code === 0 || code === 3, warnings]).toEqual([true, []])
  }
})

/** Returns the names of all exported metrics, including the parts of histograms. */
async function namesOf(processes: readonly AppProcess[]): Promise<string[]> {
  const texts = await Promise.all(processes.map(metricsOf))
  const declared = [...texts.join('\n').matchAll(/^# TYPE (\w+) (\w+)$/gm)]
  return declared.flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  )
}

/** Returns the metric names that the alerts and the dashboard use. */
function namesInInfra(): string[] {
  const files = ['prometheus/alerts.yml', 'grafana/sluice.json']
  const texts = files.map((file) => readFileSync(new URL(`../../../infra/${file}`, import.meta.url), 'utf8'))
  // The address of the dashboard is an external label of Prometheus, and no metric.
  return [...new Set(texts.join('\n').match(/\b(?:sluice|bullmq|nodejs|process)_(?!dashboard\b)\w+/g))]
}

const waiting = {
  source: 'v3',
  state: 'awaiting_upload',
  object_key: 'nowhere',
  content_type: 'text/csv',
  upload_expires_at: new Date(Date.now() + 300_000),
} as const

async function metricsOf({ info }: AppProcess): Promise<string> {
  return await (await fetch(String(info.metrics))).text()
}

/** Returns the value of a metric with exactly these labels, or undefined if it is not exported. */
async function metric(process: AppProcess, name: string): Promise<number | undefined> {
  const line = (await metricsOf(process)).split('\n').find((line) => line.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}
