import type { ExportAnswer, ExportView } from '@sluice/contract'
import { expect } from 'vitest'
import { until } from '../environment/wait.ts'
import type { ClientApp } from '../faults/harness/client.ts'
import type { Deployment } from '../faults/harness/deployment.ts'
import { generatedUsers } from '../faults/harness/generate.ts'
import { bulkImport, declare } from '../stack/client.ts'

/**
 * Makes a request of every kind that the API knows. Returns the requests that may change something, such as
 * `POST /v1/users`.
 */
export async function useEverything(
  { api, db }: Pick<Deployment, 'api' | 'db'>,
  { appId, token }: ClientApp,
): Promise<string[]> {
  const changing: string[] = []
  const send = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    type = 'application/json',
  ) => {
    if (method !== 'GET') changing.push(`${method} ${path}`)
    const headers = {
      'X-Service-Token': token,
      ...(body !== undefined && { 'Content-Type': type, 'Idempotency-Key': crypto.randomUUID() }),
    }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(api + path, { method, headers, ...(body !== undefined && { body: text }) })
    expect([path, response.status < 300]).toEqual([path, true])
    return response.status === 204 ? undefined : await response.json()
  }
  const entry = (key: string) => ({ key, type: 'string', value: 'value' })
  const [user = ''] = generatedUsers
  await send('POST', '/v1/profile_keys', { profile_keys: [{ key: 'new key', type: 'string' }] })
  await send('PATCH', '/v1/profile_keys/new%20key', { enabled: false, description: 'unused' })
  await send('PATCH', '/v1/profile_keys/new%20key', { enabled: true })
  await send('POST', '/v1/users', { user_ids: ['new-user', user] })
  await Promise.all(
    generatedUsers.map((id) => send('POST', '/v2/user_profiles', { user_id: id, user_profiles: [entry('mark')] })),
  )
  await send('POST', '/v2/user_profiles', { user_id: 'new-user', user_profiles: [entry('new key')] })
  await send('DELETE', '/v1/users/new-user/profiles/new%20key')
  await db.updateTable('apps').set({ keep_changes: true }).where('app_id', '=', appId).execute()
  await send('POST', '/v2/user_profiles/bulk_import', `user_id,plan\n${user},free\nnobody,free\n`, 'text/csv')
  await send('POST', '/v3/user_data_deletions', { identity_type: 'user_id', identity_value: [user] })
  await send('POST', bulkImport, declare(Buffer.from('user_id\n')))
  const imports = await db.selectFrom('imports').select(['import_id', 'state']).where('app_id', '=', appId).execute()
  for (const { import_id: id, state } of imports) {
    await send('GET', `${bulkImport}/${id}`)
    if (state === 'awaiting_upload') await send('DELETE', `${bulkImport}/${id}`)
  }
  await send('GET', `${bulkImport}?state=completed&source=v3&limit=2`)
  await send('GET', '/v1/users/new-user')
  const { export_id: exportId } = (await send('POST', '/v1/exports', { keys: ['mark'] })) as ExportAnswer
  const link = await until('the end of the export', async () => {
    const view = (await send('GET', `/v1/exports/${exportId}`)) as ExportView
    return view.file_url ?? undefined
  })
  expect((await fetch(link)).status).toBe(200)
  const allEnded = () =>
    until('the end of all imports', async () => {
      const open = await db
        .selectFrom('imports')
        .select('import_id')
        .where('app_id', '=', appId)
        .where('state', 'not in', ['completed', 'cancelled'])
        .execute()
      return open.length === 0
    })
  await allEnded()
  const { import_id: kept } = await db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .where('changes_file_key', 'is not', null)
    .executeTakeFirstOrThrow()
  await send('POST', `${bulkImport}/${kept}/undo`, {})
  await allEnded()
  await db.updateTable('apps').set({ hold_if: '"always"' }).where('app_id', '=', appId).execute()
  await send('POST', '/v2/user_profiles/bulk_import', `user_id,plan\n${user},free\n`, 'text/csv')
  const { import_id: held } = await until('the check', () =>
    db
      .selectFrom('imports')
      .select('import_id')
      .where('app_id', '=', appId)
      .where('state', '=', 'held')
      .executeTakeFirst(),
  )
  await send('POST', `${bulkImport}/${held}/approve`)
  await allEnded()
  return changing
}
