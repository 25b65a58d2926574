import { importDefaults, setImportDefaults } from '@sluice/accounts'
import type { HoldIf } from '@sluice/contract'
import { runImport } from '@sluice/imports'
import { describe, expect, test } from 'vitest'
import { claim, importFile, profilesOf, resultOf } from '../imports/import-fixture.ts'
import { eachOnDataImport } from './data-import-fixture.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import { formTokenIn, signIn } from './visitor.ts'

// The options of an import in the form, and the app's default for new columns. A browser's part of it is tested in
// data-import-browser.long.test.ts.
const { dashboard, app, visitor, importsOf } = eachOnDataImport(['u1'])

const file = 'user_id,zip,n\nu1,007,#N/A\n'

async function runAt(location: string | null) {
  const fixture = fixtureOf(dashboard)
  const importId = location?.split('/').at(-1) ?? ''
  await runImport(fixture.context, await claim(fixture, app.appId, importId), new AbortController().signal)
  return (await resultOf(fixture, app.appId, importId)).view
}

/** Returns the options that a page shows, as a browser sends them. A box that is not ticked sends nothing. */
function optionsOn(page: string): { isOpen: boolean; fields: Record<string, string> } {
  const inputs = [...page.matchAll(/<input type="(text|number|checkbox)" name="(\w+)"[^>]* value="([^"]*)"[^>]*>/g)]
  const sent = inputs.filter(([input, type]) => type !== 'checkbox' || input.includes(' checked'))
  return {
    isOpen: page.includes('data-options data-step open>'),
    fields: Object.fromEntries(sent.map(([, , name, value = '']) => [name, value.replaceAll('&quot;', '"')])),
  }
}

describe('a file in the form', () => {
  test('follows the options, because the server reads only the fields before it', async () => {
    const { text } = await visitor.get(app.page)
    const fields = [...text.matchAll(/<input[^>]* name="(\w+)"/g)].map(([, name]) => name)
    expect(fields.indexOf('clear_marker')).toBeGreaterThan(0)
    expect(fields.at(-1)).toBe('file')
  })

  test('is imported with the chosen types and the clear marker', async () => {
    await importFile(fixtureOf(dashboard), app.appId, 'user_id,n\nu1,1\n')
    const fields = { profile_types: JSON.stringify({ zip: 'string' }), clear_marker: '#N/A' }
    const answer = await visitor.postFile(app.page, 'people.csv', new Blob([file]), app.page, fields)
    const view = await runAt(answer.headers.get('location'))
    expect(view).toMatchObject({ state: 'completed', file_name: 'people.csv', types: { zip: 'string', n: 'int' } })
    expect(await profilesOf(fixtureOf(dashboard), app.appId)).toEqual({ u1: { zip: '007' } })
  })

  test.each([
    ['a type that is not known', { profile_types: '{"zip":"text"}' }, 'zip should be of type'],
    ['types that are no JSON', { profile_types: '{' }, 'profile_types must be an object'],
    ['a type other than the registered one', { profile_types: '{"n":"string"}' }, 'n is registered as int'],
    ['a marker with a comma', { clear_marker: 'a,b' }, 'must not contain a comma'],
    [
      'a bound that is no number',
      { hold_failed_percent: '5', hold_changed_percent: '0x10' },
      'change or remove a stored value must',
    ],
    [
      'a percentage over 100',
      { hold_removed_percent: '100.5' },
      'remove a stored value must be a number from 0 to 100',
    ],
    ['half a key', { hold_new_keys: '0.5' }, 'Number of new keys must be a whole number of at least 0'],
    ['a marker that is too long', { clear_marker: 'x'.repeat(33) }, 'at most 32 characters'],
  ])('is refused with %s, and leaves no trace', async (_, fields, problem) => {
    await importFile(fixtureOf(dashboard), app.appId, 'user_id,n\nu1,1\n')
    const before = await importsOf()
    const answer = await visitor.postFile(app.page, 'people.csv', new Blob([file]), app.page, fields)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(problem)
    expect(await importsOf()).toEqual(before)
  })

  test.each([
    ['a marker', 'p.csv', { clear_marker: '"a,b"', hold_failed_percent: '5', hold_new_keys: '', hold_always: 'true' }],
    ['a bound', 'p.csv', { clear_marker: '#N/A', hold_failed_percent: '1e1', hold_new_keys: '7' }],
    ['no file', '', { clear_marker: '', hold_failed_percent: '', hold_new_keys: '0', keep_changes: 'true' }],
  ])('is refused because of %s, with all options as they were typed', async (_, name, fields) => {
    await setImportDefaults(dashboard.db, app.appId, { keep_changes: true, hold_if: { changed_percent: 9 } })
    const typed = { ...fields, hold_changed_percent: '', hold_removed_percent: '2' }
    const sent = { keep_changes: 'false', ...typed }
    const { status, text } = await visitor.postFile(app.page, name, new Blob([file]), app.page, sent)
    expect([status, optionsOn(text)]).toEqual([400, { isOpen: true, fields: typed }])
    const unsent = { clear_marker: '', hold_failed_percent: '', hold_removed_percent: '', hold_new_keys: '' }
    expect(optionsOn((await visitor.get(app.page)).text)).toEqual({
      isOpen: false,
      fields: { ...unsent, hold_changed_percent: '9', keep_changes: 'true' },
    })
  })
})

