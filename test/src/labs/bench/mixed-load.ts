import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type App, put, requestImport } from '../../stack/client.ts'
import type { RunningStack } from '../../stack/running-stack.ts'
import { type MadeFile, registeredUserFrom, registeredUsers } from './import/file.ts'
import type { LoadTarget } from './load.ts'

const pollMs = 50

/** Number of rows after the last committed row that count as being imported now. */
const rowsInFlight = 10_000

/**
 * Returns profile updates of registered users. Every second update is about a user whose row is being imported or was
 * imported recently.
 */
export function profileUpdates(
  { api }: RunningStack,
  { token }: App,
  { rows }: MadeFile,
  reached: { row: number },
): LoadTarget {
  let count = 0
  const next = () => {
    count++
    const user = count % 2 === 0 ? reached.row + ((count * 7919) % rowsInFlight) : count * 7919
    const body = JSON.stringify({
      user_id: registeredUserFrom(user % rows, rows),
      user_profiles: [
        { key: 'plan', type: 'string', value: `plan ${count}` },
        { key: 'visits', type: 'int', value: count },
        { key: 'last_seen', type: 'datetime', value: '2026-01-01T10:00:00+09:00' },
      ],
    })
    return { headers: { 'X-Service-Token': token }, body }
  }
  return { url: `${api}/v2/user_profiles`, next, expected: 202 }
}

/** Registers the users of a file with an app, except the users whom an import must refuse. */
export async function registerUsersOf(stack: RunningStack, { appId }: App, { rows }: MadeFile): Promise<void> {
  const lines = Readable.from(registeredUsers(rows)).map((id) => `${id}\n`)
  const { code, stderr } = await stack.pipeToSluice(lines, 'users', 'register', '--app', String(appId))
  assert.equal(code, 0, stderr)
}

/** Uploads a file as an import of an app. Returns the import's ID. */
export async function upload({ api }: RunningStack, { token }: App, { path, bytes }: MadeFile): Promise<string> {
  const md5 = createHash('md5')
  await pipeline(createReadStream(path), md5)
  const declaration = { checksum: md5.digest('base64'), byte_size: String(bytes) }
  const { importId, url, headers } = await requestImport(api, token, declaration)
  const { status } = await put(url, { ...headers, 'Content-Length': bytes }, createReadStream(path))
  assert.equal(status, 200, 'answer of storage')
  return importId
}

/** Keeps `reached` at the last committed row until the import has completed. */
export async function follow(
  { db }: RunningStack,
  importId: string,
  file: MadeFile,
  reached: { row: number },
): Promise<void> {
  for (;;) {
    const { state, rows_total, rows_failed } = await db
      .selectFrom('imports')
      .select(['state', 'rows_total', 'rows_failed'])
      .where('import_id', '=', importId)
      .executeTakeFirstOrThrow()
    reached.row = rows_total
    if (state === 'completed') return assert.deepEqual([rows_total, rows_failed], [file.written, file.failing])
    assert.notEqual(state, 'failed')
    await delay(pollMs)
  }
}
