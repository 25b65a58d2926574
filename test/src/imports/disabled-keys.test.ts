import assert from 'node:assert/strict'
import { gunzipSync } from 'node:zlib'
import { sql } from '@sluice/database'
import { undoImport } from '@sluice/imports'
import { changeKeys } from '@sluice/profiles'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { propertyRuns } from '../environment/property-runs.ts'
import { until } from '../environment/wait.ts'
import { exportApp, request, runNext, storedFile } from '../exports/export-fixture.ts'
import { endLease } from './forced-states.ts'
import { eachWithApp } from './import-fixture.ts'

// Imports ignore the columns of disabled keys. A batch keeps the state of the keys with which it began.
const users = Array.from({ length: 60 }, (_, index) => `u${index}`)
const app = eachWithApp(users, { BATCH_ROWS: '2' })

const set = (enabled: boolean, ...keys: string[]) => changeKeys(app.db, app.appId, { keys, enabled }, 500)
const ignored = (key: string, type: string) => ({
  ...{ key, type, message: 'the column is ignored: its key is disabled', examples: [] },
})

// changes.md §4.
test('the column of a disabled key is not checked, applied, typed or cleared, and there is one warning', async () => {
  await app.importFile('user_id,n,plan\nu1,1,a\nu2,2,b\n')
  await set(false, 'n')
  const file = Buffer.concat([Buffer.from('user_id,plan,n\nu1,c,x\nu2,d,#\nu3,,7\nu4,e,'), Buffer.of(0xff, 0x0a)])
  const options = { keepChanges: true, clearMarker: '#' }
  for (const dryRun of [true, false]) {
    const { view } = await app.importFile(file, { ...options, dryRun })
    expect(view).toMatchObject({ state: 'completed', rows_total: 4, rows_failed: 0, rows_changed: 3 })
    expect(view.types).toEqual({ plan: 'string' })
    expect(view.warnings).toEqual([ignored('n', 'int')])
    expect(view.changes).toMatchObject({
      rows: { created: 1, changed: 2 },
      values: { added: 1, changed: 2, removed: 0 },
    })
  }
  expect(await app.profiles()).toMatchObject({ u1: { n: 1, plan: 'c' }, u2: { n: 2, plan: 'd' }, u4: { plan: 'e' } })
  expect((await app.profiles()).u3).toEqual({})
})

// changes.md §1, Counts.
test('values of a disabled key count as stored: a user who has only those is not created', async () => {
  await app.importFile('user_id,n\nu1,1\n')
  await set(false, 'n')
  const { view } = await app.importFile('user_id,plan\nu1,a\n', { keepChanges: true })
  expect(view.changes?.rows).toEqual({ created: 0, changed: 1 })
})

// changes.md §4.
test('a disabled key is registered: new keys may be refused, and its type declared, but no other type', async () => {
  await app.importFile('user_id,n\nu1,1\n')
  await set(false, 'n')
  const file = 'user_id,n\nu1,2\n'
  const { view } = await app.importFile(file, { newKeys: 'refuse', profileTypes: { n: 'int' } })
  expect(view).toMatchObject({ state: 'completed', types: {}, warnings: [ignored('n', 'int')] })
  const other = await app.importFile(file, { profileTypes: { n: 'string' } })
  expect(other.view).toMatchObject({ state: 'failed', error: 'n is registered as int' })
  expect(await app.profiles()).toMatchObject({ u1: { n: 1 } })
})

test('disabled keys make room for the new keys of an import and its dry run', async () => {
  const limited = { ...app.context, settings: { ...app.context.settings, PROFILE_KEY_LIMIT: 2 } }
  await app.importFile('user_id,a,b\nu1,1,1\n')
  const outcomes = async () => {
    const states: (string | null)[] = []
    for (const dryRun of [true, false]) {
      const importId = await app.queue('user_id,c\nu1,1\n', 'text/csv', dryRun)
      await app.run(importId, limited)
      states.push((await app.resultOf(importId)).view.error)
    }
    return states
  }
  const tooMany = 'This app has exceeded the limit of enabled user profile(2)'
  expect(await outcomes()).toEqual([tooMany, tooMany])
  await set(false, 'a')
  expect(await outcomes()).toEqual([null, null])
  expect(await app.profiles()).toMatchObject({ u1: { a: 1, b: 1, c: 1 } })
})

