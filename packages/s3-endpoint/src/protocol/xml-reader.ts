import { S3Error } from '../errors.ts'

/** The texts of an element's children by their names. Texts are unchanged apart from decoded entities. */
export type XmlTexts = ReadonlyMap<string, string>

/**
 * The form of a document that S3 clients send: a root with texts and items. Items have texts.
 *
 * A text may occur once in its element. `max` is the largest number of items. `read` reads one item, and may throw to
 * refuse the document.
 */
export type XmlForm<Item> = {
  root: string
  texts: readonly string[]
  items: { name: string; texts: readonly string[]; max: number; read: (texts: XmlTexts) => Item } | undefined
  /** The size of the largest document. */
  maxBytes: number
}

/** The contents of a document. */
export type XmlDocument<Item> = { texts: XmlTexts; items: Item[] }

/**
 * The longest tag, and the longest text between two tags, in characters. Every byte of a key may be written as a
 * reference such as `&#x41;`.
 */
const maxRunLength = 8_192
const attributePattern = /\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*')/.source
/** The form of a tag. It does not match "<!", so doctypes and their entities are refused. */
const tagPattern = new RegExp(
  String.raw`^<(\/?)([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)(?:${attributePattern})*\s*(\/?)>$`,
)
const namedEntities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/**
 * Reads a document of one form, piece by piece. It accepts elements and text, but no doctype, comments or CDATA. It
 * drops attributes and the prefixes of namespaces.
 *
 * It stores only the texts of the form, and its work is proportional to the length of the document. Both methods throw
 * MalformedXML. They throw NotImplemented for an element that is not in the form, because ignoring it could drop a
 * condition.
 */
export class XmlReader<Item> {
  readonly #form: XmlForm<Item>
  readonly #document: { texts: Map<string, string>; items: Item[] } = { texts: new Map(), items: [] }
  /** The names of the open elements, the root first. */
  readonly #open: string[] = []
  #item: Map<string, string> | undefined
  #isBegun = false
  /** The text after the last complete tag. */
  #rest = ''

  constructor(form: XmlForm<Item>) {
    this.#form = form
  }

  /** Reads the next piece. */
  write(piece: string): void {
    const text = this.#rest + piece
    let position = 0
    for (;;) {
      const begin = text.indexOf('<', position)
      const end = begin < 0 ? -1 : text.indexOf('>', begin)
      if (end < 0) break
      if (begin > position) this.#readText(text.slice(position, begin))
      this.#readTag(text.slice(begin, end + 1))
      position = end + 1
    }
    this.#rest = text.slice(position)
    if (this.#rest.length > 2 * maxRunLength) throw malformed()
  }

  /** Ends the document. Returns its contents. */
  end(): XmlDocument<Item> {
    if (!this.#isBegun || this.#open.length > 0 || !isBlank(this.#rest)) throw malformed()
    return this.#document
  }

  #readTag(tag: string): void {
    if (tag.length > maxRunLength) throw malformed()
    if (!this.#isBegun && tag.startsWith('<?xml') && tag.endsWith('?>')) return
    const [, closing, fullName, selfClosing] = tagPattern.exec(tag) ?? []
    if (fullName === undefined) throw malformed()
    const name = fullName.slice(fullName.indexOf(':') + 1)
    if (closing !== '/') this.#begin(name)
    if (closing === '/' || selfClosing === '/') this.#close(name)
  }

  #begin(name: string): void {
    const { root, texts, items } = this.#form
    const [, second] = this.#open
    if (this.#open.length === 0) {
      if (this.#isBegun || name !== root) throw malformed()
      this.#isBegun = true
    } else if (this.#open.length === 1 && name === items?.name) {
      if (this.#document.items.length === items.max) throw malformed()
      this.#item = new Map()
    } else if (this.#open.length === 1) {
      addText(this.#document.texts, { name, known: texts, parent: root })
    } else if (this.#item !== undefined && this.#open.length === 2) {
      addText(this.#item, { name, known: items?.texts ?? [], parent: second ?? '' })
    } else {
      throw malformed()
    }
    this.#open.push(name)
  }

  #close(name: string): void {
    if (this.#open.pop() !== name) throw malformed()
    const { items } = this.#form
    if (this.#open.length !== 1 || this.#item === undefined || items === undefined) return
    this.#document.items.push(items.read(this.#item))
    this.#item = undefined
  }

  #readText(text: string): void {
    const [, second, third] = this.#open
    const inside = this.#item === undefined ? second : third
    if (text.length > maxRunLength) throw malformed()
    if (inside !== undefined) {
      const holder = this.#item ?? this.#document.texts
      holder.set(inside, decodeEntities(text))
    } else if (!isBlank(text)) {
      throw malformed()
    }
  }
}

/** Adds an empty text for an element. Throws NotImplemented if the element's name is not known. */
function addText(
  texts: Map<string, string>,
  { name, known, parent }: { name: string; known: readonly string[]; parent: string },
): void {
  if (!known.includes(name)) {
    throw new S3Error('NotImplemented', `The element ${name.slice(0, 100)} in ${parent} is not supported.`)
  }
  if (texts.has(name)) throw malformed()
  texts.set(name, '')
}

function isBlank(text: string): boolean {
  return /^[\t\n\r ]*$/.test(text)
}

function decodeEntities(text: string): string {
  if (text.includes('\0')) throw malformed()
  const normalised = text.replace(/\r\n?/g, '\n')
  return normalised.replace(/&([^;&]{0,10});?/g, (whole, name: string) => {
    if (!whole.endsWith(';')) throw malformed()
    const numeric = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name)
    if (numeric === null) {
      const character = Object.hasOwn(namedEntities, name) ? namedEntities[name] : undefined
      if (character === undefined) throw malformed()
      return character
    }
    const code = numeric[1] === undefined ? Number(numeric[2]) : Number.parseInt(numeric[1], 16)
    if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw malformed()
    return String.fromCodePoint(code)
  })
}

/** Creates the error for a document that is not well-formed, or that lacks something its operation needs. */
export function malformed(): S3Error {
  return new S3Error('MalformedXML', 'The XML you provided was not well-formed or did not validate.')
}
