/** An element: its name, and its text or its children. */
export type XmlElement = readonly [name: string, content: XmlContent]
export type XmlContent = string | number | boolean | readonly XmlElement[]

const s3Namespace = 'http://s3.amazonaws.com/doc/2006-03-01/'

/** Writes an XML document in S3's namespace. */
export function writeXml(name: string, content: XmlContent): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="${s3Namespace}">${writeContent(content)}</${name}>`
}

/** Writes the document of an error, which has no namespace in S3. */
export function writeErrorXml(children: readonly XmlElement[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${writeContent(children)}</Error>`
}

function writeContent(content: XmlContent): string {
  if (typeof content === 'string') return escapeText(content)
  if (typeof content === 'number' || typeof content === 'boolean') return String(content)
  return content.map(([name, inner]) => `<${name}>${writeContent(inner)}</${name}>`).join('')
}

function escapeText(text: string): string {
  // Keys may have control characters, but XML may not. Like S3, this writes them as references anyway. Clients that
  // need correct XML ask for encoding-type=url.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression must find control characters
  return text.replace(/[&<>"\u0000-\u001f\u007f]/g, (character) => `&#${character.charCodeAt(0)};`)
}
