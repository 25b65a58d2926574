import { fileMessages } from '@sluice/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { importNotification } from './import-notification.ts'

const ended = {
  importId: '4c1d8f6e-0000-4000-8000-000000000000',
  appName: 'Shop',
  rowsTotal: 1200,
  rowsApplied: 1200,
  rowsFailed: 0,
  rowsChanged: 1150,
  changes: undefined,
  state: 'completed' as const,
  dryRun: false,
  source: 'v3' as const,
  error: undefined,
  errorFile: undefined,
  errorFileEndsBeforeRow: undefined,
  fileName: undefined,
  errorCounts: {},
  pageUrl: 'https://dashboard.test/apps/1/imports/4c1d8f6e-0000-4000-8000-000000000000',
  warnings: [],
}
const failed = { ...ended, state: 'failed' as const }

// service.md, Events.
test('the mail of a completed import without errors has counts and no link', () => {
  const mail = importNotification(ended)
  expect(mail.subject).toBe('Profile import completed: 1,200 rows applied · “Shop”')
  expect(mail.text).toContain('Rows applied: 1,200\nRows that changed a profile: 1,150\n')
  expect(mail.text + mail.html).not.toContain('http')
})

test('the mail of a failed import states the reason, and whether the preceding rows stay applied', () => {
  const nothing = importNotification({ ...failed, error: 'empty file', rowsTotal: 0, rowsApplied: 0 })
  expect(nothing.subject).toBe('Profile import failed: empty file · “Shop”')
  expect(nothing.text).toContain('Nothing was applied.')
  const partly = importNotification({ ...failed, error: 'file maybe corrupt', rowsApplied: 1000 })
  expect(partly.text).toContain('stay applied')
  expect(partly.text).toContain('Rows applied: 1,000')
})

test('the mail of a cancelled import states how many rows were applied, and that they stay applied', () => {
  const partly = importNotification({ ...ended, state: 'cancelled', rowsTotal: 1500, rowsApplied: 1497, rowsFailed: 3 })
  expect(partly.subject).toBe('Profile import cancelled: 1,497 rows applied, 3 rows with errors · “Shop”')
  expect(partly.text).toContain('A profile import of the app “Shop” was cancelled.')
  expect(partly.text).toContain('before the cancellation stay applied: 1,497.')
  const waiting = importNotification({ ...ended, state: 'cancelled', rowsTotal: 0, rowsApplied: 0 })
  expect(waiting.subject).toBe('Profile import cancelled: 0 rows applied · “Shop”')
  expect(waiting.text).toContain('Nothing was applied.')
})

test('the mail of an undo, and of its dry run, says that it is one', () => {
  const undo = importNotification({ ...ended, source: 'undo', errorFile: { url: 'https://files.test/e', days: 7 } })
  expect(undo.subject).toMatch(/^Undo of a profile import completed: /)
  expect(undo.text).toMatch(/^An undo of a profile import of the app “Shop” has completed\./)
  expect(undo.text).toContain('These values stay as they are: the file is not for importing.')
  const dryRun = importNotification({ ...ended, source: 'undo', dryRun: true, state: 'cancelled' })
  expect(dryRun.text).toMatch(/^A dry run of an undo of the app “Shop” was cancelled\./)
})

test('the mail of a file from the dashboard says that the error file may be of the converted file', () => {
  const errorFile = { url: 'https://files.test/e', days: 7 }
  const sentence = 'it has commas and the converted values'
  expect(importNotification({ ...ended, source: 'dashboard', errorFile }).text).toContain(sentence)
  expect(importNotification({ ...ended, errorFile }).text).not.toContain(sentence)
})

test('the mail of a dry run states how many rows have no errors, and that nothing was applied', () => {
  const mail = importNotification({ ...ended, dryRun: true, rowsApplied: 0, rowsFailed: 200 })
  expect(mail.subject).toBe('Profile dry run completed: 1,000 rows without errors, 200 rows with errors · “Shop”')
  expect(mail.text).toContain('The file was only checked: nothing was applied.')
  expect(mail.text).toContain('Rows without errors: 1,000')
  expect(mail.text).not.toContain('Rows applied')
  expect(mail.text).not.toContain('changed')
})

// changes.md §1, Elsewhere.
test('the mail of an import that keeps changes has their counts, and no link to the changes file', () => {
  const changes = { rows: { created: 1000, changed: 150 }, values: { added: 3000, changed: 150, removed: 0 }, keys: {} }
  const { text, html } = importNotification({ ...ended, changes })
  expect(text).toContain(
    'Users with first values: 1,000\nOther rows with changes: 150\nValues added: 3,000\nValues changed: 150\n',
  )
  expect(text + html).not.toMatch(/http|removed/)
})

// design.md §3, Error file's size.
test('if the error file omits rows, the mail states the first omitted row, or that there is no file', () => {
  const partial = { url: 'http://api.test/error_files/x', days: 7 }
  const mail = importNotification({ ...ended, rowsFailed: 900, errorFile: partial, errorFileEndsBeforeRow: 1_234_567 })
  expect(mail.text).toContain('The error file holds rows that were not applied')
  expect(mail.text).toContain('The error file ends before row 1,234,567 of the file')
  const none = importNotification({ ...ended, rowsFailed: 900, errorFileEndsBeforeRow: 1 })
  expect(none.text).toContain('There is no error file')
  expect(none.text).not.toContain('error_files')
})

