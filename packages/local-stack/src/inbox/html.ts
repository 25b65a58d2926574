/** A piece of HTML that is safe to send: everything from outside in it is escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Template tag that escapes every value, except what is {@link Html} already; lists are joined. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  const text = parts.map((part, index) => (index === 0 ? part : render(values[index - 1] ?? '') + part)).join('')
  return new Html(text)
}

function render(value: string | Html | readonly Html[]): string {
  if (typeof value === 'string') return escaped(value)
  if (value instanceof Html) return value.text
  return value.map(({ text }) => text).join('')
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
