/** A piece of HTML that is safe to send: everything from outside in it is escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** What a template may hold. Nothing stands for nothing, so that `${found && html`…`}` works; lists are joined. */
export type Content = Html | string | number | false | null | undefined | readonly Content[]

/**
 * Template tag that escapes every value, except what is {@link Html} already. Values may stand in text and in quoted
 * attributes, where escaping makes them harmless. Throws where one follows `=` without a quote, or stands in a tag's name.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  if (!checked.has(parts)) check(parts)
  let text = parts[0] ?? ''
  for (const [index, value] of values.entries()) text += render(value) + (parts[index + 1] ?? '')
  return new Html(text)
}

/** Templates that were looked at: their fixed parts are the same objects each time. */
const checked = new WeakSet<TemplateStringsArray>()

function check(parts: TemplateStringsArray): void {
  for (const part of parts.slice(0, -1)) {
    if (/(?:\s[\w-]+=|<)$/.test(part)) throw new Error(`a value must be quoted: ${part}`)
  }
  checked.add(parts)
}

function render(value: Content): string {
  if (value instanceof Html) return value.text
  if (typeof value === 'string') return escapeHtml(value)
  if (typeof value === 'number') return String(value)
  return value === false || value === null || value === undefined ? '' : value.map(render).join('')
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Text as it stands safely inside HTML, quoted attributes included. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
