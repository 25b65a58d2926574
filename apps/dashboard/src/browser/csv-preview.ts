/** The header and the first rows of a CSV file. */
export interface Preview {
  header: string[]
  rows: string[][]
}

/**
 * Reads the beginning of a CSV file for a preview. Skips blank lines and a byte order mark. Well-formed files are read
 * in the same way as by the import. If a quote is not closed, the preview ends before that row.
 *
 * If `isWhole` is false, the last row may be incomplete and is omitted. Returns at most `maxRows` rows, or undefined
 * if there is no header.
 */
export function readPreview(text: string, isWhole: boolean, maxRows: number): Preview | undefined {
  const records: string[][] = []
  const form = new RegExp(/(?:"([^"]*(?:""[^"]*)*)"(?=[,\r\n]|$)|([^,\r\n]*(?:\r(?!\n)[^,\r\n]*)*))(,|\r?\n|$)/y)
  let record: string[] = []
  form.lastIndex = text.startsWith('\uFEFF') ? 1 : 0
  while (form.lastIndex < text.length && records.length <= maxRows) {
    const found = form.exec(text)
    if (found === null) break
    const [, quoted, plain = '', end] = found
    if (quoted === undefined && plain.startsWith('"')) break
    record.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === ',' && form.lastIndex < text.length) continue
    if (end === ',') record.push('') // the file ends with a comma
    const isCutOff = form.lastIndex === text.length && !isWhole
    const isBlank = record.length === 1 && record[0] === '' && quoted === undefined
    if (!isCutOff && !isBlank) records.push(record)
    record = []
  }
  const [header, ...rows] = records
  return header === undefined ? undefined : { header, rows }
}
