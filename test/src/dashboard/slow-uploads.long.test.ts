import { connect } from 'node:net'
import { clientPolicy } from '@sluice/service'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { openAppWith } from './import-runs.ts'
import { openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { openVisitor, signIn, type Visitor } from './visitor.ts'

// Members who send files slowly, or many files at the same moment, must not block members of another app.
const boundary = 'the-boundary'
const multipart = { 'Content-Type': `multipart/form-data; boundary=${boundary}` }
const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\n\r\nuser_id,age\n`
const share = 5

let dashboard: TestDashboard
beforeAll(async () => {
  // An upload that stalls is ended within two seconds.
  const upload = { ...clientPolicy.upload, graceMs: 2_000 }
  dashboard = await openTestDashboard(undefined, { ...clientPolicy, upload })
  return () => dashboard.close()
})

const importsOf = (appId: number) =>
  dashboard.db.selectFrom('imports').selectAll().where('app_id', '=', appId).execute()

/** Uploads the beginning of a file, then single bytes. Returns the status, or 'ended' if the connection was closed. */
function slowUpload(visitor: Visitor, page: string) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  writer.write(Buffer.from(head)).catch(() => {})
  const trickle = setInterval(() => void writer.write(Buffer.from('u')).catch(() => {}), 100)
  return visitor
    .postBody(page, readable, multipart, page)
    .then(({ status }) => status)
    .catch(() => 'ended' as const)
    .finally(() => clearInterval(trickle))
}

test('slow uploads of one member use at most a share of the uploads and are ended, while another app uploads', async () => {
  const [attacker, other] = [await openAppWith(dashboard, []), await openAppWith(dashboard, [])]
  const attackerPage = `/apps/${attacker.appId}/data-import`
  const otherPage = `/apps/${other.appId}/data-import`
  const [member, visitor] = [await signIn(dashboard, attacker.email), await signIn(dashboard, other.email)]

  const slow = Array.from({ length: 20 }, () => slowUpload(member, attackerPage))
  await until('a full share of uploads', async () => (await importsOf(attacker.appId)).length === share)
  const answer = await visitor.postFile(otherPage, 'people.csv', new Blob(['user_id,age\nu1,1\n']))
  expect(answer.status).toBe(303)

  const statuses = await Promise.all(slow)
  expect(statuses.filter((status) => status === 503)).toHaveLength(20 - share)
  expect(statuses.filter((status) => status === 408 || status === 'ended')).toHaveLength(share)
  await until('the removal of their imports', async () => (await importsOf(attacker.appId)).length === 0)
  expect((await member.postFile(attackerPage, 'people.csv', new Blob(['user_id\nu1\n']))).status).toBe(303)
})

test('slow forms of strangers use at most a share of the connections, while members sign in', async () => {
  const stranger = openVisitor(dashboard)
  const { port } = new URL(dashboard.url)
  const form = 'POST /sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n'
  const sockets = Array.from({ length: 60 }, () => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(`${form}Content-Length: 1000\r\n\r\nemail=`)
    return socket
  })
  const answers = { refused: 0 }
  for (const socket of sockets)
    socket.on('data', (chunk) => void (/^HTTP\/1.1 429/.test(`${chunk}`) && answers.refused++))
  await until('a full share of connections', () => answers.refused === 20)
  expect((await stranger.get('/sign-in')).status).toBe(200)
  const member = await openAppWith(dashboard, [])
  for (const socket of sockets) socket.destroy()
  await signIn(dashboard, member.email)
})
