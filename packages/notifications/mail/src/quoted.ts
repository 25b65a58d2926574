/**
 * Quotes a name that comes from outside (of a file, a column, an app) for a mail. The result is one line of at most
 * `maxCharacters` characters, in quotes that the name cannot close. A reader therefore sees a name, even if it reads
 * like a sentence.
 */
export function quoted(name: string, maxCharacters = 100): string {
  const characters = [
    ...name
      .toWellFormed()
      .replace(/[\p{C}\p{Z}]+/gu, ' ')
      .replace(/[“”„‟"]/g, '’'),
  ]
  const shown = characters.length > maxCharacters ? [...characters.slice(0, maxCharacters - 1), '…'] : characters
  return `“${shown.join('')}”`
}
