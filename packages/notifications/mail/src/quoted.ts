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

/** Separates what a subject says from the names of the file and the app, which a deletion removes. */
export const namesFollow = ' · '

/** Returns the part of a subject that precedes the names. */
export function withoutNames(subject: string): string {
  return subject.split(namesFollow)[0] ?? subject
}

/** Returns a subject with the names of the file and the app, quoted and shortened. */
export function subjectWithNames(
  subject: string,
  { fileName, appName }: { fileName: string | undefined; appName: string },
): string {
  const app = quoted(appName, 40)
  return `${subject}${namesFollow}${fileName === undefined ? app : `${quoted(fileName, 60)} in ${app}`}`
}
