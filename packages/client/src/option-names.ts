/**
 * Throws a `TypeError` if options have a member that does not exist. It may be misspelt, such as `dryrun`, and the call
 * would change what it should only count.
 */
export function refuseUnknown<Options extends object>(
  options: Options,
  names: Readonly<Record<keyof Options, true>>,
): void {
  const unknown = Object.keys(options).filter((name) => !(name in names))
  if (unknown.length > 0) throw new TypeError(`there is no option ${unknown.join(', ')}`)
}