// second-day.md §2, Identical rows; changes.md §4.
test('whatever was enabled when, each import leaves what a plain merge of its enabled columns leaves', async () => {
  const files = ['user_id,a,b\nu1,1,1\nu2,1,2\n', 'user_id,a,b\nu1,2,1\nu2,1,#\n', 'user_id,b\nu1,3\n']
  const first = { file: 0, keepChanges: false }
  const step = fc.oneof(
    fc.record({ file: fc.constantFrom(0, 0, 1, 2), keepChanges: fc.boolean() }),
    fc.record({ switched: fc.constantFrom('a', 'a', 'b') }),
  )
  await app.importFile('user_id,a,b\nu0,1,1\n')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 8 }), async (steps) => {
      await sql`delete from profiles where app_id = ${app.appId}`.execute(app.db)
      await set(true, 'a', 'b')
      const enabled = new Set(['a', 'b'])
      const expected: Record<string, Record<string, number>> = { u1: {}, u2: {} }
      for (const each of steps) {
        if ('switched' in each) {
          const isEnabled = !enabled.delete(each.switched)
          if (isEnabled) enabled.add(each.switched)
          await set(isEnabled, each.switched)
          continue
        }
        const file = files[each.file] ?? ''
        await app.importFile(file, { clearMarker: '#', keepChanges: each.keepChanges })
        const [header = [], ...rows] = file
          .trim()
          .split('\n')
          .map((line) => line.split(','))
        for (const [user = '', ...values] of rows)
          for (const [index, value] of values.entries()) {
            const key = header[index + 1] ?? ''
            if (!enabled.has(key)) continue
            const profile = expected[user] ?? {}
            expected[user] = profile
            if (value === '#') delete profile[key]
            else profile[key] = Number(value)
          }
      }
      const { u1, u2 } = await app.profiles()
      expect({ u1, u2 }).toEqual(expected)
    }),
    // The first example applies a file while a key is disabled, and again after it was enabled.
    { numRuns: propertyRuns(80), examples: [[[{ switched: 'a' }, first, { switched: 'a' }, first]]] },
  )
})

