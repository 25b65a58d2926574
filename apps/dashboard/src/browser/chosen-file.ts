import type { Type } from './column-check.ts'
import { type DetectedDialect, detectDialect } from './conversion/dialect.ts'
import { decodeStart, type Encoding, encodingOfMark } from './conversion/encodings.ts'
import { kindProblem } from './conversion/file-kind.ts'
import { guessEncoding } from './conversion/guess-encoding.ts'
import {
  type ColumnPlan,
  changesRecords,
  isChanged,
  type Plan,
  recordConverters,
  unchangedColumn,
} from './conversion/plan.ts'
import { headerFormProblem, type Separator } from './conversion/record-reader.ts'
import { writeRecord } from './conversion/record-writer.ts'
import type { OtherText } from './conversion/utf8-check.ts'
import { type CountedPreview, type Preview, readPreview } from './csv-preview.ts'
import { type FileStart, readStart } from './file-start.ts'

/** The number of rows from which types are inferred: the default of the import's setting `INFERENCE_ROWS`. */
const sampleRows = 1_000

/** How the encoding of a file was determined. A person must check a guess. */
export type Evidence = 'mark' | 'utf-8' | 'guess' | 'choice'

/** What a person has chosen for a column. */
export interface ColumnChoice extends ColumnPlan {
  /** The type of a new key; undefined if the import infers it. */
  type?: Type | undefined
}

/** Whether anything was chosen for a column. */
export function isChosen(column: ColumnChoice): boolean {
  return isChanged(column) || column.type !== undefined
}

/** A file that cannot be imported, with the reason that the page shows. */
export class RefusedFile extends Error {
  override readonly name = 'RefusedFile'
}

/** A chosen file, how it is read, and what becomes of its columns. */
export class ChosenFile {
  readonly file: File
  readonly start: FileStart
  encoding: Encoding
  evidence: Evidence
  dialect: DetectedDialect
  /** The columns of the file with a person's choices; empty if there is no header. */
  columns: ColumnChoice[] = []
  /** The first rows of the file before any conversion; undefined if there is no header. */
  source: CountedPreview | undefined
  /** Set if the file is not UTF-8, and no byte order mark decides. */
  readonly otherText: OtherText | undefined
  #hasChosenSeparator = false

  constructor(file: File, start: FileStart, { encoding, evidence, otherText }: Recognised) {
    this.file = file
    this.start = start
    this.encoding = encoding
    this.evidence = evidence
    this.otherText = otherText
    this.dialect = this.#detect()
    this.#read()
  }

  chooseEncoding(encoding: Encoding): void {
    this.encoding = encoding
    this.evidence = 'choice'
    if (!this.#hasChosenSeparator) this.dialect = this.#detect()
    this.#read()
  }

  chooseSeparator(separator: Separator): void {
    this.dialect = { ...this.dialect, separator }
    this.#hasChosenSeparator = true
    this.#read()
  }

  plan(clearMarker: string): Plan {
    const { encoding, dialect, columns } = this
    const { prefixLength, ...separators } = dialect
    return { encoding, dialect: separators, prefixLength, columns, clearMarker }
  }

  /** Returns the first rows as an import would read them; undefined if there is no header. */
  preview(clearMarker: string): Preview | undefined {
    if (this.source === undefined) return undefined
    const { header, row } = recordConverters(this.plan(clearMarker))
    return {
      header: header({ cells: this.source.header }).cells,
      rows: this.source.rows.map((cells) => row({ cells }).cells),
    }
  }

  /** Returns why an import would refuse the form of the header; undefined if it would not. */
  headerProblem(): string | undefined {
    const { source, start, dialect } = this
    const plan = this.plan('')
    if (source === undefined || !changesRecords(plan))
      return headerFormProblem(this.#text().slice(dialect.prefixLength), start.isWhole, dialect)
    const converted = writeRecord(recordConverters(plan).header({ cells: source.header }))
    return headerFormProblem(converted, true, { separator: ',', lineBreak: '\n' })
  }

  #detect(): DetectedDialect {
    return detectDialect(this.#text())
  }

  #text(): string {
    return decodeStart(this.start.bytes, this.encoding, this.start.isWhole)
  }

  /** Reads the first rows anew. Keeps the choices if the columns are the same. */
  #read(): void {
    const text = this.#text().slice(this.dialect.prefixLength)
    this.source = readPreview(text, this.start.isWhole, sampleRows, this.dialect)
    const names = this.source?.header ?? []
    const isSame = names.length === this.columns.length && names.every((name, at) => name === this.columns[at]?.name)
    if (!isSame) this.columns = names.map(unchangedColumn)
  }
}

interface Recognised {
  encoding: Encoding
  evidence: Evidence
  otherText?: OtherText | undefined
}

/**
 * Reads the beginning of a file and determines its encoding. A byte order mark decides. Without a mark, the file is
 * UTF-8 if all its bytes are; otherwise the page guesses. `findOtherText` checks the whole file for UTF-8.
 *
 * Throws {@link RefusedFile} if the file is not text. Rejects if compressed data is damaged at its start.
 */
export async function readChosenFile(
  file: File,
  findOtherText: (start: FileStart) => Promise<OtherText | undefined>,
  languages: readonly string[],
): Promise<ChosenFile> {
  const start = await readStart(file)
  const problem = kindProblem(start.kind)
  if (problem !== undefined) throw new RefusedFile(problem)
  const marked = encodingOfMark(start.bytes)
  if (marked !== undefined) return new ChosenFile(file, start, { encoding: marked, evidence: 'mark' })
  const otherText = await findOtherText(start)
  if (otherText === undefined) return new ChosenFile(file, start, { encoding: 'utf-8', evidence: 'utf-8' })
  const { lineBreak } = detectDialect(decodeStart(start.bytes, 'windows-1252', start.isWhole))
  const { lines, isMostlyUtf8 } = otherText
  const encoding = guessEncoding(lines, { languages, hasMacLines: lineBreak === '\r', isMostlyUtf8 })
  return new ChosenFile(file, start, { encoding, evidence: 'guess', otherText })
}
