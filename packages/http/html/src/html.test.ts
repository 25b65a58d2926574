import fc from 'fast-check'
import { expect, test } from 'vitest'
import { html } from './html.ts'

test('no value can end the text or the quoted attribute that it is in', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const { text } = html`<p title="${value}">${value}</p>`
      const inside = text.slice('<p title="'.length, -'</p>'.length)
      expect(inside.split('">')).toHaveLength(2)
      expect(inside.replace('">', '')).not.toMatch(/[<>"']/)
    }),
  )
})

test.each([
  ['characters that mean something in HTML are escaped', html`${'<b>&"\''}`, '&lt;b&gt;&amp;&quot;&#39;'],
  ['HTML is not escaped again', html`${html`<b>${'<'}</b>`}`, '<b>&lt;</b>'],
  ['lists are joined', html`${[1, html`<i></i>`, ['<', null]]}`, '1<i></i>&lt;'],
  ['undefined, null, false and the empty string render as nothing', html`${undefined}${null}${false}${''}`, ''],
  [
    'the & of a value in an address is escaped, but not that of the template',
    html`<a href="/?a=${'x&y'}&b=${1}">`,
    '<a href="/?a=x&amp;y&b=1">',
  ],
  ['zero is shown', html`${0}`, '0'],
  ['a text may end with an equals sign if no value follows', html`${1} x=`, '1 x='],
])('%s', (_, { text }, expected) => {
  expect(text).toBe(expected)
})

test('a template with an unquoted attribute value or a value as tag name is refused', () => {
  expect(() => html`<a href=${'x'}>`).toThrow('quoted')
  expect(() => html`<${'script'}>`).toThrow('quoted')
  expect(() => html`<a title="${'x'}" href=${'y'}>`).toThrow('quoted')
})
