import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { until } from '../environment/wait.ts'
import type { Services } from './containers.ts'
import type { RunningImage } from './run-image.ts'

const file = Buffer.from('user_id,color\nann,red\nbob,green\n')

/** Uses the service as a client does: the API, the S3 gateway, the dashboard, and the mail about an import. */
export async function useService({ services, servers, host }: RunningImage): Promise<void> {
  const api = `http://${services.addressOf('api')}:3000`
  const email = 'ann@example.com'
  const app = await services.sluice('api', ['app', 'create', '--name', 'Shop', '--email', email])
  const token = { 'X-Service-Token': String(app.api_token), 'Content-Type': 'application/json' }
  const users = await fetch(`${api}/v1/users`, {
    ...{ method: 'POST', headers: token, body: JSON.stringify({ user_ids: ['ann', 'bob'] }) },
  })
  assert(users.ok, await users.clone().text())

  await importOverApi(api, token, host)
  console.log('an import over the API completed')
  await uploadToGateway(services, Number(app.app_id))
  await until('the import of the uploaded file', async () => (await completed(api, token)).length === 2)
  console.log('an upload to the S3 gateway was imported')

  const page = await fetch(`http://${services.addressOf('dashboard')}:3001/sign-in`)
  assert.equal(page.status, 200)
  assert.match(await page.text(), /Sign in/)
  console.log('the dashboard shows its sign-in page')
  const mails = async () => (await (await fetch(`${servers.inbox.url}/api/mails`)).json()) as { to: string[] }[]
  await until(
    'the mails about both imports',
    async () => (await mails()).filter(({ to }) => to.includes(email)).length === 2,
  )
  console.log('the mails about both imports arrived')
}

async function importOverApi(api: string, headers: Record<string, string>, storageHost: string): Promise<void> {
  const checksum = createHash('md5').update(file).digest('base64')
  const response = await fetch(`${api}/v3/user_profiles/bulk_import`, {
    ...{ method: 'POST', headers, body: JSON.stringify({ checksum, byte_size: String(file.length) }) },
  })
  assert(response.ok, await response.clone().text())
  const { direct_upload: upload } = (await response.json()) as {
    direct_upload: { url: string; headers: Record<string, string> }
  }
  // The address is for clients of the machine, who reach storage as localhost. `Host` is signed.
  const address = new URL(upload.url)
  const sent = request({
    ...{ host: storageHost, port: address.port, path: `${address.pathname}${address.search}`, method: 'PUT' },
    headers: { ...upload.headers, Host: address.host, 'Content-Length': file.length },
  }).end(file)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  assert.equal(answer.statusCode, 200, await text(answer))
  await until('the import over the API', async () => (await completed(api, headers)).length === 1)
}

async function uploadToGateway(services: Services, appId: number): Promise<void> {
  const key = await services.sluice('s3-gateway', ['key', 'create', '--app', String(appId)])
  const client = new S3Client({
    endpoint: `http://${services.addressOf('s3-gateway')}:3006`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: String(key.access_key_id), secretAccessKey: String(key.secret_access_key) },
  })
  await client.send(new PutObjectCommand({ Bucket: 'sluice', Key: `uploads/${appId}/people.csv`, Body: file }))
  client.destroy()
}

/** Returns the imports that completed without invalid rows. */
async function completed(api: string, headers: Record<string, string>): Promise<unknown[]> {
  const response = await fetch(`${api}/v3/user_profiles/bulk_import?state=completed`, { headers })
  assert(response.ok, await response.clone().text())
  return ((await response.json()) as { imports: unknown[] }).imports
}
