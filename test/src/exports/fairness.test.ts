import { sql } from '@sluice/database'
import { claimExport, type ExportClaim, runExport } from '@sluice/exports'
import { beforeEach, describe, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { openApp, openImportFixture } from '../imports/import-fixture.ts'
import { exportApp, request, show } from './export-fixture.ts'
import { sessionsInTransaction } from './sessions.ts'

// No app keeps the exports of other apps waiting for hours.
const fixture = openBeforeEach(openImportFixture)
let [appId, otherId] = [0, 0]
const never = new AbortController().signal

beforeEach(async () => {
  appId = await openApp(fixture, ['u1'])
  otherId = await openApp(fixture, ['u1'])
})

describe('of the exports that wait', () => {
  const change = async (set: string, exportId: string) =>
    await sql`update exports set ${sql.raw(set)} where export_id = ${exportId}`.execute(fixture.database.db)
  const claimedApps = async () => [await claimExport(fixture.context), await claimExport(fixture.context)]

  /** Queues an export of the app, which used a worker for `usedMinutes` until `agoHours` ago, and of another. */
  async function queueBoth(usedMinutes: number, agoHours: number, waitsMinutes: number): Promise<string[]> {
    const used = await request(fixture, appId)
    const ended = `now() - interval '${agoHours} h'`
    await change(
      `state = 'completed', started_at = ${ended} - interval '${usedMinutes} min', finished_at = ${ended}`,
      used,
    )
    const [exportId, otherExport] = [await request(fixture, appId), await request(fixture, otherId)]
    await change(`requested_at = now() - interval '${waitsMinutes} min'`, exportId)
    return [exportId, otherExport]
  }

  test('one of an app that used workers for long today runs after those of other apps', async () => {
    const [exportId, other] = await queueBoth(30, 2, 20)
    expect((await claimedApps()).map((claim) => claim?.exportId)).toEqual([other, exportId])
  })

  test('one that has waited for longer than that runs first', async () => {
    const [exportId, other] = await queueBoth(30, 2, 40)
    expect((await claimedApps()).map((claim) => claim?.exportId)).toEqual([exportId, other])
  })

  test('one of an app that used workers only before today runs in the order of requests', async () => {
    const [exportId, other] = await queueBoth(30, 30, 1)
    expect((await claimedApps()).map((claim) => claim?.exportId)).toEqual([exportId, other])
  })
})

describe('an export that takes longer than EXPORT_TIME_LIMIT', () => {
  /** A context whose storage accepts nothing, with this limit, ms. */
  const limited = (EXPORT_TIME_LIMIT: number) => ({
    ...fixture.context,
    settings: { ...fixture.context.settings, EXPORT_TIME_LIMIT },
    storage: {
      ...fixture.storage,
      writeStream: (...[, , , { signal } = {}]: Parameters<typeof fixture.storage.writeStream>) =>
        new Promise<void>((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    },
  })

  test('fails at once, leaves no transaction, and the next export of its app runs', async () => {
    const exportId = await request(fixture, appId)
    const claim = (await claimExport(fixture.context)) as ExportClaim
    expect(await runExport(limited(200), claim, never)).toBe('failed')
    expect(await show(fixture, appId, exportId)).toMatchObject({
      state: 'failed',
      error: 'the export took longer than 1 min; request fewer keys at a time',
    })
    expect(await sessionsInTransaction(fixture.database.db)).toEqual([])
    expect(await exportApp(fixture, appId)).toBe('user_id\nu1\n')
  })
})
