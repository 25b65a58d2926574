import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { runSluice } from '../environment/sluice-command.ts'
import { settingsOf } from '../environment/storage.ts'
import { importFile, openApp } from '../imports/import-fixture.ts'
import { openBucketFixture, request } from './deletion-fixture.ts'

// `sluice deletions list`, `sluice deletions run` and `sluice users show`. command-line.long.test.ts runs a deletion on
// a stack as `npm start` runs it.
const timeZone = { SERVICE_TIMEZONE: 'Asia/Tokyo' }

const fixture = openBeforeEach(() => openBucketFixture(timeZone))
let appId: number
beforeEach(async () => {
  appId = await openApp(fixture, ['alice', 'bob'])
})

async function sluice(...args: string[]) {
  const { database, bucket } = fixture
  const storage = { ...settingsOf(bucket.settings.S3_ENDPOINT), S3_BUCKET: bucket.settings.S3_BUCKET }
  const environment = { DATABASE_URL: database.url, ...storage, ...timeZone }
  const { code, stdout, stderr } = await runSluice([...args, '--json'], environment)
  return { code, json: stdout === '' ? undefined : JSON.parse(stdout), stderr }
}
const listed = async () => (await sluice('deletions', '--app', String(appId))).json[0]
const ask = (users: string[]) => request(fixture, appId, users, new Date().toISOString())

// design.md §2, Deletions.
test('an operator can rehearse a request to its end: listed, started, completed, mailed', async () => {
  const show = (user: string) => sluice('user', 'show', '--app', String(appId), user)
  await ask(['alice', 'nobody'])
  const accepted = await listed()
  expect(accepted).toEqual({
    request_id: expect.any(String),
    state: 'accepted',
    token_last_four: 'last',
    accepted_at: expect.any(String),
    starts_at: expect.any(String),
    completes_at: expect.stringMatching(/-06T15:00:00.000Z$/),
    started_at: null,
    completed_at: null,
    users_requested: 2,
    users_deleted: 0,
    values_deleted: 0,
  })
  const { accepted_at, starts_at, completes_at } = accepted
  const dates = { accepted_at, starts_at, completes_at }
  expect((await show('alice')).json).toMatchObject({ campaign_target: true, deletion: { state: 'accepted', ...dates } })
  expect((await show('bob')).json).toMatchObject({ campaign_target: true, deletion: null })

  const run = (now: string) => sluice('deletions', 'run', '--now', now)
  const nothing = { started: 0, completed: 0, users_deleted: 0, mails: 0 }
  expect(await sluice('deletions', 'run')).toEqual({ code: 0, json: nothing, stderr: '' })
  expect((await run(starts_at)).json).toEqual({ ...nothing, started: 1 })
  expect((await show('alice')).json).toMatchObject({ campaign_target: false, deletion: { state: 'started', ...dates } })

  const done = { started: 0, completed: 1, users_deleted: 1, mails: 1 }
  expect(await run(completes_at)).toEqual({ code: 0, json: done, stderr: '' })
  expect((await show('alice')).code).toBe(1)
  expect((await show('bob')).code).toBe(0)
  expect(await listed()).toMatchObject({ state: 'completed', users_deleted: 1, completed_at: completes_at })
})

test('a run removes files from the storage that the environment names', async () => {
  await importFile(fixture, appId, 'user_id,name\nalice,Alice\nghost,Ghost\n')
  const stored = async () => {
    const names: string[] = []
    for await (const page of fixture.bucket.storage.list(`apps/${appId}/`)) names.push(...page.map(({ key }) => key))
    return names.join('\n')
  }
  expect(await stored()).toMatch(/upload$|errors/m)
  await ask(['alice'])
  expect((await sluice('deletions', 'run', '--now', '2100-01-01')).code).toBe(0)
  expect(await stored()).not.toMatch(/upload$|errors/m)
})

test.each([
  ['deletions'],
  ['deletions', 'run', '--now', 'tomorrow'],
  ['deletions', 'run', '--now', '2100-13-01T00:00:00Z'],
])('wrong usage is reported: %s %s %s %s', async (...args) => {
  const { code, json, stderr } = await sluice(...args)
  expect({ code, json }).toEqual({ code: 2, json: undefined })
  expect(stderr).toMatch(/--app is missing|It must be a time/)
})
