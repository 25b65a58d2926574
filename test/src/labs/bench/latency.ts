import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { registerUsers } from '@sluice/profiles'
import { signIn } from '../../dashboard/visitor.ts'
import { type BucketOwner, openBucketOwner, s3ClientOf, stackBucket } from '../../s3-gateway/bucket-owner.ts'
import { declare, put, requestImport } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { median, printTargets, quantile } from './measuring.ts'
import { measureWaiting } from './waiting.ts'

const rows = 100

const limits = Object.fromEntries(
  ['BULK_IMPORT', 'BULK_IMPORT_V2', 'IMPORT_STATUS', 'BUCKET_IMPORT', 'DASHBOARD_IMPORT', 'SIGN_IN_CLIENT'].map(
    (name) => [`RATE_LIMIT_${name}`, '1000000/60s'],
  ),
)

/** Makes everything ready for a file. The returned function sends its bytes, and resolves when they are taken. */
type Prepare = (file: Buffer) => Promise<() => Promise<void>>

/**
 * Measures the time from the sending of a small file to the end of its import: files of 100 rows, one after the other,
 * by each route. The time of the upload itself is included. Then measures requests that wait for a state.
 * `[--files N] [--waiting N] [--redis URL]`. Returns whether the targets are met.
 */
export async function benchLatency(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      files: { type: 'string', default: '100' },
      waiting: { type: 'string', default: '10000' },
      redis: { type: 'string' },
    },
  })
  const env = { ...limits, LOG_LEVEL: 'warn' }
  const stack = await startStack({ env, ...(values.redis !== undefined && { redisUrl: values.redis }) })
  try {
    const owner = await openBucketOwner(stack)
    const users = Array.from({ length: rows }, (_, number) => `user${number}`)
    await registerUsers(stack.db, owner.appId, users)
    const times: Record<string, number[]> = {}
    for (const [route, open] of Object.entries(routes)) {
      times[route] = await measure(stack, owner, await open(stack, owner), Number(values.files))
    }
    const waiting = await measureWaiting(stack, Number(values.waiting))
    const [v3 = [], ...others] = Object.values(times)
    return printTargets([
      { name: 'v3, median, ms', measured: median(v3), must: 150, stretch: 80, digits: 0 },
      { name: 'v3, p99, ms', measured: quantile(v3, 0.99), must: 400, stretch: 200, digits: 0 },
      ...Object.keys(times)
        .slice(1)
        .flatMap((route, index) => {
          const taken = others[index] ?? []
          return [
            { name: `${route}, median, ms`, measured: median(taken), must: 250, digits: 0 as const },
            { name: `${route}, p99, ms`, measured: quantile(taken, 0.99), digits: 0 as const },
          ]
        }),
      ...waiting,
    ])
  } finally {
    await stack.stop()
  }
}

/** Sends files one after the other. Returns the time of each until its import has ended, ms. */
async function measure(stack: RunningStack, { appId }: BucketOwner, prepare: Prepare, files: number) {
  const times: number[] = []
  // The first files find cold processes.
  for (let number = -5; number < files; number++) {
    const lines = Array.from({ length: rows }, (_, user) => `user${user},${number},${crypto.randomUUID()}`)
    const send = await prepare(Buffer.from(`user_id,age,city\n${lines.join('\n')}\n`))
    const ended = await countEnded(stack, appId)
    const began = performance.now()
    await send()
    while ((await countEnded(stack, appId)) === ended) await delay(2)
    if (number >= 0) times.push(performance.now() - began)
  }
  return times
}

async function countEnded({ db }: RunningStack, appId: number): Promise<number> {
  const { ended } = await db
    .selectFrom('imports')
    .select(({ fn }) => fn.countAll<number>().as('ended'))
    .where('app_id', '=', appId)
    .where('finished_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return ended
}

/** By route, returns how files are sent. */
const routes: Record<string, (stack: RunningStack, owner: BucketOwner) => Promise<Prepare>> = {
  async v3({ api }, { token }) {
    return async (file) => {
      const { url, headers } = await requestImport(api, token, declare(file))
      return async () => assert.equal((await put(url, headers, file)).status, 200)
    }
  },
  async v2({ api }, { token }) {
    const headers = { 'X-Service-Token': token, 'Content-Type': 'text/csv' }
    return async (body) => async () => {
      const answer = await fetch(`${api}/v2/user_profiles/bulk_import`, { method: 'POST', headers, body })
      assert.equal(answer.status, 202)
    }
  },
  async bucket(_, owner) {
    const client = s3ClientOf(owner)
    return async (Body) => async () => {
      const Key = `${owner.path}${crypto.randomUUID()}.csv`
      await client.send(new PutObjectCommand({ Bucket: stackBucket, Key, Body }))
    }
  },
  async dashboard(stack, { appId, email }) {
    const { dashboard = '' } = await stack.info()
    const visitor = await signIn({ db: stack.db, url: dashboard }, email)
    return async (file) => async () => {
      const answer = await visitor.postFile(`/apps/${appId}/data-import`, 'people.csv', new Blob([file]))
      assert.equal(answer.status, 303)
    }
  },
}