// changes.md §2, Asking for it.
test.each<[string, Record<string, string>, HoldIf]>([
  ['the app’s default, if the form has no bounds', {}, { failed_percent: 5 }],
  [
    'the bounds that are not empty',
    { hold_failed_percent: '', hold_changed_percent: '12.5', hold_new_keys: '0' },
    { changed_percent: 12.5, new_keys: 0 },
  ],
  ['a bound that is written as browsers accept it', { hold_removed_percent: '.5' }, { removed_percent: 0.5 }],
  ['nothing, if all bounds are empty', { hold_failed_percent: '', hold_new_keys: '' }, 'never'],
  ['every file, whatever the bounds', { hold_failed_percent: '5', hold_always: 'true' }, 'always'],
])('a file in the form is held by %s', async (_, fields, holdIf) => {
  await setImportDefaults(dashboard.db, app.appId, { hold_if: { failed_percent: 5 } })
  expect((await visitor.get(app.page)).text).toMatch(
    /name="hold_failed_percent" min="0" max="100" step="any" value="5" form="upload"/,
  )
  expect((await visitor.postFile(app.page, 'people.csv', new Blob([file]), app.page, fields)).status).toBe(303)
  expect(await importsOf()).toMatchObject([{ hold_if: holdIf }])
})

/** Returns whether the box for what changes is ticked on a page, and its words. */
function keepBoxOf(page: string): { isTicked: boolean; words: string | undefined } {
  const [, checked, words] = /name="keep_changes" value="true"[^>]*?( checked)?> ([^<]+)<\/label>/.exec(page) ?? []
  return { isTicked: checked !== undefined, words: words?.replaceAll(/\s+/g, ' ') }
}

describe('the file of a dry run', () => {
  const dryRun = async (fields: Record<string, string> = {}) => {
    const answer = await visitor.postFile(app.page, 'people.csv', new Blob([file]), `${app.page}/dry-run`, fields)
    const location = answer.headers.get('location') ?? ''
    await runAt(location)
    return location
  }

  test('is imported with the same options, and with the types that the dry run showed', async () => {
    const location = await dryRun({ clear_marker: '#N/A' })
    expect((await visitor.get(location)).text).toContain(`href="${location}/import"`)
    const question = (await visitor.get(`${location}/import`)).text
    expect(question).toContain('1 key will be registered')
    expect(question).toContain('zip: int, which may be wrong')
    const answer = await visitor.post(`${location}/import`)
    expect(answer.status).toBe(303)
    const dryRunId = location.split('/').at(-1)
    expect((await importsOf()).find(({ dry_run: isDryRun }) => !isDryRun)).toMatchObject({
      ...{ source: 'dashboard', file_name: 'people.csv', retry_of: dryRunId },
      ...{ profile_types: { zip: 'int' }, clear_marker: '#N/A' },
    })
    expect(await runAt(answer.headers.get('location'))).toMatchObject({ state: 'completed', rows_applied: 1 })
    expect(await profilesOf(fixtureOf(dashboard), app.appId)).toEqual({ u1: { zip: 7 } })
  })

  // changes.md §1, Asking for it.
  test.each([{ kept: false }, { kept: true }])(
    'is imported with the box for what changes as in the dry run ($kept), and the box decides',
    async ({ kept }) => {
      const location = await dryRun({ keep_changes: String(kept) })
      const { text } = await visitor.get(`${location}/import`)
      expect(keepBoxOf(text)).toEqual({
        isTicked: kept,
        words: 'Keep what each row changes, to see it and to undo the import',
      })
      expect(keepBoxOf((await visitor.get(app.page)).text).words).toBe(keepBoxOf(text).words)
      // A ticked box sends its value after that of the hidden field.
      const form = new URLSearchParams({ form_token: formTokenIn(text), keep_changes: 'false' })
      if (!kept) form.append('keep_changes', 'true')
      const answer = await visitor.postWithoutToken(`${location}/import`, form)
      const view = await runAt(answer.headers.get('location'))
      expect(view).toMatchObject({ state: 'completed', keep_changes: !kept })
      expect((await visitor.get(answer.headers.get('location') ?? '')).text.includes('>Undo…<')).toBe(!kept)
    },
  )

  test('keeps what changes as the dry run did, if the request does not say', async () => {
    const answer = await visitor.post(`${await dryRun({ keep_changes: 'true' })}/import`)
    expect(await runAt(answer.headers.get('location'))).toMatchObject({ keep_changes: true })
  })

  test('is imported once', async () => {
    const location = await dryRun()
    const { headers } = await visitor.post(`${location}/import`)
    const again = await visitor.post(`${location}/import`)
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('its file is being imported already, as')])
    const imported = headers.get('location') ?? ''
    expect((await visitor.get(imported)).text).toContain('Imported from dry run')
    await runAt(imported)
    const { text } = await visitor.get(location)
    expect(text).toContain(`The file is imported as <a href="${imported}">`)
    expect(text).not.toContain(`${location}/import"`)
    expect((await visitor.get(`${location}/import`)).status).toBe(404)
    const last = await visitor.post(`${location}/import`)
    expect([last.status, last.text]).toEqual([409, expect.stringContaining('its file has been imported already')])
  })

  test('is not imported with a type that another request has registered differently since', async () => {
    const location = await dryRun()
    await importFile(fixtureOf(dashboard), app.appId, 'user_id,zip\nu1,x\n')
    const answer = await visitor.post(`${location}/import`)
    const view = await runAt(answer.headers.get('location'))
    expect(view).toMatchObject({ state: 'failed', error: 'zip is registered as string' })
  })

  test('is imported only if it was a dry run of this app that has completed', async () => {
    const answer = await visitor.postFile(app.page, 'people.csv', new Blob([file]))
    const location = answer.headers.get('location') ?? ''
    const refused = await visitor.post(`${location}/import`)
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('no dry run')])
    expect((await visitor.get(`${location}/import`)).status).toBe(404)
    const other = await openAppWith(dashboard, [])
    const stranger = await signIn(dashboard, other.email)
    const theirs = `/apps/${other.appId}/data-import`
    expect((await stranger.post(`${location}/import`, {}, theirs)).status).toBe(404)
    const inTheirs = location.replace(`/apps/${app.appId}/`, `/apps/${other.appId}/`)
    expect((await stranger.post(`${inTheirs}/import`, {}, theirs)).status).toBe(404)
  })
})

