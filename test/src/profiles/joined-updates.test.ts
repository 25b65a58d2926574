import { createApp } from '@sluice/accounts'
import type { ProfileEntry } from '@sluice/contract'
import {
  joinedProfileUpdates,
  KeyLimitExceeded,
  registeredKeys,
  registerUsers,
  showUser,
  TypeConflict,
  UnregisteredUser,
} from '@sluice/profiles'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'

// Updates at the same moment share statements. None may be lost, half applied, or delayed or failed by another.
const keyLimit = 4
const users = Array.from({ length: 30 }, (_, index) => `u${index}`)

const database = openBeforeAll(openTestDatabase)
let update: ReturnType<typeof joinedProfileUpdates>
beforeAll(async () => {
  update = joinedProfileUpdates(database.db, keyLimit)
})

const int = (key: string, value: number): ProfileEntry => ({ key, type: 'int', value })
const string = (key: string, value: string): ProfileEntry => ({ key, type: 'string', value })

/** Creates an app with the users and the int key `n`. */
async function openApp(): Promise<number> {
  const { appId } = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
  await registerUsers(database.db, appId, users)
  await update(appId, 'u0', [int('n', 0)])
  return appId
}

/**
 * Creates the app of {@link openApp} with a profile for each user. Without a profile, a user's update would run alone.
 */
async function openAppWithProfiles(): Promise<number> {
  const app = await openApp()
  await Promise.all(users.map((user) => update(app, user, [int('n', 0)])))
  return app
}

async function valuesOf(appId: number, userId: string): Promise<Record<string, unknown>> {
  const user = await showUser(database.db, appId, userId)
  return Object.fromEntries(Object.entries(user?.profiles ?? {}).map(([key, { value }]) => [key, value]))
}

/** Returns the outcome of each update: `applied`, or the name of the error. */
async function outcomes(updates: readonly Promise<void>[]): Promise<string[]> {
  const settled = await Promise.allSettled(updates)
  return settled.map((result) => (result.status === 'fulfilled' ? 'applied' : String(result.reason.name)))
}

test('updates of several apps at the same moment are each applied to their own app', async () => {
  const apps = [await openAppWithProfiles(), await openAppWithProfiles()]
  await Promise.all(apps.flatMap((app) => users.map((user, index) => update(app, user, [int('n', app * 100 + index)]))))
  for (const app of apps) {
    for (const [index, user] of users.entries()) expect(await valuesOf(app, user)).toEqual({ n: app * 100 + index })
  }
})

// design.md §3, Profile update.
test('a refused update leaves nothing, and the updates joined with it are applied', async () => {
  const [app, other] = [await openApp(), await openApp()]
  const updates = [
    update(app, 'u1', [int('n', 1)]),
    update(app, 'u2', [int('n', 2)]),
    update(app, 'u3', [int('new', 3), string('n', 'three')]),
    update(app, 'nobody', [int('n', 4)]),
    update(app, 'u5', [int('n', 5)]),
    update(other, 'u6', [int('n', 6)]),
    update(app, 'u7', [int('n', 7), ...Array.from({ length: keyLimit }, (_, index) => int(`k${index}`, 0))]),
    update(app, 'u8', [string('fresh', 'x')]),
  ]
  const [conflict, unknown, overLimit] = [TypeConflict.name, UnregisteredUser.name, KeyLimitExceeded.name]
  const expected = ['applied', 'applied', conflict, unknown, 'applied', 'applied', overLimit, 'applied']
  expect(await outcomes(updates)).toEqual(expected)
  expect(await valuesOf(app, 'u2')).toEqual({ n: 2 })
  expect(await valuesOf(app, 'u3')).toEqual({})
  expect(await valuesOf(app, 'u5')).toEqual({ n: 5 })
  expect(await valuesOf(other, 'u6')).toEqual({ n: 6 })
  expect(await valuesOf(app, 'u7')).toEqual({})
  expect(await valuesOf(app, 'u8')).toEqual({ fresh: 'x' })
  expect([...(await registeredKeys(database.db, app))]).toEqual([
    ['fresh', { type: 'string', enabled: true }],
    ['n', { type: 'int', enabled: true }],
  ])
})

