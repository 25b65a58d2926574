import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { childText, parseXml } from './xml-reader.ts'
import { writeXml } from './xml-writer.ts'

describe('XML', () => {
  test('is read with prefixes, attributes, entities and empty elements', () => {
    const text =
      '<?xml version="1.0"?>\n<s:Delete xmlns:s="urn:x"><Object a=\'1\'><Key> &lt;&#252;&#x1F600;&amp; </Key><E/></Object></s:Delete>'
    const [object] = parseXml(text, 'Delete').children
    expect(object && childText(object, 'Key')).toBe(' <ü😀& ')
    expect(object && childText(object, 'E')).toBe('')
    expect(object && childText(object, 'None')).toBeUndefined()
  })

  test('carries every text there and back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!text.includes('\0'))
        expect(childText(parseXml(writeXml('Root', [['Key', text]]), 'Root'), 'Key')).toBe(text)
      }),
    )
  })

  test.each([
    ['nothing', ''],
    ['another root', '<Other/>'],
    ['two roots', '<Root/><Root/>'],
    ['an element left open', '<Root><Key>'],
    ['elements that cross', '<Root><A><B></A></B></Root>'],
    ['text outside the root', '<Root/>text'],
    ['a doctype', '<!DOCTYPE Root [<!ENTITY a "b">]><Root>&a;</Root>'],
    ['an unknown entity', '<Root>&nbsp;</Root>'],
    ['an inherited name as entity', '<Root>&toString;</Root>'],
    ['a bare ampersand', '<Root>a & b</Root>'],
    ['a reference to NUL', '<Root>&#0;</Root>'],
    ['a reference to a surrogate', '<Root>&#xD800;</Root>'],
    ['a reference beyond Unicode', '<Root>&#x110000;</Root>'],
    ['a comment', '<Root><!-- --></Root>'],
    ['too deep a nesting', `<Root>${'<A>'.repeat(20)}${'</A>'.repeat(20)}</Root>`],
  ])('is refused with %s', (_name, text) => {
    expect(() => parseXml(text, 'Root')).toThrow(expect.objectContaining({ code: 'MalformedXML' }))
  })

  test('an element that may occur once is refused when it occurs twice', () => {
    expect(() => childText(parseXml('<Root><A/><A/></Root>', 'Root'), 'A')).toThrow()
  })
})
