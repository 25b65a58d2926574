import { registeredKeys, registerKeys } from '@sluice/profiles'
import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { importFile, openApp, openImportFixture, profilesOf } from './import-fixture.ts'
import { expectErrorsOfWideFile } from './wide-file-errors.ts'

const fixture = openBeforeAll(() => openImportFixture({ PROFILE_KEY_LIMIT: '6' }))

/** Imports one file into a new app with the users `u1` to `u3` and these registered keys. */
async function run(file: Buffer | string, keys: Record<string, 'string' | 'int' | 'decimal' | 'datetime'> = {}) {
  const appId = await openApp(fixture, ['u1', 'u2', 'u3'])
  await fixture.database.db.transaction().execute((tx) => registerKeys(tx, appId, new Map(Object.entries(keys)), 500))
  const { view, errorFile } = await importFile(fixture, appId, file)
  const profiles = await profilesOf(fixture, appId)
  return { view, errors: errorFile?.toString('latin1'), profiles, appId }
}

// service.md, Error CSV file; design.md §3, Empty user_id.
describe('row messages', () => {
  const long = 'x'.repeat(256)
  test.each([
    ['more values than columns', 'user_id,a\nu1,1,2\n', 'too many values'],
    ['an unknown user', 'user_id,a\nnobody,1\n', 'user_id is unregistered user'],
    ['an empty user ID', 'user_id,a\n,1\n', 'user_id is unregistered user'],
    ['a cell that is not UTF-8', 'user_id,name\nu1,\xff\xfe\n', 'name should be UTF-8'],
    ['a cell with NUL', 'user_id,name\nu1,a\0b\n', 'name should be UTF-8'],
    ['a user ID that is not UTF-8', 'user_id,name\n\xff,x\n', 'user_id should be UTF-8'],
    ['no integer', 'user_id,int\nu1,1.5\n', 'int should be integer'],
    ['an integer out of range', 'user_id,int\nu1,9007199254740992\n', 'int should be integer'],
    ['no decimal', 'user_id,decimal\nu1,one\n', 'decimal should be decimal'],
    ['no date', 'user_id,datetime\nu1,2026-02-30\n', 'datetime should be iso8601 format'],
    ['a string that is too long', `user_id,string\nu1,${long}\n`, 'string should be at most 255 characters'],
    ['a quote that never closes', 'user_id,string\nu1,"x\n', 'quote is not closed'],
  ])('%s', async (_, file, message) => {
    const { view, errors, profiles } = await run(Buffer.from(file, 'latin1'), {
      int: 'int',
      decimal: 'decimal',
      datetime: 'datetime',
      string: 'string',
    })
    expect(view).toMatchObject({ state: 'completed', error: null, rows_total: 1, rows_applied: 0, rows_failed: 1 })
    expect(errors?.split('\n')[1]).toMatch(new RegExp(`^${message},`))
    expect(profiles).toEqual({ u1: {}, u2: {}, u3: {} })
  })

  // design.md §3, A row with any error; design.md §3, Placeholders in messages.
  test('a row with several errors is in the error file once, with all messages in column order, too many values first', async () => {
    const { errors, view } = await run('a,user_id,b\nx,nobody,2026-13-01,more\n', { a: 'int', b: 'datetime' })
    expect(errors).toBe(
      'SERVICE_ERRORS,a,user_id,b\n' +
        '"too many values, a should be integer, user_id is unregistered user, b should be iso8601 format",x,nobody,2026-13-01,more\n',
    )
    expect(view.rows_failed).toBe(1)
  })

  test('nothing of a row with an error is applied, but the surrounding rows are', async () => {
    const { profiles, view } = await run('user_id,n,name\nu1,1,a\nu2,x,b\nu3,3,c\n', { n: 'int' })
    expect(profiles).toEqual({ u1: { n: 1, name: 'a' }, u2: {}, u3: { n: 3, name: 'c' } })
    expect(view).toMatchObject({ rows_total: 3, rows_applied: 2, rows_failed: 1 })
  })

  test('a malformed row does not swallow the following rows', async () => {
    const { profiles, errors } = await run('user_id,name\nu1,"open\nu2,two\nu3,three\n')
    expect(profiles).toEqual({ u1: {}, u2: { name: 'two' }, u3: { name: 'three' } })
    expect(errors).toBe('SERVICE_ERRORS,user_id,name\nquote is not closed,u1,"""open"\n')
  })
})

