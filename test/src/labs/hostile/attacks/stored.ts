import { randomBytes } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from '@sluice/database'
import { upload } from '../../../stack/client.ts'
import { type Attack, type AttackContext, atLeast, atMost } from '../attack.ts'
import { attackWith, countStatuses, pauseFor, secondsToEnd, signIn } from '../attackers.ts'

const megabyte = 2 ** 20

/** Attacks that make Sluice store more than the attacker sends. */
export const storedAttacks: Attack[] = [
  {
    title: '12 retries of a file of 20 MB that fails',
    async attack(context) {
      const { stack, urls, signal } = context
      const { appId, token, email } = await context.openAttacker()
      const file = Buffer.from(`user_id,$a\n${`u1,${randomBytes(500).toString('hex')}\n`.repeat(20_000)}`)
      let importId = await upload(urls.api, token, file)
      await secondsToEnd(context, token, importId)
      const visitor = await signIn(context, email)
      let retries = 0
      while (retries < 12 && !signal.aborted) {
        const page = `/apps/${appId}/imports/${importId}/retry`
        const { headers } = await visitor.post(page, {}, page)
        const next = /imports\/([0-9a-f-]{36})$/.exec(headers.get('location') ?? '')?.[1]
        if (next === undefined) break
        importId = next
        retries++
        await secondsToEnd(context, token, importId)
      }
      return { retries, 'stored, MB': Math.round((await storedBytes(stack.home)) / megabyte) }
    },
    expect: (figures) => [
      ...atLeast(figures, 'retries', 12),
      ...atMost(figures, 'stored, MB', 30),
      ...atLeast(figures, 'stored, MB', 19),
    ],
  },
  {
    title: 'registrations of 500 long keys, each with an idempotency key of its own',
    env: { RATE_LIMIT_KEY_REGISTRATION: '100000/60s' },
    async attack(context) {
      const { token, appId } = await context.openAttacker()
      const names = Array.from({ length: 500 }, (_, index) => `${index}`.padStart(250, 'ñ'))
      const body = JSON.stringify({ profile_keys: names.map((key) => ({ key, type: 'int' })) })
      const answers = await registerRepeatedly(context, token, body)
      const { rows } = await sql<{ bytes: number }>`
        select coalesce(sum(octet_length(k::text)), 0)::float8 as bytes from idempotency_keys k where app_id = ${appId}
      `.execute(context.stack.db)
      const kept = (rows[0]?.bytes ?? 0) / answers.length
      return { ...countStatuses(answers), 'kept for an answer, bytes': Math.round(kept) }
    },
    expect: (figures) => [
      ...atLeast(figures, 'status 200', 20),
      ...atMost(figures, 'kept for an answer, bytes', 2_000),
    ],
  },
]

async function registerRepeatedly({ signal, urls }: AttackContext, token: string, body: string) {
  const over = AbortSignal.any([signal, AbortSignal.timeout(20_000)])
  const answers: { status: number }[] = []
  while (!over.aborted) {
    const headers = {
      'X-Service-Token': token,
      'Content-Type': 'application/json',
      'Idempotency-Key': crypto.randomUUID(),
    }
    const answer = await attackWith(over, `${urls.api}/v1/profile_keys`, 'POST', headers, body)
    answers.push(answer)
    if (answer.status === 429) await pauseFor(over, 100)
  }
  return answers
}

/** Returns the size of all objects on the disk of the stack's storage, bytes. */
async function storedBytes(home: string): Promise<number> {
  const files = await readdir(home, { recursive: true })
  const objects = files.filter((file) => file.endsWith('.object'))
  // Objects of other apps may be removed meanwhile.
  const sizes = objects.map((file) =>
    stat(join(home, file)).then(
      (found) => found.size,
      () => 0,
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