// second-day.md §1, Warnings.
test('the page of an import shows its warnings as text, and the list the name of its file', async () => {
  const answer = await visitor.postFile(app.page, 'people.csv', new Blob(['user_id,<b>zip\nu1,007\n']))
  const location = answer.headers.get('location') ?? ''
  await runAt(location)
  const { text } = await visitor.get(location)
  expect(text).toContain('&lt;b&gt;zip: 1 of 1 values begin with 0, which int does not keep. For example: 007.')
  expect((await visitor.get(`/apps/${app.appId}/imports`)).text).toContain('people.csv')
})

describe('the settings page', () => {
  const settings = () => `/apps/${app.appId}/settings`
  const chosen = async () => (await visitor.get(settings())).text.match(/value="(\w+)" checked/)?.[1]

  // second-day.md §1, New keys.
  test('sets what imports do with new columns, and the next upload obeys', async () => {
    expect(await chosen()).toBe('register')
    expect((await visitor.post(`${settings()}/imports`, { new_keys: 'refuse' }, settings())).status).toBe(303)
    expect(await chosen()).toBe('refuse')
    expect((await visitor.get(app.page)).text).toContain('data-new-keys="refuse"')
    const answer = await visitor.postFile(app.page, 'people.csv', new Blob([file]))
    const view = await runAt(answer.headers.get('location'))
    expect(view).toMatchObject({ state: 'failed', error: 'profile keys are not registered: zip, n' })
  })

  // changes.md §2, Asking for it.
  test('sets the bounds above which imports are held, and names the field of a wrong number', async () => {
    const set = (fields: Record<string, string>) =>
      visitor.post(`${settings()}/imports`, { new_keys: 'register', ...fields }, settings())
    const saved = await set({ hold_changed_percent: '20', hold_new_keys: '', hold_failed_percent: '' })
    expect((await visitor.get(saved.headers.get('location') ?? '')).text).toContain('Saved.')
    expect(await importDefaults(dashboard.db, app.appId)).toMatchObject({ hold_if: { changed_percent: 20 } })
    expect((await visitor.get(settings())).text).toMatch(/name="hold_changed_percent" [^>]*value="20"/)
    const refused = await set({ hold_failed_percent: '101', hold_new_keys: '7', keep_changes: 'true' })
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('Percent of rows with errors must be a number from 0 to 100.'),
    ])
    for (const typed of [
      /failed_percent" [^>]*value="101"/,
      /hold_new_keys" [^>]*value="7"/,
      /keep_changes" [^>]*checked/,
    ])
      expect(refused.text).toMatch(typed)
    expect((await set({ hold_always: 'true' })).status).toBe(303)
    expect((await visitor.get(settings())).text).toMatch(/name="hold_always" value="true" checked> Ask .* every file/)
    expect((await visitor.get(app.page)).text).toMatch(/name="hold_always" value="true" checked[^>]*> Ask .* this file/)
  })

  test('refuses any other value', async () => {
    expect((await visitor.post(`${settings()}/imports`, { new_keys: 'x' }, settings())).status).toBe(400)
    expect(await importDefaults(dashboard.db, app.appId)).toMatchObject({ new_keys: 'register' })
  })
})
