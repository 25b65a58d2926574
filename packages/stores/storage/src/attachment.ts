/** Maximum number of characters of a name, without its extension. */
const longestName = 100

/**
 * Returns the value of `Content-Disposition` with which a browser saves a file under a name (RFC 6266). Characters that
 * a file's name cannot have everywhere, or that could deceive the reader, become `_`. Names beyond ASCII are repeated
 * in the form of RFC 8187.
 *
 * @example
 * ```ts
 * attachment('errors-people.csv') // → "attachment; filename=\"errors-people.csv\""
 * ```
 */
export function attachment(fileName: string): string {
  // Controls, also those of the direction of text, surrogates, and what Windows does not permit.
  const safe = fileName.toWellFormed().replaceAll(/[\p{C}\p{Zl}\p{Zp}\ufffd"*/:<>?\\|]/gu, '_')
  // design.md §3, Error file.
  const dot = safe.lastIndexOf('.')
  const [base, extension] = dot < 1 ? [safe, ''] : [safe.slice(0, dot), safe.slice(dot)]
  const name = [...base].slice(0, longestName).join('') + extension
  const ascii = name.replaceAll(/[^ -~]/g, '_').replaceAll('%', '_')
  const encoded = encodeURIComponent(name).replaceAll(/['()]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  return `attachment; filename="${ascii}"${ascii === name ? '' : `; filename*=UTF-8''${encoded}`}`
}
