/** An element: its name, and its text or its children. */
export type XmlElement = readonly [name: string, content: XmlContent]
export type XmlContent = string | number | boolean | readonly XmlElement[]

const s3Namespace = 'http://s3.amazonaws.com/doc/2006-03-01/'

/** Writes an XML document in S3's namespace. */
export function writeXml(name: string, content: XmlContent): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="${s3Namespace}">${writeContent(content)}</${name}>`
}

/** Writes an error's document, which has no namespace in S3. */
export function writeErrorXml(children: readonly XmlElement[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${writeContent(children)}</Error>`
}

function writeContent(content: XmlContent): string {
  if (typeof content === 'string') return escapeText(content)
  if (typeof content === 'number' || typeof content === 'boolean') return String(content)
  return content.map(([name, inner]) => `<${name}>${writeContent(inner)}</${name}>`).join('')
}

function escapeText(text: string): string {
  // Control characters are legal in keys and not in XML; like S3 this writes them as references all the same, and
  // clients that care ask for encoding-type=url.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to be found
  return text.replace(/[&<>"\u0000-\u001f\u007f]/g, (character) => `&#${character.charCodeAt(0)};`)
}
