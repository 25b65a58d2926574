/** The kind of a file, as its first bytes show. */
export type FileKind = 'text' | 'gzip' | 'workbook' | 'old workbook' | 'archive'

/** Number of bytes that {@link fileKind} looks at. */
export const kindBytes = 4_096

const zipEntry = [0x50, 0x4b, 0x03, 0x04]
const compoundFile = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]
const gzip = [0x1f, 0x8b]

/**
 * Recognises a file by its first bytes. A workbook of Excel (`.xlsx`) or LibreOffice (`.ods`) is a ZIP archive whose
 * first entries have known names; Excel's `.xls` is a compound file.
 */
export function fileKind(start: Uint8Array): FileKind {
  const beginsWith = (magic: readonly number[]) => magic.every((byte, index) => start[index] === byte)
  if (beginsWith(gzip)) return 'gzip'
  if (beginsWith(compoundFile)) return 'old workbook'
  if (!beginsWith(zipEntry)) return 'text'
  const text = new TextDecoder('windows-1252').decode(start.subarray(0, kindBytes))
  return /\[Content_Types\]\.xml|xl\/|opendocument\.spreadsheet|docProps\//.test(text) ? 'workbook' : 'archive'
}

const saveAsCsv =
  'In Excel, choose File, Save As, and the type “CSV UTF-8 (Comma delimited) (*.csv)”. In LibreOffice, choose “Text CSV (.csv)”. In Numbers, choose File, Export To, CSV. Then choose the new file here.'

/** Returns how a person converts a file of this kind to CSV; undefined if the file may already be CSV. */
export function kindProblem(kind: FileKind): string | undefined {
  if (kind === 'workbook' || kind === 'old workbook')
    return `This is a workbook of a spreadsheet, not CSV. ${saveAsCsv}`
  if (kind === 'archive') return `This is a ZIP archive, not CSV. Unpack it first. If it is a spreadsheet: ${saveAsCsv}`
  return undefined
}