describe('a key that is disabled while an import runs', () => {
  const rows = (value: number) => users.map((user) => `${user},${value},${value}\n`).join('')
  const file = (value: number) => `user_id,plan,n\n${rows(value)}`
  const plans = async () => {
    const profiles = await app.profiles()
    return users.map((user) => profiles[user]?.plan)
  }

  /** Imports a file that waits for a locked profile in its middle. Calls `meanwhile`, then unlocks the profile. */
  async function importAround(
    meanwhile: (importId: string) => Promise<void>,
    options: { keepChanges?: boolean } = {},
  ): Promise<string> {
    const importId = await app.queue(file(2), 'text/csv', false, options)
    let running: Promise<unknown> = Promise.resolve()
    await app.db.transaction().execute(async (tx) => {
      await sql`select from profiles where app_id = ${app.appId} and user_id = 'u30' for update`.execute(tx)
      running = app.run(importId)
      await until('the batches before the locked profile', async () => {
        const { view } = await app.resultOf(importId)
        return view.rows_total === 30
      })
      await meanwhile(importId)
    })
    await running
    return importId
  }

  const isPrefix = (values: readonly unknown[], changed: number, unchanged: number) => {
    const first = values.indexOf(unchanged)
    return values.every((value, index) => value === (index < first ? changed : unchanged)) ? first : -1
  }

  test('is applied by batches that began before, and by no later one; the same file again applies all of it', async () => {
    await app.importFile(file(1))
    const importId = await importAround(async () => {
      await set(false, 'plan')
    })
    // Two batches in flight may follow the one that waits, and one is prepared.
    const first = isPrefix(await plans(), 2, 1)
    expect(first).toBeGreaterThanOrEqual(32)
    expect(first).toBeLessThanOrEqual(38)
    const { view } = await app.resultOf(importId)
    expect(view).toMatchObject({ state: 'completed', rows_applied: 60, types: { n: 'int' } })
    expect(view.warnings).toEqual([ignored('plan', 'int')])

    await set(true, 'plan')
    const again = await app.importFile(file(2), { keepChanges: true })
    expect(again.view).toMatchObject({ rows_applied: 60, rows_changed: 60 - first, warnings: [] })
    expect(new Set(await plans())).toEqual(new Set([2]))
  })

  // changes.md §1, The changes file; changes.md §3, What it does.
  test('is in the changes file with what earlier batches changed, and the undo and its own undo restore that', async () => {
    await app.importFile(file(1))
    const importId = await importAround(async () => void (await set(false, 'plan')), { keepChanges: true })
    const after = await app.profiles()
    const first = isPrefix(await plans(), 2, 1)
    const { view, changesFile } = await app.resultOf(importId)
    expect(view.changes?.keys).toEqual({
      n: { added: 0, changed: 60, removed: 0 },
      plan: { added: 0, changed: first, removed: 0 },
    })
    expect(changesFile?.split('\n').filter((line) => line.includes(',plan,int,1,2'))).toHaveLength(first)

    await app.importFile('user_id,n\nu0,5\n')
    await set(true, 'plan')
    await app.importFile('user_id,plan\nu1,5\n')
    await set(false, 'plan')
    const undo = async (of: string) => {
      const undoId = await undoImport(app.context, { appId: app.appId, importId: of })
      await app.run(undoId)
      return await app.resultOf(undoId)
    }
    const undone = await undo(importId)
    expect(undone.view).toMatchObject({ state: 'completed', rows_total: 60 + first, rows_failed: 2 })
    expect(undone.errorFile?.toString().split('\n').slice(1, -1)).toEqual([
      'n was changed since,u0,n,int,1,2',
      'plan was changed since,u1,plan,int,1,2',
    ])
    expect(await plans()).toEqual(users.map((user) => (user === 'u1' ? 5 : 1)))
    expect((await undo(undone.view.import_id)).view).toMatchObject({ state: 'completed', rows_failed: 0 })
    expect(await app.profiles()).toEqual({ ...after, u0: { plan: 2, n: 5 }, u1: { plan: 5, n: 2 } })
  })

  test('and enabled again: the batches in between lack it, and the warning stays', async () => {
    await app.importFile(file(1))
    await set(false, 'plan')
    const importId = await importAround(async () => {
      await set(true, 'plan')
    })
    const first = isPrefix(await plans(), 1, 2)
    expect(first).toBeGreaterThanOrEqual(32)
    expect(first).toBeLessThanOrEqual(38)
    const { view } = await app.resultOf(importId)
    expect(view).toMatchObject({ types: { plan: 'int', n: 'int' }, warnings: [ignored('plan', 'int')] })
  })

  test('and whose worker is lost: its successor begins with the present state, and the stale worker writes nothing', async () => {
    await app.importFile(file(1))
    const successor = { outcome: undefined as unknown }
    const importId = await importAround(async (importId) => {
      await set(false, 'plan')
      await endLease(app.db, importId)
      const claimed = await app.tryToClaim(importId)
      assert(claimed)
      successor.outcome = app.run(claimed)
    })
    await successor.outcome
    expect(isPrefix(await plans(), 2, 1)).toBe(30)
    expect((await app.resultOf(importId)).view).toMatchObject({
      ...{ state: 'completed', rows_applied: 60, types: { n: 'int' } },
      warnings: [ignored('plan', 'int')],
    })
    await set(true, 'plan')
    await app.importFile(file(2))
    expect(new Set(await plans())).toEqual(new Set([2]))
  })
})

// changes.md §3, What it does.
test('an undo restores the values of a key that was disabled since', async () => {
  await app.importFile('user_id,n\nu1,1\n')
  const { view } = await app.importFile('user_id,n,plan\nu1,2,a\n', { keepChanges: true })
  await set(false, 'n')
  const undoId = await undoImport(app.context, { appId: app.appId, importId: view.import_id }, { dryRun: false })
  await app.run(undoId)
  expect((await app.resultOf(undoId)).view).toMatchObject({ state: 'completed', rows_failed: 0, rows_applied: 2 })
  expect((await app.profiles()).u1).toEqual({ n: 1 })
})

// second-day.md §3, Exports; changes.md §4.
test('an export leaves out the keys that are disabled at its snapshot; a key it named has an empty column', async () => {
  await app.importFile('user_id,n,plan\nu1,1,a\n')
  const named = await request(app.fixture, app.appId, ['plan', 'n'])
  await set(false, 'n')
  expect(await runNext(app.fixture)).toBe('completed')
  const text = gunzipSync(await storedFile(app.fixture, app.appId, named)).toString()
  expect(text.split('\n').filter((line) => /^user_id|^u1,/.test(line))).toEqual(['user_id,plan,n', 'u1,a,'])
  expect((await exportApp(app.fixture, app.appId)).split('\n')[0]).toBe('user_id,plan')
  await set(true, 'n')
  expect((await exportApp(app.fixture, app.appId)).split('\n').filter((line) => /^user_id|^u1,/.test(line))).toEqual([
    'user_id,n,plan',
    'u1,1,a',
  ])
})
