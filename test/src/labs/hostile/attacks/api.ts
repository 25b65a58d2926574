import { type Attack, type AttackContext, atLeast, atMost, type Figures } from '../attack.ts'
import { attackWith, countStatuses, pauseFor, type SlowClient, trickle } from '../attackers.ts'
import { commaBomb } from './files.ts'

const json = (token: string) => ({ 'Content-Type': 'application/json', 'X-Service-Token': token })
const v2 = '/v2/user_profiles/bulk_import'

/** Returns the head of a request whose body never ends. */
const endless = (method: string, path: string, type: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 1000000\r\n\r\n`

export const apiAttacks: Attack[] = [
  {
    title: '80 bodies of 9 MB at once, from one app',
    inSample: true,
    attack: (context) => sendLargeBodies(context, 1),
    expect: (figures) => atMost(figures, 'refused without Retry-After', 0),
  },
  {
    title: '80 bodies of 9 MB at once, from ten apps',
    attack: (context) => sendLargeBodies(context, 10),
    expect: (figures) => atMost(figures, 'refused without Retry-After', 0),
  },
  {
    title: 'slow bodies after a refusal, and slow headers',
    async attack({ urls, signal }) {
      const ofKind = (url: string, head: string) => Array.from({ length: 50 }, () => trickle(signal, url, head))
      const kinds: Record<string, SlowClient[]> = {
        'v2 without a token': ofKind(urls.api, endless('POST', v2, 'text/csv')),
        'API, JSON': ofKind(urls.api, endless('POST', '/v2/user_profiles', 'application/json')),
        'API, headers': ofKind(urls.api, 'GET / HTTP/1.1\r\nX-Slow: '),
        'dashboard, form': ofKind(urls.dashboard, endless('POST', '/sign-in', 'application/x-www-form-urlencoded')),
        'dashboard, headers': ofKind(urls.dashboard, 'GET / HTTP/1.1\r\nX-Slow: '),
        'gateway, headers': ofKind(urls.s3Gateway, 'GET / HTTP/1.1\r\nX-Slow: '),
      }
      const all = Object.values(kinds).flat()
      const ended = Promise.all(all.map(({ closed }) => closed))
      await Promise.race([ended, pauseFor(signal, 75_000)])
      for (const client of all) client.end()
      const longest = Object.entries(kinds).map(async ([name, clients]) => {
        const seconds = (await Promise.all(clients.map(({ closed }) => closed))).map((each) => each.seconds)
        return [`${name}, s`, Math.max(...seconds)] as const
      })
      return Object.fromEntries(await Promise.all(longest))
    },
    expect: (figures) => Object.keys(figures).flatMap((name) => atMost(figures, name, 60)),
  },
  {
    title: '29 requests against a limit of 10, during two bombs',
    async attack(context) {
      const { urls, signal } = context
      const { token } = await context.openAttacker()
      const headers = { 'Content-Type': 'text/csv', 'X-Service-Token': token }
      const bomb = await commaBomb()
      const gzip = { ...headers, 'Content-Type': 'application/gzip' }
      const bombs = [0, 1].map(() => attackWith(signal, `${urls.api}${v2}`, 'POST', gzip, bomb))
      const answers = []
      for (let index = 0; index < 29 && !signal.aborted; index++) {
        answers.push(await attackWith(signal, `${urls.api}${v2}`, 'POST', headers, 'user_id,a\nu1,1\n'))
      }
      answers.push(...(await Promise.all(bombs)))
      return { passed: answers.filter(({ status }) => status !== 429).length, ...countStatuses(answers) }
    },
    expect: (figures) => [...atMost(figures, 'passed', 10), ...atLeast(figures, 'status 429', 21)],
  },
]

/** Registers users with the largest bodies that the API accepts, all at once. */
async function sendLargeBodies(context: AttackContext, apps: number): Promise<Figures> {
  const { urls, signal, isShort } = context
  const tokens: string[] = []
  for (let index = 0; index < apps; index++) tokens.push((await context.openAttacker()).token)
  const ids = Array.from({ length: 9_000 }, (_, index) => `${index}`.padStart(5, '0') + '\u{1f600}'.repeat(249))
  const body = Buffer.from(JSON.stringify({ user_ids: ids }))
  const answers = await Promise.all(
    Array.from({ length: isShort ? 40 : 80 }, (_, index) =>
      attackWith(signal, `${urls.api}/v1/users`, 'POST', json(tokens[index % apps] ?? ''), body),
    ),
  )
  const refused = answers.filter(({ status, headers }) => status === 503 && headers['retry-after'] === undefined)
  return { 'bytes each': body.length, ...countStatuses(answers), 'refused without Retry-After': refused.length }
}
