import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { formTokenIn } from '../../../dashboard/visitor.ts'
import { until } from '../../../environment/wait.ts'
import { declare, requestImport } from '../../../stack/client.ts'
import { type Attack, type AttackContext, atLeast } from '../attack.ts'
import { pauseFor, type SlowClient, signIn, trickle, unfinishedImports } from '../attackers.ts'

export const dashboardAttacks: Attack[] = [
  {
    title: '20 slow uploads of one member, and an upload of another app',
    async attack(context) {
      const { stack, signal } = context
      const { appId, email } = await context.openAttacker()
      const slow = await slowForms(context, appId, email, 20)
      await until('all slow uploads to be accepted or refused', async () => {
        const accepted = await unfinishedImports(stack, appId)
        return signal.aborted || accepted + slow.filter((client) => client.isAnswered()).length >= slow.length
      })
      const status = await uploadOfOther(context)
      for (const client of slow) client.end()
      return { 'status of the other upload': status, 'accepted uploads': status === 303 ? 1 : 0 }
    },
    expect: (figures) => atLeast(figures, 'accepted uploads', 1),
  },
  {
    title: '40 requests for links from one address, five of them for the address of another person',
    async attack(context) {
      const { stack, signal } = context
      const { email } = await context.openAttacker()
      for (let index = 0; index < 40 && !signal.aborted; index++) {
        await askForLink(context, '127.0.0.66', index < 5 ? email : `nobody-${index}@example.org`)
      }
      const before = (await stack.mailsTo(email)).length
      const status = await askForLink(context, '127.0.0.1', email)
      const limit = AbortSignal.any([signal, AbortSignal.timeout(10_000)])
      while (!limit.aborted && (await stack.mailsTo(email)).length <= before) await pauseFor(limit, 200)
      return { 'status for the owner': status, 'links for the owner': (await stack.mailsTo(email)).length - before }
    },
    expect: (figures) => atLeast(figures, 'links for the owner', 1),
  },
  {
    title: '200 live streams of one app, and a stream of another app',
    inSample: true,
    async attack(context) {
      const { signal, urls, stack } = context
      const { appId, token, email } = await context.openAttacker()
      const page = await pageOfNewImport(context, appId, token)
      const members = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          const address = `watcher-${index}-${appId}@example.org`
          await stack.db.insertInto('members').values({ app_id: appId, email: address }).execute()
          return (await signIn(context, address)).cookies()
        }),
      )
      const cookies = [...members, (await signIn(context, email)).cookies()]
      const streams = cookies.flatMap((cookie) =>
        Array.from({ length: 20 }, () => trickle(signal, urls.dashboard, streamHead(page, cookie), '')),
      )
      await until('all streams to be accepted or refused', () => {
        return signal.aborted || streams.every((stream) => stream.isAnswered())
      })
      const other = await context.openAttacker()
      const otherPage = await pageOfNewImport(context, other.appId, other.token)
      const status = await streamStatus(context, otherPage, (await signIn(context, other.email)).cookies())
      for (const stream of streams) stream.end()
      return { 'status of the other stream': status, 'accepted streams': status === 200 ? 1 : 0 }
    },
    expect: (figures) => atLeast(figures, 'accepted streams', 1),
  },
]

async function pageOfNewImport({ urls }: AttackContext, appId: number, token: string): Promise<string> {
  const { importId } = await requestImport(urls.api, token, declare(Buffer.from('user_id,a\nu1,1\n')))
  return `/apps/${appId}/imports/${importId}`
}

function streamHead(page: string, cookie: string): string {
  return `GET ${page}/events HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`
}

/** Opens a stream and closes it. Returns the status of the answer. */
async function streamStatus({ urls, signal }: AttackContext, page: string, cookie: string): Promise<number> {
  const ending = new AbortController()
  const response = await fetch(`${urls.dashboard}${page}/events`, {
    headers: { Cookie: cookie },
    signal: AbortSignal.any([signal, ending.signal]),
  }).catch(() => undefined)
  ending.abort()
  return response?.status ?? 0
}

async function slowForms(context: AttackContext, appId: number, email: string, count: number): Promise<SlowClient[]> {
  const visitor = await signIn(context, email)
  const page = `/apps/${appId}/data-import`
  const form = await visitor.get(page)
  const token = formTokenIn(form.text)
  const body = `--b\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n${token}\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\nuser_id,a\n`
  const head = `POST ${page} HTTP/1.1\r\nHost: x\r\nCookie: ${visitor.cookies()}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n${body}`
  return Array.from({ length: count }, () => trickle(context.signal, context.urls.dashboard, head))
}

async function uploadOfOther(context: AttackContext): Promise<number> {
  const { appId, email } = await context.openAttacker()
  const visitor = await signIn(context, email)
  return (await visitor.postFile(`/apps/${appId}/data-import`, 'a.csv', new Blob(['user_id,a\nu1,1\n']))).status
}

/** Requests a sign-in link from a network address of this machine. Returns the status. */
async function askForLink({ urls }: AttackContext, from: string, email: string): Promise<number> {
  const page = await askFrom(from, `${urls.dashboard}/sign-in`)
  const token = formTokenIn(page.text)
  const body = new URLSearchParams({ form_token: token, email }).toString()
  return (await askFrom(from, `${urls.dashboard}/sign-in`, { cookie: page.cookie, body })).status
}

async function askFrom(localAddress: string, url: string, form?: { cookie: string; body: string }) {
  const headers = form && { Cookie: form.cookie, 'Content-Type': 'application/x-www-form-urlencoded' }
  const sending = request(url, { method: form ? 'POST' : 'GET', agent: false, localAddress, headers: { ...headers } })
  const answered = once(sending, 'response')
  sending.end(form?.body)
  const [response] = (await answered) as [IncomingMessage]
  const cookie = (response.headers['set-cookie'] ?? []).map((line) => line.split(';')[0]).join('; ')
  return { status: response.statusCode ?? 0, cookie, text: await text(response) }
}
