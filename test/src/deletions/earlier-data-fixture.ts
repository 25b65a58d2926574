import { runImport } from '@sluice/imports'
import { registerKeys, registerUsers } from '@sluice/profiles'
import { expect } from 'vitest'
import { claim, openApp, queueFile, type Result, resultOf } from '../imports/import-fixture.ts'
import { type BucketFixture, openBucketFixture, request, runAt, schedule } from './deletion-fixture.ts'

/** A file with a row for each of the two users. */
export const csv = 'user_id,age\nalice,1\nbob,2\n'

/** A file with valid rows and errors of users who are deleted, users who are not, and an unregistered user. */
export const mixedFile = 'user_id,age\nbob,1\nbob,2\nalice,3\nalice,none\nalice,4,5\nghost,6\nbob,none\n'

/** An app whose users are deleted after data about them was sent. */
export interface EarlierData {
  fixture: BucketFixture
  appId: number
  deleteUsers(...userIds: string[]): Promise<void>
  register(...userIds: string[]): Promise<unknown>
  deleteAndRegisterAgain(): Promise<void>
  run(importId: string): Promise<Result>
}

/** Opens a fixture with an app that has the users alice and bob and the key age. `fixture.close` closes it. */
export async function openEarlierData(): Promise<EarlierData> {
  const fixture = await openBucketFixture()
  const { db } = fixture.database
  const appId = await openApp(fixture, ['alice', 'bob'])
  await db.transaction().execute((tx) => registerKeys(tx, appId, new Map([['age', 'int']]), 500))
  const deleteUsers = async (...userIds: string[]) => {
    await request(fixture, appId, userIds, schedule.accepted)
    await runAt(fixture, schedule.completion)
  }
  const register = (...userIds: string[]) => registerUsers(db, appId, userIds)
  return {
    fixture,
    appId,
    deleteUsers,
    register,
    async deleteAndRegisterAgain() {
      await deleteUsers('alice')
      await register('alice')
    },
    async run(importId) {
      await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
      return await resultOf(fixture, appId, importId)
    },
  }
}

/** Expects that a dry run of {@link mixedFile} leaves out the rows of a user who was deleted after it was sent. */
export async function expectDryRunWithoutDeleted(data: EarlierData, registersAgain: boolean): Promise<void> {
  const importId = await queueFile(data.fixture, data.appId, mixedFile, 'text/csv', true)
  await data.deleteUsers('alice')
  if (registersAgain) await data.register('alice')
  const { view, errorFile } = await data.run(importId)
  expect(errorFile?.toString()).not.toContain('alice')
  expect(view).toMatchObject({ state: 'completed', rows_total: 7, rows_applied: 0, rows_failed: 2 })
}