// rules.long.test.ts has a file whose messages take 17 MB.
test('in a wide file in which every cell is wrong, each row is in the error file once, with a message for each cell', async () => {
  await expectErrorsOfWideFile(200, { BATCH_ROWS: '100' })
})

// service.md, Bulk import CSV file.
describe('values', () => {
  // design.md §3, Row with fewer values.
  test('an empty value, a missing value, and a key that is not in the file leave the profile unchanged', async () => {
    const { appId } = await run('user_id,a,b,c\nu1,1,2,3\n')
    await importFile(fixture, appId, 'user_id,a,b\nu1,9,\n')
    await importFile(fixture, appId, 'user_id,b,a\nu1,8\n')
    expect((await profilesOf(fixture, appId)).u1).toEqual({ a: 9, b: 8, c: 3 })
  })

  test('white space in keys and values is kept; keys that differ in it or in case are different', async () => {
    const { profiles, view } = await run('user_id, a ,A\nu1, x ,y\n')
    expect(profiles.u1).toEqual({ ' a ': ' x ', A: 'y' })
    expect(view.types).toEqual({ ' a ': 'string', A: 'string' })
  })

  // design.md §4, Order.
  test('a later row of the same user wins, key by key, within a batch', async () => {
    const { profiles, view } = await run('user_id,a,b\nu1,1,x\nu1,2,\nu1,,y\n')
    expect(profiles.u1).toEqual({ a: 2, b: 'y' })
    expect(view.rows_applied).toBe(3)
  })

  // design.md §4, Order.
  test('a later row of the same user wins, key by key, across batches', async () => {
    const small = await openImportFixture({ BATCH_ROWS: '1' })
    const appId = await openApp(small, ['u1'])
    const { view } = await importFile(small, appId, 'user_id,a,b\nu1,1,x\nu1,2,\nu1,,y\nu1,3,\n')
    expect(view.rows_applied).toBe(4)
    expect(await profilesOf(small, appId)).toEqual({ u1: { a: 3, b: 'y' } })
    await small.close()
  })

  test('rows in which every value is empty are skipped like blank lines, whatever CRs end a line', async () => {
    const { view, errors, profiles } = await run('n,user_id\r\r\n,\r\n1,u1\r\r\n\r\r\n"",""\n2,nobody\n,,,\n3,u3\r')
    expect(view).toMatchObject({ rows_total: 3, rows_applied: 2, rows_failed: 1, types: { n: 'int' } })
    expect(errors).toBe('SERVICE_ERRORS,n,user_id\nuser_id is unregistered user,2,nobody\n')
    expect(profiles).toEqual({ u1: { n: 1 }, u2: {}, u3: { n: 3 } })
  })

  test('a lone CR in a row is a character of its value', async () => {
    const { profiles, errors } = await run('user_id,name,n\nu1,a\rb,1\nu2,c,2\rx\n', { n: 'int' })
    expect(profiles).toEqual({ u1: { name: 'a\rb', n: 1 }, u2: {}, u3: {} })
    expect(errors).toBe('SERVICE_ERRORS,user_id,name,n\nn should be integer,u2,c,"2\rx"\n')
  })

  test('datetimes are stored in UTC', async () => {
    const { profiles } = await run('user_id,at\nu1,2026-01-01T00:30:00+09:00\nu2,2026-01-01\nu3,2026-01-01T10:00Z\n')
    expect(profiles).toEqual({
      u1: { at: '2025-12-31 15:30:00.000' },
      u2: { at: '2026-01-01 00:00:00.000' },
      u3: { at: '2026-01-01 10:00:00.000' },
    })
  })

  test('numbers are stored as numbers, in whatever form they are written', async () => {
    const { profiles } = await run('user_id,i,d\nu1,+007,1.50\nu2,-0,-.5\nu3,9007199254740991,1E+021\n', {
      i: 'int',
      d: 'decimal',
    })
    expect(profiles).toEqual({
      u1: { i: 7, d: 1.5 },
      u2: { i: 0, d: -0.5 },
      u3: { i: 9007199254740991, d: 1e21 },
    })
  })

  test('an uploaded SERVICE_ERRORS column is ignored in any position, and is in the error file once', async () => {
    const { profiles, errors, appId } = await run('a,SERVICE_ERRORS,user_id\n1,old message,u1\n2,\xff,nobody\n')
    expect(profiles.u1).toEqual({ a: 1 })
    expect(errors).toBe('SERVICE_ERRORS,a,user_id\nuser_id is unregistered user,2,nobody\n')
    expect([...(await registeredKeys(fixture.database.db, appId)).keys()]).toEqual(['a'])
  })

  // service.md, Error CSV file.
  test('an error file can be corrected and sent again', async () => {
    const { errors, appId } = await run('user_id,n\nu1,1\nu2,two\n', { n: 'int' })
    const corrected = errors?.replace(',two', ',2') ?? ''
    const { view } = await importFile(fixture, appId, corrected)
    expect(view).toMatchObject({ rows_total: 1, rows_applied: 1, rows_failed: 0, error_file_url: null })
    expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { n: 1 }, u2: { n: 2 } })
  })

  test('cells that are not UTF-8 keep their bytes in the error file', async () => {
    const { errors } = await run(Buffer.from('user_id,n\nu1,\x80\xff"\xfe,\n', 'latin1'))
    expect(errors).toBe('SERVICE_ERRORS,user_id,n\n"too many values, n should be UTF-8",u1,"\x80\xff""\xfe",\n')
  })
})

