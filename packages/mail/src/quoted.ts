/**
 * Quotes a name that comes from outside (of a file, a column, an app) for a mail. The result is one line of at most
 * `mostCharacters` characters, in quotes that the name cannot close. A reader therefore sees a name, even if it reads
 * like a sentence.
 */
export function quoted(name: string, mostCharacters = 100): string {
  const characters = [
    ...name
      .toWellFormed()
      .replace(/[\p{C}\p{Z}]+/gu, ' ')
      .replace(/[“”„‟"]/g, '’'),
  ]
  const shown = characters.length > mostCharacters ? [...characters.slice(0, mostCharacters - 1), '…'] : characters
  return `“${shown.join('')}”`
}
