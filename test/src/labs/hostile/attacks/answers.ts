import { randomBytes } from 'node:crypto'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { sql } from '@sluice/database'
import { begin } from '@sluice/s3-endpoint/testing'
import { formTokenIn, type Visitor } from '../../../dashboard/visitor.ts'
import { stackBucket } from '../../../s3-gateway/bucket-owner.ts'
import { bulkImport, ended, upload } from '../../../stack/client.ts'
import { type Attack, type AttackContext, atLeast, atMost, type Figures } from '../attack.ts'
import { attackWith, countStatuses, pauseFor, signIn } from '../attackers.ts'

/** How long an attack repeats its requests, ms. */
const repeatMs = 20_000

/** More bytes than the kernel takes for a client that does not read. */
const kernelBytes = 8 * 2 ** 20

/** Attacks with answers that are large, that nobody reads, or that cost much. */
export const answerAttacks: Attack[] = [
  {
    title: '60 lists at once, again and again, of one app whose imports have large types and warnings',
    env: { RATE_LIMIT_IMPORT_LIST: '100000/60s' },
    async attack(context) {
      const { urls, openAttacker } = context
      const { token } = await openAttacker()
      await makeLargeViews(context, token)
      const headers = { 'X-Service-Token': token }
      const list = (signal: AbortSignal) => attackWith(signal, largeList(urls.api), 'GET', headers)
      return await repeat(context, 60, list)
    },
    expect: (figures) => atLeast(figures, 'status 200', 60),
  },
  {
    title: 'large answers that nobody reads, on every server',
    longestMs: 180_000,
    async attack(context) {
      const { signal, urls } = context
      const { appId, token, email, path, accessKeyId, secretAccessKey } = await context.openAttacker()
      await makeLargeViews(context, token)
      const Cookie = (await signIn(context, email)).cookies()
      const listing = `/${stackBucket}?list-type=2&prefix=${encodeURIComponent(path)}`
      const requests = [
        () => request(largeList(urls.api), { agent: false, headers: { 'X-Service-Token': token } }),
        () => request(`${urls.api}/docs`, { agent: false }),
        () => request(`${urls.dashboard}/apps/${appId}/imports`, { agent: false, headers: { Cookie } }),
        () => request(`${urls.dashboard}/sign-in`, { agent: false }),
        () => begin(urls.s3Gateway, { path: listing, accessKeyId, secretAccessKey }),
      ]
      const unread = requests.flatMap((make) => Array.from({ length: 100 }, () => leaveUnread(signal, make())))
      await pauseFor(signal, 75_000)
      const lengths = await Promise.all(unread.map((answer) => answer.readRest()))
      return { connections: unread.length, 'kept for 75 s': lengths.filter((length) => length > kernelBytes).length }
    },
    expect: (figures) => atMost(figures, 'kept for 75 s', 0),
  },
  {
    title: '30 mappings/find at once, again and again',
    attack: async (context) => {
      const { appId, visitor } = await openMember(context)
      const page = `/apps/${appId}/data-import`
      const names = Array.from({ length: 15_000 }, () => randomBytes(2).toString('hex'))
      const form = { form_token: formTokenIn((await visitor.get(page)).text), columns: JSON.stringify(names) }
      return await repeatForm(context, visitor, `${page}/mappings/find`, form)
    },
  },
  {
    title: '30 pages of one member at once, again and again',
    attack: async (context) => {
      const { appId, visitor } = await openMember(context)
      const headers = { Cookie: visitor.cookies(), Accept: 'text/html' }
      const areas = [
        'imports',
        'data-import',
        'credentials',
        'webhooks',
        'profiles',
        'deletions',
        'settings',
        'audit-log',
      ]
      let next = 0
      return await repeat(context, 30, (signal) =>
        attackWith(signal, `${context.urls.dashboard}/apps/${appId}/${areas[next++ % areas.length]}`, 'GET', headers),
      )
    },
  },
]

const largeList = (api: string) => `${api}${bulkImport}?limit=100`

/** Makes a dry run of a file with many columns, whose view is large, and 99 copies of the dry run. */
async function makeLargeViews({ urls, stack }: AttackContext, token: string): Promise<void> {
  const columns = Array.from({ length: 480 }, (_, index) => `${index}`.padStart(200, 'n'))
  const row = `u1${',007'.repeat(columns.length)}\n`
  const file = gzipSync(`user_id,${columns.join(',')}\n${row.repeat(20)}`)
  const importId = await upload(urls.api, token, file, 'application/gzip', { dry_run: true })
  await ended(urls.api, token, importId)
  await sql`
    insert into imports (app_id, source, state, dry_run, object_key, content_type, columns, types, warnings, finished_at)
    select app_id, source, state, dry_run, object_key || n, content_type, columns, types, warnings, finished_at
    from imports, generate_series(1, 99) as n where import_id = ${importId}
  `.execute(stack.db)
}

/** Sends `count` requests at a time for {@link repeatMs}. Returns the number of answers by status. */
async function repeat(
  { signal }: AttackContext,
  count: number,
  send: (signal: AbortSignal) => Promise<{ status: number }>,
): Promise<Figures> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(repeatMs)])
  const answers: { status: number }[] = []
  const client = async () => {
    while (!over.aborted) {
      const answer = await send(over)
      answers.push(answer)
      // A client that is refused at once waits, so that the attack does not measure its own requests.
      if (answer.status === 429) await pauseFor(over, 100)
    }
  }
  await Promise.all(Array.from({ length: count }, client))
  return countStatuses(answers)
}

async function repeatForm(
  context: AttackContext,
  visitor: Visitor,
  path: string,
  form: Record<string, string>,
): Promise<Figures> {
  const headers = { Cookie: visitor.cookies(), 'Content-Type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams(form).toString()
  const send = (signal: AbortSignal) => attackWith(signal, `${context.urls.dashboard}${path}`, 'POST', headers, body)
  return { 'bytes each': body.length, ...(await repeat(context, 30, send)) }
}

async function openMember(context: AttackContext): Promise<{ appId: number; visitor: Visitor }> {
  const { appId, email } = await context.openAttacker()
  return { appId, visitor: await signIn(context, email) }
}

/** A request whose answer is not read at first. */
interface Unread {
  /** Reads the answer at last. Returns the number of bytes of its body, or 0 if the server did not send all of it. */
  readRest(): Promise<number>
}

function leaveUnread(signal: AbortSignal, sending: ClientRequest): Unread {
  // An answer without a listener for its data is not read.
  const answered = new Promise<IncomingMessage | undefined>((resolve) => {
    sending.once('response', (response) => resolve(response.on('error', () => {})))
    sending.on('error', () => resolve(undefined))
  })
  signal.addEventListener('abort', () => sending.destroy(), { once: true })
  sending.end()
  return {
    async readRest() {
      const response = await answered
      let bytes = 0
      if (response === undefined || response.destroyed) return 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      await new Promise((resolve) => void response.once('close', resolve))
      return response.complete ? bytes : 0
    },
  }
}
