// The process of another tenant. Repeats the same requests, and measures how long each request takes.
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { send } from '@sluice/s3-endpoint/testing'
import { stackBucket } from '../../s3-gateway/bucket-owner.ts'
import { bulkImport, declare, statusOf, upload } from '../../stack/client.ts'
import { type Kind, type NeighbourPlan, type Sample, smallImport } from './neighbour.ts'

/** Pause between two requests of a kind, ms. */
const pauseMs = 100
const importPauseMs = 1_000

let samples: Sample[] = []
const begun = new Map<Kind, number>()

process.once('message', (plan: NeighbourPlan) => {
  process.on('message', () => {
    const now = performance.now()
    process.send?.([...samples, ...[...begun].map(([kind, since]) => ({ kind, ms: now - since }))])
    samples = []
  })
  process.once('disconnect', () => process.exit(0))
  start(plan)
})

function start({ urls, owner, requesting, importing }: NeighbourPlan): void {
  const json = (token: string) => ({ 'Content-Type': 'application/json', 'X-Service-Token': token })
  const file = (age: number) => Buffer.from(`user_id,age\nu1,${age}\n`)
  void repeat('profile update', pauseMs, async (index) => {
    const entries = [{ key: 'age', type: 'int', value: index }]
    const body = JSON.stringify({ user_id: 'u1', user_profiles: entries })
    expectStatus(await ask(`${urls.api}/v2/user_profiles`, 'POST', json(owner.token), body), 202)
  })
  void repeat('first import request', 3 * pauseMs, async (index) => {
    const headers = json(pickInRotation(requesting, index))
    expectStatus(await ask(`${urls.api}${bulkImport}`, 'POST', headers, JSON.stringify(declare(file(index)))), 200)
  })
  void repeat('gateway listing', pauseMs, async () => {
    const path = `/${stackBucket}?list-type=2&prefix=${encodeURIComponent(owner.path)}`
    const { accessKeyId, secretAccessKey } = owner
    expectStatus((await send(urls.s3Gateway, { path, accessKeyId, secretAccessKey })).status, 200)
  })
  void repeat('sign-in page', pauseMs, async () => expectStatus(await ask(`${urls.dashboard}/sign-in`, 'GET', {}), 200))
  void repeat(smallImport, importPauseMs, async (index) => {
    const token = pickInRotation(importing, index)
    const importId = await upload(urls.api, token, file(index))
    for (;;) {
      const { state, finished_at: finished } = await statusOf(urls.api, token, importId)
      if (finished === null) await delay(pauseMs)
      else if (state === 'completed') return
      else throw new Error(state)
    }
  })
}

async function repeat(kind: Kind, between: number, work: (index: number) => Promise<void>): Promise<void> {
  for (let index = 0; ; index++) {
    const since = performance.now()
    begun.set(kind, since)
    const problem = await work(index).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    begun.delete(kind)
    samples.push({ kind, ms: performance.now() - since, ...(problem !== undefined && { problem }) })
    await delay(between)
  }
}

function pickInRotation(tokens: readonly string[], index: number): string {
  return tokens[index % tokens.length] ?? ''
}

function expectStatus(status: number, expected: number): void {
  if (status !== expected) throw new Error(`status ${status}`)
}

/** Sends a request on a new connection, as a new client does. Returns the status after the whole answer has arrived. */
async function ask(url: string, method: string, headers: Record<string, string>, body = ''): Promise<number> {
  const length = body === '' ? {} : { 'Content-Length': Buffer.byteLength(body) }
  const sending = request(url, { method, headers: { ...headers, ...length }, agent: false })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sending.once('response', resolve)
    sending.once('error', reject)
  })
  sending.end(body)
  const response = await answered
  for await (const _ of response) {
    // Reads the answer to its end.
  }
  return response.statusCode ?? 0
}
