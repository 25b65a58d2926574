import { runImport } from '@sluice/imports'
import { beforeEach, describe, expect, test } from 'vitest'
import { claim, openApp, profilesOf, queueFile } from '../imports/import-fixture.ts'
import type { BucketFixture } from './deletion-fixture.ts'
import { csv, type EarlierData, expectDryRunWithoutDeleted, openEarlierData } from './earlier-data-fixture.ts'

// Further cases of earlier-data.test.ts.
let data: EarlierData
let fixture: BucketFixture
let appId: number
beforeEach(async () => {
  data = await openEarlierData()
  ;({ fixture, appId } = data)
  return () => fixture.close()
})

describe('a file that waits while a user is deleted', () => {
  test('is checked by a dry run without the rows of deleted users (registered again: false)', async () => {
    await expectDryRunWithoutDeleted(data, false)
  })

  test('reports nothing if none of its rows can be read', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,age\nalice,"3\n')
    await data.deleteUsers('alice')
    const { view, errorFile } = await data.run(importId)
    expect(errorFile).toBeUndefined()
    expect(view).toMatchObject({ rows_total: 1, rows_applied: 0, rows_failed: 1 })
  })

  test('of another app is applied to the user with the same ID there', async () => {
    const other = await openApp(fixture, ['alice'])
    const importId = await queueFile(fixture, other, csv)
    await data.deleteUsers('alice')
    await runImport(fixture.context, await claim(fixture, other, importId), new AbortController().signal)
    expect(await profilesOf(fixture, other)).toEqual({ alice: { age: 1 } })
  })
})

test('a file that is sent after the deletion is applied to a user who registers again, even if an earlier file waits', async () => {
  const earlier = await queueFile(fixture, appId, csv)
  await data.deleteAndRegisterAgain()
  const later = await queueFile(fixture, appId, 'user_id,age\nalice,7\n')
  await data.run(earlier)
  await data.run(later)
  expect(await profilesOf(fixture, appId)).toEqual({ alice: { age: 7 }, bob: { age: 2 } })
})
