import { unprintable } from '@sluice/contract/name'

/** Returns a text as one line for a terminal: every unprintable character becomes a visible replacement character. */
export function printable(text: string): string {
  return text.replace(unprintable, '\ufffd')
}

/** Returns a text of several lines for a terminal: as {@link printable}, but keeps line breaks. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** Returns a value as JSON with every unprintable character escaped. */
export function printableJson(value: unknown, indent = 2): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, indent).replace(unprintable, (found) => (found === '\n' ? found : escaped(found)))
}
