import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type XmlForm, XmlReader, type XmlTexts } from './xml-reader.ts'
import { writeXml } from './xml-writer.ts'

const form: XmlForm<XmlTexts> = {
  root: 'Root',
  texts: ['Quiet', 'Empty'],
  items: { name: 'Item', texts: ['Key', 'Size'], max: 3, read: (texts) => texts },
  maxBytes: 1_000_000,
}

/** Reads a text in pieces of `pieceLength` characters. */
function read(text: string, pieceLength = text.length) {
  const reader = new XmlReader(form)
  for (let at = 0; at < text.length; at += pieceLength) reader.write(text.slice(at, at + pieceLength))
  return reader.end()
}

describe('XML', () => {
  test.each([1, 2, 7, 1000])('is read with prefixes, attributes and entities in pieces of %d', (pieceLength) => {
    const text =
      '<?xml version="1.0"?>\n<s:Root xmlns:s="urn:x"> <Item a=\'1\'>\n<Key> &lt;&#252;&#x1F600;&amp; </Key><Size/></Item><Empty></Empty></s:Root>\n'
    const { texts, items } = read(text, pieceLength)
    expect([...texts]).toEqual([['Empty', '']])
    expect(items.map((item) => [...item])).toEqual([
      [
        ['Key', ' <ü😀& '],
        ['Size', ''],
      ],
    ])
  })

  test('is read with the same texts that were written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 20 }), (text, pieceLength) => {
        fc.pre(!text.includes('\0'))
        const [item] = read(writeXml('Root', [['Item', [['Key', text]]]]), pieceLength).items
        expect(item?.get('Key')).toBe(text)
      }),
    )
  })

  test.each([
    ['nothing', ''],
    ['another root', '<Other/>'],
    ['two roots', '<Root/><Root/>'],
    ['an element left open', '<Root><Quiet>'],
    ['elements that cross', '<Root><Item><Key></Item></Key></Root>'],
    ['text outside the root', '<Root/>text'],
    ['text between elements', '<Root>text<Quiet/></Root>'],
    ['text between elements of an item', '<Root><Item>text<Key/></Item></Root>'],
    ['a doctype', '<!DOCTYPE Root [<!ENTITY a "b">]><Root>&a;</Root>'],
    ['an unknown entity', '<Root><Quiet>&nbsp;</Quiet></Root>'],
    ['the name of an inherited property as entity', '<Root><Quiet>&toString;</Quiet></Root>'],
    ['a bare ampersand', '<Root><Quiet>a & b</Quiet></Root>'],
    ['NUL', '<Root><Quiet>\0</Quiet></Root>'],
    ['a reference to NUL', '<Root><Quiet>&#0;</Quiet></Root>'],
    ['a reference to a surrogate', '<Root><Quiet>&#xD800;</Quiet></Root>'],
    ['a reference beyond Unicode', '<Root><Quiet>&#x110000;</Quiet></Root>'],
    ['a comment', '<Root><!-- --></Root>'],
    ['an element in a text', '<Root><Quiet><Quiet/></Quiet></Root>'],
    ['an element in the text of an item', '<Root><Item><Key><Key/></Key></Item></Root>'],
    ['an item in an item', `<Root>${'<Item><Key>'.repeat(20)}${'</Key></Item>'.repeat(20)}</Root>`],
    ['a text that occurs twice', '<Root><Quiet/><Quiet/></Root>'],
    ['a text that occurs twice in an item', '<Root><Item><Key/><Key/></Item></Root>'],
    ['more items than the form allows', `<Root>${'<Item/>'.repeat(4)}</Root>`],
    ['a text that is too long', `<Root><Quiet>${'a'.repeat(10_000)}</Quiet></Root>`],
    ['a tag that is too long', `<Root ${'a="b" '.repeat(2_000)}/>`],
    ['a tag that never ends', `<Root ${'a="b" '.repeat(20_000)}`],
  ])('is refused with %s', (_name, text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'MalformedXML' }))
  })

  test.each(['<Root><Colour/></Root>', '<Root><Item><Colour/></Item></Root>'])(
    'is refused with an element that its reader would not obey: %s',
    (text) => {
      expect(() => read(text)).toThrow(expect.objectContaining({ code: 'NotImplemented' }))
    },
  )
})
