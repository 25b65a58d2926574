import { beginUpload, finishUpload } from '@sluice/bucket-uploads'
import { sql } from '@sluice/database'
import { removeOldFiles, runImport, sweepFiles } from '@sluice/imports'
import { beforeEach, describe, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { claim, importFile } from '../imports/import-fixture.ts'
import type { BucketFixture } from './deletion-fixture.ts'
import { csv, openLateWriters } from './late-writers-fixture.ts'

// Further cases of late-writers.test.ts: outages, slow storage, several processes, and an upload that ends late.
const late = openBeforeEach(openLateWriters)
let fixture: BucketFixture
let appId: number
beforeEach(async () => {
  ;({ fixture, appId } = late)
})

describe('a deletion removes', () => {
  test('the file of a bucket upload that becomes an import afterwards, when this import ends', async () => {
    const upload = await beginUpload(fixture.maintenance, appId, 'people.csv')
    await late.deleteAlice()
    await late.write(upload.importId)
    await finishUpload(fixture.maintenance, upload, { kind: 'parts' })
    await removeOldFiles(fixture.context)
    expect(await late.stored(upload.importId)).toHaveLength(1)
    await runImport(fixture.context, await claim(fixture, appId, upload.importId), new AbortController().signal)
    expect(await removeOldFiles(fixture.context)).toBe(1)
    expect(await late.stored(upload.importId)).toEqual([])
  })
})

describe('a sweep removes', () => {
  test('nothing during an outage of storage: it tries once a run, and succeeds in the next run after the outage', async () => {
    const { view } = await importFile(fixture, appId, csv)
    await late.deleteAlice()
    await late.write(view.import_id)
    await late.passHours(25)
    let tries = 0
    const removeAll = () => {
      tries += 1
      return Promise.reject(new Error('storage is away'))
    }
    expect(await sweepFiles({ ...fixture.context, storage: { ...fixture.storage, removeAll } })).toBe(0)
    expect(tries).toBe(1)
    expect(await late.sweepsLeft()).toEqual([view.import_id])
    await late.passHours(1)
    expect(await sweepFiles(fixture.context)).toBe(1)
    expect(await late.stored(view.import_id)).toEqual([])
  })

  test('each place once a run, even if storage is so slow that the first places are due again before the run ends', async () => {
    // More places than a run reads at a time.
    await sql`insert into file_sweeps (app_id, import_id, due_at)
      select ${appId}, gen_random_uuid(), now() from generate_series(1, 101)`.execute(fixture.database.db)
    const removed: string[] = []
    const removeAll = async (prefix: string) => {
      removed.push(prefix)
      if (removed.length < 500)
        await sql`update file_sweeps set due_at = now() where due_at < now() + interval '1 hour'`.execute(
          fixture.database.db,
        )
      throw new Error('storage is slow, and then refuses')
    }
    await sweepFiles({ ...fixture.context, storage: { ...fixture.storage, removeAll } })
    expect(removed).toHaveLength(101)
    expect(new Set(removed).size).toBe(101)
    await sql`delete from file_sweeps`.execute(fixture.database.db)
  })

  test('each place once, however many processes run', async () => {
    for (let number = 0; number < 5; number++) await importFile(fixture, appId, csv)
    await late.deleteAlice()
    await late.passHours(25)
    const swept = await Promise.all(Array.from({ length: 4 }, () => sweepFiles(fixture.context)))
    expect(swept.reduce((sum, each) => sum + each)).toBe(5)
    expect(await late.sweepsLeft()).toEqual([])
  })
})