// service.md, Bulk import CSV file.
describe('inference of a new key', () => {
  test.each([
    ['datetime', ['2026-01-01', '2026-01-01T10:00:00+09:00']],
    ['decimal', ['1.5', '2']],
    ['decimal', ['1234.5', '1e+05']],
    ['string', ['+41791234567', '1']],
    ['int', ['1', '-2']],
    ['string', ['1', 'x']],
    ['string', ['1', '99999999999999999999']],
    ['string', ['1', '2026-01-01']],
    ['int', ['', '7']],
  ])('%s from %j', async (type, values) => {
    const { view, appId } = await run(`user_id,k\n${values.map((value, i) => `u${i + 1},${value}\n`).join('')}`)
    expect(view.types).toEqual({ k: type })
    expect(await registeredKeys(fixture.database.db, appId)).toEqual(new Map([['k', { type, enabled: true }]]))
  })

  test('a registered key keeps its type, whatever the values look like', async () => {
    const { view, profiles } = await run('user_id,k\nu1,1\nu2,2\n', { k: 'string' })
    expect(view.types).toEqual({ k: 'string' })
    expect(profiles.u1).toEqual({ k: '1' })
  })

  // design.md §3, Inference.
  test('only the first INFERENCE_ROWS rows decide; a later row that does not fit is an error', async () => {
    const small = await openImportFixture({ INFERENCE_ROWS: '2' })
    const appId = await openApp(small, ['u1', 'u2', 'u3'])
    const { view } = await importFile(small, appId, 'user_id,k\nu1,1\nu2,2\nu3,three\n')
    expect(view).toMatchObject({ types: { k: 'int' }, rows_applied: 2, rows_failed: 1 })
    await small.close()
  })

  // design.md §3, Inference.
  test('a column without a value in those rows is decided by the first batch that has one', async () => {
    const small = await openImportFixture({ INFERENCE_ROWS: '1', BATCH_ROWS: '2' })
    const appId = await openApp(small, ['u1', 'u2', 'u3'])
    const { view } = await importFile(small, appId, 'user_id,k,none\nu1,,\nu2,,\nu1,5,\nu2,7,\nu3,x,\n')
    expect(view).toMatchObject({ types: { k: 'int' }, rows_applied: 4, rows_failed: 1 })
    await small.close()
  })

  test('values that are not UTF-8 do not count', async () => {
    const { view } = await run(Buffer.from('user_id,k\nu1,\xff\nu2,5\n', 'latin1'))
    expect(view).toMatchObject({ types: { k: 'int' }, rows_failed: 1 })
  })

  // design.md §3, Registering keys.
  test('a key is registered by the first applied row with a value for it, not by rows with errors', async () => {
    const { appId, view } = await run('user_id,k\nnobody,1\n')
    expect(view.types).toEqual({ k: 'int' })
    expect(await registeredKeys(fixture.database.db, appId)).toEqual(new Map())
  })
})

