import { sql } from '@sluice/database'
import { openScratch } from '../../environment/scratch.ts'
import { until } from '../../environment/wait.ts'
import { openFakeClock } from '../../faults/harness/fake-clock.ts'
import { startFaultyPostgres } from '../../faults/harness/servers.ts'
import { type App, openApp } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'

/** A stack with an app, whose processes and Postgres share a clock that tests set. */
export interface Calendar {
  stack: RunningStack
  app: App
  /** Sets the clock to a time that is later, and waits until the tasks of maintenance that are due then have run. */
  goTo(time: string): Promise<void>
  close(): Promise<void>
}

/** Users of the app. */
const users = ['ann', 'bob', 'cem', 'dan', 'eve']

/** Starts a stack at a time. Returns undefined if libfaketime is not installed. */
export async function openCalendar(time: string, env: Record<string, string>): Promise<Calendar | undefined> {
  const scratch = await openScratch('sluice-calendar-')
  const clock = await openFakeClock(scratch.path)
  if (clock === undefined) return undefined
  const set = (at: string) => clock.set((Date.parse(at) - Date.now()) / 1000)
  await set(time)
  const postgres = await startFaultyPostgres(scratch.path, {}, clock)
  const stack = await startStack({ env: { DATABASE_URL: postgres.directUrl, ...clock.environment, ...env } })
  const app = await openApp(stack, users)
  // Each round of maintenance runs at once when a worker begins to host it. The next one is due its period later.
  const ran = { minute: Date.parse(time), tenMinutes: Date.parse(time) }
  await untilRecorded(stack, time)
  return {
    stack,
    app,
    async goTo(at) {
      const now = Date.parse(at)
      const isRemoved = await insertOldKey(stack, app)
      await set(at)
      if (now - ran.minute >= 60_000) {
        await untilRecorded(stack, at)
        ran.minute = now
      }
      if (now - ran.tenMinutes >= 600_000) {
        await until('the tasks of these ten minutes', isRemoved, 120_000)
        ran.tenMinutes = now
      }
    },
    async close() {
      await stack.stop()
      await postgres.close()
      await scratch[Symbol.asyncDispose]()
    },
  }
}

/** Waits until the tasks of each minute have run since a time: one of them records the length of the queues. */
async function untilRecorded({ db }: RunningStack, since: string): Promise<void> {
  const isRecorded = async () =>
    (await sql`select from queue_history where recorded_at >= ${since}::timestamptz`.execute(db)).rows.length > 0
  await until('the tasks of this minute', isRecorded, 120_000)
}

/** Inserts an idempotency key that a task of every ten minutes removes. Returns whether it has. */
async function insertOldKey({ db }: RunningStack, { appId }: App): Promise<() => Promise<boolean>> {
  const key = crypto.randomUUID()
  await sql`
    insert into idempotency_keys (app_id, function, key, owner, lease_until, created_at)
    values (${appId}, 'marker', ${key}, ${key}, now(), now() - interval '2 days')
  `.execute(db)
  return async () => (await sql`select from idempotency_keys where key = ${key}`.execute(db)).rows.length === 0
}
