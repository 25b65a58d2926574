import fc from 'fast-check'
import { expect, test } from 'vitest'
import { importNotification } from './import-notification.ts'

const ended = {
  importId: '4c1d8f6e-0000-4000-8000-000000000000',
  appName: 'Shop',
  rowsTotal: 1200,
  rowsApplied: 1200,
  rowsFailed: 0,
  error: undefined,
  errorFile: undefined,
}

test('a completed import without errors: counts, and no link', () => {
  const mail = importNotification(ended)
  expect(mail.subject).toBe('Profile import completed: 1,200 rows applied')
  expect(mail.text).toContain('Rows applied: 1,200')
  expect(mail.text + mail.html).not.toContain('http')
})

test('a failed import says why, and what became of the rows before the failure', () => {
  const nothing = importNotification({ ...ended, error: 'empty file', rowsTotal: 0, rowsApplied: 0 })
  expect(nothing.subject).toBe('Profile import failed: empty file')
  expect(nothing.text).toContain('Nothing was applied.')
  const partly = importNotification({ ...ended, error: 'file maybe corrupt', rowsApplied: 1000 })
  expect(partly.text).toContain('stay applied')
  expect(partly.text).toContain('Rows applied: 1,000')
})

test('whatever stands in a header or an app’s name, the subject is one line and the HTML shows it as text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (error, appName) => {
      const mail = importNotification({ ...ended, error, appName })
      expect(mail.subject).not.toMatch(/[\r\n\0]/)
      expect(mail.subject.length).toBeLessThanOrEqual(200)
      expect(mail.html).not.toMatch(/<(?!\/?(html|head|meta|title|body|p|br|a|!doctype)\b)/i)
    }),
  )
  const mail = importNotification({ ...ended, error: '<script>alert(1)</script> should be UTF-8', appName: '"><img>' })
  expect(mail.html).toContain('&lt;script&gt;')
  expect(mail.html).not.toContain('<img')
})
