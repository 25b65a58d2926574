import type { ChosenFile } from './chosen-file.ts'
import { separatorNames } from './conversion/dialect.ts'
import { decodeStart, encodingNames } from './conversion/encodings.ts'
import { needsConversion } from './conversion/plan.ts'
import { cut, element, selectOf } from './elements.ts'

/** Maximum number of lines with characters beyond ASCII that are shown with a guessed encoding. */
const shownLines = 4

/**
 * Creates the part of the page that says how a file is read, and lets a person choose otherwise. Calls `onChange` after
 * each choice; the part must then be created again.
 */
export function readingView(chosen: ChosenFile, onChange: () => void): HTMLElement {
  const { dialect, encoding } = chosen
  const encodings = selectOf('Encoding', encodingNames, encoding, (choice) => {
    chosen.chooseEncoding(choice)
    onChange()
  })
  const separators = selectOf('Separator', separatorNames, dialect.separator, (choice) => {
    chosen.chooseSeparator(choice)
    onChange()
  })
  return element(
    'section',
    { class: 'card', 'aria-labelledby': 'reading' },
    element('h2', { id: 'reading' }, 'How the file is read'),
    element(
      'div',
      { class: 'search' },
      element('div', { class: 'field' }, 'Encoding', encodings),
      element('div', { class: 'field' }, 'Separator', separators),
    ),
    evidenceText(chosen),
    ...examples(chosen),
    element('p', { class: 'hint', 'data-sent-as': '' }, sentAs(chosen)),
  )
}

/** Creates the sentence about why the encoding is selected. */
function evidenceText({ evidence, encoding, otherText }: ChosenFile): HTMLElement {
  const name = encodingNames[encoding]
  if (encoding === 'utf-8' && otherText !== undefined) {
    const text =
      'The file has bytes that are not UTF-8. If it is UTF-8 otherwise, rows with such bytes are not applied.'
    return element('p', { class: 'notice warn', role: 'status' }, text)
  }
  if (evidence === 'guess') {
    const text = `The file is not UTF-8. It may be ${name}: this is a guess. Check the letters, and choose another encoding if they are wrong.`
    return element('p', { class: 'notice warn', role: 'status' }, text)
  }
  const texts = {
    mark: `The byte order mark of the file names ${name}.`,
    'utf-8': 'The whole file is UTF-8.',
    choice: `You chose ${name}.`,
  }
  return element('p', { class: 'hint' }, texts[evidence])
}

/** Shows lines that differ between encodings, because the first rows of the file may be the same in all encodings. */
function examples({ otherText, encoding }: ChosenFile): HTMLElement[] {
  if (otherText === undefined) return []
  const lines = decodeStart(otherText.examples, encoding, false)
    .split(/[\r\n]+/)
    .filter((line) => /[^\0-\x7f]/.test(line))
    .slice(0, shownLines)
  if (lines.length === 0) return []
  const items = lines.map((line) => element('li', {}, element('code', { class: 'as-is' }, aroundLetter(line))))
  return [
    element('p', { class: 'hint' }, 'Lines with letters beyond ASCII, as this encoding reads them:'),
    element('ul', { class: 'plain examples' }, ...items),
  ]
}

/** Cuts a long line so that its first letter beyond ASCII is shown. */
function aroundLetter(line: string): string {
  const start = Math.max(0, line.search(/[^\0-\x7f]/) - 60)
  return cut(start === 0 ? line : `…${line.slice(start)}`)
}

/** Returns the sentence about whether the file is converted. */
function sentAs(chosen: ChosenFile): string {
  return needsConversion(chosen.plan(''))
    ? 'Your browser converts the file to UTF-8 with commas before it sends it. If rows have errors, the error file is of the converted file: in UTF-8, with commas, and with the keys and values below.'
    : 'The file is sent as it is.'
}

/** Updates the sentence about the conversion after a choice for a column. */
export function updateSentAs(view: ParentNode, chosen: ChosenFile): void {
  const sentence = view.querySelector('[data-sent-as]')
  if (sentence !== null) sentence.textContent = sentAs(chosen)
}
