/** Characters that could command a terminal, look like a line of their own, or reverse what follows. */
const unprintable = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu

/** Returns a text as one line for a terminal: bytes of a file or a client become visible characters. */
export function printable(text: string): string {
  return text.replace(unprintable, '\ufffd')
}

/** Returns a text of several lines for a terminal: as {@link printable}, but line breaks stay. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** Returns JSON that means the same, with every unprintable character escaped. */
export function printableJson(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, 2).replace(unprintable, (found) => (found === '\n' ? found : escaped(found)))
}
