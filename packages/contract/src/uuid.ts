const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const wholeUuid = new RegExp(`^${uuid}$`, 'i')
const linkToken = new RegExp(`^(${uuid})\\.([\\w-]{32})$`)

/**
 * Whether a text has the form of a UUID, such as an import's ID. Capitals are accepted; answers have small letters.
 *
 * @example
 * ```ts
 * isUuid('3F2504E0-4f89-41d3-9a0c-0305e82c3301') // → true
 * isUuid('3f2504e04f8941d39a0c0305e82c3301') // → false
 * ```
 */
export function isUuid(text: string): boolean {
  return wholeUuid.test(text)
}

/**
 * Returns the parts of the token of a link to a file (design.md §3, Error file); undefined if Sluice issues no such
 * token. An altered token is unknown, so its ID must have small letters.
 *
 * @example
 * ```ts
 * parseFileToken('3f2504e0-4f89-41d3-9a0c-0305e82c3301.') // → undefined
 * ```
 */
export function parseFileToken(token: string): { id: string; secret: string } | undefined {
  const [, id, secret] = linkToken.exec(token) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}