// design.md §3, Placeholders in messages.
describe('file-level errors fail the import, apply nothing and are reported in the mail', () => {
  const refused: [string, Buffer | string, string][] = [
    ['an empty file', '', 'empty file'],
    ['a header without a line break', 'user_id,a', 'newline character not found'],
    ['lines that end with CR, the last one with CRLF', 'user_id,plan\ru1,gold\r\n', 'newline character not found'],
    ['a broken quote in the header', 'user_id,"plan" name\nu1,gold\n', 'quote is not closed in header'],
    ['a header over its size', `user_id,${'x'.repeat(102_400)}\nu1,1\n`, 'header size over 102400 bytes'],
    ['a column without a name', 'user_id,,b\nu1,1,2\n', 'empty columns'],
    ['a column name that is not UTF-8', Buffer.from('user_id,a\xff\nu1,1\n', 'latin1'), 'column 2 should be UTF-8'],
    ['two columns of one name', 'user_id,a,b,a,b\nu1,1,2,3,4\n', 'duplicate columns a, b'],
    ['no user_id', 'id,a\nu1,1\n', 'user_id column is required'],
    ['a long column name', `user_id,${'é'.repeat(256)}\nu1,1\n`, `${'é'.repeat(256)} should be at most 255 characters`],
    ['a standard profile', 'user_id,$city\nu1,x\n', 'standard user profile cannot be updated: $city'],
    [
      'too many keys',
      'user_id,a,b,c,d,e,f,g\nu1,1,1,1,1,1,1,1\n',
      'This app has exceeded the limit of enabled user profile(6)',
    ],
  ]
  test.each(refused)('%s', async (_, file, message) => {
    const { view, profiles, appId } = await run(file)
    expect(view).toMatchObject({ state: 'failed', error: message, rows_total: 0, error_file_url: null })
    expect(profiles).toEqual({ u1: {}, u2: {}, u3: {} })
    const mails = await fixture.database.db.selectFrom('mails').selectAll().where('app_id', '=', appId).execute()
    expect(mails).toHaveLength(1)
    expect(mails[0]?.text).toContain(message)
    expect(mails[0]?.text).not.toContain('error_files')
  })
})

describe('the result mail', () => {
  // service.md, States and transitions.
  test('reports the counts, and has the link only if there are errors', async () => {
    const clean = await run('user_id,a\nu1,1\n')
    const dirty = await run('user_id,a\nu1,1\nnobody,1\n')
    const mailOf = async (appId: number) =>
      await fixture.database.db.selectFrom('mails').selectAll().where('app_id', '=', appId).executeTakeFirstOrThrow()
    const cleanMail = await mailOf(clean.appId)
    expect(cleanMail.subject).toBe('Profile import completed: 1 row applied · “Test”')
    expect(cleanMail.recipient).toBe('member@example.com')
    expect(cleanMail.text).not.toContain('http')
    const dirtyMail = await mailOf(dirty.appId)
    expect(dirtyMail.subject).toBe('Profile import completed: 1 row applied, 1 row with errors · “Test”')
    expect(dirtyMail.text).toContain(dirty.view.error_file_url)
    expect(dirtyMail.html).toContain(dirty.view.error_file_url)
    expect(dirtyMail.text).toContain('Errors:\n“user_id is unregistered user”: 1 row\n')
  })
})
