import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from '@sluice/database'
import { until } from '../../environment/wait.ts'
import { declare, ended, requestImport, statusOf, upload } from '../../stack/client.ts'
import type { Calendar } from './calendar.ts'

/** Something that the service dates. */
export interface Fact {
  what: string
  /** When it begins. */
  made: string
  /** Begins it. Returns a function that reads its state. */
  make(calendar: Calendar): Promise<() => Promise<string>>
  /** Its states at times: just before a change and just after it. */
  states: readonly (readonly [time: string, state: string])[]
}

async function call({ stack, app }: Calendar, method: string, path: string, body?: object, key?: string) {
  return await fetch(`${stack.api}${path}`, {
    method,
    headers: {
      'X-Service-Token': app.token,
      ...(body && { 'Content-Type': 'application/json' }),
      ...(key && { 'Idempotency-Key': key }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
}

/** The deletion of a user: `accepted`, `started`, then `completed` without the user. service.md, Deletion request. */
function deletion(user: string, made: string, states: Fact['states']): Fact {
  return {
    what: `the deletion of ${user}`,
    made,
    states,
    async make(calendar) {
      const { db } = calendar.stack
      const body = { identity_type: 'user_id', identity_value: user }
      const { status } = await call(calendar, 'POST', '/v3/user_data_deletions', body)
      if (status !== 202) throw new Error(`the deletion of ${user} was answered with ${status}`)
      const { rows } = await sql<{ id: string }>`
        select request_id::text as id from deletion_requests order by accepted_at desc limit 1
      `.execute(db)
      return async () => {
        const { rows: found } = await sql<{ state: string }>`
          select state || case when exists (select from users where user_id = ${user}) then '' else ', user gone' end as state
          from deletion_requests where request_id::text = ${rows[0]?.id}
        `.execute(db)
        return found[0]?.state ?? 'forgotten'
      }
    },
  }
}

/** Imports a file with a row that fails. Returns the import's ID. */
async function importFile({ stack, app }: Calendar): Promise<string> {
  const file = Buffer.from('user_id,city\neve,Rome\nnobody,Rome\n')
  const importId = await upload(stack.api, app.token, file)
  await ended(stack.api, app.token, importId)
  return importId
}

/** Starts a receiver that refuses every webhook, and returns its address. It keeps no process running. */
async function startFailingReceiver(): Promise<string> {
  const server = createServer((_, response) => response.writeHead(503).end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

export const facts: readonly Fact[] = [
  deletion('ann', '2027-12-31T22:30:00Z', [
    ['2028-01-06T22:29:00Z', 'accepted'],
    ['2028-01-06T22:31:00Z', 'started'],
    ['2028-02-06T22:59:00Z', 'started'],
    ['2028-02-06T23:01:00Z', 'completed, user gone'],
  ]),
  // Starts on a leap day.
  deletion('bob', '2028-02-23T12:00:00Z', [
    ['2028-02-29T11:59:00Z', 'accepted'],
    ['2028-02-29T12:01:00Z', 'started'],
    ['2028-03-06T22:59:00Z', 'started'],
    ['2028-03-06T23:01:00Z', 'completed, user gone'],
  ]),
  // The month of its start is another one in Berlin than in UTC, and the clocks change before its completion.
  deletion('cem', '2028-03-25T22:30:00Z', [
    ['2028-03-31T22:29:00Z', 'accepted'],
    ['2028-03-31T22:31:00Z', 'started'],
    ['2028-04-06T22:01:00Z', 'started'],
    ['2028-05-06T21:59:00Z', 'started'],
    ['2028-05-06T22:01:00Z', 'completed, user gone'],
  ]),
  // The clocks are set back between start and completion.
  deletion('dan', '2028-10-20T12:00:00Z', [
    ['2028-10-26T11:59:00Z', 'accepted'],
    ['2028-10-26T12:01:00Z', 'started'],
    ['2028-11-06T22:59:00Z', 'started'],
    ['2028-11-06T23:01:00Z', 'completed, user gone'],
  ]),
  {
    what: 'the link to an error file',
    made: '2028-01-10T09:00:00Z',
    async make(calendar) {
      const { stack, app } = calendar
      const { error_file_url: url } = await statusOf(stack.api, app.token, await importFile(calendar))
      return async () => String((await fetch(url ?? '')).status)
    },
    states: [
      ['2028-01-17T08:59:00Z', '200'],
      ['2028-01-17T09:11:00Z', '410'],
    ],
  },
  {
    what: 'the files of an import',
    made: '2028-01-10T09:01:00Z',
    async make(calendar) {
      const importId = await importFile(calendar)
      return async () => {
        const query = calendar.stack.db.selectFrom('imports').select('files_removed_at')
        const found = await query.where('import_id', '=', importId).executeTakeFirst()
        return found?.files_removed_at === null ? 'kept' : 'removed'
      }
    },
    states: [
      ['2028-01-17T09:00:30Z', 'kept'],
      ['2028-01-17T09:12:00Z', 'removed'],
    ],
  },
  {
    what: 'the history of an import',
    made: '2028-01-10T09:02:00Z',
    async make(calendar) {
      const importId = await importFile(calendar)
      return async () => String((await call(calendar, 'GET', `/v3/user_profiles/bulk_import/${importId}`)).status)
    },
    states: [
      // 400 days, with the leap day.
      ['2029-02-13T09:01:00Z', '200'],
      ['2029-02-13T09:13:00Z', '404'],
    ],
  },
  {
    what: 'an idempotency key',
    made: '2028-06-01T10:00:00Z',
    async make(calendar) {
      const send = () => call(calendar, 'POST', '/v1/exports', {}, 'nightly')
      const first = (await (await send()).json()) as { export_id: string }
      return async () => {
        const { export_id: id } = (await (await send()).json()) as { export_id: string }
        return id === first.export_id ? 'repeats the response' : 'is new'
      }
    },
    states: [
      ['2028-06-02T09:59:00Z', 'repeats the response'],
      ['2028-06-02T10:01:00Z', 'is new'],
    ],
  },
  {
    what: 'an upload that never comes',
    made: '2028-06-05T10:00:00Z',
    async make(calendar) {
      const { stack, app } = calendar
      const { importId } = await requestImport(stack.api, app.token, declare(Buffer.from('user_id\neve\n')))
      return async () => (await statusOf(stack.api, app.token, importId)).state
    },
    states: [
      ['2028-06-05T10:04:50Z', 'awaiting_upload'],
      ['2028-06-05T10:20:00Z', 'expired'],
    ],
  },
  {
    what: 'a held import',
    made: '2028-06-10T10:00:00Z',
    async make(calendar) {
      const { stack, app } = calendar
      const file = Buffer.from('user_id,town\neve,Rome\n')
      const importId = await upload(stack.api, app.token, file, undefined, { hold_if: 'always' } as object)
      const state = async () => (await statusOf(stack.api, app.token, importId)).state
      await until('the end of the check', async () => (await state()) === 'held')
      return state
    },
    states: [
      ['2028-06-13T09:59:00Z', 'held'],
      ['2028-06-13T10:02:00Z', 'failed'],
    ],
  },
  {
    what: 'an endpoint whose receiver fails',
    made: '2028-07-01T10:00:00Z',
    async make(calendar) {
      const { stack, app } = calendar
      const url = await startFailingReceiver()
      const added = await stack.sluice('webhooks', 'add', '--app', String(app.appId), '--url', url)
      if (added.code !== 0) throw new Error(added.stderr)
      await importFile(calendar)
      return async () => {
        const { rows } = await sql<{ is_failing: boolean }>`
          select failing_since is not null as is_failing from webhook_endpoints
        `.execute(stack.db)
        return rows[0]?.is_failing ? 'failing' : 'tried'
      }
    },
    states: [
      ['2028-07-04T09:58:00Z', 'tried'],
      ['2028-07-04T10:05:00Z', 'failing'],
    ],
  },
  {
    what: 'the hash of a deleted user',
    made: '2028-11-06T23:02:00Z',
    async make({ stack }) {
      return async () => {
        const { rows } = await sql<{ hashes: number }>`
          select count(*)::integer as hashes from recently_deleted_users where deleted_at > '2028-11-06'
        `.execute(stack.db)
        return rows[0]?.hashes === 1 ? 'kept' : 'forgotten'
      }
    },
    states: [
      ['2028-12-06T22:59:00Z', 'kept'],
      ['2028-12-06T23:15:00Z', 'forgotten'],
    ],
  },
]
