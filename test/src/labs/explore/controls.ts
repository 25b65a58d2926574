import type { Page } from 'playwright-core'
import { pick, type Random } from '../../environment/random.ts'
import { files, valuesFor } from './values.ts'

/** Something on a page that a visitor can press or fill in. */
interface Control {
  isField: boolean
  /** Whether it belongs to what surrounds every page. */
  isOfFrame: boolean
  nth: number
  label: string
  type: string
  /** The visible fields of the form that a button sends. */
  fields: Control[]
}

const pressed = 'a[href]:not(.skip), button, summary'
const filled = 'input:not([type=hidden]), select, textarea'

/** Returns what a visitor can press or fill in on a page, without links to other hosts. */
export async function controlsOf(page: Page): Promise<Control[]> {
  return await page.evaluate<Control[]>(`(() => {
    const [buttons, inputs] = ['${pressed}', '${filled}'].map((selector) => [...document.querySelectorAll(selector)])
    const isThere = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled
      && (element.href === undefined || element.origin === location.origin)
    const labelOf = (element) => element.getAttribute('aria-label') ?? element.labels?.[0]?.innerText ?? element.innerText
    const control = (element) => ({
      isField: inputs.includes(element),
      nth: Math.max(buttons.indexOf(element), inputs.indexOf(element)),
      label: (labelOf(element) || element.name || '').trim().replace(/\\s+/g, ' ').slice(0, 60),
      type: element.type ?? '',
      isOfFrame: element.closest('header, nav') !== null,
      fields: buttons.includes(element) ? inputs.filter(({ form }) => form && form === element.form).filter(isThere).map(control) : [],
    })
    return [...buttons, ...inputs].filter(isThere).map(control)
  })()`)
}

/** Presses a control, after filling in some fields of its form, or fills in a field. Returns what it did. */
export async function use(page: Page, control: Control, random: Random): Promise<string> {
  if (control.isField) return await fill(page, control, random)
  const done: string[] = []
  if (random(5) > 0) for (const field of control.fields) if (random(4) > 0) done.push(await fill(page, field, random))
  // Other clients than browsers send what the form's own rules forbid.
  const isUnchecked = control.fields.length > 0 && random(2) === 0
  if (isUnchecked) await page.evaluate('for (const form of document.forms) form.noValidate = true')
  await page.locator(pressed).nth(control.nth).click({ timeout: 3_000 })
  return [...done, `press "${control.label}"${isUnchecked ? ' unchecked' : ''}`].join(', ')
}

async function fill(page: Page, { nth, label, type }: Control, random: Random): Promise<string> {
  const field = page.locator(filled).nth(nth)
  const options = type.startsWith('select') ? await field.locator('option').count() : 0
  const [limit, isTicked, index] = [{ timeout: 3_000 }, type === 'radio' || random(2) === 0, random(options || 1)]
  const [file, value] = [pick(files, random), pick(valuesFor(type), random)]
  if (type === 'checkbox' || type === 'radio') await field.setChecked(isTicked, { ...limit, force: true })
  else if (type === 'file') await field.setInputFiles(file, limit)
  else if (options > 0) await field.selectOption({ index }, limit)
  else await field.fill(value, limit)
  const chosen = { checkbox: isTicked, radio: isTicked, file: file.name }[type] ?? (options > 0 ? index : value)
  return `fill "${label}" with ${JSON.stringify(chosen).slice(0, 40)}`
}
