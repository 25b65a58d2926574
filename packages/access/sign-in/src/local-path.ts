/** The longest address of a page to return to. Longer addresses lead to the start page. */
const longestPath = 1000

/** Returns the path of an address in the dashboard, or `/` if the address leads elsewhere. */
export function localPath(address: string): string {
  const base = 'http://dashboard.invalid'
  if (address.length > longestPath || !address.startsWith('/') || !URL.canParse(address, base)) return '/'
  const { origin, pathname, search } = new URL(address, base)
  // Two leading slashes would name another host.
  return origin === base ? `${pathname}${search}`.replace(/^\/+/, '/') : '/'
}
