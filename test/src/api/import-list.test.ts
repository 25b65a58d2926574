import type { ImportView } from '@sluice/contract'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type Answer, type App, openApp, openTestApi, send } from './test-api.ts'

// `GET /v3/user_profiles/bulk_import`, an extension: the imports of the token's app.
const path = '/v3/user_profiles/bulk_import'
const api = openBeforeAll(openTestApi)
let app: App
const warning = {
  key: 'zip',
  type: 'int',
  message: '1 of 1 values begin with 0, which int does not keep',
  examples: ['007'],
}
/** IDs of the app's imports, newest request first. */
let ids: string[]
beforeAll(async () => {
  app = await openApp(api)
  ids = (await insertImports(app, 25)).reverse()
  await insertImports(await openApp(api), 3)
})

/** Inserts imports: every fifth has failed, every third came by v2. */
async function insertImports({ appId }: App, count: number): Promise<string[]> {
  const inserted: string[] = []
  for (let index = 0; index < count; index++) {
    const { import_id: importId } = await api.database.db
      .insertInto('imports')
      .values({
        app_id: appId,
        source: index % 3 === 0 ? 'v2' : 'v3',
        state: index % 5 === 0 ? 'failed' : 'completed',
        object_key: 'x',
        content_type: 'text/csv',
        file_name: `file-${index}.csv`,
        rows_changed: index,
        warnings: JSON.stringify([warning]),
        finished_at: new Date(),
      })
      .returning('import_id')
      .executeTakeFirstOrThrow()
    inserted.push(importId)
  }
  return inserted
}

const get = (query = '') => send(api, app, path + query, undefined, { method: 'GET' })
const page = ({ body }: Answer) => body as { imports: ImportView[]; next_cursor: string | null }
const idsOf = (answer: Answer) => page(answer).imports.map(({ import_id: importId }) => importId)

/** Follows the links of all pages. */
async function allPages(query: string): Promise<string[]> {
  const found: string[] = []
  for (let next: string | undefined = query; next !== undefined; ) {
    const answer: Answer = await get(next)
    found.push(...idsOf(answer))
    const [, linked] =
      /^<http:\/\/api\.test\/v3\/user_profiles\/bulk_import(\?[^>]*)>; rel="next"$/.exec(String(answer.headers.link)) ??
      []
    expect(linked === undefined).toBe(page(answer).next_cursor === null)
    next = linked
  }
  return found
}

