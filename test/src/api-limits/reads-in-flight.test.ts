import { expect, onTestFinished, test } from 'vitest'
import { openApp, openTestApi, send } from '../api/test-api.ts'
import { lockTable, lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'

test('reads of one app are answered one after the other, further ones are refused, and other apps do not wait', async () => {
  const api = await openTestApi()
  onTestFinished(api.close)
  const { db } = api.database
  const [app, other] = [await openApp(api), await openApp(api)]
  const answers: { status: number; headers: Record<string, unknown> }[] = []
  const list = async () =>
    void answers.push(await send(api, app, '/v3/user_profiles/bulk_import', undefined, { method: 'GET' }))

  const release = await lockTable(db, 'imports')
  const lists = Array.from({ length: 25 }, list)
  await until('refusals', () => answers.length === 5)
  expect(answers[0]).toMatchObject({
    status: 429,
    headers: { 'retry-after': '1' },
    body: { status: 'too_many_requests' },
  })
  expect((await send(api, other, '/v1/profile_keys', undefined, { method: 'GET' })).status).toBe(200)
  await until('one list to read', async () => (await lockWaits(db)).length === 1)
  await Promise.all([release(), ...lists])
  expect(answers.map(({ status }) => status)).toEqual([...Array(5).fill(429), ...Array(20).fill(200)])
})
