/** Creates an element. String children become text nodes, so they need no escaping. */
export function element(name: string, attributes: Record<string, string>, ...children: (Node | string)[]): HTMLElement {
  const created = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value)
  created.append(...children)
  return created
}

/** Creates a selector. Calls `onChoice` with each value that is chosen. */
export function selectOf<Value extends string>(
  label: string,
  options: Readonly<Record<Value, string>>,
  selected: Value,
  onChoice: (value: Value) => void,
): HTMLSelectElement {
  const values = Object.keys(options) as Value[]
  const children = values.map((value) =>
    element('option', { value, ...(value === selected && { selected: '' }) }, options[value]),
  )
  const select = element('select', { 'aria-label': label }, ...children) as HTMLSelectElement
  select.addEventListener('change', () => {
    const value = values.find((value) => value === select.value)
    if (value !== undefined) onChoice(value)
  })
  return select
}

/** Creates a button that does not send the form. */
export function buttonOf(text: string, onClick: () => void): HTMLElement {
  const button = element('button', { type: 'button' }, text)
  button.addEventListener('click', onClick)
  return button
}

/** Returns a text of at most `length` characters, with an ellipsis if it was longer. */
export function cut(text: string, length = 120): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}

/** Formats a number of rows. */
export function countedRows(rows: number): string {
  return `${numberOf(rows)} ${rows === 1 ? 'row' : 'rows'}`
}

export function numberOf(value: number): string {
  return value.toLocaleString('en-US')
}

/** Writes a text into an element. Leaves the same text as it is, because screen readers announce each change. */
export function write(selector: string, text: string): void {
  const found = document.querySelector(selector)
  if (found !== null && found.textContent !== text) found.textContent = text
}

export function show(selector: string, isShown: boolean): void {
  const found = document.querySelector<HTMLElement>(selector)
  if (found !== null) found.hidden = !isShown
}

/** Shows a problem of the file or the upload, or hides the last problem if `problem` is undefined. */
export function showProblem(problem: string | undefined): void {
  write('[data-problem]', problem ?? '')
  show('[data-problem]', problem !== undefined)
}
