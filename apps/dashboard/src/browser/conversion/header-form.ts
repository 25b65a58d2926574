import { fileMessages } from '@sluice/contract/import-messages'
import { limits } from '@sluice/contract/limits'
import type { Dialect } from './record-reader.ts'

/**
 * Returns why an import would refuse the form of a header, in the words of the import; undefined if it accepts it. The
 * names are not checked.
 *
 * `isWhole`: the text is the whole file, and not only its beginning.
 */
export function headerFormProblem(text: string, isWhole: boolean, dialect: Dialect): string | undefined {
  const start = text.slice(0, 2 * limits.headerBytes)
  const { header, isEnded, rest } = readHeader(start, dialect)
  const isEndOfFile = rest === '' && isWhole && start === text
  if (header === '' && isEndOfFile) return fileMessages.empty
  const scanned = rest.startsWith('"') ? header + rest : header
  if (new TextEncoder().encode(scanned).length > limits.headerBytes) return fileMessages.headerTooLarge
  if (isEnded) return undefined
  if (rest === '') return isEndOfFile ? fileMessages.noLineBreak : undefined
  return rest.startsWith('\r') ? fileMessages.noLineBreak : fileMessages.headerQuote
}

/** Reads the header as far as it is well-formed, after blank lines. */
function readHeader(text: string, { separator, lineBreak }: Dialect) {
  const field = `(?:"[^"]*(?:""[^"]*)*"|[^"${separator}\\r\\n][^${separator}\\r\\n]*)?`
  const end = lineBreak === '\n' ? '\\r*\\n' : '[\\r\\n]'
  const form = new RegExp(`^(?:${end})*(${field}(?:${separator}${field})*)(${end}|\\r+$)?`)
  const [read = '', header = '', lineEnd] = form.exec(text) ?? []
  return { header, isEnded: lineEnd !== undefined, rest: text.slice(read.length) }
}
