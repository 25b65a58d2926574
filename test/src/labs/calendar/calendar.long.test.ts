import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasProgram } from '../../environment/program.ts'
import { until } from '../../environment/wait.ts'
import { type Calendar, openCalendar } from './calendar.ts'
import { facts } from './facts.ts'

// Fourteen months in minutes: processes and Postgres share a clock that jumps from one date to the next. Whatever the
// service dates happens on its date, and not before.
const zone = { SERVICE_TIMEZONE: 'Europe/Berlin', WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }

let calendar: Calendar | undefined
beforeAll(async () => {
  if (await hasProgram('faketime')) calendar = await openCalendar('2027-12-31T22:00:00Z', zone)
}, 120_000)
afterAll(() => calendar?.close())

interface Entry {
  time: string
  what: string
  run(calendar: Calendar): Promise<void>
}

function agenda(): Entry[] {
  const entries = facts.flatMap(({ what, made, make, states }): Entry[] => {
    let read: () => Promise<string> = async () => 'not made'
    const makeIt: Entry = {
      time: made,
      what: `${what} begins`,
      run: async (at) => {
        read = await make(at)
      },
    }
    const reads = states.map(([time, state], index): Entry => {
      const run = async () => {
        const hasChanged = state !== states[index - 1]?.[1]
        // A new state may take a moment, and an old one must be there at once.
        if (index > 0 && hasChanged) await until(`${what}: ${state} at ${time}`, async () => (await read()) === state)
        else expect(await read(), `${what} at ${time}`).toBe(state)
      }
      return { time, what: `${what}: ${state}`, run }
    })
    return [makeIt, ...reads]
  })
  return entries.toSorted((one, other) => Date.parse(one.time) - Date.parse(other.time))
}

test('from the end of 2027 to February 2029, everything happens on its date', { timeout: 25 * 60_000 }, async ({
  skip,
}) => {
  if (calendar === undefined) return skip('libfaketime is not installed')
  for (const { time, what, run } of agenda()) {
    await calendar.goTo(time)
    await run(calendar).catch((error: unknown) => {
      throw new Error(`${time}, ${what}`, { cause: error })
    })
  }
})
