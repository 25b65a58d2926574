import { S3Error } from '../errors.ts'

/** A parsed element. `text` is its character data, exact for an element without children; attributes are dropped. */
export type XmlNode = { name: string; text: string; children: XmlNode[] }

const MAX_DEPTH = 8
const ATTRIBUTE = /\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*')/.source
const TAG = String.raw`<(\/?)([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)(?:${ATTRIBUTE})*\s*(\/?)>`
/** "<!" matches nothing here, so doctypes and their entities are refused. */
const TOKEN = String.raw`<\?xml[^>]*\?>|${TAG}|([^<]+)`
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/**
 * Parses the small documents that S3 clients send: elements and text, no doctype, comments or CDATA.
 *
 * Gives the root, which must be named `rootName`; prefixes of namespaces are dropped. Throws MalformedXML.
 */
export function parseXml(text: string, rootName: string): XmlNode {
  const top: XmlNode = { name: '', text: '', children: [] }
  const open = [top]
  const token = new RegExp(TOKEN, 'y')
  while (token.lastIndex < text.length) {
    const found = token.exec(text)
    const current = open.at(-1)
    if (found === null || current === undefined) throw malformed()
    const [, closing, fullName, selfClosing, characters] = found
    if (characters !== undefined) current.text += decodeEntities(characters)
    if (fullName === undefined) continue
    const name = fullName.slice(fullName.indexOf(':') + 1)
    if (closing === '/') {
      if (current.name !== name) throw malformed()
      open.pop()
      continue
    }
    const node: XmlNode = { name, text: '', children: [] }
    current.children.push(node)
    if (selfClosing !== '/') open.push(node)
    if (open.length > MAX_DEPTH) throw malformed()
  }
  const [root] = top.children
  const complete = open.length === 1 && top.children.length === 1 && top.text.trim() === ''
  if (root === undefined || !complete || root.name !== rootName) throw malformed()
  return root
}

/** Gives the text of the child of that name, or undefined. Throws MalformedXML where there are several. */
export function childText(node: XmlNode, name: string): string | undefined {
  const found = node.children.filter((child) => child.name === name)
  if (found.length > 1) throw malformed()
  return found[0]?.text
}

/** Refuses children that their reader does not obey. Throws NotImplemented: to ignore one could drop a condition. */
export function checkChildren(node: XmlNode, known: readonly string[]): void {
  const unknown = node.children.find((child) => !known.includes(child.name))
  if (unknown === undefined) return
  throw new S3Error('NotImplemented', `The element ${unknown.name} in ${node.name} is not supported.`)
}

function decodeEntities(text: string): string {
  const normalised = text.replace(/\r\n?/g, '\n')
  return normalised.replace(/&([^;&]{0,10});?/g, (whole, name: string) => {
    if (!whole.endsWith(';')) throw malformed()
    const numeric = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name)
    if (numeric === null) {
      const character = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined
      if (character === undefined) throw malformed()
      return character
    }
    const code = numeric[1] === undefined ? Number(numeric[2]) : Number.parseInt(numeric[1], 16)
    if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw malformed()
    return String.fromCodePoint(code)
  })
}

/** The refusal of a document that is not well-formed or lacks what its operation needs. */
export function malformed(): S3Error {
  return new S3Error('MalformedXML', 'The XML you provided was not well-formed or did not validate.')
}
