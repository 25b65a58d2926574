import { acquireLock, connect, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { type App, openApp, openTestApi, send } from './test-api.ts'

const path = '/v3/user_profiles/bulk_import'
const api = openBeforeAll(openTestApi)

/** Begins an import, and makes it one that has ended and can be undone. */
async function openUndoable(app: App): Promise<string> {
  const declared = { checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: '12' }
  const importId = String((await send(api, app, path, declared)).headers['x-import-id'])
  const ended = { state: 'completed', keep_changes: true, changes_file_key: 'changes' } as const
  await api.database.db.updateTable('imports').set(ended).where('import_id', '=', importId).execute()
  return importId
}

const undo = (app: App, importId: string) =>
  send(api, app, `${path}/${importId}/undo`, {}, { headers: { 'idempotency-key': 'key-1' } })

// second-day.md §4, Keys.
test('an undo that a worker claims before the answer is sent is answered like its repetition', async () => {
  const app = await openApp(api)
  const importId = await openUndoable(app)
  const { db } = api.database
  await sql`
    create function claim_undo() returns trigger language plpgsql as $$
      begin update imports set state = 'processing' where import_id = new.import_id; return new; end $$
  `.execute(db)
  // A deferred trigger runs when the undo commits.
  await sql`
    create constraint trigger claim_undo after insert on imports deferrable initially deferred
    for each row when (new.source = 'undo') execute function claim_undo()
  `.execute(db)
  onTestFinished(async () => void (await sql`drop function claim_undo cascade`.execute(db)))
  const first = await undo(app, importId)
  expect(first).toMatchObject({ status: 202, body: { state: 'queued', undo_of: importId } })
  const { body } = await send(api, app, `${path}/${first.headers['x-import-id']}`, undefined, { method: 'GET' })
  expect(body).toMatchObject({ state: 'processing' })
  const repeated = await undo(app, importId)
  expect([repeated.body, repeated.headers['idempotency-replayed']]).toEqual([first.body, 'true'])
})

test('an undo of an import that is removed meanwhile is answered 404', async () => {
  const app = await openApp(api)
  const importId = await openUndoable(app)
  const holder = connect(api.database.url, { connections: 2 })
  onTestFinished(() => holder.close())
  const { answer } = await holder.db.transaction().execute(async (tx) => {
    await acquireLock(tx, 'waitingImportsOfApp', app.appId)
    const answer = undo(app, importId)
    await until('the undo to wait', async () => (await lockWaits(holder.db, 'advisory')).length > 0)
    await tx.deleteFrom('imports').where('import_id', '=', importId).execute()
    return { answer }
  })
  expect((await answer).status).toBe(404)
})