test('a locked user delays no other user, and is updated when the lock is released', async () => {
  const app = await openAppWithProfiles()
  let isDone = false
  const { locked, rest } = await database.db.transaction().execute(async (tx) => {
    await tx
      .updateTable('profiles')
      .set({ attributes: 'n=>-1' })
      .where('app_id', '=', app)
      .where('user_id', '=', 'u3')
      .execute()
    const updates = users.map((user, index) => update(app, user, [int('n', index)]))
    const [locked = Promise.resolve()] = updates.splice(3, 1)
    locked.then(() => {
      isDone = true
    })
    await Promise.all(updates)
    expect(isDone).toBe(false)
    // An async function would wait for a returned promise, inside the transaction.
    return { locked, rest: updates }
  })
  await Promise.all([locked, ...rest])
  for (const [index, user] of users.entries()) expect(await valuesOf(app, user)).toEqual({ n: index })
})

test('updates of one user at the same moment lose nothing, in many processes too', async () => {
  const app = await openAppWithProfiles()
  const processes = Array.from({ length: 4 }, () => joinedProfileUpdates(database.db, 500))
  const updates = Array.from({ length: 100 }, (_, index) => {
    const updateHere = processes[index % processes.length] ?? update
    return updateHere(app, users[index % 3] ?? '', [int(`key ${index}`, index)])
  })
  await Promise.all(updates)
  // The keys are registered now: these updates share statements.
  const again = Array.from({ length: 100 }, (_, index) => {
    const updateHere = processes[index % processes.length] ?? update
    return updateHere(app, users[index % 3] ?? '', [int(`key ${index}`, index + 1), int('n', index)])
  })
  await Promise.all(again)
  const all = await Promise.all(users.slice(0, 3).map((user) => valuesOf(app, user)))
  for (let index = 0; index < 100; index++) expect(all[index % 3]?.[`key ${index}`]).toBe(index + 1)
})

test('the latest of joined updates of one user holds', async () => {
  const app = await openAppWithProfiles()
  await Promise.all(Array.from({ length: 50 }, (_, index) => update(app, 'u1', [int('n', index)])))
  expect(await valuesOf(app, 'u1')).toEqual({ n: 49 })
})

test('updates at the same moment have the same outcome as one after another', async () => {
  const anUpdate = fc.record({
    user: fc.constantFrom('u0', 'u1', 'u2', 'nobody'),
    entries: fc.array(
      fc.oneof(
        fc.record({ key: fc.constantFrom('n', 'm'), type: fc.constant('int' as const), value: fc.integer() }),
        fc.record({ key: fc.constantFrom('n', 's'), type: fc.constant('string' as const), value: fc.string() }),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(anUpdate, { minLength: 2, maxLength: 12 }), async (updates) => {
      const app = await openAppWithProfiles()
      await update(app, 'u0', [int('m', 0), string('s', '')])
      const results = await outcomes(updates.map(({ user, entries }) => update(app, user, entries)))
      const types = { n: 'int', m: 'int', s: 'string' }
      const candidates = new Map<string, Map<string, unknown[]>>()
      for (const [index, { user, entries }] of updates.entries()) {
        const latest = [...new Map(entries.map((entry) => [entry.key, entry])).values()]
        const conflicts = latest.some(({ key, type }) => types[key as keyof typeof types] !== type)
        const expected = conflicts ? TypeConflict.name : user === 'nobody' ? UnregisteredUser.name : 'applied'
        expect(results[index]).toBe(expected)
        if (expected !== 'applied') continue
        const keys = candidates.get(user) ?? new Map<string, unknown[]>()
        for (const { key, value } of latest) keys.set(key, [...(keys.get(key) ?? []), value])
        candidates.set(user, keys)
      }
      for (const [user, keys] of candidates) {
        const values = await valuesOf(app, user)
        for (const [key, written] of keys) expect(written).toContain(values[key])
      }
    }),
    { numRuns: 40 },
  )
})
