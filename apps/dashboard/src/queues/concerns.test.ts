import { expect, test } from 'vitest'
import { concerns } from './concerns.ts'
import type { Overview } from './overview.ts'
import { runbookEntries } from './runbook.ts'

const now = new Date('2026-03-07T12:00:00Z')
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000)
const worker = {
  host: 'a',
  pid: 1,
  queues: ['imports'],
  startedAt: ago(600),
  seenAt: ago(1),
  isLost: false,
  imports: [],
}
const waiting = { appId: 1, appName: 'Shop', importId: 'x', since: ago(120) }
const well: Overview = {
  imports: {
    active: {},
    ended: { completed: 5 },
    oldestWaiting: undefined,
    oldestHeld: undefined,
    failures: [],
    allPausedSince: undefined,
    pausedApps: [],
  },
  workers: [worker],
  mails: { waiting: 0, waitingSince: undefined, failed: 0 },
  rows: [],
  history: [],
  period: '24h',
  maintenanceAt: ago(30),
  now,
}

test.each<[string, Partial<Overview>, string[]]>([
  ['nothing', {}, []],
  ['no worker', { workers: [] }, ['No worker is alive']],
  ['no worker, and so no maintenance', { workers: [], maintenanceAt: ago(3600) }, ['No worker is alive']],
  ['a new deployment', { maintenanceAt: undefined }, []],
  ['late maintenance', { maintenanceAt: ago(301) }, ['Maintenance has not run for 5 min 1 s']],
  ['a lost worker', { workers: [worker, { ...worker, isLost: true }] }, ['1 worker lost']],
  [
    'an import that waits for a running one',
    { imports: { ...well.imports, active: { queued: 1, processing: 1 }, oldestWaiting: waiting } },
    [],
  ],
  [
    'an import that waits while no import runs',
    { imports: { ...well.imports, active: { queued: 1 }, oldestWaiting: waiting } },
    ['No import is running, although one has been waiting for 2 min 0 s'],
  ],
  ['a held import', { imports: { ...well.imports, active: { held: 1 }, oldestHeld: waiting } }, []],
  [
    'an import that has been held for more than a day',
    { imports: { ...well.imports, active: { held: 1 }, oldestHeld: { ...waiting, since: ago(90_000) } } },
    ['1 import is held, the oldest for 25 h 0 min'],
  ],
  ['failed imports', { imports: { ...well.imports, ended: { failed: 3 } } }, ['3 imports failed']],
  ['a mail in flight', { mails: { waiting: 1, waitingSince: ago(30), failed: 0 } }, []],
  [
    'an outage of the mail server',
    { mails: { waiting: 2, waitingSince: ago(1200), failed: 0 } },
    ['2 mails cannot be sent, the oldest for 20 min'],
  ],
  ['refused mails', { mails: { waiting: 0, waitingSince: undefined, failed: 1 } }, ['1 mail refused']],
])('the concerns about %s are complete', (_, changes, expected) => {
  const found = concerns({ ...well, ...changes })
  expect(found).toHaveLength(expected.length)
  for (const [index, beginning] of expected.entries()) expect(found[index]?.text).toContain(beginning)
})

test('a concern says since when, what to do, and where the runbook has more', () => {
  const lost = [50, 900].map((seconds) => ({ ...worker, isLost: true, seenAt: ago(seconds) }))
  const [nobody, gone] = concerns({ ...well, workers: lost })
  expect(nobody).toMatchObject({ since: ago(50), runbook: 'SluiceNoWorkers', advice: expect.stringContaining('Start') })
  expect(gone).toMatchObject({ since: ago(900), runbook: 'SluiceProcessDown' })
})

test.each([
  ['nobody has started since', [600, 700], 'grave'],
  ['one of two is replaced', [20, 700], 'grave'],
  ['each is replaced', [20, 30], 'healed'],
  ['one started between the losses, and one after both', [20, 100], 'healed'],
  ['two started between the losses', [90, 100], 'grave'],
])('a loss of two workers is healed if a worker has started after each loss: %s', (_, starts, grade) => {
  const lost = [60, 200].map((seconds) => ({ ...worker, isLost: true, seenAt: ago(seconds) }))
  const alive = starts.map((seconds) => ({ ...worker, startedAt: ago(seconds) }))
  expect(concerns({ ...well, workers: [...alive, ...lost] }).map((found) => found.grade)).toEqual([grade])
})

test('every entry of the runbook that a concern names exists', () => {
  const everything = concerns({
    ...well,
    imports: {
      ...well.imports,
      ended: { failed: 1 },
      oldestWaiting: waiting,
      allPausedSince: ago(60),
      pausedApps: [{ appId: 1, appName: 'Shop', since: ago(60) }],
    },
    workers: [worker, { ...worker, isLost: true }],
    mails: { waiting: 1, waitingSince: ago(1200), failed: 1 },
    maintenanceAt: ago(1000),
  })
  expect(everything).toHaveLength(8)
  const named = everything.flatMap(({ runbook }) => runbook ?? [])
  expect(runbookEntries).toEqual(expect.arrayContaining([...named, 'SluiceNoWorkers']))
})

test('failed imports alone are not grave, as the files may be to blame; a missing worker is grave and comes first', () => {
  const imports = { ...well.imports, ended: { failed: 3 } }
  expect(concerns({ ...well, imports }).map(({ grade }) => grade)).toEqual(['mild'])
  expect(concerns({ ...well, imports, workers: [] }).map(({ grade }) => grade)).toEqual(['grave', 'mild'])
})
