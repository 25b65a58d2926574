import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { createAccessKey } from '@sluice/access-keys'
import { createApp } from '@sluice/accounts'
import { pathOf } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import { registerUsers } from '@sluice/profiles'
import { beforeAll, expect, test } from 'vitest'
import { signIn } from '../dashboard/visitor.ts'
import { freePort } from '../environment/free-port.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { openSmallDeployment } from '../faults/harness/small-deployment.ts'
import { upload } from '../stack/client.ts'

// The process that takes a file wakes a worker for it. No maintenance runs here, which would notice uploads and
// queued imports as well, up to a second later.
const deployment = openBeforeAll(() => openSmallDeployment({ UPLOAD_CHECK_INTERVAL: '60s' }))
const email = 'ann@example.com'
let app: { appId: number; token: string }
const file = Buffer.from('user_id,age\na,7\n')

beforeAll(async () => {
  await deployment.start('worker', { WORKER_QUEUES: 'imports' })
  await deployment.start('api')
  const { appId, apiToken: token } = await createApp(deployment.db, { name: 'Shop', email })
  await registerUsers(deployment.db, appId, ['a'])
  app = { appId, token }
})

async function completed(): Promise<void> {
  await until('the end of the import', async () => {
    const { db } = deployment
    const found = await db.selectFrom('imports').select('state').where('app_id', '=', app.appId).execute()
    return found.length > 0 && found.every(({ state }) => state === 'completed')
  })
}

// changes.md §5.
test('an upload of v3 is imported at once', async () => {
  await upload(deployment.api, app.token, file)
  await completed()
})

test('a file in the body of v2 is imported at once', async () => {
  const headers = { 'X-Service-Token': app.token, 'Content-Type': 'text/csv' }
  const answer = await fetch(`${deployment.api}/v2/user_profiles/bulk_import`, { method: 'POST', headers, body: file })
  expect(answer.status).toBe(202)
  await completed()
})

test('a file in the bucket is imported at once', async () => {
  const { info } = await deployment.start('s3-gateway', { S3_GATEWAY_PORT: '0' })
  const { address } = info as { address: { port: number } }
  const { ENCRYPTION_KEYS: keys } = readSettings(deployment.settings, ['ENCRYPTION_KEYS'])
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${address.port}`,
    region: 'us-east-1',
    credentials: await createAccessKey(deployment.db, keys, app.appId),
    forcePathStyle: true,
  })
  const Key = `${pathOf(app.appId)}people.csv`
  await client.send(new PutObjectCommand({ Bucket: deployment.storageSettings.S3_BUCKET, Key, Body: file }))
  client.destroy()
  await completed()
})

test('a file from the dashboard is imported at once', async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const settings = { DASHBOARD_PORT: String(port), DASHBOARD_URL: url, S3_GATEWAY_URL: 'http://127.0.0.1' }
  await deployment.start('dashboard', settings)
  const visitor = await signIn({ db: deployment.db, url }, email)
  const answer = await visitor.postFile(`/apps/${app.appId}/data-import`, 'people.csv', new Blob([file]))
  expect(answer.status).toBe(303)
  await completed()
})
