import { expect, test } from 'vitest'
import { heldNotification } from './held-notification.ts'

const pageUrl = 'https://dashboard.test/apps/1/imports/4c1d8f6e-0000-4000-8000-000000000000'
const held = {
  importId: '4c1d8f6e-0000-4000-8000-000000000000',
  appName: 'Shop',
  fileName: 'people.csv',
  reasons: ['changed_percent is 31.4, over 20', 'new_keys is 3, over 0'],
  rowsTotal: 1200,
  rowsFailed: 3,
  changes: { rows: { created: 0, changed: 377 }, values: { added: 12, changed: 1365, removed: 2 }, keys: {} },
  until: new Date('2026-03-04T05:06:07Z'),
  pageUrl,
}

// changes.md §2, Held.
test('the mail of a held import has the reasons, the counts, the end of the hold, the link and the command', () => {
  const { subject, text, html } = heldNotification(held)
  expect(subject).toBe('Profile import held for approval · “people.csv” in “Shop”')
  expect(text).toContain(
    'Why it is held:\nPercent of rows that change or remove a stored value: 31.4, more than 20\nNumber of new keys: 3, more than 0\n',
  )
  expect(text).toContain('Rows read: 1,200\nRows with errors: 3\n')
  expect(text).toContain(
    'Values added: 12\nValues changed: 1,365\nValues removed: 2\nHeld until: 2026-03-04 05:06 UTC\n',
  )
  expect(text).toContain(`sluice import approve ${held.importId}`)
  expect(text.match(/http\S+/g)).toEqual([pageUrl])
  expect(html).toContain(`href="${pageUrl}"`)
})

test('the mail of a held import needs neither the name of the file, nor counts, nor the address of the dashboard', () => {
  const { text } = heldNotification({ ...held, fileName: undefined, changes: undefined, pageUrl: undefined })
  expect(text).toContain('Approve or cancel it in the dashboard')
  expect(text).not.toMatch(/File:|Values|http/)
})
