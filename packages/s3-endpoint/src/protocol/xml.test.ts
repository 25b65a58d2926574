import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Upload } from '../backend.ts'
import { parseXml, readXmlBody, writeXml, type XmlForm } from './xml.ts'

const form: XmlForm = {
  root: 'Root',
  texts: ['Quiet', 'Empty'],
  item: 'Item',
  itemTexts: ['Key', 'Size'],
  maxItems: 3,
  maxBytes: 1_000,
}

const read = (text: string) => parseXml(Buffer.from(text), form)

describe('XML', () => {
  test('is read with prefixes, attributes and entities', () => {
    const text =
      '<?xml version="1.0"?>\n<s:Root xmlns:s="urn:x"> <Item a=\'1\'>\n<Key> &lt;&#252;&#x1F600;&amp;&quot; </Key><Size/></Item><Empty></Empty></s:Root>\n'
    const { texts, items } = read(text)
    expect([...texts]).toEqual([['Empty', '']])
    expect(items.map((item) => [...item])).toEqual([
      [
        ['Key', ' <ü😀&" '],
        ['Size', ''],
      ],
    ])
  })

  test('is read with the same texts that were written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!text.includes('\0'))
        const [item] = read(writeXml('Root', { Item: { Key: text } })).items
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

  test('is refused if its bytes are not UTF-8', () => {
    const bytes = Buffer.from('<Root><Quiet>\xff</Quiet></Root>', 'latin1')
    expect(() => parseXml(bytes, form)).toThrow(expect.objectContaining({ code: 'MalformedXML' }))
  })

  test('is written without undefined elements, and with one element for each item of a list', () => {
    const written = writeXml('Root', { A: undefined, B: [{ C: 1 }, undefined, 'é'], D: [], E: { F: true } })
    expect(written.slice(written.indexOf('<B>'))).toBe('<B><C>1</C></B><B>é</B><E><F>true</F></E></Root>')
  })
})

test('a document over the limit is refused before it is read', async () => {
  async function* chunks(): AsyncGenerator<Buffer> {
    yield await Promise.reject(new Error('the body was read'))
  }
  const upload = { size: form.maxBytes + 1, chunks: chunks() } as unknown as Upload
  await expect(readXmlBody(upload, form)).rejects.toMatchObject({ code: 'MaxMessageLengthExceeded' })
})
