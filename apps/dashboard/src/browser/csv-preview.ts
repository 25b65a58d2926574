/** The beginning of a CSV file. */
export interface Preview {
  header: string[]
  rows: string[][]
}

/**
 * Reads the beginning of a CSV file for a look at it: comma, quotes, CRLF or LF, blank lines skipped, a byte order mark dropped.
 * Well-formed files read as the import reads them; where a quote does not close, the preview ends before it.
 *
 * Takes the text, whether it is the whole file (else the last row may be cut off, and is left out), and how many rows to give
 * at most. Gives undefined where there is no header.
 */
export function readPreview(text: string, isWhole: boolean, mostRows: number): Preview | undefined {
  const records: string[][] = []
  const form = new RegExp(/(?:"([^"]*(?:""[^"]*)*)"(?=[,\r\n]|$)|([^,\r\n]*(?:\r(?!\n)[^,\r\n]*)*))(,|\r?\n|$)/y)
  let record: string[] = []
  form.lastIndex = text.startsWith('\uFEFF') ? 1 : 0
  while (form.lastIndex < text.length && records.length <= mostRows) {
    const found = form.exec(text)
    if (found === null) break
    const [, quoted, plain = '', end] = found
    if (quoted === undefined && plain.startsWith('"')) break
    record.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === ',' && form.lastIndex < text.length) continue
    if (end === ',') record.push('') // the file ends behind a comma
    const isCutOff = form.lastIndex === text.length && !isWhole
    const isBlank = record.length === 1 && record[0] === '' && quoted === undefined
    if (!isCutOff && !isBlank) records.push(record)
    record = []
  }
  const [header, ...rows] = records
  return header === undefined ? undefined : { header, rows }
}
