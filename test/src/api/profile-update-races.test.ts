import { claimImport, runImport } from '@sluice/imports'
import { registeredKeys } from '@sluice/profiles'
import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type Answer, type App, openApp, openTestApi, profileOf, send } from './test-api.ts'

const api = openBeforeAll(openTestApi)

const users = Array.from({ length: 20 }, (_, index) => `u${index}`)

const update = (app: App, userId: string, entry: { key: string; type: string; value: unknown }) =>
  send(api, app, '/v2/user_profiles', { user_id: userId, user_profiles: [entry] })

const keysOf = async ({ appId }: App) =>
  Object.fromEntries([...(await registeredKeys(api.database.db, appId))].map(([key, { type }]) => [key, type]))

// design.md §3, Profile update.
describe('requests at the same moment', () => {
  test('that register one key with different types agree on one type: the others are refused and leave nothing', async () => {
    for (let round = 0; round < 5; round++) {
      const app = await openApp(api, users)
      const answers = await Promise.all(
        users.map((user, index) => {
          const entry = index % 2 === 0 ? { type: 'int', value: index } : { type: 'string', value: `${index}` }
          return update(app, user, { key: 'k', ...entry })
        }),
      )
      const { k: winner } = await keysOf(app)
      for (const [index, answer] of answers.entries()) {
        const type = index % 2 === 0 ? 'int' : 'string'
        const value = type === 'int' ? index : `${index}`
        const messages = [`k is registered as ${winner}`]
        if (type === winner) expect(answer.status).toBe(202)
        else expect(answer).toMatchObject({ status: 400, body: { error: { code: 1003, messages } } })
        expect(await profileOf(api, app, `u${index}`)).toEqual(type === winner ? { k: value } : {})
      }
    }
  })

  test('that register different keys never exceed the app’s limit', async () => {
    const small = await openTestApi({ PROFILE_KEY_LIMIT: '7' })
    try {
      const app = await openApp(small, users)
      const answers = await Promise.all(
        users.map((user) =>
          send(small, app, '/v2/user_profiles', {
            user_id: user,
            user_profiles: [{ key: `key of ${user}`, type: 'int', value: 1 }],
          }),
        ),
      )
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(7)
      expect((await registeredKeys(small.database.db, app.appId)).size).toBe(7)
    } finally {
      await small.close()
    }
  })

  test('that update one user’s different keys lose nothing', async () => {
    const app = await openApp(api, ['u'])
    const keys = users.map((user) => `key of ${user}`)
    const answers = await Promise.all(keys.map((key, value) => update(app, 'u', { key, type: 'int', value })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(await profileOf(api, app, 'u')).toEqual(Object.fromEntries(keys.map((key, value) => [key, value])))
  })
})

test('an import and requests that register one key at the same moment agree on one type', async () => {
  // The winner depends on timing: the requests begin a little earlier or later in the import's run.
  for (let round = 0; round < 12; round++) {
    const app = await openApp(api, users)
    const file = `user_id,k\n${users.map((user, index) => `${user},${index}.5`).join('\n')}\n`
    const importId = await upload(app, file)
    const claim = await claimImport(api.context, { appId: app.appId, importId })
    if (claim === undefined) throw new Error('the import cannot be claimed')

    const running = runImport(api.context, claim, new AbortController().signal)
    const answers: Answer[] = []
    for (const user of users.slice(0, round % 4))
      answers.push(await update(app, user, { key: 'other', type: 'int', value: 0 }))
    const last = await Promise.all(users.map((user) => update(app, user, { key: 'k', type: 'string', value: 'text' })))
    expect(await running).toMatchObject({ outcome: 'completed' })

    const { k: winner } = await keysOf(app)
    expect(['string', 'decimal']).toContain(winner)
    // The import follows the registered type: strings keep the values as text.
    const refused = last.filter(({ status }) => status !== 202)
    expect(refused).toHaveLength(winner === 'string' ? 0 : users.length)
    for (const [index, user] of users.entries()) {
      const { k } = (await profileOf(api, app, user)) as { k: unknown }
      if (winner === 'decimal') expect(k).toBe(index + 0.5)
      else expect(['text', `${index}.5`]).toContain(k)
    }
    expect(answers.every(({ status }) => status === 202)).toBe(true)
  }
})

/** Uploads a file by v2. Returns the import's ID. */
async function upload(app: App, file: string): Promise<string> {
  const headers = { 'content-type': 'text/csv' }
  const answer = await send(api, app, '/v2/user_profiles/bulk_import', file, { headers })
  expect(answer.status).toBe(202)
  return String(answer.headers['x-import-id'])
}
