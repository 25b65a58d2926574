import { claimImport, noticeUploads } from '@sluice/imports'
import { describe, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { eachWithAppInOrder, smallFile } from './app-in-order.ts'
import { queueUpload } from './forced-states.ts'
import { openApp, queueFile } from './import-fixture.ts'

// The order of an app's imports: which one is next, and which ones wait (design.md §3 and §4).
const app = eachWithAppInOrder()

describe('the next import of an app', () => {
  test('is the first in request order; apps do not wait for each other', async () => {
    const first = await app.queue(smallFile)
    await app.queue(smallFile)
    const other = await openApp(app.fixture)
    const ofOther = await queueFile(app.fixture, other, smallFile)
    expect((await app.dispatch()).toSorted()).toEqual([first, ofOther].toSorted())
  })

  // design.md §4, No lost work.
  test('is dispatched once, and again if nobody claims it for 10 s: the job may be lost', async () => {
    const first = await app.queue(smallFile)
    expect(await app.dispatch()).toEqual([first])
    expect(await app.dispatch()).toEqual([])
    await app.age(first, 11)
    expect(await app.dispatch()).toEqual([first])
  })

  test('is none while an import of the app is active, and the following one when this has ended', async () => {
    const first = await app.queue(smallFile)
    const second = await app.queue(smallFile)
    const active = await app.claim(first)
    expect(await app.dispatch()).toEqual([])
    expect(await app.tryToClaim(second)).toBeUndefined()
    await app.run(active)
    expect(await app.dispatch()).toEqual([second])
  })

  test('is chosen separately for dry runs: they delay no import, and no import delays them', async () => {
    const dryRun = () => app.queue(smallFile, 'text/csv', true)
    const [firstDry, first] = [await dryRun(), await app.queue(smallFile)]
    const secondDry = await dryRun()
    expect((await app.dispatch()).toSorted()).toEqual([firstDry, first].toSorted())
    const active = await app.claim(firstDry)
    expect(await app.tryToClaim(secondDry)).toBeUndefined()
    await app.run(first)
    await app.run(active)
    expect(await app.dispatch()).toEqual([secondDry])
  })

  // design.md §4, Order.
  test('is claimed alone: a claim that did not see another claim of the app fails', async () => {
    const earlier = await app.awaitUpload()
    const later = await app.queue(smallFile)
    await app.age(later, 60)
    // The later import may overtake the earlier one, whose file arrives at that very moment.
    const racing = await app.db.transaction().execute(async (tx) => {
      expect(await claimImport({ ...app.context, db: tx }, { appId: app.appId, importId: later })).toBeDefined()
      await queueUpload(app.db, earlier)
      const claiming = app.tryToClaim(earlier)
      await until('the claim to wait for the other one', async () => (await lockWaits(app.db)).length > 0)
      return { claiming }
    })
    expect(await racing.claiming).toBeUndefined()
    expect([await app.state(earlier), await app.state(later)]).toEqual(['queued', 'processing'])
  })

  test('is the only import that a repeated or late job can claim: not a running, an ended or a later one', async () => {
    const first = await app.queue(smallFile)
    const second = await app.queue(smallFile)
    expect(await app.tryToClaim(second)).toBeUndefined()
    const active = await app.claim(first)
    expect(await app.tryToClaim(first)).toBeUndefined()
    await app.run(active)
    expect(await app.tryToClaim(first)).toBeUndefined()
  })

  test('is claimed once, even if several workers claim it at the same moment', async () => {
    const importId = await app.queue(smallFile)
    const claims = await Promise.all(Array.from({ length: 8 }, () => app.tryToClaim(importId)))
    expect(claims.filter((each) => each !== undefined)).toHaveLength(1)
  })

  // design.md §3, Request order.
  test('is a later import once it has waited UPLOAD_ORDER_WAIT for the upload of an earlier one', async () => {
    const earlier = await app.awaitUpload()
    const later = await app.queue(smallFile)
    expect(await app.dispatch()).toEqual([])
    await app.age(later, 31)
    expect(await app.dispatch()).toEqual([later])
    await app.run(later)
    await app.upload(earlier)
    await noticeUploads(app.context)
    expect(await app.dispatch()).toEqual([earlier])
  })

  // service.md, States and transitions.
  test('follows request order, even if files arrive in another order', async () => {
    const first = await app.awaitUpload()
    const second = await app.awaitUpload()
    await app.upload(second)
    await noticeUploads(app.context)
    expect(await app.dispatch()).toEqual([])
    await app.age(first, 2)
    await app.upload(first)
    await noticeUploads(app.context)
    expect(await app.dispatch()).toEqual([first])
  })

  test('is none while the first import waits for a retry', async () => {
    const first = await app.queue(smallFile)
    await app.queue(smallFile)
    await app.db
      .updateTable('imports')
      .set({ retry_at: new Date(Date.now() + 60_000) })
      .where('import_id', '=', first)
      .execute()
    expect(await app.dispatch()).toEqual([])
    await app.age(first, 61)
    expect(await app.dispatch()).toEqual([first])
  })
})