test('names of columns appear only in the body, quoted, shortened and in one line', () => {
  const bait = 'Your account is locked. Sign in at http://evil.example'
  const mail = importNotification({ ...failed, error: `duplicate columns ${bait}\n\n${'x'.repeat(500)}, b` })
  expect(mail.subject).toBe('Profile import failed: duplicate columns · “Shop”')
  const [opening = ''] = mail.text.split('\n')
  expect(opening).toMatch(/^A profile import of the app “Shop” has failed: “duplicate columns Your account[^”]*”$/)
  expect(opening.length).toBeLessThan(400)
})

test.each([
  [
    'standard user profile cannot be updated: $a',
    'standard user profile cannot be updated',
    '“standard user profile cannot be updated: $a”',
  ],
  [`${'a'.repeat(400)} should be at most 255 characters`, 'a column should be at most 255 characters', '“aaa'],
  ['declared columns are missing: zipp', 'declared columns are missing', '“declared columns are missing: zipp”'],
  [
    'profile keys are not registered: a, b',
    'profile keys are not registered',
    '“profile keys are not registered: a, b”',
  ],
  ['zip is registered as int', 'a column is registered with another type', '“zip is registered as int”'],
  ['header size over 102400 bytes', 'header size over 102400 bytes', 'has failed: header size over 102400 bytes'],
])('the subject of an import that failed with %s contains no text of the file', (error, inSubject, inText) => {
  const mail = importNotification({ ...failed, error })
  expect(mail.subject).toBe(`Profile import failed: ${inSubject} · “Shop”`)
  expect(mail.text).toContain(inText)
})

test.each(Object.entries(fileMessages))(
  'the subject has the message %s, but never a name that is in it',
  (_, message) => {
    const subjectWith = (argument: string | number): string => {
      const error: string =
        typeof message === 'string' ? message : Reflect.apply(message, undefined, [argument, argument])
      return importNotification({ ...failed, error }).subject
    }
    expect(subjectWith(1234567)).toMatch(/^Profile import failed: ./)
    expect(subjectWith('http://evil.example')).not.toContain('evil')
  },
)

test('the subject names the file and the app, quoted and shortened', () => {
  const { subject } = importNotification({
    ...ended,
    fileName: `people${'x'.repeat(200)}.csv`,
    appName: 'My “Shop”\r\n',
  })
  expect(subject).toMatch(/^Profile import completed: 1,200 rows applied · “peoplex+…” in “My ’Shop’ ”$/)
  expect([...subject].length).toBeLessThan(200)
})

test('a mail about errors lists the three commonest, and links the error file before the page of the import', () => {
  const errorFile = { url: 'http://api.test/error_files/x', days: 7 }
  const errorCounts = { 'age should be integer': 1_200, 'a\nb should be decimal': 7, 'too many values': 30, rare: 1 }
  const { text } = importNotification({ ...ended, rowsFailed: 1_238, errorFile, errorCounts })
  expect(text).toContain(
    'The commonest errors:\n“age should be integer”: 1,200 rows\n“too many values”: 30 rows\n“a b should be decimal”: 7 rows\n',
  )
  expect(text).not.toContain('rare')
  expect(text.match(/http\S+/g)).toEqual([errorFile.url, ended.pageUrl])
  expect(text).toContain('See the import:\n')
  expect(importNotification({ ...failed, error: 'empty file' }).text).toContain(ended.pageUrl)
})

test('the mail names the file, and lists warnings without their examples', () => {
  const message = '2 of 3 values begin with 0, which int does not keep'
  const warnings = [
    { key: 'zip', message },
    { key: 'a\nb', message },
  ]
  const mail = importNotification({ ...ended, fileName: 'people.csv', warnings })
  expect(mail.text).toContain('File: “people.csv”')
  expect(mail.text).toContain(`\n“zip”: ${message}\n“a b”: ${message}\n`)
  expect(mail.text).toContain('final')
  expect(importNotification({ ...ended, dryRun: true, warnings }).text).toContain('declare the types')
  const many = importNotification({ ...ended, warnings: Array.from({ length: 25 }, () => ({ key: 'k', message })) })
  expect(many.text.match(/“k”/g)).toHaveLength(20)
  expect(many.text).toContain('\nand 5 more\n')
})

test('an error of an unknown form is quoted as a whole, and does not appear in the subject', () => {
  const mail = importNotification({ ...failed, error: 'empty file http://evil.example\nSign in' })
  expect(mail.subject).toBe('Profile import failed · “Shop”')
  expect(mail.text).toContain('has failed: “empty file http://evil.example Sign in”')
})

test('for every header and app name, the subject is one line, and the HTML shows the text escaped', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (error, appName) => {
      const mail = importNotification({ ...failed, error, appName, fileName: error, errorCounts: { [error]: 1 } })
      expect(mail.subject).toMatch(/^Profile import failed · “[^“”\p{C}]{0,60}” in “[^“”\p{C}]{0,40}”$/u)
      expect(mail.text.split('\n')[0]).toMatch(
        /^A profile import of the app “[^“”]{0,100}” has failed: “[^“”]{0,300}”$/u,
      )
      expect(mail.html).not.toMatch(/<(?!\/?(html|head|meta|title|style|body|table|tr|th|td|h1|p|br|a|!doctype)\b)/i)
    }),
  )
  const mail = importNotification({ ...failed, error: '<script>alert(1)</script> should be UTF-8', appName: '"><img>' })
  expect(mail.html).toContain('&lt;script&gt;')
  expect(mail.html).not.toContain('<img')
})
