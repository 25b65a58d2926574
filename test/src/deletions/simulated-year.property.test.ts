import assert from 'node:assert/strict'
import { runImport } from '@sluice/imports'
import { joinedProfileUpdates, registerUsers, UnregisteredUser } from '@sluice/profiles'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { propertyRuns } from '../environment/property-runs.ts'
import { claim, openApp, profilesOf, queueFile, resultOf } from '../imports/import-fixture.ts'
import {
  type DeletionFixture,
  mailEvents,
  openDeletionFixture,
  request,
  runAt,
  runCutShort,
  targetsOf,
} from './deletion-fixture.ts'
import { AppModel } from './model.ts'

// Whatever happens in a year, the database equals a plain model at every step. Queues take no part: a job of
// maintenance carries no data, so the result holds for both stores. killed-worker.long.test.ts runs real workers on
// both.
let fixture: DeletionFixture
beforeAll(async () => {
  // Batches are so small that a run often ends between two of them.
  fixture = await openDeletionFixture({ DELETION_BATCH_USERS: '2' })
  return () => fixture.close()
})

const names = ['a', 'b', 'c', 'd', 'é', "o'hara"]
const users = fc.subarray(names, { minLength: 1 })
const app = fc.nat({ max: 1 })

/** What happens to a run: nothing, an end after some batches, an outage of storage, or several runs at once. */
const disturbance = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: 'none' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('cut short' as const), batches: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'storage away' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'at once' as const }) },
)
type Disturbance = typeof disturbance extends fc.Arbitrary<infer Kind> ? Kind : never

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('request' as const), app, users }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('register' as const), app, users }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('update' as const), app, user: fc.constantFrom(...names) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('send' as const), app, users }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('import' as const), app, users }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('maintenance' as const), hours: fc.nat({ max: 24 * 25 }), disturbance }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.nat({ max: 24 * 40 }) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Kind> ? Kind : never

interface World {
  apps: { appId: number; model: AppModel }[]
  now: Date
  /** A new value for every write. */
  value: number
}

test('a year of requests, registrations, updates, imports, crashes and down times matches the model', async () => {
  let steps = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (year) => {
      const apps = [await openApp(fixture), await openApp(fixture)].map((appId) => ({ appId, model: new AppModel() }))
      const world: World = { apps, now: new Date('2100-01-01T00:00:00Z'), value: 0 }
      for (const step of year) {
        await take(world, step)
        await compare(world)
        steps += 1
      }
    }),
    { numRuns: propertyRuns(25) },
  )
  expect(steps).toBeGreaterThan(0)
})

async function take(world: World, step: Step): Promise<void> {
  if (step.kind === 'wait') world.now = hoursLater(world.now, step.hours)
  else if (step.kind === 'maintenance') {
    world.now = hoursLater(world.now, step.hours)
    await maintenance(world, step.disturbance)
  } else {
    const { appId, model } = world.apps[step.app] ?? assert.fail('there are two apps')
    world.value += 1
    await change(world, appId, model, step)
  }
}

async function change(
  { now, value }: World,
  appId: number,
  model: AppModel,
  step: Exclude<Step, { kind: 'wait' | 'maintenance' }>,
): Promise<void> {
  const { db } = fixture.database
  switch (step.kind) {
    case 'request':
      await request(fixture, appId, step.users, now.toISOString())
      return model.request(step.users, now)
    case 'register':
      await registerUsers(db, appId, step.users)
      return model.register(step.users)
    case 'update': {
      const known = model.users.has(step.user)
      const updating = joinedProfileUpdates(db, 500)(appId, step.user, [{ key: 'value', type: 'int', value }])
      if (known) await updating
      else await expect(updating).rejects.toThrow(UnregisteredUser)
      return model.write([step.user], value)
    }
    case 'send':
      await send(appId, step.users, value)
      return model.send(step.users, value)
    case 'import': {
      await send(appId, step.users, value)
      model.send(step.users, value)
      while (model.waiting.length > 0) expect(await runNext(appId)).toBe(model.runNext())
      return
    }
  }
}

async function send(appId: number, userIds: readonly string[], value: number): Promise<void> {
  const rows = userIds.map((user) => `${user},${value}\n`).join('')
  await queueFile(fixture, appId, `user_id,value\n${rows}`)
}

/** Runs the app's next import. Returns how many rows were applied. */
async function runNext(appId: number): Promise<number> {
  const { import_id: importId } = await fixture.database.db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .where('state', '=', 'queued')
    .orderBy('sequence_number')
    .limit(1)
    .executeTakeFirstOrThrow()
  await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
  const { view, errorFile } = await resultOf(fixture, appId, importId)
  const reported = errorFile?.toString().trim().split('\n').slice(1) ?? []
  expect(reported).toHaveLength(view.rows_failed)
  return view.rows_applied
}

/** Runs maintenance. After a disturbed run, another run continues. */
async function maintenance({ apps, now }: World, disturbance: Disturbance): Promise<void> {
  const at = now.toISOString()
  if (disturbance.kind === 'cut short') await runCutShort(fixture, at, disturbance.batches)
  if (disturbance.kind === 'storage away') {
    const storage = { ...fixture.storage, removeAll: () => Promise.reject(new Error('storage is away')) }
    await runAt(fixture, at, { storage }).catch(() => {})
  }
  await Promise.all(Array.from({ length: disturbance.kind === 'at once' ? 3 : 1 }, () => runAt(fixture, at)))
  for (const { model } of apps) model.maintenance(now)
}

async function compare({ apps }: World): Promise<void> {
  for (const { appId, model } of apps) {
    const { db } = fixture.database
    const profiles = [...model.users].map(([user, value]) => [user, value === undefined ? {} : { value }] as const)
    expect(await profilesOf(fixture, appId)).toEqual(Object.fromEntries(profiles))
    expect(await targetsOf(fixture, appId)).toEqual(model.targets())
    expect(await mailEvents(fixture, appId)).toEqual([...model.mailed].map((date) => `deletion:${date}`).toSorted())
    const states = db.selectFrom('deletion_requests').select('state').where('app_id', '=', appId)
    expect((await states.execute()).map(({ state }) => state).toSorted()).toEqual(
      model.requests.map(({ state }) => state).toSorted(),
    )
    const named = db.selectFrom('deletion_request_users').select('user_id').where('app_id', '=', appId)
    expect((await named.execute()).map((row) => row.user_id).toSorted()).toEqual(
      model.requests.flatMap(({ pending }) => [...pending]).toSorted(),
    )
    const stored = db.selectFrom('imports').select('import_id').where('files_removed_at', 'is', null)
    expect(await stored.where('app_id', '=', appId).execute()).toHaveLength(model.storedImports + model.waiting.length)
  }
}

function hoursLater(time: Date, hours: number): Date {
  return new Date(time.getTime() + hours * 3_600_000)
}
