/** A piece of HTML that is safe to send: every value from outside is escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/**
 * A value in a template. False, null and undefined render as nothing, so that `${found && html`…`}` works. Lists are
 * joined.
 */
export type Content = Html | string | number | false | null | undefined | readonly Content[]

/**
 * Renders a template and escapes every value that is not {@link Html}. Escaping makes values harmless in text and in
 * quoted attributes, but nowhere else. Throws if a value directly follows `=`, or is the name of a tag.
 *
 * @example
 * ```ts
 * html`<p title="${'"'}">${'<b>'} ${[1, false, 2]}</p>`.text // → "<p title=\"&quot;\">&lt;b&gt; 12</p>"
 * ```
 */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  if (!checked.has(parts)) check(parts)
  return new Html(parts.map((part, index) => part + render(values[index])).join(''))
}

/** Templates that passed the check. Every evaluation of a template passes the same array of fixed parts. */
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

/** Escapes text for HTML, including quoted attributes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
