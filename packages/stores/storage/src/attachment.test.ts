import fc from 'fast-check'
import { expect, test } from 'vitest'
import { attachment } from './attachment.ts'

test.each([
  ['errors-people.csv', 'attachment; filename="errors-people.csv"'],
  ['Käufer (neu).csv', `attachment; filename="K_ufer (neu).csv"; filename*=UTF-8''K%C3%A4ufer%20%28neu%29.csv`],
  ['a"b\r\nSet-Cookie: x.csv', 'attachment; filename="a_b__Set-Cookie_ x.csv"'],
  ['../../etc/passwd', 'attachment; filename=".._.._etc_passwd"'],
  ['100%20.csv', `attachment; filename="100_20.csv"; filename*=UTF-8''100%2520.csv`],
  ['x\u202evsc.exe', 'attachment; filename="x_vsc.exe"'],
  [`${'x'.repeat(300)}.csv`, `attachment; filename="${'x'.repeat(100)}.csv"`],
])('a file is saved as %j by %s', (name, header) => {
  expect(attachment(name)).toBe(header)
})

// design.md §3, Error file.
test('whatever the name is, the header has one line in ASCII, and the name no path', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const header = attachment(name)
      expect(header).toMatch(/^attachment; filename="[^"\\/]*"(; filename\*=UTF-8''[\w!~*.%-]*)?$/)
      const encoded = /''(.*)$/.exec(header)?.[1] ?? ''
      expect(decodeURIComponent(encoded)).not.toMatch(/[\\/"\p{C}]/u)
    }),
  )
})
