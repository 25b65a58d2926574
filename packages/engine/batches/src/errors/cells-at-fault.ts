import { problemTexts } from './problems.ts'

/**
 * Returns the indexes of the columns that a row's messages are about, from the text of its SERVICE_ERRORS cell. Accepts
 * the columns of the error file without SERVICE_ERRORS. Finds nothing in a text that is no list of messages.
 *
 * @example
 * ```ts
 * cellsAtFault('too many values, age should be integer', ['user_id', 'age']) // → [1]
 * ```
 */
export function cellsAtFault(text: string, columns: readonly string[]): number[] {
  const found: number[] = []
  // The mark that keeps a spreadsheet from taking the cell for a formula.
  let rest = text.replace(/^'(?=[=+\-@\t\r\n])/, '')
  const take = (message: string): boolean => {
    const isNext = rest === message || rest.startsWith(`${message}, `)
    if (isNext) rest = rest.slice(message.length + 2)
    return isNext
  }
  // Messages follow the order of problems: those of the row, then those of each column.
  for (const problem of problemTexts) take(problem)
  for (const [index, name] of columns.entries()) {
    for (const problem of problemTexts) if (take(`${name} ${problem}`) && found.at(-1) !== index) found.push(index)
    if (rest === '') break
  }
  return found
}
