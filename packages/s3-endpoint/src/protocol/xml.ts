import { XMLParser } from 'fast-xml-parser'
import type { Upload } from '../backend.ts'
import { S3Error } from '../errors.ts'

/** The content of an element: a text, the children by their names, or several elements of one name. */
export type XmlContent = string | number | boolean | undefined | readonly XmlContent[] | XmlElements
/** Elements by their names, in order. An undefined element is left out. */
export interface XmlElements {
  readonly [name: string]: XmlContent
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** Writes an XML document in S3's namespace. */
export function writeXml(name: string, content: XmlContent): string {
  return `${declaration}<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${writeContent(content)}</${name}>`
}

/** Writes the document of an error, which has no namespace in S3. */
export function writeErrorXml(children: XmlElements): string {
  return `${declaration}<Error>${writeContent(children)}</Error>`
}

function writeContent(content: XmlContent): string {
  if (typeof content === 'object') return Object.entries(content).map(writeElements).join('')
  // Keys may have control characters, but XML may not. Like S3, this writes them as references anyway. Clients that
  // need correct XML ask for encoding-type=url.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression must find control characters
  return String(content).replace(/[&<>"\u0000-\u001f\u007f]/g, (character) => `&#${character.charCodeAt(0)};`)
}

function writeElements([name, content]: [string, XmlContent]): string {
  const elements: readonly XmlContent[] = Array.isArray(content) ? content : [content]
  return elements.map((one) => (one === undefined ? '' : `<${name}>${writeContent(one)}</${name}>`)).join('')
}

/** The texts of an element's children by their names. Texts are unchanged apart from decoded entities. */
export type XmlTexts = ReadonlyMap<string, string>

/**
 * The form of a document that S3 clients send: a root with texts and items. Items have texts. A text occurs at most
 * once in its element.
 */
export interface XmlForm {
  root: string
  texts: readonly string[]
  item: string
  itemTexts: readonly string[]
  maxItems: number
  /** The size of the largest document. */
  maxBytes: number
}

/** The contents of a document. */
export interface XmlDocument {
  texts: XmlTexts
  items: XmlTexts[]
}

/**
 * Reads the XML document in a body. Throws MaxMessageLengthExceeded, without reading the body, if it exceeds the form's
 * limit. Throws the errors of {@link parseXml}.
 */
export async function readXmlBody(upload: Upload, form: XmlForm): Promise<XmlDocument> {
  if (upload.size > form.maxBytes) throw new S3Error('MaxMessageLengthExceeded', 'Your request was too big.')
  return parseXml(Buffer.concat(await Array.fromAsync(upload.chunks)), form)
}

/** Makes an array of every element, and drops attributes and the prefixes of namespaces. */
const parser = new XMLParser({
  ignoreDeclaration: true,
  ignorePiTags: true,
  isArray: () => true,
  parseTagValue: false,
  processEntities: false,
  removeNSPrefix: true,
  trimValues: false,
})
/**
 * Parses a document of one form. Throws MalformedXML, and NotImplemented for an element that is not in the form,
 * because ignoring it could drop a condition.
 */
export function parseXml(bytes: Uint8Array, form: XmlForm): XmlDocument {
  const { [form.root]: roots = [], ...others } = childrenOf(parse(bytes))
  if (roots.length !== 1 || Object.keys(others).length > 0) throw malformed()
  const { [form.item]: items = [], ...texts } = childrenOf(roots[0])
  if (items.length > form.maxItems) throw malformed()
  return {
    texts: textsOf(texts, form.texts),
    items: items.map((item) => textsOf(childrenOf(item), form.itemTexts)),
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    // Doctypes, comments, CDATA and NUL are refused.
    if (!/<!|\0/.test(text)) return parser.parse(text, true)
  } catch {
    // The bytes are not UTF-8, or the text is not well-formed.
  }
  throw malformed()
}

/** Returns the children of an element, which must have no other text than white space. */
function childrenOf(element: unknown): Record<string, unknown[]> {
  if (typeof element !== 'object' || element === null) return childrenOf({ '#text': element })
  const children: Record<string, unknown[]> = {}
  for (const [name, content] of Object.entries(element)) {
    if (Array.isArray(content)) children[name] = content
    else if (String(content).trim() !== '') throw malformed()
  }
  return children
}

function textsOf(children: Record<string, unknown[]>, known: readonly string[]): XmlTexts {
  const texts = new Map<string, string>()
  for (const [name, [text, ...more]] of Object.entries(children)) {
    if (!known.includes(name)) {
      throw new S3Error('NotImplemented', `The element ${name.slice(0, 100)} is not supported here.`)
    }
    if (more.length > 0 || typeof text !== 'string') throw malformed()
    texts.set(name, decodeEntities(text))
  }
  return texts
}

const namedEntities = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
])

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+))?;?/gi,
    (whole, decimal?: string, hex?: string, name = '') => {
      const code = decimal === undefined ? Number.parseInt(hex ?? '0', 16) : Number(decimal)
      const character = code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : namedEntities.get(name)
      if (character?.isWellFormed() !== true || !whole.endsWith(';')) throw malformed()
      return character
    },
  )
}

/** Creates the error for a document that is not well-formed, or that lacks something its operation needs. */
export function malformed(): S3Error {
  return new S3Error('MalformedXML', 'The XML you provided was not well-formed or did not validate.')
}
