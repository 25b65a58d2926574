import { authenticator } from '@sluice/accounts'
import { type Connection, connect, sql } from '@sluice/database'
import { abortMove, confirmMove, type Move, type MoveStep, moveApp } from '@sluice/moves'
import { registerUsers } from '@sluice/profiles'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { countsOf, openTwoDatabases, type TwoDatabases } from './two-databases.ts'

let databases: TwoDatabases
beforeAll(async () => {
  databases = await openTwoDatabases()
  return () => databases.close()
}, 60_000)

const silent = () => {}

/** Runs a move until the copy follows the source, where its command ends. */
async function copyAlone(move: Move): Promise<void> {
  const stopped = new Error('stopped')
  const stop = ({ step }: MoveStep) => {
    if (step === 'following') throw stopped
  }
  await expect(moveApp(move, stop)).rejects.toBe(stopped)
}

test('an app moves while it is written: every answered write is in the target, and the source refuses later ones', async () => {
  const [source, target] = databases.services
  const move = await databases.openMove()
  const { appId } = move
  const other = await databases.openMove()
  await registerUsers(
    source.db,
    appId,
    Array.from({ length: 20_000 }, (_, index) => `user-${index}`),
  )
  await registerUsers(source.db, other.appId, ['stays'])
  const answered: string[] = []
  let refusal: unknown
  const writing = (async () => {
    for (let index = 0; refusal === undefined; index++) {
      try {
        await registerUsers(source.db, appId, [`late-${index}`])
        answered.push(`late-${index}`)
      } catch (error) {
        refusal = error
      }
    }
  })()
  await vi.waitFor(() => expect(answered.length).toBeGreaterThan(10), 20_000)
  const steps: string[] = []
  await moveApp(move, (step) => steps.push(step.step))
  await writing
  expect(refusal).toMatchObject({ code: 'SL001' })
  expect(steps.at(-1)).toBe('moved')
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from users where app_id = ${appId} and user_id = any(${answered}::text[])
  `.execute(target.db)
  expect(rows[0]?.n).toBe(answered.length)
  expect(await countsOf(target, appId)).toEqual(await countsOf(source, appId))
  expect(await countsOf(target, other.appId)).toEqual({})
  await registerUsers(target.db, appId, ['after'])
  expect(await authenticator(target.db)(move.apiToken)).toMatchObject({ appId })
  await confirmMove(move)
  expect(await countsOf(source, appId)).toEqual({})
  expect(await countsOf(target, appId)).toMatchObject({ users: 20_001 + answered.length })
  expect(await countsOf(source, other.appId)).toMatchObject({ users: 1 })
  await expect(moveApp(move, silent)).resolves.toBeUndefined()
}, 120_000)

test('the first copy pauses again and again, for the other apps of the servers, and what follows it does not', async () => {
  const [source, target] = databases.services
  const move = await databases.openMove()
  const users = Array.from({ length: 20_000 }, (_, index) => `user-${index}`)
  await registerUsers(source.db, move.appId, users)
  const triggers = sql`select tgname from pg_trigger where tgname like ${`sluice_move_${move.appId}_%`}`
  const stopped = new Error('stopped')
  const stop = () => {
    throw stopped
  }
  await expect(moveApp(move, stop)).rejects.toBe(stopped)
  expect(JSON.stringify(await triggers.execute(target.db))).toContain('paced')
  await abortMove(move)
  expect((await triggers.execute(target.db)).rows).toEqual([])

  let [isMoving, isPausing] = [true, false]
  const looking = (async () => {
    while (isMoving && !isPausing) {
      const { rows } = await sql`
        select from pg_stat_activity
        where backend_type = 'logical replication tablesync worker' and wait_event = 'PgSleep'
      `.execute(target.db)
      isPausing = rows.length > 0
    }
  })()
  let whileFollowing: Promise<unknown> = Promise.resolve()
  await moveApp(move, ({ step }) => {
    if (step === 'following') whileFollowing = triggers.execute(target.db)
  }).finally(() => {
    isMoving = false
  })
  await looking
  expect(isPausing).toBe(true)
  expect(JSON.stringify(await whileFollowing)).not.toContain('paced')
  expect((await triggers.execute(target.db)).rows).toEqual([])
}, 120_000)

test('a move that cannot begin says all that is missing, and an abort leaves the app as it was, without a copy', async () => {
  const [source, target] = databases.services
  const move = await databases.openMove()
  const { appId } = move
  await registerUsers(source.db, appId, ['ann'])
  const before = await countsOf(source, appId)
  await expect(abortMove(move)).rejects.toThrow('is not moving')
  await expect(confirmMove(move)).rejects.toThrow('has not moved from cell 0')
  const wrong = { ...move, target: { ...move.target, cell: 2 } }
  await expect(moveApp(wrong, silent)).rejects.toThrow('the database of cell 2 belongs to cell 1')

  // The copy of this row fails, as every command would that cannot end.
  await sql`insert into apps (app_id, name) overriding system value values (${appId}, 'in the way')`.execute(target.db)
  await expect(moveApp(move, silent)).rejects.toThrow('cell 1 has rows of app')
  await sql`delete from apps where app_id = ${appId}`.execute(target.db)
  await copyAlone(move)
  expect(await countsOf(target, appId)).toEqual(before)
  await abortMove(move)
  expect(await countsOf(source, appId)).toEqual(before)
  expect(await countsOf(target, appId)).toEqual({})
  await registerUsers(source.db, appId, ['bob'])
  await moveApp(move, silent)
  expect(await countsOf(target, appId)).toMatchObject({ users: 2 })
  await expect(abortMove(move)).rejects.toThrow('is in cell 1, which has what came since')
}, 120_000)

test('a row that the target refuses ends a move if it does so each time, and delays it if it does so once', async () => {
  const [source, target] = databases.services
  const move = await databases.openMove()
  const { appId } = move
  await registerUsers(source.db, appId, ['ann'])
  await sql`alter table users add constraint refuses check (app_id <> ${sql.lit(appId)})`.execute(move.target.db)
  await expect(moveApp(move, silent)).rejects.toThrow('cell 1 cannot apply what cell 0 sends')
  const going = moveApp(move, silent)
  const errors = sql<{ n: number }>`
    select apply_error_count + sync_error_count as n from pg_stat_subscription_stats
    where subname = ${`sluice_move_${appId}`}
  `
  const before = (await errors.execute(target.db)).rows[0]?.n ?? 0
  await vi.waitFor(async () => expect((await errors.execute(target.db)).rows[0]?.n).toBeGreaterThan(before), 30_000)
  await sql`alter table users drop constraint refuses`.execute(move.target.db)
  await going
  expect(await countsOf(target, appId)).toMatchObject({ users: 1 })
}, 120_000)

test('one command moves an app at a time; one that has lost its connection changes nothing, and the next goes on', async () => {
  const move = await databases.openMove()
  const { appId, source } = move
  let second: Promise<unknown> = Promise.resolve()
  const whileFollowing = ({ step }: MoveStep) => {
    if (step !== 'following') return
    second = abortMove(move).catch(async (error: unknown) => {
      await sql`
        select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = ${appId}
      `.execute(source.db)
      return error
    })
  }
  await expect(moveApp(move, whileFollowing)).rejects.toThrow(/connection|ECONNRESET/i)
  expect(await second).toMatchObject({ message: expect.stringContaining(`another command moves app ${appId}`) })
  const state = await source.db.selectFrom('app_moves').select('state').where('app_id', '=', appId).executeTakeFirst()
  expect(['copying', 'suspended']).toContain(state?.state)
  await moveApp(move, silent)
  expect(await countsOf(databases.services[1], appId)).toMatchObject({ apps: 1 })
}, 120_000)

test('until an app has arrived, workers of the target pass over its rows, and others cannot write them', async () => {
  const [source, target] = databases.services
  const move = await databases.openMove()
  const { appId } = move
  await copyAlone(move)
  const worker = connect(move.target.url, { connections: 1, process: 'worker' })
  onTestFinished(worker.close)
  const rename = ({ db }: Pick<Connection, 'db'>) =>
    db.updateTable('apps').set({ name: 'X' }).where('app_id', '=', appId)
  expect((await rename(worker).executeTakeFirst()).numUpdatedRows).toBe(0n)
  await expect(rename(target).execute()).rejects.toMatchObject({ code: 'SL001' })
  expect((await rename(source).executeTakeFirst()).numUpdatedRows).toBe(1n)
  await moveApp(move, silent)
  expect((await rename(worker).executeTakeFirst()).numUpdatedRows).toBe(1n)
}, 120_000)

test('a suspension whose command has died ends by itself', async () => {
  const [, target] = databases.services
  const move = await databases.openMove()
  const { appId } = move
  await copyAlone(move)
  // The guard is the same in both databases, and this one has it already.
  const suspend = (ms: number) =>
    target.db
      .updateTable('app_moves')
      .set({ state: 'suspended', suspended_until: sql<Date>`clock_timestamp() + make_interval(secs => ${ms / 1000})` })
      .where('app_id', '=', appId)
      .execute()
  const write = () =>
    target.db.updateTable('members').set({ gets_mails: true }).where('app_id', '=', appId).executeTakeFirst()
  await suspend(60_000)
  await expect(write()).rejects.toMatchObject({ code: 'SL001' })
  await suspend(-1)
  expect((await write()).numUpdatedRows).toBe(1n)
}, 120_000)