// second-day.md §3, List of imports.
describe('the list of imports', () => {
  test('has the newest 20 of the token’s app, each as the status of the import shows it', async () => {
    const answer = await get()
    expect(answer.status).toBe(200)
    expect(idsOf(answer)).toEqual(ids.slice(0, 20))
    const one = await send(api, app, `${path}/${ids[0]}`, undefined, { method: 'GET' })
    expect(page(answer).imports[0]).toEqual(one.body)
    expect(one.body).toMatchObject({ file_name: 'file-24.csv', rows_changed: 24, warnings: [warning] })
  })

  test('leads through all pages, by cursor and by link', async () => {
    const first = await get('?limit=10')
    const second = await get(`?limit=10&cursor=${page(first).next_cursor}`)
    expect([...idsOf(first), ...idsOf(second)]).toEqual(ids.slice(0, 20))
    expect(await allPages('?limit=7')).toEqual(ids)
    expect(await allPages('?limit=25')).toEqual(ids)
  })

  test('filters by state and upload route on every page', async () => {
    const of = (keep: (age: number) => boolean) => ids.filter((_, index) => keep(24 - index))
    expect(await allPages('?state=failed&limit=2')).toEqual(of((age) => age % 5 === 0))
    expect(await allPages('?source=v2&limit=2')).toEqual(of((age) => age % 3 === 0))
    expect(await allPages('?state=failed&source=v2&limit=1')).toEqual(of((age) => age % 15 === 0))
    expect(page(await get('?state=processing'))).toEqual({ imports: [], next_cursor: null })
  })

  test('imports that are added do not move the following pages', async () => {
    const other = await openApp(api)
    const before = (await insertImports(other, 6)).reverse()
    const list = (query: string) => send(api, other, path + query, undefined, { method: 'GET' })
    const first = await list('?limit=3')
    await insertImports(other, 4)
    const second = await list(`?limit=3&cursor=${page(first).next_cursor}`)
    expect([...idsOf(first), ...idsOf(second)]).toEqual(before)
  })

  test('ends a page before its types and warnings are megabytes, and leads through all imports all the same', async () => {
    const other = await openApp(api)
    const newest = (await insertImports(other, 12)).reverse()
    const names = Array.from({ length: 20_000 }, (_, index) => [`column-${(index * 7919) % 1_000_003}`, 'string'])
    await api.database.db
      .updateTable('imports')
      .set({ types: JSON.stringify(Object.fromEntries(names)) })
      .where('app_id', '=', other.appId)
      .execute()
    const found: string[] = []
    for (let query: string | undefined = '?limit=100'; query !== undefined; ) {
      const answer: Answer = await send(api, other, path + query, undefined, { method: 'GET' })
      expect(JSON.stringify(answer.body).length).toBeLessThan(2 * 2 ** 20)
      found.push(...idsOf(answer))
      const { next_cursor: cursor } = page(answer)
      query = cursor === null ? undefined : `?limit=100&cursor=${cursor}`
    }
    expect(found).toEqual(newest)
  })

  test('refuses invalid parameters and names each of them', async () => {
    const answer = await get('?state=x&source=x&limit=x&cursor=x')
    expect([answer.status, answer.headers.link]).toEqual([400, undefined])
    const { error } = answer.body as { error: { messages: string[] } }
    expect(error.messages.map((message) => message.split(' ')[0])).toEqual(['state', 'source', 'limit', 'cursor'])
  })

  test('no query makes it fail', async () => {
    const value = fc.oneof(fc.string(), fc.constantFrom('failed', 'v2', '3', '%', 'AAAAAAAAAAE', '\0', '9'.repeat(400)))
    const pairs = fc.array(fc.tuple(fc.constantFrom('state', 'source', 'limit', 'cursor', 'x', '__proto__'), value))
    await fc.assert(
      fc.asyncProperty(pairs, fc.boolean(), async (given, raw) => {
        const query = given.map(
          ([name, text]) => `${name}=${raw ? text.replace(/[^!-~]|#/g, '') : encodeURIComponent(text)}`,
        )
        const { status } = await get(`?${query.join('&')}`)
        expect([200, 400]).toContain(status)
      }),
      { numRuns: 300 },
    )
  })
})

// second-day.md §3, User.
describe('one user', () => {
  const user = (id: string) => send(api, app, `/v1/users/${id}`, undefined, { method: 'GET' })

  test('is returned with values, whatever characters the ID has', async () => {
    const hostile = ['alice', 'a/b c', '%', '?x=1#y', '..', '\u{1f600}'.repeat(255), '"<&', ' ']
    await send(api, app, '/v1/users', { user_ids: hostile })
    await send(api, app, '/v2/user_profiles', {
      user_id: 'alice',
      user_profiles: [{ key: 'age', type: 'int', value: 34 }],
    })
    expect(await user('alice')).toMatchObject({
      status: 200,
      body: {
        user_id: 'alice',
        profiles: { age: { type: 'int', value: 34 } },
        campaign_target: true,
        deletion: null,
      },
    })
    for (const id of hostile.filter((each) => each !== '..')) {
      expect(await user(encodeURIComponent(id))).toMatchObject({ status: 200, body: { user_id: id } })
    }
  })

  test('shows the pending deletion', async () => {
    await send(api, app, '/v1/users', { user_ids: ['bob'] })
    await send(api, app, '/v3/user_data_deletions', { identity_type: 'user_id', identity_value: 'bob' })
    expect(await user('bob')).toMatchObject({ status: 200, body: { deletion: { state: 'accepted' } } })
  })

  test('is found or not found, whatever the path is', async () => {
    const id = fc.oneof(
      fc.string().map((text) => encodeURIComponent(text)),
      fc.string({ unit: fc.constantFrom('%', '0', 'f', 'a', '.', '-', '%2F', '%F0%9F%98%80'), maxLength: 400 }),
    )
    await fc.assert(
      fc.asyncProperty(id, async (path) => {
        const { status, body } = await user(path)
        expect([200, 404]).toContain(status)
        if (status === 200) expect(body).toMatchObject({ user_id: decodeURIComponent(path) })
      }),
      { numRuns: 300 },
    )
  })

  test('that is not registered, or belongs to another app, is not found', async () => {
    const other = await openApp(api, ['carol'])
    expect((await send(api, other, '/v1/users/carol', undefined, { method: 'GET' })).status).toBe(200)
    for (const id of ['carol', 'nobody', '%00', 'x'.repeat(256), '%ff', '']) {
      expect((await user(id)).status, id).toBe(404)
    }
  })
})
