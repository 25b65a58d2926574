import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { sql } from '@sluice/database'
import { ownMemory } from '../../memory/peak-memory.ts'
import { type App, bulkImport, declare, openApp, requestImport, statusOf } from '../../stack/client.ts'
import type { RunningStack } from '../../stack/running-stack.ts'
import { median, type Target } from './measuring.ts'

/**
 * Measures requests that wait for a change of state: how soon one is answered after the change has committed, and what
 * many at once take of an API process. Returns the targets.
 */
export async function measureWaiting(stack: RunningStack, many: number): Promise<Target[]> {
  const app = await openApp(stack)
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  try {
    const times: number[] = []
    for (let number = 0; number < 100; number++) {
      const { answers, end } = await openWaiting(stack, app, { agent, count: 1 })
      await end()
      const began = performance.now()
      await Promise.all(answers)
      times.push(performance.now() - began)
    }
    const [pid = 0] = (await stack.info()).processes.api ?? []
    const before = await ownMemory(pid)
    // An app may have half of all places.
    const halves = await Promise.all(
      [app, await openApp(stack)].map((owner) => openWaiting(stack, owner, { agent, count: many / 2 })),
    )
    const grown = (await ownMemory(pid)) - before
    const connections = await busyConnections(stack)
    const answers = halves.flatMap((half) => half.answers)
    const began = performance.now()
    await Promise.all(halves.map((half) => half.end()))
    await Promise.all(answers)
    const lastMs = performance.now() - began
    return [
      { name: '?wait=: answer after the change, median, ms', measured: median(times), must: 20, digits: 0 },
      { name: `${many} waiting: memory of the API, MB`, measured: grown / 1e6, must: 200, digits: 0 },
      { name: `${many} waiting: connections in use`, measured: connections, must: 2, digits: 0 },
      { name: `${many} waiting: last answer after the change, ms`, measured: lastMs, digits: 0 },
    ]
  } finally {
    agent.destroy()
  }
}

/** Opens requests that wait for an import's next state. `end` ends the import. */
async function openWaiting(stack: RunningStack, { appId, token }: App, options: { agent: Agent; count: number }) {
  const { importId } = await requestImport(stack.api, token, declare(Buffer.from('user_id\n')))
  const answers: Promise<void>[] = []
  for (let sent = 0; sent < options.count; sent++) {
    answers.push(get(`${stack.api}${bulkImport}/${importId}?wait=30`, token, options.agent))
    // Reads of an app are answered in turn, and only so many at a time: then the preceding ones wait.
    if (sent % 5 === 4 || sent === options.count - 1) await statusOf(stack.api, token, importId)
  }
  const end = async () => {
    await sql`
      update imports set state = 'cancelled', finished_at = now(), upload_check_at = null
      where app_id = ${appId} and import_id = ${importId}
    `.execute(stack.db)
  }
  return { answers, end }
}

async function get(url: string, token: string, agent: Agent): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const sending = request(url, { agent, headers: { 'X-Service-Token': token } }, (answer) => {
    assert.equal(answer.statusCode, 200)
    text(answer).then(() => resolve(), reject)
  })
  sending.once('error', reject)
  sending.end()
  return await promise
}

/** Returns how many connections of all processes run a statement or hold a transaction. */
async function busyConnections({ db }: RunningStack): Promise<number> {
  const { rows } = await sql<{ busy: number }>`
    select count(*) as busy from pg_stat_activity
    where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()
  `.execute(db)
  return rows[0]?.busy ?? 0
}
