import { runImport } from '@sluice/imports'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { claim, importFile, queueFile } from '../imports/import-fixture.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import { openTestDashboard } from './test-dashboard.ts'
import { signIn } from './visitor.ts'

// What people decide about an import on its page: approval, and undo.
const dashboard = openBeforeAll(openTestDashboard)

// changes.md §2, The decision.
test('the page of an import says why it is held, and applies it after one approval, which says whether it can be undone', async () => {
  const { appId, email } = await openAppWith(dashboard, ['u1', 'u2'])
  const fixture = fixtureOf(dashboard)
  const options = { holdIf: { failed_percent: 20 } }
  const importId = await queueFile(fixture, appId, 'user_id,age\nu1,1\nghost,2\n', 'text/csv', false, options)
  const run = async () =>
    runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
  expect(await run()).toMatchObject({ outcome: 'held' })
  const visitor = await signIn(dashboard, email)
  const address = `/apps/${appId}/imports/${importId}`
  const { text } = await visitor.get(address)
  expect(text).toMatch(
    /Held<.*Nothing is applied until somebody approves it.*<li>Percent of rows with errors: 50, more than 20<\/li>/s,
  )
  expect(text).toMatch(/<span class="figure">1<\/span><span class="name">Rows without errors/)
  // A wide file has a long table of keys, so the errors precede it.
  expect(text).toMatch(/Rows with errors<\/h2>.*What the import would change.*1 user with first values/s)
  expect(text).toContain('data-events')
  const held = (await visitor.get(`/apps/${appId}/imports?state=held`)).text
  expect(held).toContain(importId.slice(0, 8))
  // The time for which nobody approves it is not the time that it took.
  expect(held).toContain('<td class="number" data-name="Duration">–</td>')
  const question = (await visitor.get(`${address}/approve`)).text
  expect(question).toContain('This applies 1 row of the file')
  expect(question).toContain('The import cannot be undone')
  expect((await visitor.get(`${address}/cancel`)).text).toContain('Nothing has been applied so far.')
  const approved = await visitor.post(`${address}/approve`)
  expect([approved.status, approved.headers.get('location')]).toEqual([303, address])
  const again = await visitor.post(`${address}/approve`, {}, `${address}/cancel`)
  expect([again.status, again.text]).toEqual([409, expect.stringContaining('There is nothing to approve')])
  expect(await run()).toMatchObject({ outcome: 'completed' })
  const applied = (await visitor.get(address)).text
  expect(applied).toContain('Completed')
  expect(applied).toMatch(new RegExp(`<dt>Approved</dt><dd><time [^>]*>[^<]*</time> by ${email}</dd>`))
})

test('the page of a held import says how its values are seen, and after its cancellation still why it was held', async () => {
  const { appId, email } = await openAppWith(dashboard, ['u1'])
  const fixture = fixtureOf(dashboard)
  const visitor = await signIn(dashboard, email)
  const sentence = 'make a dry run of the file with “Keep what each row changes”'
  const hold = async (keepChanges: boolean) => {
    const options = { holdIf: 'always' as const, keepChanges }
    const importId = await queueFile(fixture, appId, 'user_id,age\nu1,1\n', 'text/csv', false, options)
    await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    return `/apps/${appId}/imports/${importId}`
  }
  const address = await hold(false)
  expect((await visitor.get(address)).text).toContain(sentence)
  await visitor.post(`${address}/cancel`)
  const cancelled = (await visitor.get(address)).text
  expect(cancelled).toMatch(
    /Cancelled<.*The import was held for approval:.*<li>It was asked for, whatever the file changes<\/li>/s,
  )
  expect(cancelled).toMatch(new RegExp(`<dt>Cancelled</dt><dd><time [^>]*>[^<]*</time> by ${email}</dd>`))
  expect(cancelled).not.toContain('Without approval')
  expect((await visitor.get(await hold(true))).text).not.toContain(sentence)
})

// changes.md §3, Asking for it.
test('the page of an import offers an undo, whose button follows the numbers of its dry run', async () => {
  const { appId, email } = await openAppWith(dashboard, ['u1'])
  const fixture = fixtureOf(dashboard)
  const { view } = await importFile(fixture, appId, 'user_id,age\nu1,1\n', { keepChanges: true })
  const visitor = await signIn(dashboard, email)
  const address = `/apps/${appId}/imports/${view.import_id}`
  const before = await visitor.get(`${address}/undo`)
  expect(before.text).toContain('Count first')
  expect(before.text).not.toContain('Undo the import')
  const started = await visitor.post(`${address}/undo/dry-run`, {}, `${address}/undo`)
  expect([started.status, started.headers.get('location')]).toEqual([303, `${address}/undo`])
  const counting = (await visitor.get(`${address}/undo`)).text
  expect(counting).toContain('data-refresh="1000"')
  const dryRunId = /imports\/([0-9a-f-]{36})">dry run</.exec(counting)?.[1] ?? ''
  await runImport(fixture.context, await claim(fixture, appId, dryRunId), new AbortController().signal)
  const counted = (await visitor.get(`${address}/undo`)).text
  expect(counted).toMatch(/The undo would change:.*1 row with changes. Values: 1 removed/s)
  expect(counted).toContain('Undo the import')
  const undoing = await visitor.post(`${address}/undo`)
  expect(undoing.status).toBe(303)
  const undo = undoing.headers.get('location') ?? ''
  expect((await visitor.get(undo)).text).toContain(`<h1>Undo ${undo.split('/').at(-1)?.slice(0, 8)}</h1>`)
  await runImport(fixture.context, await claim(fixture, appId, undo.slice(-36)), new AbortController().signal)
  expect((await visitor.get(`${undo}/undo`)).text).toContain('<h1>Undo the undo ')
  const undone = (await visitor.get(address)).text
  expect(undone).toContain(`<dt>Undone by</dt><dd><a href="${undo}">`)
  expect(undone).not.toContain('Undo…')
})
